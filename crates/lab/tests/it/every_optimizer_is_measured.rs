//! The update layer measures what each optimizer really applies, and says so where it has no such
//! thing.

use backcut_engine::Cut;
use backcut_kernels::hash;
use backcut_lab::measure::{ALL, Finding, Layer, Rig, replayed_hash, updates_of_gradients};
use backcut_lab::training::{Adam, AdamW, Arm, Clip, Rule, Sgd, Trainer};
use backcut_systems::{Optimizer, ParameterGroup};

use crate::common::{PointMass, arm, subject, trained, value};

fn optimizers() -> Vec<(&'static str, Optimizer)> {
    let usual = Optimizer::adamw(AdamW::default(), 0.5);
    let adam = Rule::Adam(Adam { decay: 0.1, ..Adam::default() });
    let sgd = Rule::Sgd(Sgd { rate: 0.01, momentum: 0.9, decay: 0.0 });
    let decayed = Rule::Sgd(Sgd { rate: 0.01, momentum: 0.9, decay: 0.1 });
    let biases =
        ParameterGroup { parameters: "*.bias".to_owned(), rate: Some(0.25), decay: Some(0.0) };
    vec![
        ("adamw", usual.clone()),
        ("adamw, groups", Optimizer { groups: vec![biases], ..usual.clone() }),
        ("adam", Optimizer { rule: adam, ..usual.clone() }),
        ("sgd", Optimizer { rule: sgd, ..usual.clone() }),
        ("sgd, decay", Optimizer { rule: decayed, ..usual.clone() }),
        ("sgd, no clip", Optimizer { rule: sgd, clip: Clip::NONE, ..usual }),
    ]
}

fn under(optimizer: &Optimizer) -> Arm {
    Arm { optimizer: optimizer.clone(), ..arm(Cut::FF, 9) }
}

fn find<'a>(findings: &'a [Finding], quantity: &str, cut: &str) -> &'a Finding {
    let is = |f: &&Finding| f.quantity == quantity && f.of == *cut && f.part == ALL;
    findings.iter().find(is).unwrap_or_else(|| panic!("{quantity} {cut}"))
}

#[test]
fn the_applied_layer_is_what_training_adds() {
    let system = PointMass::new();
    for (name, optimizer) in optimizers() {
        let arm = under(&optimizer);
        let state = trained(&system, &arm, 7);
        let subject = subject(&system, &state, &arm);
        let mut rig = Rig::new(&system, &[Cut::FF, Cut::F_SG]).unwrap();
        for cut in [Cut::FF, Cut::F_SG] {
            let other = Arm { cut, ..arm.clone() };
            let mut trainer = Trainer::resume(&system, other, state.clone()).unwrap();
            let log = trainer.step().unwrap();
            let made: Vec<f32> =
                trainer.model().values().iter().zip(&state.params).map(|(a, b)| a - b).collect();
            let index = rig.find(cut).unwrap();
            rig.set(&state.params).unwrap();
            rig.differentiate(subject.key).unwrap();
            let steps = rig.steps(&optimizer, &state).unwrap();
            assert_eq!(steps.vector(Layer::Applied, index), made, "{name}, {cut}");
            assert_eq!(steps.factor(index), log.factor, "{name}, {cut}");
            assert_eq!(log.is_clipped(), optimizer.clip.is_on(), "{name}: the test clips");
            assert_eq!(replayed_hash(&mut rig, &subject, cut).unwrap(), log.hash, "{name}, {cut}");
            assert_eq!(log.hash, hash::hash_values(0, trainer.model().values()));
        }
    }
}

/// Cosine of the direction of a step with the gradient's sign, by the formulas and in `f64`.
fn sign_cosine(
    optimizer: &Optimizer,
    params: &[f32],
    m: &[f32],
    v: &[f32],
    g: &[f32],
    t: i32,
) -> f64 {
    let norm = g.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
    let factor = match optimizer.clip {
        Clip::Norm(threshold) => (threshold / norm).min(1.0),
        Clip::Off(_) => 1.0,
    };
    let (mut dot, mut square, mut count) = (0.0, 0.0, 0.0_f64);
    for i in 0..g.len() {
        let [theta, m, v, g] = [params[i], m[i], v[i], g[i]].map(f64::from);
        let rule = optimizer.rule;
        let decay = if matches!(rule, Rule::AdamW(_)) { 0.0 } else { rule.value("decay") };
        let seen = factor * g + decay * theta;
        let direction = if let Rule::Sgd(s) = rule {
            s.momentum * m + seen
        } else {
            let [beta1, beta2, eps] = ["beta1", "beta2", "eps"].map(|name| rule.value(name));
            let mean = (beta1 * m + (1.0 - beta1) * seen) / (1.0 - beta1.powi(t));
            let second = (beta2 * v + (1.0 - beta2) * seen * seen) / (1.0 - beta2.powi(t));
            mean / (second.sqrt() + eps)
        };
        if seen != 0.0 {
            dot += seen.signum() * direction;
            count += 1.0;
        }
        square += direction * direction;
    }
    dot / (square.sqrt() * count.sqrt())
}

#[test]
fn signs_and_scales_are_each_rules_own() {
    let system = PointMass::new();
    for (name, optimizer) in optimizers() {
        let arm = under(&optimizer);
        let state = trained(&system, &arm, 7);
        let key = subject(&system, &state, &arm).key;
        let mut rig = Rig::new(&system, &[Cut::FF, Cut::F_SG]).unwrap();
        rig.set(&state.params).unwrap();
        rig.differentiate(key).unwrap();
        let gradient = rig.gradient(1).to_vec();
        let findings = updates_of_gradients(&mut rig, &state, &optimizer, true).unwrap();
        let (m, v) = (&state.moments.first, &state.moments.second);
        let want = sign_cosine(&optimizer, &state.params, m, v, &gradient, 8);
        let found = value(&findings, "applied.sign-cosine", "F_SG", ALL);
        assert!((found - want).abs() < 1e-4, "{name}: {found} and {want}");

        let is_sgd = matches!(optimizer.rule, Rule::Sgd(_));
        for quantity in ["rho.median", "rho.above-one", "applied.saturated", "moment.cosine"] {
            let finding = find(&findings, quantity, "F_SG");
            assert_eq!(finding.value.is_none(), is_sgd, "{name}: {finding:?}");
            assert_eq!(finding.note.contains("not defined for SGD"), is_sgd, "{name}: {finding:?}");
        }
        let factor = find(&findings, "clip.factor", "F_SG");
        assert_eq!(factor.note.contains("no clip"), !optimizer.clip.is_on(), "{name}: {factor:?}");
        assert_eq!(factor.value < Some(1.0), optimizer.clip.is_on(), "{name}");
    }
}
