//! What defines a run: a value with canonical bytes and a hash.
//!
//! Two runs are the same run exactly when their canonical JSON is the same. A system's own settings
//! are held as plain JSON, so that a user's system needs no change here; whoever builds the system
//! from them checks them.

use std::borrow::Cow;

use backcut_engine::Cut;
use backcut_kernels::NUMERICS_VERSION;
use backcut_systems::{Optimizer, Stream, SystemChoice};
use backcut_text::Hinted;
use serde::{Deserialize, Serialize};

use crate::training::digest::sha256;
use crate::training::trainer::Arm;

/// The canonical JSON of a value: one definition for everything that is hashed.
pub use backcut_files::canonical_value as canonical;

pub use crate::training::differences::differences;

/// Working precision of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Single; oracles and derivative checks use double, training does not.
    #[default]
    F32,
}

/// The checkpoint a branch starts from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// Updates done before the branch.
    pub update: u64,
    /// Hash of the configuration that made it.
    pub config: String,
    /// Digest of everything in it.
    pub digest: String,
}

/// A run as configured. [`RunConfig::check`] turns it into something that can run.
///
/// What names the state that a branch starts from is left to `S`: a run in a folder names a
/// checkpoint by its hashes ([`Start`]), a study names the unit that will have made it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "S: Deserialize<'de>"))]
pub struct RunConfig<S = Start> {
    /// The system with its settings (noise, window, sizes).
    pub system: SystemChoice,
    /// The backward graph.
    pub cut: Cut,
    /// The source's seed.
    pub seed: u64,
    /// The stream of batches.
    #[serde(default)]
    pub stream: Stream,
    /// For a branch: where it starts.
    #[serde(default)]
    pub start: Option<S>,
    /// Updates at the end of the run, those before a branch included.
    pub updates: u64,
    /// The updates after which the panel is evaluated.
    pub evaluations: Vec<u64>,
    /// Clip and optimizer.
    pub optimizer: Optimizer,
    /// Working precision.
    #[serde(default)]
    pub precision: Precision,
    /// The kernels' version: other kernels, other bits, another run.
    pub numerics: u32,
}

/// A configuration that cannot run.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{what}")]
pub struct ConfigError {
    what: String,
    hint: String,
}

impl ConfigError {
    fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }
}

impl Hinted for ConfigError {
    fn hint(&self) -> Cow<'_, str> {
        self.hint.as_str().into()
    }
}

/// The longest run: more is a slip of the keyboard.
pub const MAX_UPDATES: u64 = 10_000_000;

/// Every `every` updates after `start`, and at the end.
pub fn evaluation_points(start: u64, updates: u64, every: u64) -> Vec<u64> {
    let every = every.max(1);
    let regular = (start / every + 1..).map_while(|i| i.checked_mul(every));
    let inside = regular.take_while(|&u| u < updates.min(MAX_UPDATES));
    inside.chain([updates]).collect()
}

impl<S> RunConfig<S> {
    /// The same run with its start named in another way.
    pub fn starting<T>(self, start: Option<T>) -> RunConfig<T> {
        let Self { system, cut, seed, stream, updates, evaluations, optimizer, .. } = self;
        let Self { precision, numerics, .. } = self;
        RunConfig {
            system,
            cut,
            seed,
            stream,
            start,
            updates,
            evaluations,
            optimizer,
            precision,
            numerics,
        }
    }
}

impl RunConfig {
    /// Checks everything that does not need the system.
    pub fn check(self) -> Result<ValidRun, ConfigError> {
        let Self { updates, numerics, .. } = self;
        let from = self.start.as_ref().map_or(0, |s| s.update);
        if updates > MAX_UPDATES {
            return Err(ConfigError::new(
                format!("{updates} updates"),
                "a run has at most 10,000,000 updates",
            ));
        }
        if updates <= from {
            return Err(ConfigError::new(
                format!("a run of {updates} updates that starts after update {from}"),
                "updates count from initialisation: ask for more than the start has",
            ));
        }
        if self.evaluations.iter().any(|u| !(from + 1..=updates).contains(u)) {
            return Err(ConfigError::new(
                format!(
                    "evaluations {:?} outside updates {}..={updates}",
                    self.evaluations,
                    from + 1
                ),
                "list updates of this run",
            ));
        }
        if !self.evaluations.is_sorted_by(|a, b| a < b) {
            return Err(ConfigError::new(
                format!("evaluations {:?} are not in ascending order", self.evaluations),
                "list every update once, in order",
            ));
        }
        if numerics != NUMERICS_VERSION {
            return Err(ConfigError::new(
                format!(
                    "numerics version {numerics}; this build computes version {NUMERICS_VERSION}"
                ),
                "results of different versions differ in their bits: use the build that made it",
            ));
        }
        if self.seed.checked_add(self.stream.offset()).is_none() {
            return Err(ConfigError::new(
                format!("seed {} overflows on this stream", self.seed),
                "choose a smaller seed",
            ));
        }
        self.optimizer.check().map_err(|what| ConfigError::new(what, "correct the setting"))?;
        let json = canonical(&serde_json::to_value(&self).map_err(|error| {
            ConfigError::new(
                format!("no JSON for the configuration: {error}"),
                "use finite numbers",
            )
        })?);
        let hash = sha256(json.as_bytes());
        Ok(ValidRun { config: self, json, hash })
    }
}

