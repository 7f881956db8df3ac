//! Positions in single precision are those of an independent rhumb computation in double precision,
//! to a metre after 25 hours: far from the reference track, at high latitude and across the date
//! line.

use crate::common::{key, rollout, small_vessel, tap};
use backcut_engine::{Fed, ForwardSpec, Model};
use backcut_systems::{Stream, System};
use backcut_vessel::model::SplitRule;
use backcut_vessel::sphere::{self, Position, RADIUS_KM, Velocity};
use backcut_vessel::system::{Phase, Preset, STATE, Sizes, Vessel, VesselConfig};
use backcut_vessel::{GridPosition, Reserved, Segment, Tracks};

const STEPS: usize = 300;

/// Two segments of a ship that sets out somewhere and turns slowly.
fn tracks(start: [f64; 2], knots: f64, course: f64) -> Tracks {
    let segment = |begin: i64| {
        let mut position: Position = start.map(f64::to_radians);
        let mut places = Vec::new();
        for i in 0..STEPS + 2 {
            let [lat, lon] = position.map(f64::to_degrees);
            places.push(GridPosition::from_degrees(lat, lon));
            let course = course + 2e-4 * i as f64;
            position = sphere::step(position, [knots * course.cos(), knots * course.sin()], 300);
        }
        Segment { vessel: "one".to_owned(), begin, places }
    };
    Tracks::of(vec![segment(0), segment(3_000_000)], 300, 0, Reserved::Excluded).unwrap()
}

fn vessel(tracks: &Tracks) -> Vessel {
    let sizes = Sizes { width: 4, heads: 1, observed: 2, predicted: STEPS - 2, key_points: 2 };
    let split = SplitRule { held_out: 0.5, ..SplitRule::default() };
    let preset = Preset::Sizes(sizes);
    VesselConfig { preset, split, batch: 1, ..small_vessel(Phase::Rollout) }.on(tracks).unwrap()
}

/// The largest distance, in metres, between a single-precision rollout and the reference over all
/// steps.
fn largest_error(start: [f64; 2], knots: f64, course: f64, wrong: Velocity) -> f64 {
    let system = vessel(&tracks(start, knots, course));
    let fed = vec![Fed { site: "action".to_owned(), steps: 0..STEPS }];
    let spec = ForwardSpec { prefix: 2, fed, ..ForwardSpec::default() };
    let mut rollout = rollout::<f32>(&system, spec);
    let which = key(1, Stream::A, 0);
    system.fill_batch(which, &mut rollout).unwrap();
    let window = system.batch(which).unwrap().windows.remove(0);
    let mut sailed: Vec<Velocity> = Vec::new();
    for (v, truth) in rollout.fed_mut("action").unwrap().chunks_exact_mut(2).zip(&window.velocities)
    {
        v[0] = (truth[0] + wrong[0]) as f32;
        v[1] = (truth[1] + wrong[1]) as f32;
        sailed.push([truth[0] + wrong[0], truth[1] + wrong[1]]);
    }
    let values = System::<f32>::program(&system).layout().initialise::<f32>(1);
    let model = Model::new(System::<f32>::program(&system), values).unwrap();
    model.roll(&mut rollout).unwrap();

    let mut position = window.origin;
    let states = tap(&rollout, "next_state").chunks_exact(STATE);
    let mut largest = 0.0_f64;
    for ((state, velocity), truth) in states.zip(sailed).zip(&window.positions) {
        position = sphere::step(position, velocity, 300);
        let found = [truth[0] + f64::from(state[0]), truth[1] + f64::from(state[1])];
        let north = RADIUS_KM * (found[0] - position[0]);
        let east = RADIUS_KM * position[0].cos() * sphere::wrapped(found[1] - position[1]);
        largest = largest.max(1e3 * north.hypot(east));
    }
    largest
}

#[test]
fn for_25_hours_anywhere() {
    let mut worst = 0.0_f64;
    for start in
        [[0.0, 0.0], [54.0, -3.0], [-45.0, 179.0], [78.0, 15.0], [-64.0, -179.5], [60.0, 178.0]]
    {
        for (knots, course) in [(20.0, 1.6), (12.0, -1.3), (5.0, 0.4), (30.0, 3.0)] {
            for wrong in [[0.0, 0.0], [0.3, -0.2], [-4.0, 7.0], [0.001, 0.0]] {
                let metres = largest_error(start, knots, course, wrong);
                assert!(metres < 1.0, "{start:?}, {knots} kn, {wrong:?}: {metres} m");
                worst = worst.max(metres);
            }
        }
    }
    println!("worst {worst} m");
    assert!(worst > 1e-4, "the comparison compares something");
}
