//! What can be done to a memory that is a register, on the analytic system.
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use backcut_lab::measure::memory::{donor, donor_with};
use backcut_lab::measure::{Finding, MeasureError, Measurement, Subject, measure};
use backcut_lab::training::{Moments, Optimizer, State};
use backcut_paper::analytic::system::{AnalyticConfig, PANEL_ROWS};
use backcut_systems::{BatchKey, Stream};

fn find<'a>(findings: &'a [Finding], quantity: &str) -> &'a Finding {
    findings.iter().find(|f| f.quantity == quantity).unwrap()
}

#[test]
fn a_registers_history_can_be_given_but_not_masked() {
    let system = AnalyticConfig::default().check().unwrap();
    let params = vec![-0.3, -0.8, -0.4, 0.8, 0.3];
    let state = State { update: 0, moments: Moments::zeros(params.len()), params };
    let key = BatchKey { seed: 1, stream: Stream::A, update: 0 };
    let optimizer = Optimizer::default();
    let subject = Subject { system: &system, state: &state, optimizer: &optimizer, key };
    let own: Vec<usize> = (0..PANEL_ROWS).collect();
    let same = donor_with(&subject, &own, &[]).unwrap();
    assert_eq!(find(&same, "donor.cost").value, Some(0.0));
    let other = donor(&subject, &[]).unwrap();
    assert!(find(&other, "donor.cost").value.unwrap() > 0.0, "{other:?}");
    let masked = measure(&Measurement::Masking { windows: vec![1] }, &subject, None);
    assert!(masked.unwrap_err().to_string().contains("register"));
    let error = measure(&Measurement::Attention { ages: true }, &subject, None).unwrap_err();
    assert!(matches!(error, MeasureError::Unfit(_)));
    let probe = Measurement::Probe { common: false, target: None, token: None, stored: None };
    let error = measure(&probe, &subject, None).unwrap_err();
    assert!(error.to_string().contains("`token`"), "{error}");
}
