//! What an entry says. One line of `ledger.jsonl` is one entry, in canonical JSON:
//!
//! ```text
//! {"body":{...},"hash":"...","index":0,"previous":"...","utc":"...","version":1}
//! ```
//!
//! `hash` is the SHA-256 of the same text without its `hash` field, and `previous` the `hash` of
//! the line before (64 zeros for the first). So an entry can be found in the file by its hash,
//! damage to any line, the last one too, is found in that line, and the chain can be followed with
//! common tools:
//!
//! ```text
//! sed -n 1p ledger.jsonl | sed 's/"hash":"[0-9a-f]*",//' | tr -d '\n' | sha256sum
//! ```

use serde::{Deserialize, Serialize};

use crate::ledger::draw::Draw;
use crate::ledger::sample::Sample;
use crate::ledger::standing::Status;
use backcut_files::Hash;
use backcut_files::Utc;
use backcut_files::canonical;

/// The newest form of entries that this crate reads, and the one that it writes.
///
/// Version 1 froze the wording of a contrast and lists of units; since version 2 a contrast holds
/// its sample, an entry what was known under other names, and sources may be drawn. Entries of
/// version 1 keep their bytes and are read as what they are.
pub const VERSION: u32 = 2;
/// The oldest form that it reads.
pub const OLDEST: u32 = 1;

/// One line of the ledger.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The form of the line.
    pub version: u32,
    /// How many entries stand before this one.
    pub index: u64,
    /// The hash of the entry before; [`Hash::ZERO`] for the first.
    pub previous: Hash,
    /// When it was appended, by the clock of whoever appended it.
    pub utc: Utc,
    /// What it says.
    pub body: Body,
    /// The SHA-256 of this entry's canonical text without this field.
    pub hash: Hash,
}

impl Entry {
    /// The entry that follows `previous` entries, with its hash.
    pub(crate) fn seal(
        index: u64,
        previous: Hash,
        utc: Utc,
        body: Body,
    ) -> Result<Self, serde_json::Error> {
        let mut entry = Self { version: VERSION, index, previous, utc, body, hash: Hash::ZERO };
        entry.hash = Hash::of(entry.sealed_text()?.as_bytes());
        Ok(entry)
    }

    /// The text whose SHA-256 is this entry's hash.
    pub fn sealed_text(&self) -> Result<String, serde_json::Error> {
        let mut value = serde_json::to_value(self)?;
        if let Some(map) = value.as_object_mut() {
            map.remove("hash");
        }
        canonical(&value)
    }

    /// The plan that it freezes, if it is a freeze or an amendment.
    pub fn frozen(&self) -> Option<&Frozen> {
        match &self.body {
            Body::Freeze(frozen) => Some(frozen),
            Body::Amend(amendment) => Some(&amendment.frozen),
        }
    }
}

/// What an entry can say.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Body {
    /// A study, before its units run. Once per name.
    Freeze(Frozen),
    /// The same study, changed. Nothing of the earlier entries is taken back.
    Amend(Amendment),
}

/// A study as it was frozen: everything that decides what its rows may claim.
///
/// Lists are kept sorted and without repetitions; [`crate::ledger::Ledger::append`] sees to it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frozen {
    /// The study's name; its entries are found by it.
    pub study: String,
    /// The SHA-256 of `canonical`.
    pub file: Hash,
    /// The study file in canonical JSON, so that what was frozen can be read back.
    pub canonical: String,
    /// The SHA-256 of what the analysis reads besides results (families, draws, margins).
    pub analysis: Hash,
    /// Units that the study runs itself. An amendment lists all of the amended plan's, those that
    /// have run too.
    pub new: Vec<Hash>,
    /// Results of other studies that it takes over, as they were at this moment.
    pub reused: Vec<Reused>,
    /// Units on the study's sources that had a result at this moment, whoever ran them.
    pub existing: Vec<Hash>,
    /// Units of the plan whose results, or the beginning of them, were known at this moment under
    /// any name: another unit had the same trajectory, or had measured the same at the same state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<Hash>,
    /// Sources that this entry's hash draws. Its units are named by stand-ins then: the real ones
    /// follow from the seeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draw: Option<Draw>,
    /// What it will compare, predictions and declared explorations.
    pub contrasts: Vec<Contrast>,
}

impl Frozen {
    /// A study with no units and no contrasts yet.
    pub fn new(study: impl Into<String>, canonical: impl Into<String>, analysis: Hash) -> Self {
        let canonical = canonical.into();
        Self {
            study: study.into(),
            file: Hash::of(canonical.as_bytes()),
            canonical,
            analysis,
            new: Vec::new(),
            reused: Vec::new(),
            existing: Vec::new(),
            known: Vec::new(),
            draw: None,
            contrasts: Vec::new(),
        }
    }

    /// How many results the plan needs.
    pub fn units(&self) -> usize {
        self.new.len() + self.reused.len()
    }

    /// The contrast of that name.
    pub fn contrast(&self, name: &str) -> Option<&Contrast> {
        self.contrasts.iter().find(|contrast| contrast.name == name)
    }

    pub(crate) fn sort(&mut self) {
        for list in [&mut self.new, &mut self.existing, &mut self.known] {
            list.sort_unstable();
            list.dedup();
        }
        self.reused.sort_unstable();
        self.reused.dedup();
    }
}

/// A result that a study takes over: what defines it, and what it held when it was taken over.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reused {
    /// The unit.
    pub unit: Hash,
    /// The SHA-256 of its result.
    pub content: Hash,
}

/// A comparison that a study will make. The ledger compares texts and never evaluates them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contrast {
    /// Its name within the study.
    pub name: String,
    /// The family that it is corrected in; what else decides it (margin, bound) belongs here too.
    pub family: String,
    /// What is computed per source.
    pub expression: String,
    /// What is predicted of it; none for an exploration declared as such.
    pub direction: Option<String>,
    /// The status that the study asks for; none for the highest that the ledger grants.
    pub asks: Option<Status>,
    /// What it is computed from, completely; entries of version 1 lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<Sample>,
    /// How many comparisons share its family's level, counted or stated; entries of version 1 lack
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_by: Option<u64>,
    /// Cells that it names and that have no influence on its value, as in `0*[X@hidden]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub idle: Vec<String>,
}

impl Contrast {
    /// The same contrast in words: what is asked for is not part of the wording, and the sample is
    /// compared by itself.
    pub fn same_wording(&self, other: &Self) -> bool {
        self.name == other.name
            && self.family == other.family
            && self.expression == other.expression
            && self.direction == other.direction
    }
}

/// A study changed after it was frozen.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Amendment {
    /// The hash of the study's latest entry.
    pub amends: Hash,
    /// Why, in words.
    pub reason: String,
    /// The whole study as amended.
    pub frozen: Frozen,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_needs_its_new_units_and_its_reused_ones() {
        let mut frozen = Frozen::new("A", "{}", Hash::ZERO);
        frozen.new = vec![Hash::of(b"a"), Hash::of(b"b"), Hash::of(b"c")];
        frozen.reused = vec![Reused { unit: Hash::of(b"d"), content: Hash::ZERO }];
        assert_eq!(frozen.units(), 4);
    }
}
