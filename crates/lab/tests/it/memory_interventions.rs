//! Masking and donors: what they must leave alone, bit by bit, and what they must change.

use std::num::NonZeroUsize;

use crate::small_quadrotor::{STEPS, config, state, subject, value};
use backcut_engine::Model;
use backcut_lab::measure::memory::{
    attention, donor_with, input_weight, masking, panel_derangement,
};
use backcut_lab::measure::{MeasureError, Measurement, measure};
use backcut_lab::training::Evaluator;
use backcut_systems::System;
use backcut_systems::quadrotor::QuadrotorConfig;

#[test]
fn a_window_of_all_steps_changes_nothing_and_shorter_ones_do() {
    let system = config("0.2").check().unwrap();
    let state = state(&system, 3);
    let subject = subject(&system, &state);
    let findings = masking(&subject, &[1, 2, STEPS, STEPS + 9]).unwrap();
    let base = value(&findings, "panel.error", "all");
    for w in [STEPS, STEPS + 9] {
        let part = format!("w={w}");
        assert_eq!(value(&findings, "masking.error", &part).to_bits(), base.to_bits());
        assert_eq!(value(&findings, "masking.change", &part), 0.0);
        assert_eq!(value(&findings, "masking.relative", &part), 0.0);
    }
    assert_ne!(value(&findings, "masking.change", "w=1"), 0.0);
    assert_ne!(
        value(&findings, "masking.relative", "w=1"),
        value(&findings, "masking.relative", "w=2")
    );
    let program = System::<f32>::program(&system);
    let model = Model::new(program, state.params.clone()).unwrap();
    let panel = Evaluator::new(&system).unwrap().evaluate(&system, &model).unwrap();
    assert_eq!(base.to_bits(), panel.mean.to_bits(), "the base is what training evaluates");
}

#[test]
fn masking_is_the_evaluation_of_a_system_with_that_window() {
    let system = config("hidden").check().unwrap();
    let state = state(&system, 4);
    let findings = masking(&subject(&system, &state), &[2]).unwrap();
    let windowed = QuadrotorConfig { window: NonZeroUsize::new(2), ..config("hidden") };
    let windowed = windowed.check().unwrap();
    let program = System::<f32>::program(&windowed);
    let model = Model::new(program, state.params.clone()).unwrap();
    let panel = Evaluator::new(&windowed).unwrap().evaluate(&windowed, &model).unwrap();
    assert_eq!(value(&findings, "masking.error", "w=2").to_bits(), panel.mean.to_bits());
    // A policy trained with a window of 2 does not gain sight of more.
    let trained = masking(&subject(&windowed, &state), &[1, 2, 5]).unwrap();
    assert_ne!(value(&trained, "masking.change", "w=1"), 0.0);
    for part in ["w=2", "w=5"] {
        assert_eq!(value(&trained, "masking.change", part), 0.0);
    }
}

#[test]
fn a_window_of_nothing_is_an_error() {
    let system = config("0").check().unwrap();
    let state = state(&system, 5);
    let error = masking(&subject(&system, &state), &[0]).unwrap_err();
    assert!(matches!(error, MeasureError::Forward(_)), "{error}");
}

#[test]
fn a_donor_equal_to_the_recipient_changes_nothing() {
    let system = config("0.2").check().unwrap();
    let state = state(&system, 6);
    let subject = subject(&system, &state);
    let own: Vec<usize> = (0..256).collect();
    let findings = donor_with(&subject, &own, &[]).unwrap();
    let base = value(&findings, "panel.error", "all");
    assert_eq!(value(&findings, "donor.error", "derangement").to_bits(), base.to_bits());
    assert_eq!(value(&findings, "donor.relative", "derangement"), 0.0);
    let plain = masking(&subject, &[]).unwrap();
    assert_eq!(base.to_bits(), value(&plain, "panel.error", "all").to_bits());
}

#[test]
fn another_history_changes_the_error_and_donors_are_a_fixed_derangement() {
    let system = config("hidden").check().unwrap();
    let state = state(&system, 7);
    let subject = subject(&system, &state);
    let findings = measure(&Measurement::Donor { memories: vec![] }, &subject, None).unwrap();
    assert_ne!(value(&findings, "donor.cost", "derangement"), 0.0);
    let donors = panel_derangement(256).unwrap();
    assert!(donors.iter().enumerate().all(|(row, donor)| row != *donor));
    assert_eq!(donors, panel_derangement(256).unwrap());
    assert_eq!(panel_derangement(1), None);
    let noted = findings.iter().find(|f| f.quantity == "donor.cost").unwrap();
    assert!(noted.note.contains("measure/donor"), "{}", noted.note);
    let twice = vec![0; 256];
    assert!(matches!(donor_with(&subject, &twice, &[]), Err(MeasureError::Unfit(_))));
}

