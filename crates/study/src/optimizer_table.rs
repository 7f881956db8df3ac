//! Departures from an optimizer, as study files and the command line write them.

use backcut_systems::{Clip, Kind, Optimizer, ParameterGroup, Rule, Schedule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::StudyError;

/// Optimizer settings that differ from the system's own.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OptimizerTable {
    /// `adamw`, `adam` (decay added to the gradient) or `sgd`. Another one keeps the rate, the schedule and
    /// what both know; momentum begins at 0, decay at 0 (AdamW's at 0.01).
    pub kind: Option<Kind>,
    /// Threshold of the global-norm clip, or "none".
    pub clip: Option<Clip>,
    /// Learning rate.
    pub rate: Option<f64>,
    /// What SGD keeps of its velocity.
    pub momentum: Option<f64>,
    /// Decay of Adam's and AdamW's first moment.
    pub beta1: Option<f64>,
    /// Decay of Adam's and AdamW's second moment.
    pub beta2: Option<f64>,
    /// Adam's and AdamW's epsilon.
    pub eps: Option<f64>,
    /// Weight decay: decoupled for AdamW, added to the clipped gradient for Adam and SGD.
    pub decay: Option<f64>,
    /// How the rate changes.
    pub schedule: Option<Schedule>,
    /// Parameters with a rate or a decay of their own, by patterns over their names; in place of the
    /// groups there were.
    pub groups: Option<Vec<ParameterGroup>>,
}

impl OptimizerTable {
    /// These departures, and where they say nothing, others.
    pub(crate) fn before(&self, others: &Self) -> Self {
        Self {
            kind: self.kind.or(others.kind),
            clip: self.clip.or(others.clip),
            rate: self.rate.or(others.rate),
            momentum: self.momentum.or(others.momentum),
            beta1: self.beta1.or(others.beta1),
            beta2: self.beta2.or(others.beta2),
            eps: self.eps.or(others.eps),
            decay: self.decay.or(others.decay),
            schedule: self.schedule.or(others.schedule),
            groups: self.groups.as_ref().or(others.groups.as_ref()).cloned(),
        }
    }

    /// These departures from an optimizer.
    pub fn over(&self, mut optimizer: Optimizer) -> Result<Optimizer, StudyError> {
        let rule = &mut optimizer.rule;
        *rule = rule.become_kind(self.kind.unwrap_or(rule.kind()));
        let kind = rule.kind().name();
        let foreign = |key: &str, owner: &str| {
            let what = format!("optimizer: {kind} has no `{key}`");
            Err(StudyError::invalid(
                what,
                format!("it belongs to {owner}: add kind, or leave it out"),
            ))
        };
        let set = |slot: &mut f64, value: Option<f64>| *slot = value.unwrap_or(*slot);
        set(rule.rate_mut(), self.rate);
        set(rule.decay_mut(), self.decay);
        match rule {
            Rule::AdamW(settings) | Rule::Adam(settings) => {
                set(&mut settings.beta1, self.beta1);
                set(&mut settings.beta2, self.beta2);
                set(&mut settings.eps, self.eps);
                if self.momentum.is_some() {
                    return foreign("momentum", "sgd");
                }
            }
            Rule::Sgd(settings) => {
                set(&mut settings.momentum, self.momentum);
                for (key, value) in
                    [("beta1", self.beta1), ("beta2", self.beta2), ("eps", self.eps)]
                {
                    if value.is_some() {
                        return foreign(key, "adam and adamw");
                    }
                }
            }
        }
        optimizer.clip = self.clip.unwrap_or(optimizer.clip);
        optimizer.schedule = self.schedule.or(optimizer.schedule);
        if let Some(groups) = &self.groups {
            optimizer.groups.clone_from(groups);
        }
        optimizer.check().map_err(|what| StudyError::invalid(what, "correct [optimizer]"))?;
        Ok(optimizer)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_one_table_does_not_say_the_other_does_key_by_key() {
        let full: OptimizerTable = serde_json::from_value(json!({
            "kind": "sgd", "clip": "none", "rate": 0.1, "momentum": 0.9, "beta1": 0.8, "beta2": 0.99, "eps": 1e-6,
            "decay": 0.02, "schedule": {"until": 9, "end": 0.0}, "groups": [{"parameters": "*.bias", "rate": 0.5}],
        }))
        .unwrap();
        let Value::Object(keys) = json!(full) else { panic!("a table") };
        assert!(keys.values().all(|value| !value.is_null()), "every key is said: {keys:?}");
        let none = OptimizerTable::default();
        assert_eq!(full.before(&none), full);
        assert_eq!(none.before(&full), full);
        let other = OptimizerTable { rate: Some(0.3), groups: Some(Vec::new()), ..none };
        let both = other.before(&full);
        assert_eq!((both.rate, &both.groups), (Some(0.3), &Some(Vec::new())));
        assert_eq!((both.kind, both.momentum), (Some(Kind::Sgd), Some(0.9)));
    }
}
