//! The configuration as written, and the check that only a sound one passes.

use std::fmt::Write as _;
use std::num::NonZeroUsize;

use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{MAX_STEPS, Quadrotor, QuadrotorError, VelocityReading};
use crate::policy::{Initialisation, Mixer, Policy, is_usual};
use crate::settings::{Flag, Latent, Quantity, Settings, SettingsError, WINDOW};
use crate::{AdamW, Optimizer};

/// Threshold of the global-norm clip: the median raw FF norm over 16 fresh batches at update 100 of a
/// pilot, measured by `backcut calibrate`.
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

    fn check(&self) -> Result<(), QuadrotorError> {
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
    /// The policy; its `steps` are the steps of a rollout. A name alone (`gru`) says how it remembers, and what
    /// a table leaves out is as usual.
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

impl QuadrotorConfig {
    /// The system, if the configuration is sound.
    pub fn check(mut self) -> Result<Quadrotor, QuadrotorError> {
        self.velocity = self.velocity.check()?;
        self.spread.check()?;
        let Policy { steps, width, layers, heads, hidden, .. } = self.policy;
        let sizes = [
            ("policy.steps", steps, (1..=MAX_STEPS).contains(&steps)),
            ("policy.width", width, (1..=4096).contains(&width)),
            ("policy.layers", layers, (1..=64).contains(&layers)),
            ("policy.heads", heads, heads > 0 && width.is_multiple_of(heads)),
            ("policy.hidden", hidden, (1..=16384).contains(&hidden)),
            ("batch", self.batch, (1..=4096).contains(&self.batch)),
        ];
        if let Some((name, value, _)) = sizes.into_iter().find(|(_, _, sound)| !sound) {
            return Err(QuadrotorError::Size { name, value });
        }
        self.policy.check()?;
        self.policy.mixer.reads(self.window)?;
        Quadrotor::new(self)
    }
}

impl Settings for QuadrotorConfig {
    const NAME: &'static str = "quadrotor";

    const FLAGS: &'static [Flag] = &[
        Flag {
            name: "noise",
            key: "velocity",
            values: "SIGMA|hidden",
            none: None,
            help: "Standard deviation of the velocity reading's noise in m/s, or `hidden`",
        },
        WINDOW,
    ];

    const UNWRITTEN: &'static [(&'static str, &'static str)] = &[
        ("policy", "attention"),
        ("policy.mixer", "attention"),
        ("policy.embedding", "plain"),
        ("policy.key_bias", "true"),
        ("policy.position_start", "small"),
        ("initial_velocity", "rest"),
    ];

    type System = Quadrotor;

    fn build(&mut self) -> Result<Quadrotor, SettingsError> {
        let checked = self.clone().check();
        let system = checked.map_err(SettingsError::from_hinted)?;
        self.clone_from(system.config());
        Ok(system)
    }

    fn optimizer(&self) -> Optimizer {
        Optimizer::adamw(AdamW::default(), CLIP)
    }

    fn error(&self) -> Quantity {
        Quantity { name: "mean squared distance to the reference", unit: "m^2" }
    }

    fn latent(&self) -> Option<Latent> {
        let weights = ("embedding.weight", [0, 3]); // world axes are columns 0..3 of the token
        Some(Latent { name: "velocity", tap: "true_velocity", weights })
    }

    fn words(&self) -> String {
        let reading = match self.velocity {
            VelocityReading::Hidden => "velocity hidden".to_owned(),
            VelocityReading::Noise(_) => format!("noise {} m/s", self.velocity),
        };
        let mut words = reading;
        if !self.policy.mixer.is_usual() {
            let _ = write!(words, ", {}", self.policy.mixer);
        }
        if let Some(window) = self.window {
            let _ = write!(words, ", window {window}");
        }
        words
    }
}