#[test]
fn a_donor_of_one_layer_costs_something_else_than_one_of_both() {
    let system = config("hidden").check().unwrap();
    let state = state(&system, 7);
    let cost = |memories: &[&str]| {
        let memories: Vec<String> = memories.iter().map(|name| (*name).to_owned()).collect();
        let named = memories.join(" ");
        let part = if named.is_empty() {
            "derangement".to_owned()
        } else {
            format!("derangement: {named}")
        };
        let findings = measure(&Measurement::Donor { memories }, &subject(&system, &state), None);
        findings.map(|findings| value(&findings, "donor.cost", &part))
    };
    let (first, second, both) = (cost(&["block0"]), cost(&["block1"]), cost(&[]).unwrap());
    assert!(
        first.unwrap().to_bits() != both.to_bits() && second.unwrap().to_bits() != both.to_bits()
    );
    assert_eq!(cost(&["block0", "block1"]).unwrap().to_bits(), both.to_bits());
    assert!(cost(&["block7"]).unwrap_err().to_string().contains("block7"));
}

#[test]
fn a_memoryless_policy_is_indifferent_to_donors() {
    let config = QuadrotorConfig { window: NonZeroUsize::new(1), ..config("hidden") };
    let system = config.check().unwrap();
    let state = state(&system, 8);
    let findings =
        measure(&Measurement::Donor { memories: vec![] }, &subject(&system, &state), None).unwrap();
    assert_eq!(value(&findings, "donor.cost", "derangement"), 0.0);
}

#[test]
fn attention_mass_is_a_share_and_vanishes_without_memory() {
    let system = config("0.2").check().unwrap();
    let state = state(&system, 9);
    let findings = attention(&subject(&system, &state), false).unwrap();
    assert_eq!(findings.len(), 2 * 3, "two heads and their mean, in two layers");
    for layer in ["block0", "block1"] {
        let heads = [0, 1].map(|h| value(&findings, "attention.mass", &format!("{layer}.head{h}")));
        assert!(heads.iter().all(|mass| *mass > 0.0 && *mass < 1.0), "{heads:?}");
        let mean = value(&findings, "attention.mass", layer);
        assert!((mean - f64::midpoint(heads[0], heads[1])).abs() < 1e-12);
    }
    let blind = QuadrotorConfig { window: NonZeroUsize::new(1), ..config("0.2") }.check().unwrap();
    let findings = attention(&subject(&blind, &state), false).unwrap();
    assert!(findings.iter().all(|f| f.value == Some(0.0)), "{findings:?}");
}

#[test]
fn even_attention_has_the_mass_of_counting() {
    // Zero queries make every score 0: p_tj = 1 / (t + 1), so the mass at t is t / (t + 1).
    let system = config("0").check().unwrap();
    let mut state = state(&system, 10);
    let layout = System::<f32>::program(&system).layout().clone();
    for parameter in layout.parameters().iter().filter(|p| p.name.contains("w_q")) {
        state.params[parameter.range()].fill(0.0);
    }
    let findings = attention(&subject(&system, &state), false).unwrap();
    let want = (1..STEPS).map(|t| t as f64 / (t + 1) as f64).sum::<f64>() / (STEPS - 1) as f64;
    for finding in findings {
        assert!((finding.value.unwrap() - want).abs() < 1e-6, "{finding:?} {want}");
    }
}

#[test]
fn an_input_weights_norm_reads_the_columns_it_names() {
    let system = config("0").check().unwrap();
    let mut state = state(&system, 11);
    let layout = System::<f32>::program(&system).layout().clone();
    let embedding = &layout.parameters()[layout.find("embedding.weight").unwrap()];
    assert_eq!((embedding.rows, embedding.cols), (105, 8));
    state.params[embedding.range()].fill(7.0);
    state.params[embedding.offset..][..3 * 8].fill(0.5);
    let subject = subject(&system, &state);
    let findings = input_weight(&subject, "embedding.weight", 0..3).unwrap();
    assert_eq!(findings[0].value, Some((24.0_f64 * 0.25).sqrt()));
    assert_eq!(findings[0].part, "embedding.weight[0..3]");
    for (name, columns) in [("embedding", 0..3), ("embedding.weight", 104..106)] {
        assert!(input_weight(&subject, name, columns).is_err());
    }
}
