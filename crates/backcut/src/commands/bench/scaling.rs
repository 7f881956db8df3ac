//! Longer rollouts, and more threads.

use std::fmt::Write as _;
use std::sync::Arc;

use backcut_engine::{Cut, ForwardSpec, Rollout};
use backcut_kernels::random::Stream;
use backcut_lab::training::Trainer;
use backcut_systems::Built;
use serde::Serialize;

use super::learner::Learner;
use super::{median, system, timed};
use crate::exit::Told as _;
use crate::shape::Shape;

/// Updates of a unit in one timing.
pub const UPDATES: usize = 200;
const STEPS: [usize; 4] = [32, 64, 128, 256];
const ROWS: usize = 8;
/// With a window the attention of a step costs the same however long the rollout is.
const WINDOW: usize = 32;

/// An FF update of a quadrotor-shaped program of so many steps.
#[derive(Serialize)]
pub struct OfSteps {
    steps: usize,
    ms: f64,
    us_per_step: f64,
    /// The same with a forward window of 32 positions.
    window32_ms: f64,
    window32_us_per_step: f64,
}

pub fn over_steps(rounds: usize) -> anyhow::Result<Vec<OfSteps>> {
    let mut learners = Vec::new();
    for steps in STEPS {
        let shape = Shape { steps, layers: 2, width: 64, heads: 4 };
        let program = Arc::new(shape.program()?);
        for spec in [ForwardSpec::default(), ForwardSpec::window(WINDOW)?] {
            learners.push(Learner::new(&program, ROWS, steps, spec, &[Cut::FF])?);
        }
    }
    let mut times = vec![Vec::new(); learners.len()];
    for _ in 0..rounds.max(1) {
        for (learner, times) in learners.iter_mut().zip(&mut times) {
            let mut update = || {
                learner.sample(draw)?;
                learner.roll()?;
                learner.backward()?;
                learner.step();
                Ok(())
            };
            update()?;
            for _ in 0..2 {
                times.push(timed(&mut update)?);
            }
        }
    }
    let of_steps = |(steps, times): (usize, &[Vec<f64>])| {
        let (ms, window32_ms) = (median(&times[0]), median(&times[1]));
        let per_step = |ms: f64| 1e3 * ms / steps as f64;
        let (us_per_step, window32_us_per_step) = (per_step(ms), per_step(window32_ms));
        OfSteps { steps, ms, us_per_step, window32_ms, window32_us_per_step }
    };
    Ok(STEPS.into_iter().zip(times.chunks(2)).map(of_steps).collect())
}

/// A reference of normal numbers, drawn once: what is measured here is the engine.
#[expect(clippy::unnecessary_wraps, reason = "it stands where a system's sampler may fail")]
fn draw(update: u64, rollout: &mut Rollout<f32>) -> anyhow::Result<()> {
    let mut draws = Stream::new(1, "bench").at(update, 0);
    if let Some(reference) = rollout.input_mut("reference").filter(|_| update == 0) {
        for x in reference {
            *x = draws.normal() as f32;
        }
    }
    Ok(())
}

pub fn text(measured: &[OfSteps]) -> String {
    let mut out = "cost of steps, FF update of a program with the quadrotor's shape\n".to_owned();
    let _ = writeln!(out, "  steps        ms   us per step   window 32: ms   us per step");
    for OfSteps { steps, ms, us_per_step, window32_ms, window32_us_per_step } in measured {
        let _ = writeln!(
            out,
            "  {steps:>5} {ms:>9.3} {us_per_step:>13.1} {window32_ms:>15.3} \
             {window32_us_per_step:>13.1}"
        );
    }
    out
}

/// Two units, one after the other or side by side.
#[derive(Serialize)]
pub struct Threads {
    pub one_thread_ms: f64,
    pub two_threads_ms: f64,
    pub speedup: f64,
}

pub fn over_threads(built: &Built, rounds: usize) -> anyhow::Result<Threads> {
    let unit = || system::trainer(built, Cut::FF);
    let mut units = [unit()?, unit()?];
    let train = |unit: &mut Trainer<'_, f32>| -> anyhow::Result<()> {
        for _ in 0..UPDATES {
            unit.step().told()?;
        }
        Ok(())
    };
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for _ in 0..rounds.max(1) {
        one.push(timed(|| units.iter_mut().try_for_each(train))?);
        two.push(timed(|| {
            std::thread::scope(|scope| {
                let running: Vec<_> =
                    units.iter_mut().map(|unit| scope.spawn(move || train(unit))).collect();
                running.into_iter().try_for_each(|unit| {
                    unit.join()
                        .map_err(|_| anyhow::anyhow!("a thread of the benchmark panicked"))?
                })
            })
        })?);
    }
    let (one_thread_ms, two_threads_ms) = (median(&one), median(&two));
    Ok(Threads { one_thread_ms, two_threads_ms, speedup: one_thread_ms / two_threads_ms })
}
