//! Groups partition the parameters and ages the gradient: their parts add up to the whole.

use crate::common::{arm, quadrotor, subject, trained, value};
use backcut_engine::{BackwardError, Cut};
use backcut_lab::measure::{
    ALL, Finding, GradientOptions, MeasureError, Measurement, REDUNDANT, Rig, age_bins, ages,
    geometry_of_gradients, gradient, measure,
};
use backcut_text::Hinted as _;

#[test]
fn squared_norms_of_groups_add_up() {
    let system = quadrotor();
    let arm = arm(Cut::FF, 3);
    let state = trained(&system, &arm, 4);
    let mut rig = Rig::<f32>::new(&system, &Cut::SIX).unwrap();
    rig.set(&state.params).unwrap();
    rig.differentiate(subject(&system, &state, &arm).key).unwrap();
    let findings = geometry_of_gradients(&rig);
    for cut in Cut::SIX.map(|cut| cut.to_string()) {
        let groups = findings
            .iter()
            .filter(|f| f.quantity == "gradient.norm" && f.of == *cut && f.part != ALL);
        let sum: f64 = groups.map(|f| f.value.unwrap().powi(2)).sum();
        let whole = value(&findings, "gradient.norm", &cut, ALL).powi(2);
        assert!((sum / whole - 1.0).abs() < 1e-13, "{cut}: {sum} {whole}");
    }
}

#[test]
fn the_whole_is_what_training_clips_by() {
    let system = quadrotor();
    let arm = arm(Cut::FF, 3);
    let state = trained(&system, &arm, 4);
    let mut trainer =
        backcut_lab::training::Trainer::resume(&system, arm.clone(), state.clone()).unwrap();
    let log = trainer.step().unwrap();
    let subject = subject(&system, &state, &arm);
    let findings =
        measure(&Measurement::Update { cuts: vec![], apart: false }, &subject, None).unwrap();
    assert_eq!(value(&findings, "clip.factor", "FF", ALL).to_bits(), log.factor.to_bits());
    assert_eq!(value(&findings, "raw.norm", "FF", ALL).to_bits(), log.raw_norm.to_bits());
}

#[test]
fn what_is_set_apart_is_in_no_sum_over_everything() {
    let system = quadrotor();
    let arm = arm(Cut::FF, 3);
    let state = trained(&system, &arm, 6);
    let subject = subject(&system, &state, &arm);
    let of = |apart| {
        let cuts = vec![Cut::FD, Cut::F_SG, Cut::KF, Cut::KD];
        measure(&Measurement::Update { cuts, apart }, &subject, None).unwrap()
    };
    let (together, apart) = (of(false), of(true));
    assert!(together.iter().all(|finding| finding.part != REDUNDANT));
    for cut in ["FF", "FD", "F_SG"] {
        let square =
            |findings: &[Finding], part: &str| value(findings, "applied.norm", cut, part).powi(2);
        let sum = square(&apart, ALL) + square(&apart, REDUNDANT);
        assert!((sum / square(&together, ALL) - 1.0).abs() < 1e-12, "{cut}");
        assert!(square(&apart, REDUNDANT) > 0.0, "AdamW moves keys' biases");
    }
    // Scaled by their own rounding they rule a cosine of everything, and no longer one of the rest.
    for quantity in ["d_U", "r_U", "moment.cosine", "applied.sign-cosine", "rho.above-one"] {
        let [with, without] = [&together, &apart].map(|f| value(f, quantity, "FD", ALL));
        assert!(with.to_bits() != without.to_bits(), "{quantity}: {with}");
    }
    let share = |part: &str| {
        let is = |f: &&Finding| f.quantity == "applied.placement-share" && f.part == part;
        apart.iter().find(is).unwrap().clone()
    };
    assert!(share(REDUNDANT).value.is_none() && share(REDUNDANT).note.contains("set apart"));
}

#[test]
fn ages_add_up_to_the_gradient() {
    let system = quadrotor();
    let arm = arm(Cut::FF, 5);
    let state = trained(&system, &arm, 20);
    let subject = subject(&system, &state, &arm);
    let cuts = [Cut::FD, Cut::F_SG, Cut::KD];
    let mut rig = Rig::<f32>::new(&system, &cuts).unwrap();
    let options = GradientOptions { windows: 1, ages: cuts.to_vec(), paths: true };
    let findings = gradient(&mut rig, &subject, &options).unwrap();
    for cut in ["FD", "F_SG", "KD"] {
        // f32: 32 steps of products behind each bin; the rest is rounding.
        let rest = value(&findings, "age.rest", cut, ALL);
        assert!(rest < 2e-5, "{cut}: {rest:e}");
        let reach = value(&findings, "age.reach", cut, "age 16-31");
        let whole = value(&findings, "gradient.norm", cut, ALL);
        assert!((reach / whole - 1.0).abs() < 2e-5, "{cut}: {reach} {whole}");
        let cancellation = value(&findings, "age.cancellation", cut, ALL);
        assert!((-1e-12..1.0).contains(&cancellation), "{cut}: {cancellation}");
    }
    // One-step credit has no age but 0, and nothing to cancel.
    assert_eq!(value(&findings, "age.norm", "KD", "age 1"), 0.0);
    assert!(value(&findings, "age.norm", "FD", "age 1") > 0.0);
    let resultant = value(&findings, "seed.resultant", "", ALL);
    assert!((0.0..=1.0).contains(&resultant), "{resultant}");
    assert!(value(&findings, "vjp.norm", "", "t=31") > 0.0);
}

#[test]
fn ages_add_up_to_rounding_in_double_precision() {
    let system = quadrotor();
    let start = backcut_lab::training::State::<f64>::initial(&system, 5);
    let mut rig = Rig::<f64>::new(&system, &[Cut::FD]).unwrap();
    rig.set(&start.params).unwrap();
    rig.differentiate(subject_key(5)).unwrap();
    let findings = ages(&rig, Cut::FD).unwrap();
    let rest = value(&findings, "age.rest", "FD", ALL);
    assert!(rest < 1e-13, "{rest:e}");
    assert_eq!(findings.iter().filter(|f| f.quantity == "age.norm").count(), age_bins(32).len());
}

fn subject_key(seed: u64) -> backcut_systems::BatchKey {
    backcut_systems::BatchKey { seed, stream: backcut_systems::Stream::A, update: 0 }
}

#[test]
fn ages_are_refused_where_memory_keeps_credit() {
    let system = quadrotor();
    let arm = arm(Cut::FF, 5);
    let state = trained(&system, &arm, 1);
    let mut rig = Rig::<f32>::new(&system, &[Cut::FF]).unwrap();
    let options = GradientOptions { windows: 1, ages: vec![Cut::FF], paths: false };
    let error = gradient(&mut rig, &subject(&system, &state, &arm), &options).unwrap_err();
    let MeasureError::Backward(BackwardError::AgesNeedDetachedMemory { cut }) = &error else {
        panic!("{error}");
    };
    assert_eq!(*cut, Cut::FF);
    assert!(error.hint().contains("FD"));
}
