//! The time of one update of the full-size vessel on one thread, whole and by its parts.
//!
//! ```sh
//! cargo bench -p backcut-lab --bench update -- FF 20
//! ```
//!
//! It prints the fingerprint of the parameters after the last update, so that two builds can be
//! held to the same bits.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::hint::black_box;
use std::time::Instant;

use backcut_engine::{Cut, Rollout, Workspace};
use backcut_lab::training::{Arm, SystemChoice, Trainer};
use backcut_systems::Catalogue;
use backcut_systems::{BatchKey, Stream};

type Failure = Box<dyn std::error::Error>;

/// The least and the median of `repeats` runs, in milliseconds.
fn timed(
    repeats: usize,
    mut work: impl FnMut() -> Result<(), Failure>,
) -> Result<(f64, f64), Failure> {
    let mut times = Vec::with_capacity(repeats);
    for _ in 0..repeats {
        let start = Instant::now();
        work()?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    Ok((times[0], times[times.len() / 2]))
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
    let cut: Cut = arguments.next().as_deref().unwrap_or("FF").parse()?;
    let repeats: usize = arguments.next().as_deref().unwrap_or("20").parse()?;
    let (name, settings) = if arguments.next().as_deref() == Some("quadrotor") {
        ("quadrotor", serde_json::json!({}))
    } else {
        let fleet = serde_json::json!({"ships": 12, "days": 14, "seed": 1});
        ("vessel", serde_json::json!({"preset": "full", "phase": "rollout", "data": fleet}))
    };
    let settings = settings.as_object().cloned().unwrap_or_default();
    let built = Catalogue::builtin().build(&SystemChoice::new(name, settings))?;
    let system = built.system();
    let arm = Arm { cut, seed: 1, stream: Stream::A, optimizer: built.optimizer.clone() };

    let mut trainer = Trainer::<f32>::new(system, arm)?;
    let mut hash = 0;
    let whole = timed(repeats, || {
        hash = trainer.step()?.hash;
        Ok(())
    })?;
    println!("{name} {cut}: {:.2} ms, median {:.2}, parameters {hash:016x}", whole.0, whole.1);
    let mut rollout =
        Rollout::new(system.program(), system.batch_rows(), system.steps(), system.spec())?;
    let mut workspace = Workspace::new(&rollout, &[cut])?;
    system.fill_batch(BatchKey { seed: 1, stream: Stream::A, update: 0 }, &mut rollout)?;
    let model = trainer.model();
    let roll = timed(repeats, || {
        black_box(model.roll(&mut rollout)?);
        Ok(())
    })?;
    let backward = timed(repeats, || Ok(workspace.backward(model, &rollout)?))?;
    println!(
        "  roll {:.2}, median {:.2}; backward {:.2}, median {:.2}",
        roll.0, roll.1, backward.0, backward.1
    );
    Ok(())
}
