//! A replayed update is training's own, bit by bit, whatever the cut and whether or not it was
//! clipped.

use crate::common::{quadrotor, subject, trained, value, with_clip};
use backcut_engine::Cut;
use backcut_lab::measure::{Layer, Measurement, Rig, measure, replayed_hash};
use backcut_lab::training::{Arm, Trainer};
use backcut_systems::Stream;

#[test]
fn every_cut_replays_what_the_trainer_does() {
    let system = quadrotor();
    let mut rig = Rig::<f32>::new(&system, &Cut::SIX).unwrap();
    for (clip, is_clipped) in [(1e9, false), (1e-2, true)] {
        let arm = Arm { cut: Cut::FF, seed: 21, stream: Stream::B, optimizer: with_clip(clip) };
        for updates in [0, 6] {
            let state = trained(&system, &arm, updates);
            let subject = subject(&system, &state, &arm);
            for cut in Cut::SIX {
                let mut trainer =
                    Trainer::resume(&system, Arm { cut, ..arm.clone() }, state.clone()).unwrap();
                let log = trainer.step().unwrap();
                assert_eq!(log.is_clipped(), is_clipped);
                let hash = replayed_hash(&mut rig, &subject, cut).unwrap();
                assert_eq!(hash, log.hash, "{cut} after {updates} updates, clip {clip}");
                let index = rig.find(cut).unwrap();
                let steps = rig.steps(&arm.optimizer, &state).unwrap();
                assert_eq!(steps.factor(index).to_bits(), log.factor.to_bits());
                let after = trainer.model().values();
                let made = after.iter().zip(&state.params).map(|(a, b)| (a - b).to_bits());
                let applied = steps.vector(Layer::Applied, index);
                assert!(
                    made.eq(applied.iter().map(|u| u.to_bits())),
                    "{cut}: the update is the float difference"
                );
            }
        }
    }
}

#[test]
fn layers_are_what_their_names_say() {
    let system = quadrotor();
    let arm = Arm { cut: Cut::FF, seed: 8, stream: Stream::A, optimizer: with_clip(0.5) };
    let state = trained(&system, &arm, 5);
    let subject = subject(&system, &state, &arm);
    let cuts = Cut::SIX.to_vec();
    let findings = measure(&Measurement::Update { cuts, apart: false }, &subject, None).unwrap();
    for cut in Cut::SIX.map(|c| c.to_string()) {
        let of = |quantity: &str| value(&findings, quantity, &cut, "all");
        assert!(of("clip.factor") < 1.0);
        assert!((of("clipped.norm") / 0.5 - 1.0).abs() < 1e-6);
        assert!((of("r_U") - of("applied.norm") / of("raw.norm")).abs() < 1e-15);
        assert_eq!(of("d_U"), of("applied.difference"));
        // The unclipped gradient dominates moments built from clipped ones: a sign update.
        assert!(of("unclipped.sign-cosine") > of("applied.sign-cosine"));
        assert!(of("unclipped.saturated") > 0.9, "{}", of("unclipped.saturated"));
    }
    // Clipping makes all four as long as each other; the interaction is formed from the vectors.
    let mut rig = Rig::<f32>::new(&system, &Cut::SIX).unwrap();
    rig.set(&state.params).unwrap();
    rig.differentiate(subject.key).unwrap();
    let x = [Cut::FF, Cut::FD, Cut::KF, Cut::KD].map(|c| rig.gradient(rig.find(c).unwrap()));
    let square: f64 = (0..x[0].len())
        .map(|i| x.map(|x| f64::from(x[i])))
        .map(|[ff, fd, kf, kd]| (ff - fd - kf + kd).powi(2))
        .sum();
    let want = square.sqrt() / rig.norm(0);
    let found = value(&findings, "raw.interaction", "FF - FD - KF + KD", "all");
    assert!((found / want - 1.0).abs() < 1e-9, "{found} {want}");
}

#[test]
fn without_the_four_graphs_there_is_no_interaction() {
    let system = quadrotor();
    let arm = Arm { cut: Cut::FF, seed: 8, stream: Stream::A, optimizer: with_clip(1e9) };
    let state = trained(&system, &arm, 1);
    let measurement = Measurement::Update { cuts: vec![Cut::FD], apart: false };
    let findings = measure(&measurement, &subject(&system, &state, &arm), None).unwrap();
    let missing = findings.iter().find(|f| f.quantity == "raw.interaction").unwrap();
    assert_eq!(missing.value, None);
    assert!(missing.note.contains("KD"), "{}", missing.note);
}
