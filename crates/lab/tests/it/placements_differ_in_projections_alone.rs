//! FD and F_SG send the same adjoints everywhere: their gradients differ in the key and value
//! projections and, exactly, nowhere else.

use crate::common::{arm, quadrotor, subject, trained, value};
use backcut_engine::Cut;
use backcut_lab::measure::{Measurement, Rig, measure};
use backcut_systems::System;

#[test]
fn every_other_parameter_agrees_bit_by_bit() {
    let system = quadrotor();
    let arm = arm(Cut::FF, 11);
    let state = trained(&system, &arm, 5);
    let mut rig = Rig::<f32>::new(&system, &Cut::SIX).unwrap();
    rig.set(&state.params).unwrap();
    rig.differentiate(subject(&system, &state, &arm).key).unwrap();
    for (kept, dropped) in [(Cut::F_SG, Cut::FD), (Cut::K_SG, Cut::KD)] {
        let [a, b] = [kept, dropped].map(|cut| rig.gradient(rig.find(cut).unwrap()));
        for parameter in System::<f32>::program(&system).layout().parameters() {
            let same = parameter.range().all(|i| a[i].to_bits() == b[i].to_bits());
            let is_projection = [".w_k.", ".w_v."].iter().any(|p| parameter.name.contains(p));
            assert_eq!(same, !is_projection, "{kept} and {dropped} in {}", parameter.name);
        }
    }
}

#[test]
fn the_findings_say_so() {
    let system = quadrotor();
    let arm = arm(Cut::FF, 11);
    let state = trained(&system, &arm, 5);
    let subject = subject(&system, &state, &arm);
    let measurement = Measurement::Update { cuts: Cut::SIX.to_vec(), apart: false };
    let findings = measure(&measurement, &subject, None).unwrap();
    let pair = "F_SG - FD";
    for part in ["embedding", "position", "block0.w_q", "block1.feed-forward", "norm", "head"] {
        assert_eq!(value(&findings, "raw.placement", pair, part), 0.0, "{part}");
        let ratio = findings
            .iter()
            .find(|f| f.quantity == "added.ratio" && f.of == *pair && f.part == part)
            .unwrap();
        assert_eq!(ratio.value, None);
        assert!(ratio.note.contains("agree in every bit"));
    }
    let share = |part: &str| value(&findings, "raw.placement-share", pair, part);
    let projections: f64 =
        ["block0.w_k", "block0.w_v", "block1.w_k", "block1.w_v"].into_iter().map(share).sum();
    assert!((projections - 1.0).abs() < 1e-14, "{projections}");
    assert!(value(&findings, "raw.placement", pair, "all") > 0.0);
}
