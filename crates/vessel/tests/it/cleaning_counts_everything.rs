//! Every row is accounted for, and rules do what their names say.

use backcut_vessel::{Cleaner, Counts, Naming, Report, Rules, Segment};
use proptest::prelude::*;

use crate::short;

fn clean(rules: Rules, reports: &[(&str, Report)]) -> (Counts, Vec<Segment>) {
    let mut cleaner = Cleaner::new(rules.check().unwrap(), 100);
    for (vessel, report) in reports {
        cleaner.report(vessel, Naming::Mmsi, report).unwrap();
    }
    cleaner.finish()
}

/// A ship that goes north at ten knots and reports every minute.
fn north(minutes: std::ops::Range<i64>) -> Vec<(&'static str, Report)> {
    let report = |m: i64| ("366999999", Report::at(60 * m, m as f64 / 360.0, 10.0));
    minutes.map(report).collect()
}

#[test]
fn places_lie_on_the_way_at_regular_times() {
    let (counts, segments) = clean(short(5), &north(2..64));
    assert_eq!(segments.len(), 1);
    assert_eq!(segments[0].begin, 300);
    assert_eq!(segments[0].places.len(), 12);
    for (i, place) in segments[0].places.iter().enumerate() {
        let want = 5.0 * (i + 1) as f64 / 360.0;
        assert!((place.degrees()[0] - want).abs() < 1e-7);
    }
    assert_eq!(counts.kept, 62);
    assert!(counts.adds_up());
}

#[test]
fn codes_for_nothing_are_no_positions() {
    let mut reports = north(0..60);
    for (i, [lat, lon]) in [(10, [91.0, 181.0]), (20, [91.0, 0.0]), (30, [95.0, 10.0])] {
        (reports[i].1.lat, reports[i].1.lon) = (lat, lon);
    }
    reports[40].1.sog = Some(102.3);
    reports[41].1.cog = Some(360.0);
    reports[42].1.heading = Some(511.0);
    reports[43].0 = "002190045"; // a station on land
    reports.insert(50, reports[49]);
    reports.insert(20, reports[3]);
    let (counts, segments) = clean(short(5), &reports);
    assert_eq!([counts.no_position, counts.out_of_range, counts.not_a_ship], [2, 1, 1]);
    assert_eq!([counts.sog_blanked, counts.cog_blanked, counts.heading_blanked], [1, 1, 1]);
    assert_eq!([counts.duplicate, counts.late, counts.kept], [1, 1, 56]);
    assert!(counts.adds_up());
    // None of it leaves a trace: the way is the same line.
    let (_, undisturbed) = clean(short(5), &north(0..60));
    assert_eq!(segments[0].places.len(), undisturbed[0].places.len());
}

#[test]
fn a_spike_is_dropped_and_a_real_jump_cuts() {
    let mut spike = north(0..120);
    spike[61].1.lon = 12.0;
    let (counts, segments) = clean(short(5), &spike);
    assert_eq!([counts.too_fast, segments.len() as u64], [1, 1]);
    let mut jump = north(0..120);
    jump[61..].iter_mut().for_each(|(_, report)| report.lon = 12.0);
    let (counts, segments) = clean(short(5), &jump);
    assert_eq!([counts.too_fast, counts.ended_by_jump, segments.len() as u64], [0, 1, 2]);
    assert!(counts.adds_up());
}

#[test]
fn silence_cuts_and_stays_are_taken_out() {
    let mut gap = north(0..60);
    gap.extend(north(95..160));
    let (counts, segments) = clean(short(5), &gap);
    assert_eq!([counts.ended_by_gap, segments.len() as u64], [1, 2]);

    let rules = Rules { stationary_hours: 2.0, ..short(5) };
    let mut stay = north(0..60);
    stay.extend((60..600).map(|m| ("366999999", Report::at(60 * m, 59.0 / 360.0, 10.0))));
    let later = |m: i64| Report::at(60 * m, (m - 541) as f64 / 360.0, 10.0);
    stay.extend((600..660).map(|m| ("366999999", later(m))));
    let (counts, segments) = clean(rules.clone(), &stay);
    assert_eq!(segments.len(), 2);
    assert_eq!(counts.ended_by_stay, 1);
    assert!(counts.adds_up() && counts.stationary > 100, "{counts:?}");
    let (_, kept) = clean(Rules { stationary_hours: 0.0, ..rules }, &stay);
    assert_eq!(kept.len(), 1);
}

#[test]
fn the_date_line_is_nowhere() {
    // At about ten knots across 180 degrees, eastwards and westwards.
    for direction in [1.0, -1.0] {
        let way: Vec<_> = (0..300)
            .map(|m| {
                let lon = direction * (179.5 + f64::from(m) / 360.0);
                let lon = if lon.abs() >= 180.0 { lon - 360.0 * direction } else { lon };
                ("366999999", Report::at(60 * i64::from(m) + 7, 5.0, lon))
            })
            .collect();
        let (counts, segments) = clean(short(5), &way);
        assert_eq!([counts.too_fast, segments.len() as u64], [0, 1]);
        for two in segments[0].places.windows(2) {
            let step = i64::from(two[1].lon_e7) - i64::from(two[0].lon_e7);
            let step = (step * direction as i64).rem_euclid(3_600_000_000);
            assert!((step - 138_889).abs() < 3, "{two:?}");
        }
    }
}

proptest! {
    #[test]
    fn everything_is_accounted_for(
        rows in prop::collection::vec(
            (0usize..3, -5i64..2000, prop::sample::select(vec![0.0, 0.001, 0.5, 91.0, -95.0, f64::MAX]),
             prop::sample::select(vec![0.0, 0.001, 179.999, -179.999, 181.0, 1e300])), 0..300),
        steps in 1usize..10,
        hours in 0f64..2.0,
    ) {
        let mut time = 0;
        let reports: Vec<_> = rows.into_iter().map(|(ship, wait, lat, lon)| {
            time += wait;
            (["366999999", "219000001", "99"][ship], Report::at(time, lat, lon))
        }).collect();
        let rules = Rules { stationary_hours: hours, longest_steps: 40, ..short(steps) };
        let (counts, segments) = clean(rules, &reports);
        prop_assert!(counts.adds_up(), "{:?}", counts);
        prop_assert_eq!(counts.read, reports.len() as u64);
        for segment in &segments {
            prop_assert!(segment.steps() >= steps && segment.steps() <= 40);
            prop_assert!(segment.begin.rem_euclid(300) == 0);
            prop_assert!(segment.places.iter().all(|place| place.is_valid()));
        }
        for two in segments.windows(2).filter(|two| two[0].vessel == two[1].vessel) {
            prop_assert!(two[0].end(300) < two[1].begin || two[1].end(300) < two[0].begin);
        }
    }
}
