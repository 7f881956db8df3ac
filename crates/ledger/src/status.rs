//! What a row may claim, derived from the ledger alone.
//!
//! A contrast is granted by **one entry** of its study, the earliest that can:
//!
//! - it stands in that entry, and in every later entry of the study, with the same wording (family,
//!   expression, direction). An amendment that leaves it alone changes nothing; one that rewords it or
//!   drops it ends what the earlier entries could grant;
//! - it uses **exactly the sample** that the entry froze: the same unit in every place (cell, point,
//!   source), none more and none fewer ([`crate::Sample`]);
//! - every result in it is listed there, as *new* or as *reused*;
//! - every new one ran under that entry or a later one;
//! - every reused one still has the content that was listed. Such results were known, and so were those
//!   that existed under another name ([`crate::Frozen::known`]); the status says so wherever it is
//!   printed. Whole cells may be known, never some of a cell's sources, and what is new must have an
//!   influence: a contrast of nothing but known results predicts nothing;
//! - a unit that an earlier entry of the same study lists as new stays the study's own, whatever an
//!   amendment calls it: an amendment cannot take over results that it has seen.
//!
//! Then it is *prespecified*; and *confirmatory* if besides it uses nothing reused and the entry knew
//! of no result on the study's sources. Otherwise it is *post hoc*. A contrast that predicts nothing,
//! or asks for no more, is *descriptive*. A study gets what it asks for if that is less.
//!
//! A result carries the ledger's head at the time it ran. Whoever computed it honestly could not have
//! known that hash earlier; but a head is text, and a text can be rewritten. Where the entry itself drew
//! the sources ([`crate::Draw`]) nothing has to be believed: such a contrast is confirmatory *by construction*.
//! That an unwelcome ledger was not thrown away and begun again is more than any ledger can show.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::entry::{Contrast, Frozen};
pub use crate::grounds::Recall;
use crate::grounds::{self, History, Place};
use crate::hash::Hash;
use crate::ledger::Ledger;

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

/// A result that a contrast uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Used {
    /// Its unit.
    pub unit: Hash,
    /// The SHA-256 of what it holds now.
    pub content: Hash,
    /// The ledger's head when it ran; [`Hash::ZERO`] if the ledger was empty.
    pub head: Hash,
}

/// A status with its reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Granted {
    /// The status.
    pub status: Status,
    /// The reason, for the row.
    pub why: String,
    /// The entry that grants it; none for what is post hoc.
    pub entry: Option<Hash>,
    /// How many of its results are reused from other studies, by that entry's list.
    pub reused: usize,
    /// What of it was known, in words.
    pub known: Option<String>,
    /// The entry drew its sources.
    pub by_construction: bool,
}

impl Granted {
    pub(crate) fn plain(status: Status, why: impl Into<String>) -> Self {
        let (why, entry, reused) = (why.into(), None, 0);
        Self { status, why, entry, reused, known: None, by_construction: false }
    }

    /// As it is printed.
    pub fn standing(&self) -> Standing {
        let claims = self.status > Status::Descriptive;
        Standing {
            status: self.status,
            by_construction: self.by_construction && self.status == Status::Confirmatory,
            known: self.known.clone().filter(|_| claims),
        }
    }

    fn lowered(self, status: Status, why: &str) -> Self {
        let why = format!("{why} ({})", self.why);
        Self { status, why, ..self }
    }
}

/// The status of a contrast as it is analysed, from the results that it uses.
pub fn grant(
    ledger: &Ledger,
    study: &str,
    contrast: &Contrast,
    used: &[Used],
    recall: &Recall,
) -> Granted {
    let history: Vec<_> = ledger.entries_of(study).map(|(e, f)| (Place::Entry(e), f)).collect();
    let granted = grounds::decide(&history, contrast, recall, |place, frozen| {
        grounds::check_results(ledger, place, frozen, used)
    });
    cap(&history, contrast, granted)
}

/// The highest status that a contrast of `proposed` (not yet appended) could come to have. Earlier
/// entries of the same study count.
pub fn can_grant(
    ledger: &Ledger,
    proposed: &Frozen,
    contrast: &Contrast,
    recall: &Recall,
) -> Granted {
    let mut proposed = proposed.clone();
    proposed.sort();
    let mut history: Vec<_> =
        ledger.entries_of(&proposed.study).map(|(e, f)| (Place::Entry(e), f)).collect();
    history.push((Place::Proposed, &proposed));
    grounds::decide(&history, contrast, recall, |_, _| Ok(()))
}

/// A study that asks for more than it could ever be granted.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("contrast `{contrast}` asks to be {asks}, but can only be {}: {}", can.status, can.why)]
pub struct Overclaim {
    /// The contrast.
    pub contrast: String,
    /// What it asks for.
    pub asks: Status,
    /// What it can be granted.
    pub can: Box<Granted>,
}

/// Refuses a study that asks too much, before it is frozen or amended.
pub fn check_asks(ledger: &Ledger, proposed: &Frozen, recall: &Recall) -> Result<(), Overclaim> {
    for contrast in &proposed.contrasts {
        // Whatever stands in an entry may be called a description or an afterthought.
        let Some(asks) = contrast.asks.filter(|asks| *asks > Status::Descriptive) else { continue };
        let can = can_grant(ledger, proposed, contrast, recall);
        if asks > can.status {
            let (contrast, can) = (contrast.name.clone(), Box::new(can));
            return Err(Overclaim { contrast, asks, can });
        }
    }
    Ok(())
}

/// A study gets what it asks for if that is less: the least that any entry of the run asks, so that no
/// later entry can ask for more than the first.
fn cap(history: &History, contrast: &Contrast, granted: Granted) -> Granted {
    let Some(first) = grounds::standing_since(history, contrast) else { return granted };
    let asked = history[first..].iter().filter_map(|(place, frozen)| {
        Some((frozen.contrast(&contrast.name)?.asks?, format!("{place} asks for no more")))
    });
    let granted = match asked.min_by_key(|(asks, _)| *asks) {
        // A description claims nothing, so it does not matter what was known by then.
        Some((Status::Descriptive, why)) if granted.status == Status::PostHoc => {
            Granted { status: Status::Descriptive, why, ..granted }
        }
        Some((asks, why)) if asks < granted.status => granted.lowered(asks, &why),
        _ => granted,
    };
    match contrast.asks {
        Some(asks) if asks < granted.status => granted.lowered(asks, "it asks for no more"),
        _ => granted,
    }
}
