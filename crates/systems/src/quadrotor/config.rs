//! The configuration as written.

use std::num::NonZeroUsize;

use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{QuadrotorError, VelocityReading};
use crate::policy::{Initialisation, Mixer, Policy, is_usual};

/// Threshold of the global-norm clip: the median raw FF norm over 16 fresh batches at update 100 of
/// a pilot, measured by `backcut calibrate`.
pub const CLIP: f64 = 737.46;

/// Standard deviations of the independent, zero-mean normal offsets from hover at the start.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InitialSpread {
    /// Position, m.
    pub position_m: f64,
    /// Roll, pitch and yaw, rad.
    pub attitude_rad: f64,
    /// Velocity, m/s.
    pub velocity_mps: f64,
    /// Body rates, rad/s.
    pub rates_radps: f64,
}

impl Default for InitialSpread {
    fn default() -> Self {
        Self { position_m: 0.04, attitude_rad: 0.04, velocity_mps: 0.08, rates_radps: 0.04 }
    }
}

impl InitialSpread {
    /// The four spreads in the order of the state.
    pub(super) fn in_order(&self) -> [f64; 4] {
        [self.position_m, self.attitude_rad, self.velocity_mps, self.rates_radps]
    }

    pub(super) fn check(&self) -> Result<(), QuadrotorError> {
        let names = ["position_m", "attitude_rad", "velocity_mps", "rates_radps"];
        match names.into_iter().zip(self.in_order()).find(|(_, v)| !v.is_finite() || *v < 0.0) {
            Some((name, value)) => Err(QuadrotorError::Spread { name, value }),
            None => Ok(()),
        }
    }
}

/// The mean of the initial velocity.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InitialVelocity {
    /// At rest, beside a moving reference.
    #[default]
    Rest,
    /// The reference's.
    Reference,
}

/// A quadrotor as written in a file or on the command line; [`check`](Self::check) makes it run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QuadrotorConfig {
    /// What the policy is told about its velocity.
    pub velocity: VelocityReading,
    /// Forward window of the policy's memory, in training and evaluation; all of it if absent.
    pub window: Option<NonZeroUsize>,
    /// How far from hover trajectories start.
    pub spread: InitialSpread,
    /// The velocity that the spread is around.
    #[serde(skip_serializing_if = "is_usual")]
    pub initial_velocity: InitialVelocity,
    /// The policy; its `steps` are the steps of a rollout. A name alone (`gru`) says how it
    /// remembers, and what a table leaves out is as usual.
    #[serde(deserialize_with = "policy_or_mixer")]
    pub policy: Policy,
    /// Trajectories of a training batch.
    pub batch: usize,
}

impl Default for QuadrotorConfig {
    fn default() -> Self {
        Self {
            velocity: VelocityReading::Noise(0.0),
            window: None,
            spread: InitialSpread::default(),
            initial_velocity: InitialVelocity::default(),
            policy: Policy {
                steps: 32,
                width: 64,
                layers: 2,
                heads: 4,
                hidden: 192,
                initialisation: Initialisation::Gpt,
                ..Policy::small()
            },
            batch: 8,
        }
    }
}

/// A policy, what of the usual one is to be otherwise, or how the usual one is to remember.
fn policy_or_mixer<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Policy, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        Mixer(Mixer),
        Changes(Map<String, Value>),
    }
    let usual = QuadrotorConfig::default().policy;
    match Form::deserialize(deserializer)? {
        Form::Mixer(mixer) => Ok(Policy { mixer, ..usual }),
        Form::Changes(changes) => {
            let mut whole = serde_json::to_value(usual).map_err(D::Error::custom)?;
            if let Value::Object(whole) = &mut whole {
                whole.extend(changes);
            }
            Policy::deserialize(whole).map_err(D::Error::custom)
        }
    }
}
