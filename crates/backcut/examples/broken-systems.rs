//! One small system with every mistake that `check --system` is made to find, each by its name.
//! The tests run this program; it is no example to follow.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use backcut::prelude::*;

/// The mistake.
#[derive(Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(crate = "backcut::serde", rename_all = "lowercase")]
enum Fault {
    #[default]
    None,
    /// The state that is handed on has another width.
    Width,
    /// The loss looks at a state that no action moves.
    Action,
    /// Draws depend on how often the sampler was called.
    Sampler,
    /// An initial value is not written when it would be 0.
    Stale,
    /// The sampler writes a NaN.
    Input,
    /// The step divides by zero at one step of one row.
    Step,
    /// There is no loss.
    Loss,
    /// An input is never written.
    Deaf,
}

/// Whether an author has edited this part of the file since the last run: no setting says that.
fn is_edited(part: &str) -> bool {
    std::env::var("BROKEN_EDIT").is_ok_and(|edited| edited == part)
}

#[derive(Default, Serialize, Deserialize)]
#[serde(crate = "backcut::serde", default, deny_unknown_fields)]
struct Broken {
    fault: Fault,
}

impl Settings for Broken {
    const NAME: &'static str = "broken";
    type System = Task;

    fn build(&mut self) -> Result<Task, SettingsError> {
        let t = Trace::new();
        let (position, target) = (t.state("position", 1), t.input("target", 1));
        let drift = t.state("drift", 1);
        let policy = Policy { steps: 6, width: 8, heads: 2, ..Policy::small() };
        let push = t.tap("push", policy.trace(&t, t.concat(&[position, target]), 1));
        let moved = position + push * if is_edited("step") { 0.4 } else { 0.3 };
        let is_wide = self.fault == Fault::Width;
        t.next("position", if is_wide { t.concat(&[moved, push]) } else { moved });
        t.next("drift", drift * 0.5);
        let seen = if self.fault == Fault::Action { drift } else { moved };
        let error = (seen - target).square();
        if self.fault != Fault::Loss {
            t.loss(if self.fault == Fault::Step { error + 1.0 / target } else { error });
        }
        Ok(Task { program: Arc::new(t.compile()?), fault: self.fault, calls: AtomicU64::new(0) })
    }
}

struct Task {
    program: Arc<Program>,
    fault: Fault,
    calls: AtomicU64,
}

impl<R: Real> System<R> for Task {
    fn program(&self) -> &Arc<Program> {
        &self.program
    }

    fn steps(&self) -> usize {
        6
    }

    fn batch_rows(&self) -> usize {
        4
    }

    fn fill_batch(&self, key: BatchKey, rollout: &mut Rollout<R>) -> Result<(), SampleError> {
        let (rows, calls) = (rollout.rows(), self.calls.fetch_add(1, Ordering::Relaxed));
        let extra = if self.fault == Fault::Sampler { calls } else { 0 };
        let stream = Random::new(key.seed + key.stream.offset() + extra, "broken");
        for name in ["position", "drift"] {
            for (row, x) in rollout.initial_mut(name).into_iter().flatten().enumerate() {
                let value = stream.at(key.update, row as u64).normal();
                if self.fault != Fault::Stale || value > 0.0 {
                    *x = R::from_f64(value);
                }
            }
        }
        let target = rollout.input_mut("target").filter(|_| self.fault != Fault::Deaf);
        for (i, x) in target.into_iter().flatten().enumerate() {
            let least = if is_edited("sampler") { 1.5 } else { 1.0 };
            let value = least + stream.at(key.update, 100 + i as u64).normal().abs();
            let is_here = (i / rows, i % rows) == (3, 2); // step 3, trajectory 2
            *x = R::from_f64(match self.fault {
                Fault::Input if is_here => f64::NAN,
                Fault::Step if is_here => 0.0,
                _ => value,
            });
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    main_with(&Catalogue::new().with::<Broken>())
}
