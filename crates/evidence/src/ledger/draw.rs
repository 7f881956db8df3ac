//! Sources that a freezing entry draws.
//!
//! A record can be rewritten, so no record can prove its own age. A result can: if the seeds of a
//! study follow from the hash of the entry that freezes it, nobody could compute on them before the
//! prediction stood (time-locking, after Mazor, Mazor and Mukamel, 2018).
//!
//! The rule can be followed with common tools. Source 1 of the entry whose hash is `$HASH` is
//!
//! ```text
//! echo $((16#$(printf '%s source %d' $HASH 1 | sha256sum | head -c 12)))
//! ```
//!
//! A number that came up before is passed over.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use backcut_files::Hash;

/// How many sources a study draws, and from what.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draw {
    /// How many.
    pub sources: u64,
    /// A key that published entries have; what they say is hashed, so it stays.
    pub stamped: NotStamped,
}

/// The one value of the key `stamped`: `false`. Draws from a time stamp too are not understood.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "bool", into = "bool")]
pub struct NotStamped;

impl From<NotStamped> for bool {
    fn from(_: NotStamped) -> Self {
        false
    }
}

impl TryFrom<bool> for NotStamped {
    type Error = &'static str;

    fn try_from(stamped: bool) -> Result<Self, &'static str> {
        let what = "it draws sources from a time stamp too: say `draw` alone";
        if stamped { Err(what) } else { Ok(Self) }
    }
}

/// The first `count` seeds that an entry's hash draws.
pub(crate) fn seeds(entry: Hash, count: u64) -> Vec<u64> {
    let mut known = BTreeSet::new();
    let draws = (1_u64..).map(|i| {
        let hash = Hash::of(format!("{entry} source {i}").as_bytes());
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
        let first = seeds(entry, 3);
        assert_eq!(first, [97_736_230_466_750, 28_457_859_891_140, 185_818_483_117_352]);
        assert_eq!(seeds(entry, 2), first[..2], "more sources begin with the same");
        assert!(first.iter().all(|seed| *seed < 1 << 48));
    }
}