/// A checked configuration with its canonical bytes and their SHA-256.
#[derive(Clone, PartialEq, Debug)]
pub struct ValidRun {
    config: RunConfig,
    json: String,
    hash: String,
}

impl ValidRun {
    /// The configuration.
    pub fn config(&self) -> &RunConfig {
        &self.config
    }

    /// Canonical JSON: keys sorted, no spaces, shortest numbers that read back to the same bits.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// SHA-256 of the canonical JSON, hexadecimal.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The part of it that a trainer needs.
    pub fn arm(&self) -> Arm {
        let RunConfig { cut, seed, stream, ref optimizer, .. } = self.config;
        Arm { cut, seed, stream, optimizer: optimizer.clone() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use backcut_systems::AdamW;

    fn config() -> RunConfig {
        RunConfig {
            system: SystemChoice {
                name: "toy".into(),
                settings: json!({"b": 0.1, "a": [1, null]}),
                data: None,
                program: None,
            },
            cut: Cut::F_SG,
            seed: 5,
            stream: Stream::A,
            start: None,
            updates: 500,
            evaluations: evaluation_points(0, 500, 200),
            optimizer: Optimizer::adamw(AdamW::default(), 4311.62),
            precision: Precision::F32,
            numerics: NUMERICS_VERSION,
        }
    }

    #[test]
    fn canonical_bytes_read_back_to_themselves() {
        let valid = config().check().unwrap();
        let again: RunConfig = serde_json::from_str(valid.json()).unwrap();
        let again = again.check().unwrap();
        assert_eq!(again, valid);
        assert!(valid.json().starts_with("{\"cut\":\"F_SG\",\"evaluations\":[200,400,500]"));
        assert!(valid.json().contains("{\"a\":[1,null],\"b\":0.1}"));
    }

    #[test]
    fn every_field_reaches_the_hash_and_the_difference() {
        let base = config().check().unwrap();
        let other = RunConfig { seed: 6, ..config() }.check().unwrap();
        assert_ne!(base.hash(), other.hash());
        let value = |run: &ValidRun| serde_json::from_str::<Value>(run.json()).unwrap();
        let lines = differences(&value(&base), &value(&other));
        assert_eq!(lines, ["seed: 5 asked for, 6 there"]);
    }

    #[test]
    fn configurations_that_cannot_run_say_why() {
        let start = Some(Start { update: 500, config: String::new(), digest: String::new() });
        for (bad, word) in [
            (RunConfig { updates: 0, evaluations: vec![], ..config() }, "0 updates"),
            (RunConfig { start, ..config() }, "starts after update 500"),
            (RunConfig { evaluations: vec![501], ..config() }, "outside"),
            (RunConfig { evaluations: vec![2, 2], ..config() }, "ascending"),
            (RunConfig { numerics: 0, ..config() }, "numerics version 0"),
            (RunConfig { seed: u64::MAX, stream: Stream::B, ..config() }, "overflows"),
        ] {
            let error = bad.check().unwrap_err();
            assert!(error.to_string().contains(word), "{error}");
            assert!(!error.hint().is_empty());
        }
        let unknown = config().check().unwrap().json().replacen("\"cut\"", "\"cuts\":1,\"cut\"", 1);
        assert!(serde_json::from_str::<RunConfig>(&unknown).is_err());
    }

    #[test]
    fn evaluation_points_end_with_the_run() {
        assert_eq!(evaluation_points(0, 1000, 200), [200, 400, 600, 800, 1000]);
        assert_eq!(evaluation_points(800, 1000, 200), [1000]);
        assert_eq!(evaluation_points(100, 450, 200), [200, 400, 450]);
        assert_eq!(evaluation_points(0, 7, 200), [7]);
    }
}
