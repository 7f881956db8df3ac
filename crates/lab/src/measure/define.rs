//! What a quantity is, in a line or two: `--define` prints it.

/// A quantity and its definition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Definition {
    /// The measurement that emits it, as its command is called.
    pub measurement: &'static str,
    /// The quantity.
    pub quantity: &'static str,
    /// What it is.
    pub text: &'static str,
}

pub(crate) const fn define(
    measurement: &'static str,
    quantity: &'static str,
    text: &'static str,
) -> Definition {
    Definition { measurement, quantity, text }
}
