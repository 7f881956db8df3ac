//! Departures from an optimizer, as study files and the command line write them.

use backcut_kernels::optim::rule::with_settings;
use backcut_systems::{Clip, Kind, Optimizer, ParameterGroup, Schedule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::StudyError;

macro_rules! table {
    ($($(#[$about:meta])* $setting:ident,)*) => {
        /// Optimizer settings that differ from the system's own.
        #[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct OptimizerTable {
            /// The rule. Another one than the system's keeps the rate and the schedule, and betas
            /// and epsilon where both remember the same; everything else begins as usual (decay at
            /// 0, AdamW's at 0.01).
            pub kind: Option<Kind>,
            /// Threshold of the global-norm clip, or "none".
            pub clip: Option<Clip>,
            $($(#[$about])* pub $setting: Option<f64>,)*
            /// How the rate changes.
            pub schedule: Option<Schedule>,
            /// Parameters with a rate or a decay of their own, by patterns over their names; in
            /// place of the groups there were.
            pub groups: Option<Vec<ParameterGroup>>,
        }

        impl OptimizerTable {
            /// These departures, and where they say nothing, others.
            pub(crate) fn before(&self, others: &Self) -> Self {
                Self {
                    kind: self.kind.or(others.kind),
                    clip: self.clip.or(others.clip),
                    $($setting: self.$setting.or(others.$setting),)*
                    schedule: self.schedule.or(others.schedule),
                    groups: self.groups.as_ref().or(others.groups.as_ref()).cloned(),
                }
            }

            /// The rules' settings that are said.
            fn settings(&self) -> impl Iterator<Item = (&'static str, f64)> {
                let all = [$((stringify!($setting), self.$setting)),*];
                all.into_iter().filter_map(|(name, value)| Some((name, value?)))
            }
        }
    };
}
with_settings!(table);

impl OptimizerTable {
    /// These departures from an optimizer.
    pub fn over(&self, mut optimizer: Optimizer) -> Result<Optimizer, StudyError> {
        let rule = &mut optimizer.rule;
        *rule = rule.become_kind(self.kind.unwrap_or(rule.kind()));
        let kind = rule.kind().name();
        for (name, value) in self.settings() {
            let Some(setting) = rule.setting(name) else {
                let has_it = |kind: &&Kind| kind.settings().contains(&name);
                let owners: Vec<&str> =
                    Kind::ALL.iter().filter(has_it).map(|kind| kind.name()).collect();
                let what = format!("optimizer: {kind} has no `{name}`");
                let owners = owners.join(" and ");
                let hint = format!("it belongs to {owners}: add kind, or leave it out");
                return Err(StudyError::invalid(what, hint));
            };
            *setting = value;
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
