//! A mass on a rail follows a target that jumps, and is told its position alone: velocity must be
//! remembered. Everything that backcut can do, it can do with this file.
//!
//!     cargo run --release -- train mass --cut F_SG
//!     cargo run --release -- study run study.toml
//!     cargo run --release -- report page backcut-results

use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::sync::Arc;

use backcut::prelude::*;

/// What a file or the command line may change.
#[derive(Serialize, Deserialize)]
#[serde(crate = "backcut::serde", default, deny_unknown_fields)]
struct Mass {
    /// Standard deviation of the position reading's noise.
    noise: f64,
    /// Positions of memory that the policy reads; all if absent.
    window: Option<NonZeroUsize>,
    steps: usize,
}

impl Default for Mass {
    fn default() -> Self {
        Self { noise: 0.05, window: None, steps: 16 }
    }
}

impl Settings for Mass {
    const NAME: &'static str = "mass";
    const FLAGS: &'static [Flag] = &[WINDOW];
    type System = Task;

    fn build(&mut self) -> Result<Task, SettingsError> {
        let t = Trace::new();
        let (position, velocity) = (t.state("position", 1), t.state("velocity", 1));
        let (target, noise) = (t.input("target", 1), t.input("noise", 1));
        let token = t.concat(&[position + noise * self.noise, target]);
        let policy = Policy { steps: self.steps, ..Policy::small() };
        let push = t.tap("push", policy.trace(&t, token, 1).tanh());
        let velocity = velocity * 0.95 + push * 0.3;
        let position = position + velocity * 0.3;
        t.next("velocity", velocity);
        t.next("position", position);
        t.loss((position - target).square() + push.square() * 0.01);
        let program = t.compile()?;
        let window = self.window.map_or(MemoryReads::All, MemoryReads::Window);
        Ok(Task { program: Arc::new(program), steps: self.steps, window })
    }

    fn error(&self) -> Quantity {
        Quantity { name: "squared distance to the target, summed over steps", unit: "" }
    }
}

struct Task {
    program: Arc<Program>,
    steps: usize,
    window: MemoryReads,
}

impl<R: Real> System<R> for Task {
    fn program(&self) -> &Arc<Program> {
        &self.program
    }

    fn steps(&self) -> usize {
        self.steps
    }

    fn batch_rows(&self) -> usize {
        8
    }

    fn spec(&self) -> ForwardSpec<R> {
        ForwardSpec { reads: self.window.clone(), ..ForwardSpec::default() }
    }

    fn fill_batch(&self, key: BatchKey, rollout: &mut Rollout<R>) -> Result<(), SampleError> {
        let rows = rollout.rows();
        let stream = Random::new(key.seed + key.stream.offset(), "mass");
        for name in ["position", "velocity"] {
            rollout.initial_mut(name).into_iter().flatten().for_each(|x| *x = R::ZERO);
        }
        for (name, jumps) in [("target", true), ("noise", false)] {
            let Some(values) = rollout.input_mut(name) else { continue };
            for row in 0..rows {
                let mut draws = stream.at(key.update, 2 * row as u64 + u64::from(jumps));
                let fixed = draws.normal();
                for x in values.iter_mut().skip(row).step_by(rows) {
                    *x = R::from_f64(if jumps { fixed } else { draws.normal() });
                }
            }
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    main_with(&Catalogue::new().with::<Mass>())
}
