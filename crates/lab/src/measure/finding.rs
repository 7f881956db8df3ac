//! One measured number.

use std::fmt;

use backcut_engine::Cut;
use serde::{Deserialize, Serialize};

/// What a finding is of: a cut, an arm by its name, or several of them.
///
/// Tables hold it as a text. That text is read here and nowhere else.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Of {
    /// Cuts play no part: an empty text.
    #[default]
    Nothing,
    /// `FD`, against the reference where there is one.
    One(String),
    /// `KD vs KF`: the first against the second instead of the reference.
    Against(String, String),
    /// `F_SG - FD`
    Difference(String, String),
    /// `FF - FD - KF + KD`
    Interaction([String; 4]),
}

impl fmt::Display for Of {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => Ok(()),
            Self::One(name) => f.write_str(name),
            Self::Against(a, b) => write!(f, "{a} vs {b}"),
            Self::Difference(a, b) => write!(f, "{a} - {b}"),
            Self::Interaction([a, b, c, d]) => write!(f, "{a} - {b} - {c} + {d}"),
        }
    }
}

impl From<&str> for Of {
    fn from(text: &str) -> Self {
        let own = |(a, b): (&str, &str)| (a.to_owned(), b.to_owned());
        if text.is_empty() {
            return Self::Nothing;
        }
        if let Some((a, b)) = text.split_once(" vs ").map(own) {
            return Self::Against(a, b);
        }
        let Some((a, rest)) = text.split_once(" - ") else { return Self::One(text.to_owned()) };
        let inner = rest.split_once(" - ").and_then(|(b, rest)| Some((b, rest.split_once(" + ")?)));
        match inner {
            Some((b, (c, d))) => Self::Interaction([a, b, c, d].map(str::to_owned)),
            None => Self::Difference(a.to_owned(), rest.to_owned()),
        }
    }
}

impl From<String> for Of {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<Of> for String {
    fn from(of: Of) -> Self {
        of.to_string()
    }
}

impl From<Cut> for Of {
    fn from(cut: Cut) -> Self {
        Self::One(cut.to_string())
    }
}

impl From<&Cut> for Of {
    fn from(cut: &Cut) -> Self {
        (*cut).into()
    }
}

impl From<&Self> for Of {
    fn from(of: &Self) -> Self {
        of.clone()
    }
}

impl PartialEq<str> for Of {
    fn eq(&self, text: &str) -> bool {
        match self {
            Self::Nothing => text.is_empty(),
            Self::One(name) => name == text,
            several => several.to_string().as_str() == text,
        }
    }
}

impl PartialEq<&str> for Of {
    fn eq(&self, text: &&str) -> bool {
        self == *text
    }
}

impl PartialEq<&Self> for Of {
    fn eq(&self, other: &&Self) -> bool {
        self == *other
    }
}

/// One number with what it is: the row of a tidy table `quantity,cut,part,value,note`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// The quantity; its definition is printed by `--define`.
    pub quantity: String,
    /// The cut or cuts that it belongs to.
    #[serde(rename = "cut")]
    pub of: Of,
    /// A parameter group, layer and head, window or age; `all` for the whole.
    pub part: String,
    /// The value; absent where it is undefined.
    pub value: Option<f64>,
    /// Why it is undefined, or a remark; empty otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

#[expect(clippy::needless_pass_by_value, reason = "callers pass names and numbers as they are")]
impl Finding {
    /// A number.
    pub fn new(
        quantity: impl Into<String>,
        of: impl Into<Of>,
        part: impl ToString,
        value: f64,
    ) -> Self {
        let (quantity, of, part) = (quantity.into(), of.into(), part.to_string());
        Self { quantity, of, part, value: Some(value), note: String::new() }
    }

    /// A quantity without a value, and why.
    pub fn undefined(
        quantity: impl Into<String>,
        of: impl Into<Of>,
        part: impl ToString,
        why: &str,
    ) -> Self {
        let (quantity, of, part) = (quantity.into(), of.into(), part.to_string());
        Self { quantity, of, part, value: None, note: why.to_owned() }
    }

    /// A number, or why there is none.
    pub fn or(
        quantity: impl Into<String>,
        of: impl Into<Of>,
        part: impl ToString,
        value: Option<f64>,
        why: impl Fn() -> String,
    ) -> Self {
        match value {
            Some(value) => Self::new(quantity, of, part, value),
            None => Self::undefined(quantity, of, part, &why()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_as_what_wrote_it() {
        let name = str::to_owned;
        let all = [
            (Of::Nothing, ""),
            (Of::One(name("F_A0.5")), "F_A0.5"),
            (Of::Against(name("KD"), name("KF")), "KD vs KF"),
            (Of::Difference(name("F_SG"), name("FD")), "F_SG - FD"),
            (Of::Interaction(["FF", "FD", "KF", "KD"].map(name)), "FF - FD - KF + KD"),
        ];
        for (of, text) in all {
            assert_eq!((of.to_string(), Of::from(text)), (text.to_owned(), of.clone()));
            assert!(of == *text && of != "another");
        }
        // Whatever a program calls its arms is written as it was read.
        for text in [" - ", "a - b - c", "a vs b vs c", "-", "a - b + c", "a-b"] {
            assert_eq!(Of::from(text).to_string(), text);
        }
    }
}
