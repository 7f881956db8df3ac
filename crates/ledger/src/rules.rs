//! What may be said after what. Checked before an entry is written and again whenever it is read.

use serde_json::Value;

use crate::canonical::canonical;
use crate::entry::{Body, Entry, Frozen, Stamp};
use crate::hash::{Hash, unhex};
use crate::timestamp::{self, TimestampError};
use crate::utc::Utc;

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
    /// A time stamp of something else.
    #[error("the stamped entry {0} is not in the ledger")]
    StampOfNothing(Hash),
    /// A time stamp that cannot be read or stamps another entry.
    #[error("the time stamp is not one of entry {of}: {error}")]
    Stamp {
        /// The entry.
        of: Hash,
        /// What is wrong with it.
        error: TimestampError,
    },
    /// An entry that misquotes its token.
    #[error("the token says {time} by {authority}, the entry says otherwise")]
    Misquoted {
        /// The token's time.
        time: Utc,
        /// The token's authority.
        authority: String,
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
        Body::Timestamp(stamp) => check_stamp(entries, stamp),
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

/// That the token is one for this entry and quoted rightly. Its signature is another matter: that
/// takes a trusted certificate, see [`timestamp::verify`].
fn check_stamp(entries: &[Entry], stamp: &Stamp) -> Result<(), RuleError> {
    let of = stamp.of;
    if !entries.iter().any(|entry| entry.hash == of) {
        return Err(RuleError::StampOfNothing(of));
    }
    let wrap = |error| RuleError::Stamp { of, error };
    let token = unhex(&stamp.token)
        .ok_or_else(|| wrap(TimestampError::Unreadable("it is not hexadecimal".into())))?;
    let read = timestamp::read(&token).and_then(|read| read.must_stamp(of)).map_err(wrap)?;
    if read.time != stamp.time || read.authority != stamp.authority {
        return Err(RuleError::Misquoted { time: read.time, authority: read.authority });
    }
    Ok(())
}
