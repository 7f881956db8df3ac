//! Times the parts of one training update of the quadrotor on one thread, and counts what it is
//! made of.
//!
//! ```sh
//! cargo run --release -p backcut-systems --example one_update -- FF 0.20
//! ```

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use backcut_engine::{Cut, Model, Rollout, Workspace};
use backcut_systems::quadrotor::QuadrotorConfig;
use backcut_systems::{BatchKey, Stream, System};

type Failure = Box<dyn std::error::Error>;

/// The fastest of `repeats` runs of `work`, in microseconds: what the machine can do when left
/// alone.
fn fastest(repeats: u64, mut work: impl FnMut(u64) -> Result<(), Failure>) -> Result<f64, Failure> {
    let mut best = Duration::MAX;
    for i in 0..repeats {
        let start = Instant::now();
        work(i)?;
        best = best.min(start.elapsed());
    }
    Ok(best.as_secs_f64() * 1e6)
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let cut: Cut = arguments.next().as_deref().unwrap_or("FF").parse()?;
    let velocity = arguments.next().as_deref().unwrap_or("0.20").parse()?;
    let system = QuadrotorConfig { velocity, ..QuadrotorConfig::default() }.check()?;
    let program = System::<f32>::program(&system);
    let model = Model::new(program, program.layout().initialise::<f32>(1))?;
    let (rows, steps) = (System::<f32>::batch_rows(&system), System::<f32>::steps(&system));
    let mut rollout = Rollout::new(program, rows, steps, system.spec())?;
    let mut workspace = Workspace::new(&rollout, &[cut])?;
    println!("weights {}, instructions per step {}", program.layout().len(), program.nodes().len());
    let key = |update| BatchKey { seed: 1, stream: Stream::A, update };

    let all = fastest(2000, |i| {
        system.fill_batch(key(i), &mut rollout)?;
        model.roll(&mut rollout)?;
        workspace.backward(&model, &rollout)?;
        black_box(workspace.gradient(0));
        Ok(())
    })?;
    let fill = fastest(2000, |i| {
        system.fill_batch(key(i), &mut rollout)?;
        Ok(())
    })?;
    let roll = fastest(2000, |_| {
        black_box(model.roll(&mut rollout)?);
        Ok(())
    })?;
    let backward = fastest(2000, |_| Ok(workspace.backward(&model, &rollout)?))?;
    println!(
        "{cut} at {velocity}: {all:.0} us = fill {fill:.1} + roll {roll:.0} + backward \
         {backward:.0}"
    );
    Ok(())
}
