//! A vessel that would sail over a pole is held off it, which is counted and passes no derivative;
//! anywhere else the safeguard does not change a bit.

use crate::common::{key, rollout, small_vessel, tap};
use backcut_engine::{Cut, Fed, ForwardSpec, Model, Workspace};
use backcut_systems::{Stream, System};
use backcut_vessel::system::{POLE_MARGIN, Phase, STATE, Vessel};

/// Latitudes at the end of each step, and how often the vessel was held, at a velocity north.
fn sailed(system: &Vessel, knots: f64) -> (Vec<f64>, usize) {
    let steps = System::<f64>::steps(system);
    let fed = vec![Fed { site: "action".to_owned(), steps: 0..steps }];
    let mut rollout =
        rollout::<f64>(system, ForwardSpec { prefix: 1, fed, ..ForwardSpec::default() });
    system.fill_batch(key(1, Stream::A, 0), &mut rollout).unwrap();
    for velocity in rollout.fed_mut("action").unwrap().chunks_exact_mut(2) {
        velocity.copy_from_slice(&[knots, 10.0]);
    }
    let program = System::<f64>::program(system);
    let model = Model::new(program, program.layout().initialise::<f64>(1)).unwrap();
    model.roll(&mut rollout).unwrap();
    assert!(rollout.loss().unwrap().is_finite());
    let cuts = [Cut::FF];
    let mut workspace = Workspace::new(&rollout, &cuts).unwrap();
    workspace.backward(&model, &rollout).unwrap();
    assert!(workspace.gradient(0).iter().all(|g| g.is_finite()));
    let moved = tap(&rollout, "moved").chunks_exact(2);
    let reference = tap(&rollout, "latitude").iter().zip(moved).map(|(from, by)| from + by[0]);
    let states = tap(&rollout, "next_state").chunks_exact(STATE);
    let latitudes = reference.zip(states).map(|(end, state)| end + state[0]).collect();
    (latitudes, system.safeguarded(&rollout))
}

#[test]
fn at_any_speed() {
    let system = small_vessel(Phase::Rollout).check().unwrap();
    let limit = std::f64::consts::FRAC_PI_2 - POLE_MARGIN;
    for knots in [3e4, -2e5] {
        let (latitudes, held) = sailed(&system, knots);
        assert!(latitudes.iter().all(|phi| phi.abs() < limit + 1e-12), "{latitudes:?}");
        let at_limit = latitudes.iter().filter(|phi| phi.abs() > limit - 1e-9).count();
        assert!(held > 0 && held == at_limit, "held {held} times, {at_limit} times there");
    }
    assert_eq!(sailed(&system, 20.0).1, 0);
}
