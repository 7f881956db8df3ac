//! One vessel's open segment: reports become places at regular times, long stays are cut out.

use super::counts::{Counts, Ended};
use super::rules::ValidRules;
use crate::segment::GridPosition;
use crate::sphere::near_km;

/// A position that a vessel really had, in degrees.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fix {
    pub time: i64,
    pub lat: f64,
    pub lon: f64,
}

impl Fix {
    /// Degrees east to another, the short way around.
    fn east_to(self, other: Self) -> f64 {
        let d = other.lon - self.lon;
        if d >= 180.0 {
            d - 360.0
        } else if d < -180.0 {
            d + 360.0
        } else {
            d
        }
    }

    pub fn km_to(self, other: Self) -> f64 {
        let radians = |fix: Self| [fix.lat.to_radians(), fix.lon.to_radians()];
        near_km(radians(self), radians(other))
    }

    /// More kilometres than there can be to another, without a cosine.
    pub fn most_km_to(self, other: Self) -> f64 {
        111.2 * ((other.lat - self.lat).abs() + self.east_to(other).abs())
    }

    /// The place on the straight way to another, at a time between them.
    fn place_at(self, other: Self, time: i64) -> GridPosition {
        let part = (time - self.time) as f64 / (other.time - self.time) as f64;
        let lat = self.lat + part * (other.lat - self.lat);
        GridPosition::from_degrees(lat, self.lon + part * self.east_to(other))
    }
}

/// A segment in the making.
#[derive(Clone, Default, Debug)]
pub struct Track {
    begin: i64,
    places: Vec<GridPosition>,
    /// The place where the present stay began.
    anchor: usize,
    /// The place that is being stayed at, after it has been found out.
    resting: Option<GridPosition>,
}

/// A segment that ended, before it has a name.
pub struct Stretch {
    pub begin: i64,
    pub places: Vec<GridPosition>,
}

impl Track {
    /// Begins a segment at a fix, if its time is a regular one.
    pub fn begin(&mut self, fix: Fix, rules: &ValidRules, counts: &mut Counts) {
        self.resting = None;
        if fix.time.rem_euclid(i64::from(rules.rules().step_seconds)) == 0 {
            let place = GridPosition::from_degrees(fix.lat, fix.lon);
            let ended = self.place(fix.time, place, rules, counts);
            debug_assert!(ended.is_none(), "one place is no segment");
        }
    }

    /// Goes on from one fix to the next, through the regular times between them.
    pub fn go_on(
        &mut self,
        from: Fix,
        to: Fix,
        rules: &ValidRules,
        counts: &mut Counts,
        mut ended: impl FnMut(Stretch),
    ) {
        let step = i64::from(rules.rules().step_seconds);
        let mut time = (from.time.div_euclid(step) + 1) * step;
        while time <= to.time {
            let place = from.place_at(to, time);
            if let Some(stretch) = self.place(time, place, rules, counts) {
                ended(stretch);
            }
            time += step;
        }
    }

    /// Ends the segment, if there is one, and hands it out if it is long enough.
    pub fn end(&mut self, why: Ended, rules: &ValidRules, counts: &mut Counts) -> Option<Stretch> {
        self.anchor = 0;
        if self.places.is_empty() {
            return None;
        }
        counts.end(why);
        let n = self.places.len() as u64;
        if self.places.len() <= rules.rules().shortest_steps {
            self.places.clear();
            counts.short += n;
            counts.segments_too_short += 1;
            return None;
        }
        counts.stored += n;
        counts.segments += 1;
        Some(Stretch { begin: self.begin, places: std::mem::take(&mut self.places) })
    }

    fn place(
        &mut self,
        time: i64,
        place: GridPosition,
        rules: &ValidRules,
        counts: &mut Counts,
    ) -> Option<Stretch> {
        counts.resampled += 1;
        let is_near = |other: GridPosition| {
            near_km(other.radians(), place.radians()) <= rules.rules().stationary_km
        };
        if let Some(rest) = self.resting {
            if is_near(rest) {
                counts.stationary += 1;
                return None;
            }
            self.resting = None;
        }
        if self.places.is_empty() {
            (self.begin, self.anchor) = (time, 0);
        }
        self.places.push(place);
        if let Some(stay) = rules.stay_steps {
            let last = self.places.len() - 1;
            if !is_near(self.places[self.anchor]) {
                self.anchor = last;
            } else if last - self.anchor >= stay {
                self.resting = Some(self.places[self.anchor]);
                counts.stationary += (last - self.anchor) as u64;
                self.places.truncate(self.anchor + 1);
                return self.end(Ended::Stay, rules, counts);
            }
        }
        if self.places.len() > rules.rules().longest_steps {
            return self.end(Ended::Longest, rules, counts);
        }
        None
    }
}
