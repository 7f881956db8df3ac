//! How a gradient becomes an update, as files say it.

mod groups;
mod schedule;

use serde::{Deserialize, Serialize};

pub use backcut_kernels::optim::rule::{Adam, AdamW, Kind, Rule, Sgd};
pub use groups::{ParameterGroup, Placed};
pub use schedule::{Decay, Schedule};

/// The clip of the gradient's global norm.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged, expecting = "clip is a threshold of the gradient's global norm, or \"none\"")]
pub enum Clip {
    /// The gradient is multiplied by `min(1, threshold / norm)`.
    Norm(f64),
    /// It stays as it is.
    Off(NoClip),
}

/// The word for no clip.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoClip {
    /// No clip.
    None,
}

impl Clip {
    /// No clip.
    pub const NONE: Self = Self::Off(NoClip::None);

    /// What a gradient of this norm is multiplied by; 1 for a zero gradient, and where nothing is
    /// clipped.
    pub fn factor(self, norm: f64) -> f64 {
        match self {
            Self::Norm(threshold) => (threshold / norm).min(1.0),
            Self::Off(_) => 1.0,
        }
    }

    /// There is a threshold.
    pub fn is_on(self) -> bool {
        matches!(self, Self::Norm(_))
    }
}

impl From<f64> for Clip {
    fn from(threshold: f64) -> Self {
        Self::Norm(threshold)
    }
}

impl std::str::FromStr for Clip {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::NONE),
            _ => text.parse().map(Self::Norm).map_err(|_| "write a norm, or none".to_owned()),
        }
    }
}

/// How a gradient becomes an update. Files hold the rule's settings under its name; what the first
/// version did not know is left out where it has the meaning of before.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Optimizer {
    /// What makes an update of a clipped gradient.
    #[serde(flatten)]
    pub rule: Rule,
    /// The clip of the gradient's global norm.
    pub clip: Clip,
    /// How the rate changes; without one it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
    /// Parameters with a rate or a decay of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<ParameterGroup>,
}

impl Default for Optimizer {
    /// AdamW's defaults, and a clip at norm 1.
    fn default() -> Self {
        Self::adamw(AdamW::default(), 1.0)
    }
}

impl Optimizer {
    /// AdamW with a clip of the global norm, a rate that stays, and no groups.
    pub fn adamw(settings: AdamW, clip: f64) -> Self {
        let rule = Rule::AdamW(settings);
        Self { rule, clip: Clip::Norm(clip), schedule: None, groups: Vec::new() }
    }

    /// The rule at a step of its own count, which begins at 1: with the rate that the schedule has
    /// there.
    pub fn at(&self, step: u64) -> Rule {
        let schedule = self.schedule;
        schedule.map_or(self.rule, |s| self.rule.with("rate", s.rate(self.rule.rate(), step)))
    }

    /// A memory of the other's steps is one of this one's too.
    pub fn remembers_like(&self, other: &Self) -> bool {
        self.rule.kind().memory() == other.rule.kind().memory()
    }

    /// Builds of the first version know no other optimizer.
    pub fn is_of_first_version(&self) -> bool {
        self.rule.kind() == Kind::AdamW && self.clip.is_on() && self.groups.is_empty()
    }

    /// The same optimizer for a run of so many steps: its schedule, if it has one, ends there.
    pub fn ending_with(mut self, steps: u64) -> Self {
        if let Some(schedule) = &mut self.schedule {
            schedule.until = steps;
            schedule.warmup = schedule.warmup.min(steps);
        }
        self
    }

    /// The first setting that makes no sense, with the reason.
    pub fn check(&self) -> Result<(), String> {
        self.rule.check()?;
        for group in &self.groups {
            group.check(self.rule)?;
        }
        let say = |name: &str, value: f64, want: &str| Err(format!("{name} = {value}, not {want}"));
        match self.clip {
            Clip::Norm(clip) if !(clip > 0.0 && clip.is_finite()) => {
                return say("optimizer.clip", clip, "a positive number or \"none\"");
            }
            _ => {}
        }
        if let Some(Schedule { warmup, until, end, .. }) = self.schedule {
            if !(end > 0.0 && end <= self.rule.rate()) {
                return say("optimizer.schedule.end", end, "positive and at most the rate");
            }
            if warmup > until || until == 0 {
                let what = "at least 1 and not before the end of the warm-up";
                return say("optimizer.schedule.until", until as f64, what);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_make_no_sense_are_named() {
        let fine = Optimizer::default();
        assert_eq!(fine.check(), Ok(()));
        let bad = Optimizer { clip: f64::NAN.into(), ..fine.clone() };
        assert!(bad.check().unwrap_err().contains("optimizer.clip"));
        let adamw = AdamW { beta2: 1.0, ..AdamW::default() };
        assert!(Optimizer::adamw(adamw, 1.0).check().unwrap_err().contains("beta2"));
        let schedule = |warmup, until, end| {
            let schedule = Some(Schedule { warmup, until, end, decay: Decay::Linear });
            Optimizer { schedule, ..fine.clone() }.check()
        };
        assert_eq!(schedule(2, 2, 1e-3), Ok(()));
        assert!(schedule(0, 9, 2e-3).unwrap_err().contains("schedule.end"));
        assert!(schedule(3, 2, 1e-4).unwrap_err().contains("schedule.until"));
        assert!(schedule(0, 0, 1e-4).unwrap_err().contains("schedule.until"));
    }

    #[test]
    fn a_rate_rises_falls_and_stays() {
        let with = |decay| {
            let schedule = Some(Schedule { warmup: 4, until: 12, end: 1e-4, decay });
            Optimizer { schedule, ..Optimizer::default() }
        };
        for decay in [Decay::Linear, Decay::Cosine] {
            let rate = |step| with(decay).at(step).rate();
            assert_eq!([rate(1), rate(2), rate(4)], [2.5e-4, 5e-4, 1e-3], "{decay:?}");
            assert!((rate(8) - 5.5e-4).abs() < 1e-18, "{decay:?}: halfway");
            assert!(rate(5) > rate(6) && rate(11) > rate(12), "{decay:?}");
            assert_eq!([rate(12), rate(13), rate(u64::MAX)], [1e-4; 3], "{decay:?}");
        }
        assert!(with(Decay::Cosine).at(5).rate() > with(Decay::Linear).at(5).rate());
        assert_eq!(Optimizer::default().at(77), Rule::AdamW(AdamW::default()));
        // A longer run has a slower decay; without a schedule nothing changes.
        let longer = with(Decay::Linear).ending_with(20);
        assert!((longer.at(12).rate() - 5.5e-4).abs() < 1e-18);
        assert_eq!(Optimizer::default().ending_with(3), Optimizer::default());
    }

    #[test]
    fn files_without_a_schedule_have_none() {
        let text = serde_json::to_string(&Optimizer::default()).unwrap();
        assert!(!text.contains("schedule"), "{text}");
        assert_eq!(serde_json::from_str::<Optimizer>(&text).unwrap(), Optimizer::default());
    }
}
