//! How a gradient becomes an update, as files say it.

use backcut_kernels::{math, optim};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// AdamW's settings as a configuration file holds them. The default is the quadrotor study's.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdamWSettings {
    /// Learning rate.
    pub rate: f64,
    /// Decay of the first moment.
    pub beta1: f64,
    /// Decay of the second moment.
    pub beta2: f64,
    /// Added to the square root of the second moment.
    pub eps: f64,
    /// Decoupled weight decay, on every tensor.
    pub decay: f64,
}

impl Default for AdamWSettings {
    fn default() -> Self {
        Self { rate: 1e-3, beta1: 0.9, beta2: 0.999, eps: 1e-8, decay: 0.01 }
    }
}

impl AdamWSettings {
    /// As the kernels take them.
    pub fn kernel(self) -> optim::AdamW {
        let Self { rate, beta1, beta2, eps, decay } = self;
        optim::AdamW { rate, beta1, beta2, eps, decay }
    }
}

/// The way from the full rate to the last one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Decay {
    /// Half a cosine.
    #[default]
    Cosine,
    /// A straight line.
    Linear,
}

/// A rate that changes with the optimizer's own count of steps, which begins anew with every phase.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// Steps on which the rate rises in a straight line; the last of them has the full rate.
    #[serde(default)]
    pub warmup: u64,
    /// The step at which the last rate is reached; it stays.
    pub until: u64,
    /// The last rate.
    pub end: f64,
    /// How it gets there.
    #[serde(default)]
    pub decay: Decay,
}

impl Schedule {
    /// The rate of a step, counted from 1.
    fn rate(&self, full: f64, step: u64) -> f64 {
        if step < self.warmup {
            return full * step as f64 / self.warmup as f64;
        }
        if step >= self.until {
            return self.end;
        }
        let done = (step - self.warmup) as f64 / (self.until - self.warmup) as f64;
        let left = match self.decay {
            Decay::Cosine => 0.5 * (1.0 + math::f64::cos(std::f64::consts::PI * done)),
            Decay::Linear => 1.0 - done,
        };
        self.end + (full - self.end) * left
    }
}

/// How a gradient becomes an update.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Optimizer {
    /// AdamW.
    pub adamw: AdamWSettings,
    /// Threshold c of the global-norm clip: the gradient is multiplied by `min(1, c / norm)`.
    pub clip: f64,
    /// How the rate changes; without one it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
}

impl Default for Optimizer {
    /// AdamW's defaults, and a clip at norm 1.
    fn default() -> Self {
        Self { adamw: AdamWSettings::default(), clip: 1.0, schedule: None }
    }
}

impl Optimizer {
    /// AdamW at a step of its own count, which begins at 1: with the rate that the schedule has there.
    pub fn at(&self, step: u64) -> AdamWSettings {
        let full = self.adamw.rate;
        let rate = self.schedule.map_or(full, |schedule| schedule.rate(full, step));
        AdamWSettings { rate, ..self.adamw }
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
        let AdamWSettings { rate, beta1, beta2, eps, decay } = self.adamw;
        let say = |name: &str, value: f64, want: &str| Err(format!("{name} = {value}, not {want}"));
        if !(rate > 0.0 && rate.is_finite()) {
            return say("optimizer.adamw.rate", rate, "a positive number");
        }
        for (name, beta) in [("beta1", beta1), ("beta2", beta2)] {
            if !(0.0..1.0).contains(&beta) {
                return say(&format!("optimizer.adamw.{name}"), beta, "in [0, 1)");
            }
        }
        if !(eps > 0.0 && eps.is_finite()) {
            return say("optimizer.adamw.eps", eps, "a positive number");
        }
        if !(decay >= 0.0 && rate * decay < 1.0) {
            return say("optimizer.adamw.decay", decay, "at least 0 with rate * decay below 1");
        }
        if !(self.clip > 0.0 && self.clip.is_finite()) {
            return say("optimizer.clip", self.clip, "a positive number");
        }
        if let Some(Schedule { warmup, until, end, .. }) = self.schedule {
            if !(end > 0.0 && end <= rate) {
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
        let bad = Optimizer { clip: f64::NAN, ..fine };
        assert!(bad.check().unwrap_err().contains("optimizer.clip"));
        let adamw = AdamWSettings { beta2: 1.0, ..fine.adamw };
        assert!(Optimizer { adamw, ..fine }.check().unwrap_err().contains("beta2"));
        let schedule = |warmup, until, end| {
            let schedule = Some(Schedule { warmup, until, end, decay: Decay::Linear });
            Optimizer { schedule, ..fine }.check()
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
            let rate = |step| with(decay).at(step).rate;
            assert_eq!([rate(1), rate(2), rate(4)], [2.5e-4, 5e-4, 1e-3], "{decay:?}");
            assert!((rate(8) - 5.5e-4).abs() < 1e-18, "{decay:?}: halfway");
            assert!(rate(5) > rate(6) && rate(11) > rate(12), "{decay:?}");
            assert_eq!([rate(12), rate(13), rate(u64::MAX)], [1e-4; 3], "{decay:?}");
        }
        assert!(with(Decay::Cosine).at(5).rate > with(Decay::Linear).at(5).rate);
        assert_eq!(Optimizer::default().at(77), AdamWSettings::default());
        // A longer run has a slower decay; without a schedule nothing changes.
        let longer = with(Decay::Linear).ending_with(20);
        assert!((longer.at(12).rate - 5.5e-4).abs() < 1e-18);
        assert_eq!(Optimizer::default().ending_with(3), Optimizer::default());
    }

    #[test]
    fn files_without_a_schedule_have_none() {
        let text = serde_json::to_string(&Optimizer::default()).unwrap();
        assert!(!text.contains("schedule"), "{text}");
        assert_eq!(serde_json::from_str::<Optimizer>(&text).unwrap(), Optimizer::default());
    }
}
