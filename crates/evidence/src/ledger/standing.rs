//! The words for what a row may claim.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What a row may claim, lowest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Chosen when results were known, or may have been.
    #[serde(rename = "post hoc")]
    PostHoc,
    /// Declared, and predicts nothing.
    Descriptive,
    /// Frozen before its new results ran.
    Prespecified,
    /// Frozen before anything ran on its sources.
    Confirmatory,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::PostHoc => "post hoc",
            Self::Descriptive => "descriptive",
            Self::Prespecified => "prespecified",
            Self::Confirmatory => "confirmatory",
        })
    }
}

impl Status {
    /// All of them, highest first.
    pub const ALL: [Self; 4] =
        [Self::Confirmatory, Self::Prespecified, Self::Descriptive, Self::PostHoc];
}

/// A word that is no status.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is no status (confirmatory, prespecified, descriptive, post hoc)")]
pub struct StatusError(String);

impl FromStr for Status {
    type Err = StatusError;

    fn from_str(text: &str) -> Result<Self, StatusError> {
        let is_it = |status: &Self| status.to_string() == text;
        Self::ALL.into_iter().find(is_it).ok_or_else(|| StatusError(text.to_owned()))
    }
}

/// A status as it is printed, everywhere: with what was known, and with what it rests on.
///
/// `confirmatory by construction`, `prespecified; FF known (16 of 32 results)`, `post hoc`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Standing {
    /// The status.
    pub status: Status,
    /// Its sources were drawn by the entry that grants it.
    pub by_construction: bool,
    /// What of it was known, in words.
    pub known: Option<String>,
}

const BY_CONSTRUCTION: &str = " by construction";

impl From<Status> for Standing {
    fn from(status: Status) -> Self {
        Self { status, by_construction: false, known: None }
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.by_construction { BY_CONSTRUCTION } else { "" };
        let known = self.known.as_ref().map_or_else(String::new, |known| format!("; {known}"));
        f.pad(&format!("{}{how}{known}", self.status))
    }
}

impl FromStr for Standing {
    type Err = StatusError;

    fn from_str(text: &str) -> Result<Self, StatusError> {
        let (status, known) = match text.split_once("; ") {
            Some((status, known)) => (status, Some(known.to_owned())),
            None => (text, None),
        };
        let plain = status.strip_suffix(BY_CONSTRUCTION);
        let status = plain.unwrap_or(status).parse()?;
        Ok(Self { status, by_construction: plain.is_some(), known })
    }
}
