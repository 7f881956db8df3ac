//! Probes on a policy's own inputs and on a reference's.

use crate::common::usual_probe;
use crate::small_quadrotor::{config, state, subject, value};
use backcut_lab::measure::probe::{Inputs, ProbeOptions, gather, probe};
use backcut_lab::measure::{MeasureError, measure};

#[test]
fn exact_readings_are_decoded_exactly_and_noise_is_not() {
    let [exact, noisy] = ["0", "0.3"].map(|noise| {
        let system = config(noise).check().unwrap();
        let state = state(&system, 3);
        probe(&subject(&system, &state), None, &ProbeOptions::default()).unwrap()
    });
    assert_eq!(exact.len(), 3, "the token and two layers");
    assert!((value(&exact, "probe.r2", "token") - 1.0).abs() < 1e-5);
    let noisy = value(&noisy, "probe.r2", "token");
    assert!(noisy > 0.0 && noisy < 0.98, "{noisy}");
    for layer in ["block0.stored", "block1.stored"] {
        let r2 = value(&exact, "probe.r2", layer);
        assert!(r2 > 0.0 && r2 < 1.0, "eight columns hold some of it, not all: {layer}: {r2}");
    }
}

#[test]
fn common_inputs_are_the_references_and_so_are_the_states_behind_them() {
    let system = config("0.2").check().unwrap();
    let (ours, theirs) = (state(&system, 4), state(&system, 5));
    let (ours, theirs) = (subject(&system, &ours), subject(&system, &theirs));
    let taps = ["token", "true_velocity", "block1.stored"];
    let of = |who, reference| gather(who, &Inputs { reference, token: "token" }, &taps).unwrap();
    let (own, fed, reference) = (of(&ours, None), of(&ours, Some(&theirs)), of(&theirs, None));
    assert_eq!(fed[..2], reference[..2], "observations and velocities are the reference's");
    assert_ne!(fed[1], own[1]);
    assert_ne!(fed[2], reference[2], "the representations are the policy's own");
    assert_eq!(of(&ours, Some(&ours)), own, "one's own inputs, fed from outside, change nothing");
}

#[test]
fn common_probes_need_a_reference_that_fits() {
    let system = config("0.2").check().unwrap();
    let state = state(&system, 6);
    let subject = subject(&system, &state);
    let common = usual_probe(true);
    assert!(common.needs_reference());
    assert!(matches!(measure(&common, &subject, None), Err(MeasureError::Unfit(_))));
    let findings = measure(&common, &subject, Some(&subject)).unwrap();
    let own = measure(&usual_probe(false), &subject, Some(&subject)).unwrap();
    for (a, b) in findings.iter().zip(&own) {
        assert_eq!((a.quantity.as_str(), b.quantity.as_str()), ("probe.r2_common", "probe.r2"));
        assert_eq!(a.value, b.value);
    }
}

#[test]
fn a_target_that_does_not_exist_is_named() {
    let system = config("0.2").check().unwrap();
    let state = state(&system, 7);
    let options = ProbeOptions { target: "wind".to_owned(), ..ProbeOptions::default() };
    let error = probe(&subject(&system, &state), None, &options).unwrap_err();
    assert!(error.to_string().contains("`wind`"), "{error}");
    assert!(error.to_string().contains("true_velocity"), "{error}");
}
