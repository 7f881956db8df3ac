//! What may be said after what. Checked before an entry is written and again whenever it is read.

use serde_json::Value;

use crate::ledger::entry::{Body, Entry, Frozen};
use backcut_files::Hash;
use backcut_files::canonical;

/// Why an entry may not stand where it stands.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    /// A second freeze under one name.
    #[error("study `{study}` is frozen already, in entry {index}: a change is an amendment")]
    FrozenAlready {
        /// The study.
        study: String,
        /// Its latest entry.
        index: u64,
    },
    /// An amendment of a study that has no entry.
    #[error("study `{0}` was never frozen, so it cannot be amended")]
    NeverFrozen(String),
    /// An amendment that does not know of the latest one.
    #[error("the latest entry of study `{study}` is {latest}, and {stated} is amended instead")]
    NotTheLatest {
        /// The study.
        study: String,
        /// The hash of its latest entry.
        latest: Hash,
        /// What the amendment names.
        stated: Hash,
    },
    /// An amendment without a reason.
    #[error("the amendment of study `{0}` gives no reason")]
    NoReason(String),
    /// The embedded study is not what its hash says.
    #[error("the text of study `{0}` does not have the hash that is frozen with it")]
    File(String),
    /// The embedded study is not canonical JSON.
    #[error("the text of study `{0}` is not canonical JSON (sorted keys, no spaces)")]
    Text(String),
    /// A list out of order or with repetitions.
    #[error("the list `{list}` of study `{study}` is not sorted or repeats itself")]
    Order {
        /// The study.
        study: String,
        /// The list.
        list: &'static str,
    },
    /// A unit both new and reused, or reused with two contents.
    #[error(
        "unit {unit} of study `{study}` is listed twice, as new and reused or with two contents"
    )]
    Twice {
        /// The study.
        study: String,
        /// The unit.
        unit: Hash,
    },
    /// Two contrasts under one name.
    #[error("study `{study}` has two contrasts named `{contrast}`")]
    Namesakes {
        /// The study.
        study: String,
        /// The contrast.
        contrast: String,
    },
}

/// Whether `body` may follow `entries`.
pub(crate) fn check(entries: &[Entry], body: &Body) -> Result<(), RuleError> {
    let latest = |study: &str| {
        entries.iter().rev().find(|entry| entry.frozen().is_some_and(|f| f.study == study))
    };
    match body {
        Body::Freeze(frozen) => {
            if let Some(entry) = latest(&frozen.study) {
                let (study, index) = (frozen.study.clone(), entry.index);
                return Err(RuleError::FrozenAlready { study, index });
            }
            check_frozen(frozen)
        }
        Body::Amend(amendment) => {
            let study = || amendment.frozen.study.clone();
            let latest = latest(&amendment.frozen.study)
                .ok_or_else(|| RuleError::NeverFrozen(study()))?
                .hash;
            if amendment.amends != latest {
                let stated = amendment.amends;
                return Err(RuleError::NotTheLatest { study: study(), latest, stated });
            }
            if amendment.reason.trim().is_empty() {
                return Err(RuleError::NoReason(study()));
            }
            check_frozen(&amendment.frozen)
        }
    }
}

fn check_frozen(frozen: &Frozen) -> Result<(), RuleError> {
    let study = || frozen.study.clone();
    if Hash::of(frozen.canonical.as_bytes()) != frozen.file {
        return Err(RuleError::File(study()));
    }
    let value = serde_json::from_str::<Value>(&frozen.canonical);
    if !value.is_ok_and(|v| canonical(&v).is_ok_and(|text| text == frozen.canonical)) {
        return Err(RuleError::Text(study()));
    }
    let order = |list| Err(RuleError::Order { study: study(), list });
    if !frozen.new.is_sorted_by(|a, b| a < b) {
        return order("new");
    }
    if !frozen.reused.is_sorted_by(|a, b| a < b) {
        return order("reused");
    }
    if !frozen.existing.is_sorted_by(|a, b| a < b) {
        return order("existing");
    }
    if !frozen.known.is_sorted_by(|a, b| a < b) {
        return order("known");
    }
    let twice = frozen.reused.windows(2).find(|pair| pair[0].unit == pair[1].unit);
    let both = frozen.reused.iter().find(|r| frozen.new.binary_search(&r.unit).is_ok());
    if let Some(reused) = twice.map(|pair| &pair[0]).or(both) {
        return Err(RuleError::Twice { study: study(), unit: reused.unit });
    }
    let mut names: Vec<&str> = frozen.contrasts.iter().map(|c| c.name.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(RuleError::Namesakes { study: study(), contrast: pair[0].to_owned() }),
        None => Ok(()),
    }
}
