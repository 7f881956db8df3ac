//! The same subject gives the same bits: again, after other states, and in any order of cuts.

use crate::common::{PointMass, arm, quadrotor, subject, trained};
use backcut_engine::Cut;
use backcut_lab::measure::{
    ChainOptions, Finding, GradientOptions, Measurement, Rig, UpdateOptions, chain, gradient,
    measure, update,
};

fn bits(findings: &[Finding]) -> Vec<(String, Option<u64>)> {
    let name = |f: &Finding| format!("{} {} {} {}", f.quantity, f.of, f.part, f.note);
    findings.iter().map(|f| (name(f), f.value.map(f64::to_bits))).collect()
}

#[test]
fn a_rig_remembers_nothing() {
    let system = PointMass::new();
    let mut clipped = arm(Cut::FF, 6);
    clipped.optimizer.clip = 1e-3.into();
    let plain = arm(Cut::F_SG, 7);
    let states = [trained(&system, &clipped, 3), trained(&system, &plain, 5)];
    let subjects = [subject(&system, &states[0], &clipped), subject(&system, &states[1], &plain)];
    let cuts = Cut::SIX;
    let gradients = GradientOptions::for_cuts(&cuts);
    let all = |rig: &mut Rig<f32>, i: usize| {
        let mut findings = gradient(rig, &subjects[i], &gradients).unwrap();
        findings.extend(update(rig, &subjects[i], &UpdateOptions::default()).unwrap());
        findings.extend(chain(rig, &subjects[i], &ChainOptions::default()).unwrap());
        bits(&findings)
    };
    let mut shared = Rig::<f32>::new(&system, &cuts).unwrap();
    let first = [all(&mut shared, 0), all(&mut shared, 1)];
    let again = [all(&mut shared, 0), all(&mut shared, 1)];
    assert_eq!(first, again);
    let fresh = [0, 1].map(|i| all(&mut Rig::new(&system, &cuts).unwrap(), i));
    assert_eq!(first, fresh);
    assert_ne!(first[0], first[1]);
}

#[test]
fn other_cuts_beside_it_change_no_cut() {
    let system = quadrotor();
    let arm = arm(Cut::FF, 6);
    let state = trained(&system, &arm, 3);
    let subject = subject(&system, &state, &arm);
    let of = |cuts: &[Cut]| {
        let findings =
            measure(&Measurement::Update { cuts: cuts.to_vec(), apart: false }, &subject, None)
                .unwrap();
        let is = |f: &&Finding| f.of == "KD" && !f.quantity.contains("placement");
        let mine: Vec<Finding> = findings.iter().filter(is).cloned().collect();
        bits(&mine)
    };
    assert_eq!(of(&[Cut::KD]), of(&[Cut::K_SG, Cut::KD, Cut::FF, Cut::KD]));
}

#[test]
fn windows_are_the_batches_that_come_next() {
    let system = quadrotor();
    let arm = arm(Cut::FF, 6);
    let state = trained(&system, &arm, 3);
    let subject = subject(&system, &state, &arm);
    let mut rig = Rig::<f32>::new(&system, &[Cut::FD]).unwrap();
    let options = |windows| GradientOptions { windows, ages: vec![], paths: false };
    let of = |findings: &[Finding], quantity: &str| {
        crate::common::value(findings, quantity, "FD", "all")
    };
    let mut alone: Vec<f64> = (0..3)
        .map(|i| {
            let mut moved = subject;
            moved.key.update += i;
            of(&gradient(&mut rig, &moved, &options(1)).unwrap(), "gradient.norm")
        })
        .collect();
    alone.sort_by(f64::total_cmp);
    let together = gradient(&mut rig, &subject, &options(3)).unwrap();
    assert_eq!(of(&together, "gradient.norm"), alone[1]);
    let (low, high) = (of(&together, "gradient.norm.p16"), of(&together, "gradient.norm.p84"));
    assert!(alone[0] <= low && low < alone[1] && alone[1] < high && high <= alone[2]);
}
