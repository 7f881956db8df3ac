//! How one entry of a row is written and read.

use std::borrow::Cow;

use backcut_files::Hash;

use crate::ledger::Standing;
use backcut_stats::Bound;

use crate::tables::words::{Judgement, UnitState, Work};

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Words.
    Text,
    /// Counts.
    Count,
    /// Numbers.
    Number,
}

/// An entry of a row.
pub trait Field: Sized {
    /// What its column holds.
    const KIND: Kind;

    /// Its text; `None` leaves the place empty.
    fn write(&self) -> Option<Cow<'_, str>>;

    /// Reads its text; the error continues "`text` in column `name` ...".
    fn read(text: &str) -> Result<Self, String>;
}

impl<T: Field> Field for Option<T> {
    const KIND: Kind = T::KIND;

    fn write(&self) -> Option<Cow<'_, str>> {
        self.as_ref().and_then(T::write)
    }

    fn read(text: &str) -> Result<Self, String> {
        if text.is_empty() { Ok(None) } else { T::read(text).map(Some) }
    }
}

impl Field for String {
    const KIND: Kind = Kind::Text;

    fn write(&self) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(self))
    }

    fn read(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }
}

impl Field for u64 {
    const KIND: Kind = Kind::Count;

    fn write(&self) -> Option<Cow<'_, str>> {
        Some(Cow::Owned(self.to_string()))
    }

    fn read(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| "is not a count".to_owned())
    }
}

/// With the fewest digits that read back, as `1e-5` below 1e-4; nothing if it is not finite.
impl Field for f64 {
    const KIND: Kind = Kind::Number;

    fn write(&self) -> Option<Cow<'_, str>> {
        let text =
            if *self != 0.0 && self.abs() < 1e-4 { format!("{self:e}") } else { self.to_string() };
        self.is_finite().then_some(Cow::Owned(text))
    }

    fn read(text: &str) -> Result<Self, String> {
        let number = text.parse().ok().filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| "is not a finite number".to_owned())
    }
}

/// A number that is never written with an exponent, as the tables of `backcut measure` have them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Plain(pub f64);

impl Field for Plain {
    const KIND: Kind = Kind::Number;

    fn write(&self) -> Option<Cow<'_, str>> {
        Some(Cow::Owned(self.0.to_string()))
    }

    fn read(text: &str) -> Result<Self, String> {
        f64::read(text).map(Self)
    }
}

/// Types that are written as they are shown, and read back from that.
macro_rules! shown {
    ($($type:ty: $what:literal),*) => {$(
        impl Field for $type {
            const KIND: Kind = Kind::Text;

            fn write(&self) -> Option<Cow<'_, str>> {
                Some(Cow::Owned(self.to_string()))
            }

            fn read(text: &str) -> Result<Self, String> {
                text.parse().map_err(|_| concat!("is no ", $what).to_owned())
            }
        }
    )*};
}

shown! {
    Hash: "SHA-256 value",
    Standing: "status",
    Bound: "kind of bound",
    UnitState: "state of a unit",
    Work: "work",
    Judgement: "verdict"
}
