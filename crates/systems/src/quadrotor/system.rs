//! The quadrotor as training and measurement see it.

use std::sync::Arc;

use backcut_engine::{ForwardSpec, MemoryReads, Program, Rollout};
use backcut_kernels::Real;

use super::sampler::{self, Batch, Origin, PANEL_ROWS};
use super::{HORIZON, QuadrotorConfig, QuadrotorError, STATE, VelocityReading, task};
use crate::{BatchKey, SampleError, System};

/// A checked quadrotor: [`QuadrotorConfig::check`] makes one.
#[derive(Clone, Debug)]
pub struct Quadrotor {
    config: QuadrotorConfig,
    program: Arc<Program>,
}

impl Quadrotor {
    pub(super) fn new(config: QuadrotorConfig) -> Result<Self, QuadrotorError> {
        let program = Arc::new(task::compile(config.velocity, &config.policy)?);
        Ok(Self { config, program })
    }

    /// The configuration it was made of, in canonical form.
    pub fn config(&self) -> &QuadrotorConfig {
        &self.config
    }

    /// The numbers behind a training batch, in `f64`.
    pub fn batch(&self, key: BatchKey) -> Batch {
        self.draw(&Origin::batch(key), self.config.batch)
    }

    /// The numbers behind the panel's trajectories `first..first + rows`, in `f64`.
    pub fn panel(&self, first: usize, rows: usize) -> Batch {
        self.draw(&Origin::panel(first), rows)
    }

    fn draw(&self, origin: &Origin, rows: usize) -> Batch {
        Batch::draw(origin, &(&self.config).into(), rows, self.config.policy.steps)
    }

    fn fill<R: Real>(&self, origin: &Origin, rollout: &mut Rollout<R>) {
        let hidden = self.config.velocity == VelocityReading::Hidden;
        sampler::fill(origin, &(&self.config).into(), hidden, rollout);
    }

    /// The states s_1 ... s_T of a finished rollout, `[step][row][12]`.
    pub fn states<'r, R: Real>(&self, rollout: &'r Rollout<R>) -> &'r [R] {
        self.values("next_state", rollout)
    }

    fn values<'r, R: Real>(&self, name: &str, rollout: &'r Rollout<R>) -> &'r [R] {
        rollout.values(self.program.tap(name).expect("the quadrotor's program names it"))
    }
}

/// The parts of a batch with their shapes.
fn named(batch: Batch) -> Vec<(String, Vec<usize>, Vec<f64>)> {
    let Batch { rows, steps, initial_state, reference_position, reference_velocity, noise } = batch;
    let times = steps + HORIZON + 1;
    let named = |name: &str, shape: Vec<usize>, values| (name.to_owned(), shape, values);
    vec![
        named("initial_state", vec![rows, STATE], initial_state),
        named("reference_position", vec![rows, times, 3], reference_position),
        named("reference_velocity", vec![rows, times, 3], reference_velocity),
        named("noise", vec![rows, steps, 3], noise),
    ]
}

impl<R: Real> System<R> for Quadrotor {
    fn program(&self) -> &Arc<Program> {
        &self.program
    }

    fn spec(&self) -> ForwardSpec<R> {
        let reads = self.config.window.map_or(MemoryReads::All, MemoryReads::Window);
        ForwardSpec { reads, ..ForwardSpec::default() }
    }

    fn steps(&self) -> usize {
        self.config.policy.steps
    }

    fn batch_rows(&self) -> usize {
        self.config.batch
    }

    fn fill_batch(&self, key: BatchKey, rollout: &mut Rollout<R>) -> Result<(), SampleError> {
        self.fill(&Origin::batch(key), rollout);
        Ok(())
    }

    fn panel_rows(&self) -> usize {
        PANEL_ROWS
    }

    /// Eight rows keep a rollout in the cache.
    fn panel_group(&self) -> usize {
        8
    }

    fn fill_panel(&self, first: usize, rollout: &mut Rollout<R>) -> Result<(), SampleError> {
        self.fill(&Origin::panel(first), rollout);
        Ok(())
    }

    /// Initial states, references at times 0 to T + 10, and standardised noise.
    fn raw_batch(&self, key: BatchKey) -> Vec<(String, Vec<usize>, Vec<f64>)> {
        named(self.batch(key))
    }

    fn raw_panel(&self) -> Vec<(String, Vec<usize>, Vec<f64>)> {
        named(self.panel(0, PANEL_ROWS))
    }

    /// Squared distance to the reference in three dimensions, averaged over s_1 ... s_T, m^2.
    fn row_errors(&self, rollout: &Rollout<R>, errors: &mut [f64]) {
        let (rows, steps) = (rollout.rows(), rollout.steps());
        let states = self.states(rollout).chunks_exact(STATE);
        let targets = self.values("target", rollout).chunks_exact(6);
        errors[..rows].fill(0.0);
        for (i, (state, target)) in states.zip(targets).enumerate() {
            let squared = |(x, y): (&R, &R)| (x.to_f64() - y.to_f64()).powi(2);
            errors[i % rows] += state[..3].iter().zip(target).map(squared).sum::<f64>();
        }
        for error in &mut errors[..rows] {
            *error /= steps as f64;
        }
    }
}
