//! One measured number.

use serde::{Deserialize, Serialize};

/// One number with what it is: the row of a tidy table `quantity,cut,part,value,note`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// The quantity; its definition is printed by `--define`.
    pub quantity: String,
    /// The cut it belongs to, or a pair such as `F_SG - FD`; empty where cuts play no part.
    pub cut: String,
    /// A parameter group, layer and head, window or age; `all` for the whole.
    pub part: String,
    /// The value; absent where it is undefined.
    pub value: Option<f64>,
    /// Why it is undefined, or a remark; empty otherwise.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "callers pass names, cuts and numbers as they are"
)]
impl Finding {
    /// A number.
    pub fn new(
        quantity: impl Into<String>,
        cut: impl ToString,
        part: impl ToString,
        value: f64,
    ) -> Self {
        let (cut, part) = (cut.to_string(), part.to_string());
        Self { quantity: quantity.into(), cut, part, value: Some(value), note: String::new() }
    }

    /// A quantity without a value, and why.
    pub fn undefined(
        quantity: impl Into<String>,
        cut: impl ToString,
        part: impl ToString,
        why: &str,
    ) -> Self {
        let (cut, part) = (cut.to_string(), part.to_string());
        Self { quantity: quantity.into(), cut, part, value: None, note: why.to_owned() }
    }
}
