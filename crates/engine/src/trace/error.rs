//! Mistakes in a trace.

/// A mistake in a trace: what, where in your code, and a hint.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{what} (at {place})")]
pub struct TraceError {
    what: String,
    place: String,
    hint: String,
}

impl TraceError {
    /// What to do about it.
    pub fn hint(&self) -> &str {
        &self.hint
    }

    pub(crate) fn new(what: String, place: &str, hint: &str) -> Self {
        Self { what, place: place.to_owned(), hint: hint.to_owned() }
    }
}
