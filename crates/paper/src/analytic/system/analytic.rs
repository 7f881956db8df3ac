//! The analytic system: its configuration, its step, its sampler and its evaluation.

use std::borrow::Cow;
use std::sync::Arc;

use backcut_engine::{Init, Program, Rollout, Trace, TraceError, Var};
use backcut_kernels::{Real, random};
use backcut_text::Hinted;
use serde::{Deserialize, Serialize};

use super::{ACTION_PRICE, DECAY, PANEL_ROWS, SPREADS};
use backcut_systems::{BatchKey, Quantity, Recorded, SampleError, Settings, SettingsError, System};

/// Seed of the panel: the same for all sources.
const PANEL_SEED: u64 = 0;

/// An analytic system as written in a file; [`check`](Self::check) makes it run.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AnalyticConfig {
    /// How strongly recalled memory moves the physical state (`kappa`).
    pub coupling: f64,
    /// Steps of a rollout.
    pub steps: usize,
    /// Trajectories of a training batch.
    pub batch: usize,
}

impl Default for AnalyticConfig {
    /// 16 steps: three times the horizon over which `A^t` falls to one half, so credit has room to
    /// travel, and short enough that thousands of updates take a second.
    fn default() -> Self {
        Self { coupling: 1.0, steps: 16, batch: 8 }
    }
}

/// A configuration that makes no sense.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum AnalyticError {
    /// Not a number to multiply with.
    #[error("a coupling of {0}")]
    Coupling(f64),
    /// A size out of range.
    #[error("{name} = {value}")]
    Size {
        /// The setting.
        name: &'static str,
        /// Its value.
        value: usize,
    },
    /// The step does not compile.
    #[error(transparent)]
    Trace(#[from] backcut_engine::TraceError),
}

impl Hinted for AnalyticError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Coupling(_) => "choose a finite coupling, such as 0.5",
            Self::Size { .. } => "steps and batch lie between 1 and 4096",
            Self::Trace(error) => return error.hint(),
        }
        .into()
    }
}

impl AnalyticConfig {
    /// The system, if the configuration is sound.
    pub fn check(self) -> Result<Analytic, AnalyticError> {
        if !self.coupling.is_finite() {
            return Err(AnalyticError::Coupling(self.coupling));
        }
        let sizes = [("steps", self.steps), ("batch", self.batch)];
        if let Some((name, value)) = sizes.into_iter().find(|(_, n)| !(1..=4096).contains(n)) {
            return Err(AnalyticError::Size { name, value });
        }
        Ok(Analytic { config: self, program: Arc::new(compile(self.coupling)?) })
    }
}

impl Settings for AnalyticConfig {
    const NAME: &'static str = "analytic";

    const RECORDED: Option<Recorded> = Some(Recorded {
        settings: &[r#"{"steps": 4, "batch": 3}"#],
        hash: "700682ce56db619c5314fca0ee292896904987e9e5b3f93daa368f9f1cefc29e",
    });

    type System = Analytic;

    fn build(&mut self) -> Result<Analytic, SettingsError> {
        self.check().map_err(SettingsError::from_hinted)
    }

    fn error(&self) -> Quantity {
        Quantity { name: "mean squared state", unit: "" }
    }
}

/// A checked analytic system: [`AnalyticConfig::check`] makes one.
#[derive(Clone, Debug)]
pub struct Analytic {
    config: AnalyticConfig,
    program: Arc<Program>,
}

impl Analytic {
    /// The configuration it was made of.
    pub fn config(&self) -> &AnalyticConfig {
        &self.config
    }
}

/// A learned factor, without a bias: an offset would do the memory's work.
fn weight<'t>(t: &'t Trace, name: &str, x: Var<'t>, bound: f64) -> Var<'t> {
    t.linear_with(name, x, 1, Init::Uniform { bound }, None)
}

/// One step. Taps: `action`, `next_x`.
fn compile(coupling: f64) -> Result<Program, TraceError> {
    let t = Trace::new();
    let (x, m) = (t.state("x", 1), t.register("m", 1));
    let (noise, gust) = (t.input("noise", 1), t.input("gust", 1));
    let disturbance = t.input("disturbance", 1);
    let reading = x + noise;
    let seen = weight(&t, "feedback", reading, 0.2) + weight(&t, "feedforward", gust, 0.2);
    let action = t.tap("action", seen + weight(&t, "recall", m, 0.3) * coupling);
    let next_m = weight(&t, "retain", m, 0.8) + weight(&t, "write", reading, 0.3);
    let next_x = t.tap("next_x", x * DECAY + action + gust + disturbance);
    t.next("x", next_x);
    t.next("m", next_m);
    t.loss(next_x.square() + action.square() * ACTION_PRICE);
    t.compile()
}

fn fill<R: Real>(stream: &random::Stream, update: u64, first: usize, rollout: &mut Rollout<R>) {
    let (rows, steps) = (rollout.rows(), rollout.steps());
    let [disturbance_std, gust_std, noise_std, start_std] = SPREADS;
    let (mut starts, mut constants) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    let (mut noise, mut gusts) = (vec![R::ZERO; rows * steps], vec![R::ZERO; rows * steps]);
    for row in 0..rows {
        let mut draws = stream.at(update, (first + row) as u64);
        starts.push(R::from_f64(start_std * draws.normal()));
        constants.push(R::from_f64(disturbance_std * draws.normal()));
        for t in 0..steps {
            noise[t * rows + row] = R::from_f64(noise_std * draws.normal());
            gusts[t * rows + row] = R::from_f64(gust_std * draws.normal());
        }
    }
    let known = "the analytic program names it";
    rollout.initial_mut("x").expect(known).copy_from_slice(&starts);
    rollout.initial_mut("m").expect(known).fill(R::ZERO);
    rollout.input_mut("noise").expect(known).copy_from_slice(&noise);
    rollout.input_mut("gust").expect(known).copy_from_slice(&gusts);
    for step in rollout.input_mut("disturbance").expect(known).chunks_exact_mut(rows) {
        step.copy_from_slice(&constants);
    }
}

impl<R: Real> System<R> for Analytic {
    fn program(&self) -> &Arc<Program> {
        &self.program
    }

    fn steps(&self) -> usize {
        self.config.steps
    }

    fn batch_rows(&self) -> usize {
        self.config.batch
    }

    fn fill_batch(&self, key: BatchKey, rollout: &mut Rollout<R>) -> Result<(), SampleError> {
        let stream = random::Stream::new(key.seed + key.stream.offset(), "analytic/batch");
        fill(&stream, key.update, 0, rollout);
        Ok(())
    }

    fn panel_rows(&self) -> usize {
        PANEL_ROWS
    }

    fn panel_group(&self) -> usize {
        8
    }

    fn fill_panel(&self, first: usize, rollout: &mut Rollout<R>) -> Result<(), SampleError> {
        fill(&random::Stream::new(PANEL_SEED, "analytic/panel"), 0, first, rollout);
        Ok(())
    }

    /// Mean of `x^2` over x_1 ... x_T.
    fn row_errors(&self, rollout: &Rollout<R>, errors: &mut [f64]) {
        let (rows, steps) = (rollout.rows(), rollout.steps());
        let site = self.program.tap("next_x").expect("the analytic program names it");
        errors[..rows].fill(0.0);
        for (i, x) in rollout.values(site).iter().enumerate() {
            errors[i % rows] += x.to_f64() * x.to_f64() / steps as f64;
        }
    }
}
