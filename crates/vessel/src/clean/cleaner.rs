//! Reports of all vessels, in the order of files, to segments.
//!
//! Files are in time order across vessels, so rows of one vessel lie far apart. What is kept of a
//! vessel is its last fix and its open segment, whose length is bounded: memory grows with the
//! number of vessels, never with the number of rows.

use std::collections::HashMap;

use super::counts::{Counts, Ended};
use super::rules::ValidRules;
use super::track::{Fix, Stretch, Track};
use crate::error::AisError;
use crate::report::{Naming, Report};
use crate::segment::Segment;
use crate::sphere::KM_PER_MILE;

/// Vessels that are remembered at a time, unless somebody says otherwise.
pub const VESSELS: usize = 1 << 21;

/// Takes reports, gives segments.
#[derive(Debug)]
pub struct Cleaner {
    rules: ValidRules,
    most_vessels: usize,
    vessels: HashMap<Box<str>, Vessel>,
    counts: Counts,
    ended: Vec<Segment>,
}

#[derive(Clone, Default, Debug)]
struct Vessel {
    last: Option<Fix>,
    /// A fix too far away to be believed, unless the next one agrees with it.
    suspect: Option<Fix>,
    track: Track,
}

impl Cleaner {
    /// For at most so many vessels.
    pub fn new(rules: ValidRules, most_vessels: usize) -> Self {
        let (vessels, counts) = (HashMap::new(), Counts::default());
        Self { rules, most_vessels, vessels, counts, ended: Vec::new() }
    }

    /// What became of what was taken.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Vessels that had at least one good position.
    pub fn vessels(&self) -> usize {
        self.vessels.len()
    }

    /// Takes a report.
    #[inline]
    pub fn report(
        &mut self,
        vessel: &str,
        naming: Naming,
        report: &Report,
    ) -> Result<(), AisError> {
        let counts = &mut self.counts;
        counts.read += 1;
        // 102.3, 360.0 and 511 are the standard's words for "not available".
        counts.sog_blanked += u64::from(report.sog.is_some_and(|sog| sog >= 102.3));
        counts.cog_blanked += u64::from(report.cog.is_some_and(|cog| cog >= 360.0));
        counts.heading_blanked += u64::from(report.heading.is_some_and(|h| h >= 360.0));
        if naming == Naming::Mmsi && self.rules.rules().ships_only && !is_ship(vessel) {
            counts.not_a_ship += 1;
            return Ok(());
        }
        if report.lat == 91.0 || report.lon == 181.0 {
            counts.no_position += 1;
            return Ok(());
        }
        if !(report.lat.abs() <= 90.0 && report.lon.abs() <= 180.0) {
            counts.out_of_range += 1;
            return Ok(());
        }
        let fix = Fix { time: report.time, lat: report.lat, lon: report.lon };
        if let Some(known) = self.vessels.get_mut(vessel) {
            known.take(fix, vessel, &self.rules, counts, &mut self.ended);
            return Ok(());
        }
        if self.vessels.len() == self.most_vessels {
            return Err(AisError::TooManyVessels { limit: self.most_vessels });
        }
        let mut state = Vessel::default();
        state.take(fix, vessel, &self.rules, counts, &mut self.ended);
        self.vessels.insert(vessel.into(), state);
        Ok(())
    }

    /// Segments that have ended since the last call.
    pub fn ended(&mut self) -> std::vec::Drain<'_, Segment> {
        self.ended.drain(..)
    }

    /// Whether a segment has ended since they were taken.
    pub fn has_ended(&self) -> bool {
        !self.ended.is_empty()
    }

    /// Ends every open segment, in the order of the vessels' names.
    pub fn finish(mut self) -> (Counts, Vec<Segment>) {
        let mut vessels: Vec<_> = std::mem::take(&mut self.vessels).into_iter().collect();
        vessels.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for (name, mut vessel) in vessels {
            let stretch = vessel.track.end(Ended::Files, &self.rules, &mut self.counts);
            self.ended.extend(stretch.map(|stretch| named(&name, stretch)));
        }
        (self.counts, self.ended)
    }
}

fn named(vessel: &str, Stretch { begin, places }: Stretch) -> Segment {
    Segment { vessel: vessel.to_owned(), begin, places }
}

/// Nine digits of which the first is that of a continent; stations on land begin with 0, aircraft
/// with 1, hand-held radios, buoys and small craft of a mother ship with 8 and 9.
fn is_ship(mmsi: &str) -> bool {
    mmsi.len() == 9
        && mmsi.bytes().all(|digit| digit.is_ascii_digit())
        && (b'2'..=b'7').contains(&mmsi.as_bytes()[0])
}

impl Vessel {
    fn take(
        &mut self,
        fix: Fix,
        name: &str,
        rules: &ValidRules,
        counts: &mut Counts,
        ended: &mut Vec<Segment>,
    ) {
        let Some(last) = self.last else {
            self.begin(fix, rules, counts);
            return;
        };
        let latest = self.suspect.map_or(last.time, |suspect| suspect.time);
        if fix.time <= latest {
            let is_same = fix.time == latest || fix.time == last.time;
            *(if is_same { &mut counts.duplicate } else { &mut counts.late }) += 1;
            return;
        }
        let agrees = |from: Fix| {
            let seconds = fix.time - from.time;
            let most = rules.rules().slack_km
                + rules.rules().fastest_knots * KM_PER_MILE / 3600.0 * seconds as f64;
            let is_in_time = seconds <= rules.gap_seconds;
            is_in_time && (from.most_km_to(fix) <= most || from.km_to(fix) <= most)
        };
        if agrees(last) {
            self.go_on(last, fix, name, rules, counts, ended);
        } else if let Some(suspect) = self.suspect.filter(|suspect| agrees(*suspect)) {
            // Two fixes agree that the vessel is there: the first of them was right.
            counts.too_fast -= 1;
            self.end(Ended::Jump, name, rules, counts, ended);
            self.begin(suspect, rules, counts);
            self.go_on(suspect, fix, name, rules, counts, ended);
        } else if fix.time - last.time > rules.gap_seconds {
            self.end(Ended::Gap, name, rules, counts, ended);
            self.begin(fix, rules, counts);
        } else {
            counts.too_fast += 1;
            self.suspect = Some(fix);
        }
    }

    fn begin(&mut self, fix: Fix, rules: &ValidRules, counts: &mut Counts) {
        counts.kept += 1;
        self.track.begin(fix, rules, counts);
        (self.last, self.suspect) = (Some(fix), None);
    }

    fn go_on(
        &mut self,
        from: Fix,
        to: Fix,
        name: &str,
        rules: &ValidRules,
        counts: &mut Counts,
        ended: &mut Vec<Segment>,
    ) {
        counts.kept += 1;
        self.track.go_on(from, to, rules, counts, |stretch| ended.push(named(name, stretch)));
        (self.last, self.suspect) = (Some(to), None);
    }

    fn end(
        &mut self,
        why: Ended,
        name: &str,
        rules: &ValidRules,
        counts: &mut Counts,
        ended: &mut Vec<Segment>,
    ) {
        let stretch = self.track.end(why, rules, counts);
        ended.extend(stretch.map(|stretch| named(name, stretch)));
    }
}
