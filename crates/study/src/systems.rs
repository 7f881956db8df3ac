//! Which systems a study may name. A user's own system joins by implementing [`Catalogue`].

use backcut_systems::System;
use backcut_systems::quadrotor::QuadrotorConfig;
use backcut_training::{AdamWSettings, Optimizer};
use serde_json::{Map, Value};

use crate::error::StudyError;

/// A system ready to train.
pub struct Built {
    /// The system.
    pub system: Box<dyn System<f32>>,
    /// Its settings with every default filled in: what identifies it.
    pub settings: Value,
    /// Its customary optimizer.
    pub optimizer: Optimizer,
}

/// Turns names and settings into systems.
pub trait Catalogue: Sync {
    /// Builds a system; settings that it does not know are errors.
    fn build(&self, name: &str, settings: &Map<String, Value>) -> Result<Built, StudyError>;
}

/// The systems that come with the project.
#[derive(Clone, Copy, Debug, Default)]
pub struct Builtin;

/// Threshold of the quadrotor's global-norm clip: the median raw FF norm over 16 fresh batches at
/// update 100 of a pilot, measured by `backcut calibrate`. The paper's own figure is 4311.62.
pub const QUADROTOR_CLIP: f64 = 737.46;

impl Catalogue for Builtin {
    fn build(&self, name: &str, settings: &Map<String, Value>) -> Result<Built, StudyError> {
        match name {
            "quadrotor" => quadrotor(settings),
            other => Err(StudyError::invalid(
                format!("the system `{other}` is not known"),
                "systems: quadrotor",
            )),
        }
    }
}

fn quadrotor(settings: &Map<String, Value>) -> Result<Built, StudyError> {
    let config: QuadrotorConfig =
        serde_json::from_value(Value::Object(settings.clone())).map_err(|error| {
            let hint = "see `backcut study template` for the quadrotor's settings";
            StudyError::invalid(format!("the quadrotor's settings: {error}"), hint)
        })?;
    let system = config.check().map_err(|error| {
        StudyError::invalid(format!("the quadrotor's settings: {error}"), error.hint())
    })?;
    let settings = serde_json::to_value(system.config())
        .map_err(|error| StudyError::invalid(format!("no JSON: {error}"), "use finite numbers"))?;
    let optimizer = Optimizer { adamw: AdamWSettings::default(), clip: QUADROTOR_CLIP };
    Ok(Built { system: Box::new(system), settings, optimizer })
}
