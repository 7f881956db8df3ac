//! One training update of a system under each cut, sampling included.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Context as _;
use backcut_engine::{Cut, Rollout};
use backcut_lab::training::{Arm, Evaluator, Trainer};
use backcut_study::Tools;
use backcut_systems::{BatchKey, Built, Stream, System};
use serde::Serialize;

use super::goals::noise;
use super::learner::Learner;
use super::{median, timed};
use crate::common::described;
use crate::exit::Told as _;
use backcut_text::thousands;

/// Updates in a row: the first finds what the others left in the caches and is not counted.
const BURST: usize = 5;

/// Medians in milliseconds.
#[derive(Serialize)]
pub struct Timings {
    /// The system and its shape, in words.
    system: String,
    weights: usize,
    ff_ms: f64,
    fd_ms: f64,
    f_sg_ms: f64,
    seg8_ms: f64,
    kf_ms: f64,
    /// With a forward window of one position, if the system has windows.
    w1_ms: Option<f64>,
    six_graphs_ms: f64,
    panel_ms: f64,
    /// An FF update taken apart.
    parts: Parts,
    /// The fastest FF update: what the machine can do when left alone.
    ff_fastest_ms: f64,
    /// Half the distance between the quartiles of FF updates, as a share of their median.
    pub noise: f64,
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
    fn measure(system: &dyn System<f32>, updates: usize) -> anyhow::Result<Self> {
        let mut learner = learner(system, &[Cut::FF])?;
        let mut times: [Vec<f64>; 4] = Default::default();
        for _ in 0..updates {
            times[0].push(timed(|| learner.sample(|update, into| fill(system, update, into)))?);
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

/// A training run under a cut, from the first source's initial parameters.
pub fn trainer(built: &Built, cut: Cut) -> anyhow::Result<Trainer<'_, f32>> {
    let arm = Arm { cut, seed: 1, stream: Stream::A, optimizer: built.optimizer.clone() };
    Trainer::new(built.system(), arm).told()
}

/// The same with room for several graphs, which training does not need.
fn learner(system: &dyn System<f32>, cuts: &[Cut]) -> anyhow::Result<Learner> {
    let (rows, steps) = (system.batch_rows(), system.steps());
    Learner::new(system.program(), rows, steps, system.spec(), cuts)
}

fn fill(system: &dyn System<f32>, update: u64, rollout: &mut Rollout<f32>) -> anyhow::Result<()> {
    Ok(system.fill_batch(BatchKey { seed: 1, stream: Stream::A, update }, rollout)?)
}

pub fn measure(tools: Tools, built: &Built, rounds: usize) -> anyhow::Result<Timings> {
    let all = built.system();
    let one = serde_json::Map::from_iter([("window".to_owned(), 1.into())]);
    let narrow = built.choice.changed(&one);
    let without_memory = tools.catalogue.build(&narrow).ok();
    let cuts = [Cut::FF, Cut::FD, Cut::F_SG, Cut::segments(8).context("8 is a length")?, Cut::KF];
    let mut trainers =
        cuts.iter().map(|cut| trainer(built, *cut)).collect::<anyhow::Result<Vec<_>>>()?;
    if let Some(built) = &without_memory {
        trainers.push(trainer(built, Cut::FF)?);
    }
    let mut six = learner(all, &Cut::SIX)?;
    let mut panel = Evaluator::<f32>::new(all).told()?;
    let mut times = vec![Vec::new(); trainers.len() + 2];
    for _ in 0..rounds {
        for (trainer, times) in trainers.iter_mut().zip(&mut times) {
            burst(times, || trainer.step().map(|_| ()).told())?;
        }
        let times = &mut times[trainers.len()..];
        burst(&mut times[0], || {
            six.sample(|update, into| fill(all, update, into))?;
            six.roll()?;
            six.backward()
        })?;
        let model = trainers[0].model();
        times[1].push(timed(|| panel.evaluate(all, model).map(|_| ()).map_err(Into::into))?);
    }
    let mut bytes = BTreeMap::new();
    for cut in cuts {
        bytes.insert(cut.to_string(), learner(all, &[cut])?.bytes());
    }
    bytes.insert("six graphs".to_owned(), six.bytes());
    let fastest = |times: &Vec<f64>| times.iter().copied().fold(f64::INFINITY, f64::min);
    let medians: Vec<f64> = times.iter().map(|times| median(times)).collect();
    let (rows, steps) = (all.batch_rows(), all.steps());
    Ok(Timings {
        system: format!("{}, batch {rows}, {steps} steps", described(built)),
        weights: all.program().layout().len(),
        ff_ms: medians[0],
        fd_ms: medians[1],
        f_sg_ms: medians[2],
        seg8_ms: medians[3],
        kf_ms: medians[4],
        w1_ms: without_memory.map(|_| medians[5]),
        six_graphs_ms: medians[medians.len() - 2],
        panel_ms: medians[medians.len() - 1],
        parts: Parts::measure(all, rounds * BURST)?,
        ff_fastest_ms: fastest(&times[0]),
        noise: noise(&times[0]),
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
    /// The slowest cut's update, in FF's.
    pub fn dearest_cut(&self) -> f64 {
        let cuts = [self.fd_ms, self.f_sg_ms, self.seg8_ms, self.kf_ms];
        cuts.into_iter().fold(0.0, f64::max) / self.ff_ms
    }

    /// The paper's six graphs from one forward, in FF's updates.
    pub fn six_graphs(&self) -> f64 {
        self.six_graphs_ms / self.ff_ms
    }

    /// The memory of the cut that takes most, in FF's.
    pub fn largest_cut(&self) -> f64 {
        let cuts = ["FD", "F_SG", "SEG-8", "KF"];
        let bytes = cuts.iter().filter_map(|cut| self.bytes.get(*cut)).max();
        bytes.map_or(f64::NAN, |bytes| *bytes as f64 / self.workspace_bytes as f64)
    }

    pub fn text(&self) -> String {
        let mut out = format!("{}, {} weights\n", self.system, thousands(self.weights));
        let _ = writeln!(
            out,
            "sample, roll, backward, clip, AdamW (the fastest FF update took {:.3} ms)",
            self.ff_fastest_ms
        );
        let _ = writeln!(out, "  graph          ms   x FF    bytes   x FF");
        let full_bytes = self.workspace_bytes as f64;
        let cuts = [
            ("FF", self.ff_ms),
            ("FD", self.fd_ms),
            ("F_SG", self.f_sg_ms),
            ("SEG-8", self.seg8_ms),
            ("KF", self.kf_ms),
        ];
        for (name, ms) in cuts {
            let bytes = self.bytes.get(name).copied().unwrap_or_default();
            let _ = writeln!(
                out,
                "  {name:<10} {ms:>6.3} {:>6.3} {bytes:>8} {:>6.3}",
                ms / self.ff_ms,
                bytes as f64 / full_bytes
            );
        }
        let others = [
            ("FF, w = 1", self.w1_ms, ""),
            ("six graphs", Some(self.six_graphs_ms), "(one forward, no step)"),
            ("panel", Some(self.panel_ms), "(forward only)"),
        ];
        for (name, ms, note) in others {
            let Some(ms) = ms else { continue };
            let line = format!("  {name:<10} {ms:>6.3} {:>6.3}   {note}", ms / self.ff_ms);
            let _ = writeln!(out, "{}", line.trim_end());
        }
        let Parts { sample_ms, roll_ms, backward_ms, step_ms } = self.parts;
        let _ = writeln!(
            out,
            "  FF in ms: sample {sample_ms:.3}, roll {roll_ms:.3}, backward {backward_ms:.3}, \
             clip and AdamW {step_ms:.3}"
        );
        out
    }
}
