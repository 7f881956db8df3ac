//! No held-out window overlaps a training segment of its vessel in time, in any fleet.

use backcut_vessel::model::{Part, Shape, Split, SplitBy, SplitRule, panels};
use backcut_vessel::{GridPosition, Reserved, Segment, Tracks};
use proptest::prelude::*;

const STEP: u32 = 300;

/// Segments that may overlap each other, which cleaning would never make.
fn segments() -> impl Strategy<Value = Vec<Segment>> {
    let segment = (0u32..6, 0i64..200, 2usize..60).prop_map(|(vessel, begin, places)| Segment {
        vessel: format!("v{vessel}"),
        begin: begin * i64::from(STEP),
        places: (0..places).map(|i| GridPosition::from_degrees(i as f64 / 100.0, 5.0)).collect(),
    });
    prop::collection::vec(segment, 2..60)
}

fn parts(tracks: &Tracks, split: &Split) -> Vec<(Segment, Part)> {
    let segments = tracks.segments().iter().cloned().enumerate();
    segments.map(|(i, segment)| (segment, split.part(i))).collect()
}

proptest! {
    #[test]
    fn no_held_out_window_shares_a_moment_with_training(
        segments in segments(), by_vessel in any::<bool>(), held_out in 0.05f64..0.95,
    ) {
        let by = if by_vessel { SplitBy::Vessel } else { SplitBy::Segment };
        let rule = SplitRule { by, held_out, development: 2 };
        let shape = Shape { observed: 2, predicted: 6, key_points: 3, median_knots: 3.0 };
        let tracks = Tracks::of(segments, STEP, 0, Reserved::Excluded).unwrap();
        let Ok(split) = Split::of(&tracks, &rule) else { return Ok(()) };
        let training: Vec<&Segment> = split.segments(Part::Training).into_iter()
            .map(|i| &tracks.segments()[i]).collect();
        for panel in panels(&tracks, &split, &shape).unwrap() {
            for window in panel.windows {
                let segment = &tracks.segments()[window.segment];
                let begin = segment.begin + window.start as i64 * i64::from(STEP);
                let end = begin + shape.steps() as i64 * i64::from(STEP);
                prop_assert!(end <= segment.end(STEP));
                for other in training.iter().filter(|other| other.vessel == segment.vessel) {
                    prop_assert!(end < other.begin || other.end(STEP) < begin);
                }
            }
        }
        if by_vessel {
            for held in split.segments(Part::Evaluation) {
                let vessel = &tracks.segments()[held].vessel;
                prop_assert!(training.iter().all(|other| other.vessel != *vessel));
            }
        }
    }

    #[test]
    fn another_vessel_moves_nobody(segments in segments(), more in segments()) {
        let rule = SplitRule::default();
        let of = |segments| {
            let tracks = Tracks::of(segments, STEP, 0, Reserved::Excluded).unwrap();
            Split::of(&tracks, &rule).map(|split| parts(&tracks, &split))
        };
        let Ok(before) = of(segments.clone()) else { return Ok(()) };
        let others = more.into_iter().map(|segment| Segment { vessel: segment.vessel + "x", ..segment });
        let after = of(segments.into_iter().chain(others).collect()).unwrap();
        let after: Vec<_> =
            after.into_iter().filter(|(segment, _)| !segment.vessel.ends_with('x')).collect();
        prop_assert_eq!(before, after);
    }
}

#[test]
fn development_takes_two_of_a_vessel_and_leaves_evaluation_one() {
    let segment = |vessel: &str, i: i64| Segment {
        vessel: vessel.into(),
        begin: i * 100 * i64::from(STEP),
        places: vec![GridPosition::from_degrees(0.0, 0.0); 10],
    };
    let segments = (0..20).map(|i| segment("many", i)).chain((0..4).map(|i| segment("few", i)));
    let tracks = Tracks::of(segments.collect(), STEP, 0, Reserved::Excluded).unwrap();
    let split = Split::of(&tracks, &SplitRule::default()).unwrap();
    let count = |vessel: &str, part| {
        let of = |i: &usize| tracks.segments()[*i].vessel == vessel;
        split.segments(part).iter().filter(|i| of(i)).count()
    };
    let parts = [Part::Training, Part::Development, Part::Evaluation];
    assert_eq!(parts.map(|part| count("many", part)), [15, 2, 3]);
    assert_eq!(parts.map(|part| count("few", part)), [3, 0, 1]);
}
