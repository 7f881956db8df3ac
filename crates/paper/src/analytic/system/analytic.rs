//! The analytic system against the trace, with its sampler and evaluation.

use std::sync::Arc;

use backcut_engine::{Init, Program, Rollout, Trace, TraceError, Var};
use backcut_kernels::{Real, random};

use super::{ACTION_PRICE, AnalyticConfig, AnalyticError, DECAY, PANEL_ROWS, SPREADS};
use backcut_systems::{BatchKey, SampleError, System};

/// Seed of the panel: the same for all sources.
const PANEL_SEED: u64 = 0;

/// A checked analytic system: [`AnalyticConfig::check`] makes one.
#[derive(Clone, Debug)]
pub struct Analytic {
    config: AnalyticConfig,
    program: Arc<Program>,
}

impl Analytic {
    pub(super) fn new(config: AnalyticConfig) -> Result<Self, AnalyticError> {
        Ok(Self { config, program: Arc::new(compile(config.coupling)?) })
    }

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
