//! Segments of a whole store, in memory, with the hash that names them.
//!
//! Some vessels are reserved: nobody may look at them before the end. They are not merely flagged.
//! What is opened with [`Reserved::Excluded`] does not contain them, and a store keeps them in a
//! file that is then not opened.

use std::collections::BTreeSet;

use backcut_files::Hash;
use sha2::{Digest as _, Sha256};

use crate::error::AisError;
use crate::segment::{Segment, vessel_key};

/// Whether reserved vessels are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reserved {
    /// They are not touched.
    Excluded,
    /// They are part of what is read, because somebody said so.
    Included,
}

/// How many vessels are reserved unless somebody says otherwise.
pub const RESERVED_VESSELS: usize = 2;

/// Segments ordered by vessel and time.
#[derive(Clone, PartialEq, Debug)]
pub struct Tracks {
    step_seconds: u32,
    segments: Vec<Segment>,
    hash: Hash,
    reserved: Vec<String>,
}

impl Tracks {
    /// From segments in any order, `reserve` vessels being set apart.
    pub fn of(
        mut segments: Vec<Segment>,
        step_seconds: u32,
        reserve: usize,
        reserved: Reserved,
    ) -> Result<Self, AisError> {
        segments.sort_unstable();
        let names = choose_reserved(segments.iter().map(|s| s.vessel.as_str()), reserve)?;
        let (apart, open): (Vec<_>, Vec<_>) =
            segments.into_iter().partition(|segment| names.contains(&segment.vessel));
        let hash = whole_hash(step_seconds, hash_of(&open), hash_of(&apart));
        let segments = match reserved {
            Reserved::Excluded => open,
            Reserved::Included => merged(open, apart),
        };
        Ok(Self { step_seconds, segments, hash, reserved: names.into_iter().collect() })
    }

    pub(crate) fn assembled(
        step_seconds: u32,
        segments: Vec<Segment>,
        hash: Hash,
        reserved: Vec<String>,
    ) -> Self {
        Self { step_seconds, segments, hash, reserved }
    }

    /// Seconds from place to place.
    pub fn step_seconds(&self) -> u32 {
        self.step_seconds
    }

    /// The segments, by vessel and time.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// SHA-256 of everything, the reserved vessels included, whether they were read or not.
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// The names of the reserved vessels.
    pub fn reserved(&self) -> &[String] {
        &self.reserved
    }

    /// The names of the vessels that were read, in order.
    pub fn vessels(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.segments.iter().map(|s| s.vessel.as_str()).collect();
        names.dedup();
        names
    }
}

/// Both parts in order.
pub fn merged(mut open: Vec<Segment>, apart: Vec<Segment>) -> Vec<Segment> {
    open.extend(apart);
    open.sort_unstable();
    open
}

/// The first vessels by the hash of their names.
pub fn choose_reserved<'a>(
    vessels: impl Iterator<Item = &'a str>,
    reserve: usize,
) -> Result<BTreeSet<String>, AisError> {
    let vessels: BTreeSet<&str> = vessels.collect();
    if reserve > 0 && vessels.len() <= reserve {
        return Err(AisError::TooLittle(format!(
            "{} with a segment, of which {reserve} would be reserved",
            backcut_text::counted(vessels.len(), "vessel")
        )));
    }
    let mut order: Vec<_> = vessels.into_iter().map(|name| (vessel_key(name), name)).collect();
    order.sort_unstable();
    Ok(order.into_iter().take(reserve).map(|(_, name)| name.to_owned()).collect())
}

/// Hashes segments one by one, in their order.
pub struct ContentHash(Sha256);

impl ContentHash {
    pub fn new() -> Self {
        Self(Sha256::new_with_prefix(b"backcut segments 1\0"))
    }

    pub fn add(&mut self, segment: &Segment) {
        self.0.update((segment.vessel.len() as u64).to_le_bytes());
        self.0.update(segment.vessel.as_bytes());
        self.0.update(segment.begin.to_le_bytes());
        self.0.update((segment.places.len() as u64).to_le_bytes());
        for place in &segment.places {
            self.0.update(place.lat_e7.to_le_bytes());
            self.0.update(place.lon_e7.to_le_bytes());
        }
    }

    pub fn finish(self) -> Hash {
        Hash::from_bytes(self.0.finalize().into())
    }
}

/// The hash of segments in their order.
pub fn hash_of(segments: &[Segment]) -> Hash {
    let mut hash = ContentHash::new();
    for segment in segments {
        hash.add(segment);
    }
    hash.finish()
}

/// The hash of a store from those of its two parts, so that the open part can be checked alone.
pub fn whole_hash(step_seconds: u32, open: Hash, reserved: Hash) -> Hash {
    let parts = [&step_seconds.to_le_bytes()[..], open.bytes(), reserved.bytes()];
    Hash::of(&[&b"backcut tracks 1\0"[..], &parts.concat()].concat())
}
