//! How many sources a noninferiority study needs, or why no number is enough.
//!
//! The plan takes a pilot's mean and spread as the truth and asks for the smallest n at which an
//! upper t bound falls below the margin with the wanted probability (noncentral t). The bootstrap
//! bound that will decide later is close to the t bound for the n a plan ends at, and the t version
//! needs no simulation. The level is the one the family will use: alpha / (2M) for two-sided
//! simultaneous bounds, alpha / M for one-sided ones.

use serde::Serialize;

use crate::error::{StatsError, require_finite};
use crate::family::MIN_SOURCES;
use crate::normal::{t_quantile_upper, t_tail};
use crate::quantile::{mean, standard_deviation};

/// Plans beyond this are answered with "more than".
const MAX_SOURCES: usize = 10_000;

/// The answer to "how many sources?".
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case", tag = "answer")]
pub enum SampleSize {
    /// This many are enough.
    Sources {
        /// The smallest number with the wanted power.
        count: usize,
        /// The power it has.
        power: f64,
    },
    /// The pilot's mean is not below the margin, so more sources only make that clearer.
    NoNumber {
        /// The pilot's mean.
        mean: f64,
        /// The margin.
        margin: f64,
    },
    /// More than the search covers.
    MoreThan {
        /// Where the search ended.
        count: usize,
    },
}

/// Plans from pilot values, one per source.
pub fn plan_noninferiority(
    pilot: &[f64],
    margin: f64,
    level: f64,
    power: f64,
) -> Result<SampleSize, StatsError> {
    require_finite("the plan", pilot)?;
    if pilot.len() < MIN_SOURCES {
        return Err(StatsError::TooFewSources { found: pilot.len(), needed: MIN_SOURCES });
    }
    if !(power > 0.0 && power < 1.0) {
        let value = power.to_string();
        return Err(StatsError::Parameter { name: "power", value, problem: "it lies in (0, 1)" });
    }
    if !(level > 0.0 && level < 0.5) {
        let value = level.to_string();
        return Err(StatsError::Parameter { name: "level", value, problem: "it lies in (0, 0.5)" });
    }
    let center = mean(pilot);
    if center >= margin {
        return Ok(SampleSize::NoNumber { mean: center, margin });
    }
    let spread = standard_deviation(pilot);
    if spread == 0.0 {
        return Ok(SampleSize::Sources { count: MIN_SOURCES, power: 1.0 });
    }
    let reached = |n: usize| {
        let freedom = n as f64 - 1.0;
        let shift = (margin - center) / spread * (n as f64).sqrt();
        t_tail(t_quantile_upper(level, freedom), shift, freedom)
    };
    // Power grows with n: double until it is enough, then bisect.
    let mut high = MIN_SOURCES;
    while reached(high) < power {
        if high >= MAX_SOURCES {
            return Ok(SampleSize::MoreThan { count: MAX_SOURCES });
        }
        high = (2 * high).min(MAX_SOURCES);
    }
    let mut low = MIN_SOURCES - 1;
    while high - low > 1 {
        let middle = low.midpoint(high);
        if reached(middle) < power { low = middle } else { high = middle }
    }
    Ok(SampleSize::Sources { count: high, power: reached(high) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_at_the_margin_has_no_number() {
        let pilot = [4.0, 5.0, 6.0, 5.0];
        assert!(matches!(
            plan_noninferiority(&pilot, 5.0, 0.05, 0.8),
            Ok(SampleSize::NoNumber { .. })
        ));
    }

    #[test]
    fn a_textbook_case() {
        // Shift of half a standard deviation, one-sided 0.05, power 0.8: 27 (noncentral t).
        let pilot = [-1.0, 1.0, -1.0, 1.0, 1.0, -1.0];
        let half = standard_deviation(&pilot) * 0.5;
        let plan = plan_noninferiority(&pilot, half, 0.05, 0.8).unwrap();
        let SampleSize::Sources { count: 27, power } = plan else { panic!("{plan:?}") };
        assert!((power - 0.811_831).abs() < 1e-4, "{power}");
    }

    #[test]
    fn a_power_and_a_level_lie_inside_their_ranges() {
        let pilot = [-1.0, 1.0, -1.0, 1.0];
        let refused = |level, power| match plan_noninferiority(&pilot, 1.0, level, power) {
            Err(StatsError::Parameter { name, .. }) => Some(name),
            _ => None,
        };
        for power in [-0.1, 0.0, 1.0, 1.1, f64::NAN] {
            assert_eq!(refused(0.05, power), Some("power"), "{power}");
        }
        for level in [-0.1, 0.0, 0.5, 0.6, f64::NAN] {
            assert_eq!(refused(level, 0.8), Some("level"), "{level}");
        }
        assert_eq!(refused(0.05, 0.8), None);
        let few = plan_noninferiority(&pilot[..3], 1.0, 0.05, 0.8).unwrap_err();
        assert_eq!(few, StatsError::TooFewSources { found: 3, needed: MIN_SOURCES });
        let constant = plan_noninferiority(&[1.0; 4], 2.0, 0.05, 0.8).unwrap();
        assert_eq!(constant, SampleSize::Sources { count: MIN_SOURCES, power: 1.0 });
    }

    #[test]
    fn too_small_an_effect_is_said_to_be() {
        let pilot = [-1.0, 1.0, -1.0, 1.0];
        let plan = plan_noninferiority(&pilot, 1e-4, 0.05, 0.8).unwrap();
        assert_eq!(plan, SampleSize::MoreThan { count: MAX_SOURCES });
    }
}
