//! What the quadrotor's commands share: its options, its defaults, and what the paper reported.

use std::fmt::Display;
use std::num::NonZeroUsize;

use anyhow::Result;
use backcut_engine::Cut;
use backcut_kernels::NUMERICS_VERSION;
use backcut_systems::Stream;
use backcut_systems::quadrotor::{Quadrotor, QuadrotorConfig, VelocityReading};
use backcut_training::{
    AdamWSettings, Checkpoint, Optimizer, Precision, RunConfig, SystemChoice, config,
};

use crate::exit::UserError;

// One run and a study must mean the same by default.
pub use backcut_study::{EVALUATE_EVERY, QUADROTOR_CLIP as CLIP};

pub use backcut_paper::values::ff_error as paper_error;
pub use backcut_text::{counted, thousands};

/// Updates of a run.
pub const UPDATES: u64 = 1000;

/// Options that choose the forward.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ForwardArgs {
    /// Standard deviation of the velocity reading's noise in m/s, or `hidden`
    #[arg(long, value_name = "SIGMA|hidden", allow_negative_numbers = true)]
    pub noise: Option<String>,
    /// Positions of memory that each layer reads, the current one included, or `all`
    #[arg(long, value_name = "W|all")]
    pub window: Option<String>,
}

impl ForwardArgs {
    /// Puts what was asked for over `base` and checks the result.
    pub fn resolve(&self, mut base: QuadrotorConfig) -> Result<Quadrotor> {
        if let Some(noise) = &self.noise {
            base.velocity =
                noise.parse().map_err(|e| user(format!("--noise {noise}: {e}"), reading_hint()))?;
        }
        if let Some(window) = &self.window {
            base.window = parse_window(window)?;
        }
        base.check().map_err(|e| user(&e, e.hint()))
    }
}

fn reading_hint() -> &'static str {
    "write a standard deviation in m/s, as 0.20, or `hidden`"
}

fn parse_window(text: &str) -> Result<Option<NonZeroUsize>> {
    if text == "all" {
        return Ok(None);
    }
    let window = text.parse().map_err(|_| {
        let hint = "a window counts positions from 1 (the current token alone), or is `all`";
        user(format!("--window {text}: not a window"), hint)
    })?;
    Ok(Some(window))
}

/// An error that the user can act on.
pub fn user(what: impl Display, hint: impl Display) -> anyhow::Error {
    UserError::new(what).hint(hint).into()
}

/// Parses a cut as the user typed it.
pub fn parse_cut(text: &str) -> Result<Cut> {
    text.parse().map_err(|e: backcut_engine::CutError| user(&e, e.hint()))
}

/// Parses a stream.
pub fn parse_stream(text: &str) -> Result<Stream> {
    match text {
        "a" => Ok(Stream::A),
        "b" => Ok(Stream::B),
        other => Err(user(format!("--stream {other}: no such stream"), "streams are a and b")),
    }
}

/// Reads a checkpoint.
pub fn load(path: &std::path::Path) -> Result<Checkpoint> {
    Checkpoint::load(path).map_err(|e| user(&e, e.hint()))
}

/// The quadrotor that a configuration names.
pub fn settings(choice: &SystemChoice) -> Result<QuadrotorConfig> {
    if choice.name != "quadrotor" {
        let hint = "this command knows the quadrotor";
        return Err(user(format!("a run of the system `{}`", choice.name), hint));
    }
    serde_json::from_value(choice.settings.clone()).map_err(|e| {
        user(format!("the quadrotor's settings: {e}"), "use the version of backcut that wrote them")
    })
}

/// How a configuration names a quadrotor.
pub fn choice(system: &Quadrotor) -> Result<SystemChoice> {
    let settings = serde_json::to_value(system.config())?;
    Ok(SystemChoice { name: "quadrotor".to_owned(), settings })
}

/// A run with every default.
pub fn default_run(system: &Quadrotor) -> Result<RunConfig> {
    Ok(RunConfig {
        system: choice(system)?,
        cut: Cut::FF,
        seed: 1,
        stream: Stream::A,
        start: None,
        updates: UPDATES,
        evaluations: config::evaluation_points(0, UPDATES, EVALUATE_EVERY),
        optimizer: Optimizer { adamw: AdamWSettings::default(), clip: CLIP },
        precision: Precision::F32,
        numerics: NUMERICS_VERSION,
    })
}

/// What the policy is told, in words.
pub fn describe(config: &QuadrotorConfig) -> String {
    let reading = match config.velocity {
        VelocityReading::Hidden => "velocity hidden".to_owned(),
        VelocityReading::Noise(_) => format!("noise {} m/s", config.velocity),
    };
    match config.window {
        Some(window) => format!("{reading}, window {window}"),
        None => reading,
    }
}
