//! How ships move: histograms of two sets of tracks, side by side.

use crate::sphere::{near_km, velocity, wrapped};
use crate::tracks::Tracks;

/// Slower than this is a stop, in knots.
const STOPPED: f64 = 0.5;
/// A course means something above this speed, in knots.
const UNDER_WAY: f64 = 1.0;

/// Counts between edges; the last bin has no upper end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Histogram {
    edges: &'static [u32],
    counts: Vec<u64>,
}

impl Histogram {
    fn new(edges: &'static [u32]) -> Self {
        Self { edges, counts: vec![0; edges.len()] }
    }

    fn add(&mut self, value: f64) {
        let above = self.edges.partition_point(|edge| f64::from(*edge) <= value);
        self.counts[above.saturating_sub(1)] += 1;
    }

    /// Lower ends of the bins.
    pub fn edges(&self) -> &'static [u32] {
        self.edges
    }

    /// How many values there are.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The share of each bin; zeros if there is no value.
    pub fn shares(&self) -> Vec<f64> {
        let total = self.total().max(1) as f64;
        self.counts.iter().map(|count| *count as f64 / total).collect()
    }

    /// Half the sum of the shares' differences: 0 for equal histograms, 1 for disjoint ones.
    pub fn distance(&self, other: &Self) -> f64 {
        let pairs = self.shares().into_iter().zip(other.shares());
        pairs.map(|(a, b)| (a - b).abs()).sum::<f64>() / 2.0
    }
}

/// How the ships of a set of tracks move.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statistics {
    /// Speed of a step, in knots.
    pub speed: Histogram,
    /// Change of course from step to step under way, in degrees.
    pub turn: Histogram,
    /// Distance from the place an hour before, in kilometres.
    pub hour: Histogram,
    /// Length of stops (below half a knot), in minutes.
    pub stop: Histogram,
}

/// Edges in knots, degrees, kilometres, minutes.
const SPEED: &[u32] = &[0, 1, 2, 4, 6, 8, 10, 12, 15, 20];
const TURN: &[u32] = &[0, 1, 2, 5, 10, 20, 45, 90];
const HOUR: &[u32] = &[0, 1, 2, 5, 10, 15, 20, 25, 30];
const STOP: &[u32] = &[0, 10, 20, 40, 60, 120, 240, 480];

impl Statistics {
    /// Of all segments that were read.
    pub fn of(tracks: &Tracks) -> Self {
        let mut found = Self {
            speed: Histogram::new(SPEED),
            turn: Histogram::new(TURN),
            hour: Histogram::new(HOUR),
            stop: Histogram::new(STOP),
        };
        let step_seconds = tracks.step_seconds();
        let minutes = f64::from(step_seconds) / 60.0;
        let per_hour = (3600 / step_seconds).max(1) as usize;
        for segment in tracks.segments() {
            let positions: Vec<_> = segment.places.iter().map(|place| place.radians()).collect();
            for (i, place) in positions.iter().enumerate().skip(per_hour) {
                found.hour.add(near_km(positions[i - per_hour], *place));
            }
            let (mut before, mut stopped) = (None, 0u32);
            for two in positions.windows(2) {
                let [north, east] = velocity(two[0], two[1], step_seconds);
                let knots = (north * north + east * east).sqrt();
                found.speed.add(knots);
                let course = (knots > UNDER_WAY).then(|| libm::atan2(east, north));
                if let (Some(before), Some(course)) = (before, course) {
                    found.turn.add(wrapped(course - before).abs().to_degrees());
                }
                before = course;
                if knots < STOPPED {
                    stopped += 1;
                } else if stopped > 0 {
                    found.stop.add(f64::from(std::mem::take(&mut stopped)) * minutes);
                }
            }
            if stopped > 0 {
                found.stop.add(f64::from(stopped) * minutes);
            }
        }
        found
    }

    /// The histograms with what they are of.
    pub fn all(&self) -> [(&'static str, &'static str, &Histogram); 4] {
        [
            ("speed", "knots", &self.speed),
            ("turn in 5 minutes", "degrees", &self.turn),
            ("distance in an hour", "km", &self.hour),
            ("stops", "minutes", &self.stop),
        ]
    }
}
