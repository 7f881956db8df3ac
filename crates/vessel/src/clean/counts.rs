//! What became of every row, step and segment.

use serde::{Deserialize, Serialize};

/// Why a segment ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// A silence.
    Gap,
    /// The vessel was suddenly elsewhere, and stayed there.
    Jump,
    /// It stopped for long.
    Stay,
    /// It was as long as segments may be.
    Longest,
    /// The files ended.
    Files,
}

/// How many reports, steps and segments each rule took.
///
/// Reports: `read = not_a_ship + no_position + out_of_range + duplicate + late + too_fast + kept`.
/// Places: `resampled = stationary + short + stored`.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names are the rules'")]
pub struct Counts {
    /// Reports that came in.
    pub read: u64,
    pub not_a_ship: u64,
    /// Latitude 91 or longitude 181.
    pub no_position: u64,
    pub out_of_range: u64,
    /// The same vessel at the same second.
    pub duplicate: u64,
    /// Older than what the vessel had said before.
    pub late: u64,
    pub too_fast: u64,
    pub kept: u64,
    /// Speeds of 102.3 or more, which mean none.
    pub sog_blanked: u64,
    /// Courses of 360 or more.
    pub cog_blanked: u64,
    /// Headings of 360 or more (511).
    pub heading_blanked: u64,
    /// Places at regular times.
    pub resampled: u64,
    /// Places of long stays.
    pub stationary: u64,
    /// Places of segments that were too short.
    pub short: u64,
    /// Places of segments that stand.
    pub stored: u64,
    pub segments: u64,
    pub segments_too_short: u64,
    pub ended_by_gap: u64,
    pub ended_by_jump: u64,
    pub ended_by_stay: u64,
    pub ended_by_length: u64,
    pub ended_by_files: u64,
}

impl Counts {
    pub(super) fn end(&mut self, why: Ended) {
        *match why {
            Ended::Gap => &mut self.ended_by_gap,
            Ended::Jump => &mut self.ended_by_jump,
            Ended::Stay => &mut self.ended_by_stay,
            Ended::Longest => &mut self.ended_by_length,
            Ended::Files => &mut self.ended_by_files,
        } += 1;
    }

    /// Whether every report and every place is accounted for, once nothing is open.
    pub fn adds_up(&self) -> bool {
        let dropped = self.not_a_ship
            + self.no_position
            + self.out_of_range
            + self.duplicate
            + self.late
            + self.too_fast;
        self.read == dropped + self.kept
            && self.resampled == self.stationary + self.short + self.stored
    }
}
