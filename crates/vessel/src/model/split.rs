//! Training, development, evaluation: whole segments, by rules that no later data change.
//!
//! Segments of one vessel that overlap in time (which cleaning never makes, but other sources may)
//! stay together, so no held-out window shares a moment with a training segment of its vessel. What
//! is held out follows from hashes of names and times: adding a vessel moves nobody else's
//! segments.

use std::collections::BTreeMap;

use backcut_files::Hash;
use serde::{Deserialize, Serialize};

use crate::error::AisError;
use crate::segment::{Segment, vessel_key};
use crate::tracks::Tracks;

/// What is held out as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SplitBy {
    /// Segments of every vessel.
    Segment,
    /// Vessels or cruises, with all their segments: for cruises that repeat a route.
    Vessel,
}

/// How segments are divided.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SplitRule {
    /// What is held out as a whole.
    pub by: SplitBy,
    /// The share that is held out, of each vessel's segments or of the vessels.
    pub held_out: f64,
    /// Held-out segments of each vessel that serve development; the rest, and at least one,
    /// evaluation.
    pub development: usize,
}

impl Default for SplitRule {
    fn default() -> Self {
        Self { by: SplitBy::Segment, held_out: 0.25, development: 2 }
    }
}

/// What a segment is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    /// To learn from.
    Training,
    /// Held out, to choose by.
    Development,
    /// Held out, to report.
    Evaluation,
}

/// What every segment is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Split {
    parts: Vec<Part>,
}

/// Segments that cannot be told apart in time, with the first of their keys.
type Group = (Hash, Vec<usize>);

impl Split {
    /// Divides the segments of tracks.
    pub fn of(tracks: &Tracks, rule: &SplitRule) -> Result<Self, AisError> {
        if !(rule.held_out > 0.0 && rule.held_out < 1.0) {
            return Err(AisError::Setting {
                setting: "held_out",
                value: rule.held_out.to_string(),
                problem: "a share between 0 and 1 is possible",
            });
        }
        let segments = tracks.segments();
        let mut vessels: BTreeMap<&str, Vec<Group>> = BTreeMap::new();
        for group in groups(segments, tracks.step_seconds()) {
            vessels.entry(&segments[group.1[0]].vessel).or_default().push(group);
        }
        let mut parts = vec![Part::Training; segments.len()];
        let chosen = match rule.by {
            SplitBy::Segment => Vec::new(),
            SplitBy::Vessel => held_vessels(vessels.keys().copied(), rule.held_out),
        };
        for (name, mut groups) in vessels {
            groups.sort_unstable();
            let held = match rule.by {
                SplitBy::Segment => share(groups.len(), rule.held_out),
                SplitBy::Vessel if chosen.contains(&name) => groups.len(),
                SplitBy::Vessel => 0,
            };
            let development = rule.development.min(held.saturating_sub(1));
            for (rank, (_, members)) in groups.into_iter().take(held).enumerate() {
                let part = if rank < development { Part::Development } else { Part::Evaluation };
                for i in members {
                    parts[i] = part;
                }
            }
        }
        if parts.iter().all(|part| *part == Part::Training) {
            let problem = "no vessel has two segments, so none can be held out".to_owned();
            return Err(AisError::TooLittle(problem));
        }
        Ok(Self { parts })
    }

    /// What a segment is for, by its place in [`Tracks::segments`].
    pub fn part(&self, segment: usize) -> Part {
        self.parts[segment]
    }

    /// The segments of a part.
    pub fn segments(&self, part: Part) -> Vec<usize> {
        (0..self.parts.len()).filter(|i| self.parts[*i] == part).collect()
    }
}

/// How many of n are held out: the share, but neither none nor all; none of one.
fn share(n: usize, held_out: f64) -> usize {
    if n < 2 { 0 } else { ((n as f64 * held_out + 0.5) as usize).clamp(1, n - 1) }
}

fn held_vessels<'a>(vessels: impl Iterator<Item = &'a str>, held_out: f64) -> Vec<&'a str> {
    let mut order: Vec<_> = vessels.map(|name| (vessel_key(name), name)).collect();
    order.sort_unstable();
    let held = share(order.len(), held_out);
    order.into_iter().take(held).map(|(_, name)| name).collect()
}

/// Segments of one vessel that share a moment, directly or through others.
fn groups(segments: &[Segment], step_seconds: u32) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut open: Option<(&str, i64)> = None;
    // Tracks are ordered by vessel and beginning.
    for (i, segment) in segments.iter().enumerate() {
        let end = segment.end(step_seconds);
        match (open, groups.last_mut()) {
            (Some((vessel, until)), Some((key, members)))
                if vessel == segment.vessel && segment.begin <= until =>
            {
                *key = segment.key().min(*key);
                members.push(i);
                open = Some((vessel, until.max(end)));
            }
            _ => {
                groups.push((segment.key(), vec![i]));
                open = Some((&segment.vessel, end));
            }
        }
    }
    groups
}
