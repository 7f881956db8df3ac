//! A mass is shown where to go, must wait where it is, and then go there: a task that needs memory
//! as long as the wait.
//!
//! The target is seen in the first `shown` steps and never again. For `delay` steps every move away
//! from the start costs, so that the target cannot be kept in the state; then a signal comes, and
//! what costs is the distance from the target. Position and velocity are seen exactly: nothing but
//! the target must be remembered.

use std::num::NonZeroUsize;
use std::sync::Arc;

use backcut_engine::{ForwardSpec, MemoryReads, Program, Rollout, Trace};
use backcut_kernels::Real;
use backcut_kernels::random::Stream as Random;
use serde::{Deserialize, Serialize};

use crate::policy::{Mixer, Policy};
use crate::settings::{Flag, Quantity, Settings, SettingsError, WINDOW};
use crate::{BatchKey, Optimizer, Recorded, SampleError, System};

/// What a file or the command line may change.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DelayedCue {
    /// Steps before the signal.
    pub delay: usize,
    /// Steps at the start in which the target is seen.
    pub shown: usize,
    /// Steps after the signal.
    pub moving: usize,
    /// How the policy remembers.
    pub policy: Mixer,
    /// Positions of memory that it reads; all if absent.
    pub window: Option<NonZeroUsize>,
    /// Trajectories of a batch.
    pub batch: usize,
}

impl Default for DelayedCue {
    fn default() -> Self {
        let policy = Mixer::Attention;
        Self { delay: 16, shown: 2, moving: 8, policy, window: None, batch: 16 }
    }
}

impl Settings for DelayedCue {
    const NAME: &'static str = "delayed-cue";
    const FLAGS: &'static [Flag] = &[WINDOW];
    const RECORDED: Option<Recorded> = Some(Recorded {
        settings: &[
            r#"{"delay": 3, "shown": 1, "moving": 2, "window": 2, "batch": 2}"#,
            r#"{"delay": 2, "shown": 2, "moving": 1, "policy": "lstm", "batch": 2}"#,
        ],
        hash: "387cdfd1bb2351f7a649203b361faf1dd0fc71eb62a6d9b604d188b801a97e81",
    });

    type System = Task;

    fn build(&mut self) -> Result<Task, SettingsError> {
        let Self { delay, shown, moving, batch, .. } = *self;
        if !(1..=delay).contains(&shown) || !(1..=1024).contains(&moving) || delay > 4096 {
            let what = format!("a target shown for {shown} of {delay} steps, {moving} to move");
            return Err(SettingsError::new(
                what,
                "show it for 1 to `delay` steps; move for 1 to 1024",
            ));
        }
        if !(1..=4096).contains(&batch) {
            return Err(SettingsError::new(format!("batch = {batch}"), "1 to 4096 trajectories"));
        }
        let (steps, reads) = (delay + moving, self.policy.reads(self.window)?);
        let t = Trace::new();
        let [position, velocity] = t.state("state", 4).parts([("position", 2), ("velocity", 2)]);
        let (target, seen, go) = (t.input("target", 2), t.input("seen", 1), t.input("go", 1));
        let token = t.concat(&[position, velocity, target * seen, seen, go]);
        let small = Policy { steps, width: 32, layers: 2, heads: 4, hidden: 64, ..Policy::small() };
        let policy = Policy { mixer: self.policy, ..small };
        let push =
            t.tap("push", policy.trace(&t, t.tap("token", token.edge("observation")), 2).tanh());
        let velocity = velocity * 0.7 + push * 0.5;
        let position = position + velocity * 0.5;
        t.next("state", t.tap("next_state", t.concat(&[position, velocity])));
        // Before the signal the target is the start.
        t.loss((position - target * go).square().sum() / steps as f64);
        let program = Arc::new(t.compile()?);
        Ok(Task { program, settings: self.clone(), reads })
    }

    fn optimizer(&self) -> Optimizer {
        Optimizer { clip: 1.0.into(), ..Optimizer::default() }
    }

    fn error(&self) -> Quantity {
        Quantity { name: "mean squared distance after the signal", unit: "" }
    }
}

/// The system.
#[derive(Clone, Debug)]
pub struct Task {
    program: Arc<Program>,
    settings: DelayedCue,
    reads: MemoryReads,
}

impl<R: Real> System<R> for Task {
    fn program(&self) -> &Arc<Program> {
        &self.program
    }

    fn steps(&self) -> usize {
        self.settings.delay + self.settings.moving
    }

    fn batch_rows(&self) -> usize {
        self.settings.batch
    }

    fn spec(&self) -> ForwardSpec<R> {
        ForwardSpec { reads: self.reads.clone(), ..ForwardSpec::default() }
    }

    fn fill_batch(&self, key: BatchKey, rollout: &mut Rollout<R>) -> Result<(), SampleError> {
        let DelayedCue { delay, shown, .. } = self.settings;
        let rows = rollout.rows();
        let stream = Random::new(key.seed.wrapping_add(key.stream.offset()), "delayed-cue");
        rollout.initial_mut("state").into_iter().flatten().for_each(|x| *x = R::ZERO);
        let targets: Vec<[f64; 2]> = (0..rows as u64)
            .map(|row| {
                let mut draws = stream.at(key.update, row);
                [draws.normal(), draws.normal()]
            })
            .collect();
        let mut input = |name: &str, width: usize, value: &dyn Fn(usize, usize, usize) -> f64| {
            let Some(values) = rollout.input_mut(name) else { return };
            for (t, step) in values.chunks_exact_mut(rows * width).enumerate() {
                for (i, x) in step.iter_mut().enumerate() {
                    *x = R::from_f64(value(t, i / width, i % width));
                }
            }
        };
        input("target", 2, &|_, row, column| targets[row][column]);
        input("seen", 1, &|t, _, _| f64::from(t < shown));
        input("go", 1, &|t, _, _| f64::from(t >= delay));
        Ok(())
    }

    /// What counts is where it is after the signal.
    fn row_errors(&self, rollout: &Rollout<R>, errors: &mut [f64]) {
        let sites = [self.program.tap("next_state"), self.program.tap("target")];
        let [Some(state), Some(target)] = sites else { return };
        let DelayedCue { delay, moving, .. } = self.settings;
        for (row, error) in errors.iter_mut().enumerate() {
            let mut sum = 0.0;
            for t in delay..delay + moving {
                for column in 0..2 {
                    let here = rollout.value(state, t)[4 * row + column].to_f64();
                    let there = rollout.value(target, t)[2 * row + column].to_f64();
                    sum += (here - there) * (here - there);
                }
            }
            *error = sum / moving as f64;
        }
    }
}
