//! The rules of cleaning, as plain data with defaults.

use serde::{Deserialize, Serialize};

use crate::error::AisError;

/// What is dropped, where a track is cut, and how it is resampled. The codes for "not available"
/// are no setting: they are the standard's.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rules {
    /// Seconds from one place to the next.
    pub step_seconds: u32,
    /// Only MMSIs of ships (nine digits, the first 2 to 7); tracks without MMSI are not asked.
    pub ships_only: bool,
    /// A longer silence cuts a track.
    pub gap_minutes: f64,
    /// A report that implies more than this speed is dropped; if the next agrees with it, the track
    /// is cut there.
    pub fastest_knots: f64,
    /// Distance that implies no speed: positions are rounded, and reports come seconds apart.
    pub slack_km: f64,
    /// Who stays within this distance of a place ...
    pub stationary_km: f64,
    /// ... for as long as this is stationary, and the stay is cut out. 0 keeps every stay.
    pub stationary_hours: f64,
    /// A segment with fewer steps is dropped.
    pub shortest_steps: usize,
    /// A longer segment is cut, which bounds what is remembered of a vessel.
    pub longest_steps: usize,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            step_seconds: 300,
            ships_only: true,
            gap_minutes: 30.0,
            fastest_knots: 35.0,
            slack_km: 0.1,
            stationary_km: 1.0,
            stationary_hours: 24.0,
            shortest_steps: 304,
            longest_steps: 8064,
        }
    }
}

/// Rules that make sense.
#[derive(Clone, PartialEq, Debug)]
pub struct ValidRules {
    rules: Rules,
    pub(super) gap_seconds: i64,
    /// Steps of a stay; none if stays are kept.
    pub(super) stay_steps: Option<usize>,
}

impl ValidRules {
    /// The rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }
}

impl Rules {
    /// Checks every rule.
    pub fn check(self) -> Result<ValidRules, AisError> {
        let wrong =
            |setting, value: String, problem| Err(AisError::Setting { setting, value, problem });
        if self.step_seconds == 0 || self.step_seconds > 86_400 {
            return wrong("step_seconds", self.step_seconds.to_string(), "1 to 86400 is possible");
        }
        for (setting, value) in [
            ("gap_minutes", self.gap_minutes),
            ("fastest_knots", self.fastest_knots),
            ("stationary_km", self.stationary_km),
        ] {
            if !(value > 0.0 && value < 1e6) {
                return wrong(setting, value.to_string(), "it must be positive, below a million");
            }
        }
        for (setting, value) in
            [("slack_km", self.slack_km), ("stationary_hours", self.stationary_hours)]
        {
            if !(0.0..1e6).contains(&value) {
                return wrong(setting, value.to_string(), "it must be 0 or more, below a million");
            }
        }
        if self.shortest_steps == 0 {
            return wrong("shortest_steps", "0".into(), "a segment has at least one step");
        }
        if self.longest_steps < self.shortest_steps || self.longest_steps > 1 << 20 {
            let value = self.longest_steps.to_string();
            return wrong("longest_steps", value, "shortest_steps to 1048576 is possible");
        }
        let step = f64::from(self.step_seconds);
        let stay = (self.stationary_hours * 3600.0 / step).ceil() as usize;
        Ok(ValidRules {
            gap_seconds: (self.gap_minutes * 60.0) as i64,
            stay_steps: (stay > 0).then_some(stay),
            rules: self,
        })
    }
}
