//! Mistakes in a trace.

use std::borrow::Cow;

use backcut_text::Hinted;

/// A mistake in a trace: what, where in your code, and a hint.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{what} (at {place})")]
pub struct TraceError {
    what: String,
    place: String,
    hint: String,
}

impl Hinted for TraceError {
    fn hint(&self) -> Cow<'_, str> {
        self.hint.as_str().into()
    }
}

impl TraceError {
    pub(crate) fn new(what: String, place: &str, hint: &str) -> Self {
        Self { what, place: place.to_owned(), hint: hint.to_owned() }
    }
}
