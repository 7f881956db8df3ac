//! The cart-pole obeys mechanics, the delayed cue cannot be done without memory, both by any
//! policy.

use std::num::NonZeroUsize;

use crate::common::{key, model, rollout};
use backcut_engine::{Cut, Workspace};
use backcut_systems::cart_pole::CartPole;
use backcut_systems::delayed_cue::DelayedCue;
use backcut_systems::policy::Mixer;
use backcut_systems::{Settings, Stream, System};

const MIXERS: [Mixer; 4] = [Mixer::Attention, Mixer::Gru, Mixer::Lstm, Mixer::Ssm];

/// The energy of cart and pole from textbook formulas: a uniform rod of half-length 0.5, 0.1 kg,
/// cart 1 kg.
fn energy([_, angle, speed, spin]: [f64; 4]) -> f64 {
    let (half, rod, cart) = (0.5, 0.1, 1.0);
    let [vx, vy] = [speed + half * spin * angle.cos(), -half * spin * angle.sin()];
    let turning = 0.5 * (rod * (2.0 * half) * (2.0 * half) / 12.0) * spin * spin;
    0.5 * cart * speed * speed
        + 0.5 * rod * (vx * vx + vy * vy)
        + turning
        + rod * 9.81 * half * angle.cos()
}

#[test]
fn without_a_push_the_cart_pole_nearly_keeps_its_energy() {
    let mut settings = CartPole { steps: 40, ..CartPole::default() };
    let system = settings.build().unwrap();
    // Weights of zero push nothing.
    let model = model::<f64>(&system, 0.0);
    let mut rollout = rollout::<f64>(&system, System::<f64>::spec(&system));
    System::<f64>::fill_batch(&system, key(3, Stream::A, 0), &mut rollout).unwrap();
    model.roll(&mut rollout).unwrap();
    let program = System::<f64>::program(&system);
    let (push, next) = (program.tap("push").unwrap(), program.tap("next_state").unwrap());
    assert!(rollout.values(push).iter().all(|p| *p == 0.0));
    for row in 0..rollout.rows() {
        let state =
            |t: usize| -> [f64; 4] { rollout.value(next, t)[4 * row..][..4].try_into().unwrap() };
        let (first, last) = (energy(state(0)), energy(state(39)));
        // The rod hangs within half a metre of its lowest point; a first-order step loses a little.
        assert!((first - last).abs() < 0.06 * 0.981, "row {row}: {first} became {last}");
    }
}

#[test]
fn every_policy_learns_them_under_every_credit() {
    for policy in MIXERS {
        let cart = CartPole { policy, steps: 6, ..CartPole::default() }.build().unwrap();
        let cue =
            DelayedCue { policy, delay: 4, moving: 3, ..DelayedCue::default() }.build().unwrap();
        let systems: [&dyn System<f64>; 2] = [&cart, &cue];
        for system in systems {
            let model = model::<f64>(system, 2.0);
            let mut rollout = rollout::<f64>(system, system.spec());
            system.fill_batch(key(3, Stream::A, 0), &mut rollout).unwrap();
            model.roll(&mut rollout).unwrap();
            let cuts = [Cut::FF, Cut::F_SG, Cut::KF, Cut::segments(2).unwrap()];
            let mut workspace = Workspace::new(&rollout, &cuts).unwrap();
            workspace.backward(&model, &rollout).unwrap();
            for i in 0..cuts.len() {
                for j in 0..i {
                    assert_ne!(
                        workspace.gradient(i),
                        workspace.gradient(j),
                        "{policy}, {i} and {j}"
                    );
                }
            }
        }
    }
}

/// What the policy sees after the target was shown does not depend on it, unless it remembers.
#[test]
fn the_cue_is_gone_when_it_is_needed() {
    let mut settings = DelayedCue { policy: Mixer::None, ..DelayedCue::default() };
    let system = settings.build().unwrap();
    let mut rollout = rollout::<f64>(&system, System::<f64>::spec(&system));
    System::<f64>::fill_batch(&system, key(3, Stream::A, 0), &mut rollout).unwrap();
    let model = model::<f64>(&system, 0.0);
    model.roll(&mut rollout).unwrap();
    let program = System::<f64>::program(&system);
    let token = program.tap("token").unwrap();
    for t in 0..System::<f64>::steps(&system) {
        for row in rollout.value(token, t).chunks_exact(8) {
            let shows = row[4] != 0.0 && row[5] != 0.0 && row[6] == 1.0;
            assert_eq!(shows, t < settings.shown, "step {t}");
            assert_eq!(row[7], f64::from(t >= settings.delay), "the signal at step {t}");
        }
    }
    let mut errors = vec![0.0; rollout.rows()];
    System::<f64>::row_errors(&system, &rollout, &mut errors);
    let target = rollout.value(program.tap("target").unwrap(), 0);
    for (error, target) in errors.iter().zip(target.chunks_exact(2)) {
        let distance = target[0] * target[0] + target[1] * target[1];
        assert!((error - distance).abs() < 1e-12, "who never moves is as far as the target");
    }
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let window = NonZeroUsize::new(2);
    let cue = DelayedCue { shown: 9, delay: 8, ..DelayedCue::default() }.build().unwrap_err();
    assert!(cue.to_string().contains("shown for 9 of 8 steps"), "{cue}");
    let cart = CartPole { policy: Mixer::Gru, window, ..CartPole::default() }.build().unwrap_err();
    assert!(cart.to_string().contains("remembers by `gru`"), "{cart}");
    assert!(CartPole { steps: 0, ..CartPole::default() }.build().is_err());
}
