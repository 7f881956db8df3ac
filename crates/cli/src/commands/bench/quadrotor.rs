//! One training update of the quadrotor under each cut, sampling included.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::num::NonZeroUsize;

use anyhow::Context as _;
use backcut_engine::{Cpu, Cut, Rollout};
use backcut_kernels::Isa;
use backcut_systems::quadrotor::{Quadrotor, QuadrotorConfig};
use backcut_systems::{BatchKey, Stream, System};
use backcut_training::{Arm, Evaluator, Trainer};
use serde::Serialize;

use super::learner::Learner;
use super::{median, timed};
use crate::quadrotor::default_run;

/// Updates in a row: the first finds what the others left in the caches and is not counted.
const BURST: usize = 5;

/// Medians in milliseconds.
#[derive(Serialize)]
pub struct Timings {
    weights: usize,
    ff_ms: f64,
    fd_ms: f64,
    f_sg_ms: f64,
    seg8_ms: f64,
    kf_ms: f64,
    w1_ms: f64,
    six_graphs_ms: f64,
    panel_ms: f64,
    /// An FF update taken apart.
    parts: Parts,
    /// The fastest FF update: what the machine can do when left alone.
    ff_fastest_ms: f64,
    workspace_bytes: usize,
    /// Record, backward and packed weights, per cut.
    bytes: BTreeMap<String, usize>,
}

/// Where the time of an FF update goes, medians in milliseconds.
#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "units belong into names that tools read")]
struct Parts {
    sample_ms: f64,
    roll_ms: f64,
    backward_ms: f64,
    step_ms: f64,
}

impl Parts {
    fn measure(isa: Isa, system: &Quadrotor, updates: usize) -> anyhow::Result<Self> {
        let mut learner = learner(isa, system, &[Cut::FF])?;
        let mut times: [Vec<f64>; 4] = Default::default();
        for _ in 0..updates {
            times[0].push(timed(|| {
                learner.sample(|update, into| fill(system, update, into));
                Ok(())
            })?);
            times[1].push(timed(|| learner.roll())?);
            times[2].push(timed(|| learner.backward())?);
            times[3].push(timed(|| {
                learner.step();
                Ok(())
            })?);
        }
        let [sample_ms, roll_ms, backward_ms, step_ms] = times.map(|times| median(&times));
        Ok(Self { sample_ms, roll_ms, backward_ms, step_ms })
    }
}

/// The quadrotor with some noise on its velocity reading, as the study trains it.
pub fn system(window: Option<NonZeroUsize>) -> anyhow::Result<Quadrotor> {
    let velocity = "0.20".parse()?;
    Ok(QuadrotorConfig { velocity, window, ..QuadrotorConfig::default() }.check()?)
}

/// A training run under a cut, from the first source's initial parameters.
pub fn trainer(system: &Quadrotor, cut: Cut) -> anyhow::Result<Trainer<'_, f32>> {
    let optimizer = default_run(system)?.optimizer;
    Ok(Trainer::new(Cpu::detect(), system, Arm { cut, seed: 1, stream: Stream::A, optimizer })?)
}

/// The same with room for several graphs, which training does not need.
fn learner(isa: Isa, system: &Quadrotor, cuts: &[Cut]) -> anyhow::Result<Learner> {
    let (rows, steps) = (System::<f32>::batch_rows(system), System::<f32>::steps(system));
    Learner::new(isa, System::<f32>::program(system), rows, steps, system.spec(), cuts)
}

fn fill(system: &Quadrotor, update: u64, rollout: &mut Rollout<f32>) {
    system.fill_batch(BatchKey { seed: 1, stream: Stream::A, update }, rollout);
}

