//! A user's own system: a point mass on a line whose policy must remember its velocity.
//!
//! The policy sees a noisy reading of the position and the target; a small Transformer with a cache
//! pushes. Nothing in the library knows of it.

use std::sync::Arc;

use backcut_engine::{Cut, ForwardSpec, Program, Rollout, Trace};
use backcut_kernels::{Real, random};
use backcut_lab::training::{AdamW, Arm, Optimizer};
use backcut_systems::policy::{Initialisation, Policy};
use backcut_systems::{BatchKey, SampleError, Stream, System};

pub const STEPS: usize = 6;
const DT: f64 = 0.2;

pub struct PointMass {
    program: Arc<Program>,
    /// Pushes are this much harder: far too hard to provoke failures; with 0 no parameter matters.
    pub gain: f64,
}

impl PointMass {
    pub fn new() -> Self {
        Self::with_gain(2.0)
    }

    pub fn with_gain(gain: f64) -> Self {
        let t = Trace::new();
        let position = t.state("position", 1);
        let velocity = t.state("velocity", 1);
        let target = t.input("target", 1);
        let noise = t.input("noise", 1);
        let token = t.concat(&[position + noise * 0.1, target]);
        let policy = Policy {
            steps: STEPS,
            width: 8,
            layers: 2,
            heads: 2,
            hidden: 16,
            initialisation: Initialisation::Pytorch,
            ..Policy::small()
        };
        let push = policy.trace(&t, token, 1) * gain;
        let next_velocity = velocity + push * DT;
        let next_position = position + next_velocity * DT;
        t.tap("action", push);
        t.next("velocity", next_velocity);
        t.next("position", next_position);
        t.bound("position", next_position, 1e3);
        t.loss((next_position - target).square() + push.square() * 0.01);
        Self { program: Arc::new(t.compile().expect("the trace is sound")), gain }
    }

    fn fill<R: Real>(seed: u64, update: u64, first: usize, name: &str, rollout: &mut Rollout<R>) {
        let (rows, steps) = (rollout.rows(), rollout.steps());
        let stream = random::Stream::new(seed, name);
        for row in 0..rows {
            let mut draws = stream.at(update, (first + row) as u64);
            let start = draws.normal();
            let target = draws.uniform_in(-1.0, 1.0);
            rollout.initial_mut("position").expect("declared above")[row] = R::from_f64(start);
            rollout.initial_mut("velocity").expect("declared above")[row] = R::ZERO;
            for t in 0..steps {
                let noise = draws.normal();
                rollout.input_mut("target").expect("declared above")[t * rows + row] =
                    R::from_f64(target);
                rollout.input_mut("noise").expect("declared above")[t * rows + row] =
                    R::from_f64(noise);
            }
        }
    }
}

impl<R: Real> System<R> for PointMass {
    fn program(&self) -> &Arc<Program> {
        &self.program
    }

    fn steps(&self) -> usize {
        STEPS
    }

    fn batch_rows(&self) -> usize {
        4
    }

    fn fill_batch(&self, key: BatchKey, rollout: &mut Rollout<R>) -> Result<(), SampleError> {
        Self::fill(key.seed + key.stream.offset(), key.update, 0, "batch", rollout);
        Ok(())
    }

    fn panel_group(&self) -> usize {
        8
    }

    fn panel_rows(&self) -> usize {
        20 // not a multiple of the group
    }

    fn fill_panel(&self, first: usize, rollout: &mut Rollout<R>) -> Result<(), SampleError> {
        Self::fill(0, 0, first, "panel", rollout);
        Ok(())
    }

    fn row_errors(&self, rollout: &Rollout<R>, errors: &mut [f64]) {
        let (rows, steps) = (rollout.rows(), rollout.steps());
        let site = |name| rollout.program().tap(name).expect("declared above");
        let (positions, targets) =
            (rollout.values(site("position")), rollout.values(site("target")));
        errors.fill(0.0);
        for i in 0..rows * steps {
            let error = positions[i].to_f64() - targets[i].to_f64();
            errors[i % rows] += error * error / steps as f64;
        }
    }
}

pub fn optimizer() -> Optimizer {
    Optimizer::adamw(AdamW { rate: 3e-3, ..Default::default() }, 3.0)
}

pub fn arm(cut: Cut, seed: u64) -> Arm {
    Arm { cut, seed, stream: Stream::A, optimizer: optimizer() }
}
