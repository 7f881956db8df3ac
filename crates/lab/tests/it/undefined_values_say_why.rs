//! A value that does not exist has a note in its place; nothing is ever NaN or infinite.

use crate::common::{PointMass, arm, quadrotor, subject, trained};
use backcut_engine::Cut;
use backcut_lab::measure::{Finding, Measurement, definition, measure};
use backcut_lab::training::State;

fn everything() -> [Measurement; 3] {
    let cuts = Cut::SIX.to_vec();
    [
        Measurement::Gradient { cuts: cuts.clone() },
        Measurement::Update { cuts, apart: false },
        Measurement::Chain {},
    ]
}

fn check(findings: &[Finding]) {
    assert!(!findings.is_empty());
    for finding in findings {
        match finding.value {
            Some(value) => assert!(value.is_finite(), "{finding:?}"),
            None => assert!(!finding.note.is_empty(), "{finding:?}"),
        }
        assert!(
            definition(&finding.quantity).is_some(),
            "`{}` has no definition",
            finding.quantity
        );
    }
}

#[test]
fn every_quantity_is_defined_and_finite() {
    let system = quadrotor();
    for (clip, updates) in [(1e9, 0), (1e9, 3), (1.0, 3)] {
        let mut arm = arm(Cut::FF, 2);
        arm.optimizer.clip = clip.into();
        let state = trained(&system, &arm, updates);
        for measurement in everything() {
            check(&measure(&measurement, &subject(&system, &state, &arm), None).unwrap());
        }
    }
}

#[test]
fn a_policy_that_moves_nothing_has_no_direction() {
    let system = PointMass::with_gain(0.0);
    let arm = arm(Cut::FF, 2);
    let state = State::<f32>::initial(&system, 2);
    let subject = subject(&system, &state, &arm);
    for measurement in everything() {
        check(&measure(&measurement, &subject, None).unwrap());
    }
    let [gradient, update, _] = everything();
    let findings = measure(&gradient, &subject, None).unwrap();
    for quantity in ["gradient.ratio", "gradient.difference", "gradient.cosine", "age.cancellation"]
    {
        let mine: Vec<&Finding> = findings.iter().filter(|f| f.quantity == quantity).collect();
        assert!(!mine.is_empty() && mine.iter().all(|f| f.value.is_none()), "{quantity}");
    }
    let findings = measure(&update, &subject, None).unwrap();
    let first = |quantity: &str| findings.iter().find(|f| f.quantity == quantity).unwrap();
    assert_eq!(first("r_U").note, "the gradient is zero");
    assert_eq!(first("rho.median").note, "no second moment before update 1");
    assert_eq!(first("clip.factor").note, "not clipped");
}

#[test]
fn a_state_of_another_policy_is_refused() {
    let (system, other) = (quadrotor(), PointMass::new());
    let state = State::<f32>::initial(&other, 2);
    for measurement in everything() {
        let error = measure(&measurement, &subject(&system, &state, &arm(Cut::FF, 2)), None);
        assert!(error.unwrap_err().to_string().contains("parameter values"));
    }
    // Moments of another length, too.
    let mut torn = State::<f32>::initial(&system, 2);
    torn.moments.second.pop();
    let [_, update, _] = everything();
    assert!(measure(&update, &subject(&system, &torn, &arm(Cut::FF, 2)), None).is_err());
}
