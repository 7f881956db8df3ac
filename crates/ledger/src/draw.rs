//! Sources that a freezing entry draws.
//!
//! A record can be rewritten, so no record can prove its own age. A result can: if the seeds of a study
//! follow from the hash of the entry that freezes it, nobody could compute on them before the prediction
//! stood (time-locking, after Mazor, Mazor and Mukamel, 2018).
//!
//! The rule can be followed with common tools. Source 1 of the entry whose hash is `$HASH` is
//!
//! ```text
//! echo $((16#$(printf '%s source %d' $HASH 1 | sha256sum | head -c 12)))
//! ```
//!
//! and where a time stamp was asked for, `$HASH` is followed by a space and the SHA-256 of the authority's
//! token, so that not even whoever froze the study could foresee them. A number that came up before is passed over.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::entry::{Body, Entry};
use crate::hash::{Hash, unhex};
use crate::ledger::Ledger;

/// How many sources a study draws, and from what.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draw {
    /// How many.
    pub sources: u64,
    /// From the token of the entry's time stamp too.
    pub stamped: bool,
}

/// Why sources are not known yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotDrawn {
    /// No entry of the study draws any.
    #[error("its sources are drawn when it is frozen, and it is not frozen here")]
    Unfrozen,
    /// The entry asks for a time stamp.
    #[error("its sources are drawn from the time stamp of entry {0}, which is not there yet")]
    Unstamped(u64),
}

impl Ledger {
    /// The seeds of a study's first `count` drawn sources.
    ///
    /// The study's **first** entry that draws decides for all its amendments: who amends does not draw
    /// again.
    pub fn drawn(&self, study: &str, count: u64) -> Result<Vec<u64>, NotDrawn> {
        let first = self.entries_of(study).find_map(|(entry, f)| Some((entry, f.draw?)));
        let (entry, draw) = first.ok_or(NotDrawn::Unfrozen)?;
        let token = if draw.stamped {
            Some(self.token(entry).ok_or(NotDrawn::Unstamped(entry.index))?)
        } else {
            None
        };
        Ok(seeds(entry.hash, token, count))
    }

    /// The SHA-256 of the first token that stamps an entry, or one that follows it and so holds it.
    fn token(&self, entry: &Entry) -> Option<Hash> {
        let stamps = self.entries().iter().filter_map(|e| match &e.body {
            Body::Timestamp(stamp) if self.is_ancestor(entry.hash, stamp.of) => unhex(&stamp.token),
            _ => None,
        });
        stamps.map(|token| Hash::of(&token)).next()
    }
}

fn seeds(entry: Hash, token: Option<Hash>, count: u64) -> Vec<u64> {
    let from = match token {
        Some(token) => format!("{entry} {token}"),
        None => entry.to_string(),
    };
    let mut known = BTreeSet::new();
    let draws = (1_u64..).map(|i| {
        let hash = Hash::of(format!("{from} source {i}").as_bytes());
        let [a, b, c, d, e, f, ..] = *hash.bytes();
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    });
    draws.filter(|seed| known.insert(*seed)).take(count as usize).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By `sha256sum`, as the module says.
    #[test]
    fn seeds_can_be_followed_by_hand() {
        let entry = Hash::of(b"an entry");
        let first = seeds(entry, None, 3);
        assert_eq!(first, [97_736_230_466_750, 28_457_859_891_140, 185_818_483_117_352]);
        assert_eq!(seeds(entry, None, 2), first[..2], "more sources begin with the same");
        let token = Some(Hash::of(b"a token"));
        assert_eq!(seeds(entry, token, 1), [280_797_247_522_945]);
        assert!(first.iter().all(|seed| *seed < 1 << 48));
    }
}