pub fn measure(isa: Isa, rounds: usize) -> anyhow::Result<Timings> {
    let all = system(None)?;
    let without_memory = system(NonZeroUsize::new(1))?;
    let cuts = [Cut::FF, Cut::FD, Cut::F_SG, Cut::segments(8).context("8 is a length")?, Cut::KF];
    let mut trainers =
        cuts.iter().map(|cut| trainer(&all, *cut)).collect::<anyhow::Result<Vec<_>>>()?;
    trainers.push(trainer(&without_memory, Cut::FF)?);
    let mut six = learner(isa, &all, &Cut::SIX)?;
    let mut panel = Evaluator::<f32>::new(Cpu::detect(), &all)?;
    let mut times = vec![Vec::new(); trainers.len() + 2];
    for _ in 0..rounds {
        for (trainer, times) in trainers.iter_mut().zip(&mut times) {
            burst(times, || trainer.step().map(|_| ()).map_err(Into::into))?;
        }
        let times = &mut times[trainers.len()..];
        burst(&mut times[0], || six.differentiate(|update, into| fill(&all, update, into)))?;
        let model = trainers[0].model();
        times[1].push(timed(|| panel.evaluate(&all, model).map(|_| ()).map_err(Into::into))?);
    }
    let mut bytes = BTreeMap::new();
    for cut in cuts {
        bytes.insert(cut.to_string(), learner(isa, &all, &[cut])?.bytes());
    }
    bytes.insert("six graphs".to_owned(), six.bytes());
    let fastest = |times: &Vec<f64>| times.iter().copied().fold(f64::INFINITY, f64::min);
    let medians: Vec<f64> = times.iter().map(|times| median(times)).collect();
    Ok(Timings {
        weights: System::<f32>::program(&all).layout().len(),
        ff_ms: medians[0],
        fd_ms: medians[1],
        f_sg_ms: medians[2],
        seg8_ms: medians[3],
        kf_ms: medians[4],
        w1_ms: medians[5],
        six_graphs_ms: medians[6],
        panel_ms: medians[7],
        parts: Parts::measure(isa, &all, rounds * BURST)?,
        ff_fastest_ms: fastest(&times[0]),
        workspace_bytes: bytes["FF"],
        bytes,
    })
}

fn burst(times: &mut Vec<f64>, mut work: impl FnMut() -> anyhow::Result<()>) -> anyhow::Result<()> {
    work()?;
    for _ in 1..BURST {
        times.push(timed(&mut work)?);
    }
    Ok(())
}

impl Timings {
    pub fn text(&self) -> String {
        let mut out = format!(
            "quadrotor, {} weights, batch 8, 32 steps: sample, roll, backward, clip, AdamW\n",
            self.weights
        );
        let _ = writeln!(
            out,
            "(`backcut train`'s own update; the fastest FF one took {:.3} ms)",
            self.ff_fastest_ms
        );
        let _ = writeln!(out, "  graph          ms   x FF    bytes   x FF   target");
        let full_bytes = self.workspace_bytes as f64;
        let cuts = [
            ("FF", self.ff_ms, "1.8 ms"),
            ("FD", self.fd_ms, "1.05x, 1.02x"),
            ("F_SG", self.f_sg_ms, "1.05x, 1.02x"),
            ("SEG-8", self.seg8_ms, "1.05x, 1.02x"),
            ("KF", self.kf_ms, "1.05x, 1.02x"),
        ];
        for (name, ms, target) in cuts {
            let bytes = self.bytes.get(name).copied().unwrap_or_default();
            let _ = writeln!(
                out,
                "  {name:<10} {ms:>6.3} {:>6.3} {bytes:>8} {:>6.3}   {target}",
                ms / self.ff_ms,
                bytes as f64 / full_bytes
            );
        }
        let others = [
            ("FF, w = 1", self.w1_ms, ""),
            ("six graphs", self.six_graphs_ms, "3.0x (one forward, no step)"),
            ("panel", self.panel_ms, "20 ms (256 rows, forward)"),
        ];
        for (name, ms, target) in others {
            let line =
                format!("  {name:<10} {ms:>6.3} {:>6.3} {:>17} {target}", ms / self.ff_ms, "");
            let _ = writeln!(out, "{}", line.trim_end());
        }
        let Parts { sample_ms, roll_ms, backward_ms, step_ms } = self.parts;
        let _ = writeln!(
            out,
            "  an FF update: sample {sample_ms:.3} ms, roll {roll_ms:.3}, backward {backward_ms:.3}, \
             clip and AdamW {step_ms:.3}"
        );
        out
    }
}
