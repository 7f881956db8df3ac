//! One training update of the quadrotor under each cut, sampling included.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::sync::Arc;

use anyhow::Context as _;
use backcut_engine::{Cut, Model, Program, Rollout};
use backcut_kernels::Isa;
use backcut_systems::quadrotor::{Quadrotor, QuadrotorConfig};
use backcut_systems::{BatchKey, Stream, System};
use serde::Serialize;

use super::learner::Learner;
use super::{median, timed};

/// Updates in a row: the first finds what the others left in the caches and is not counted.
const BURST: usize = 5;
/// Rows that an evaluation rolls at once.
const PANEL_GROUP: usize = 8;

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
    workspace_bytes: usize,
    /// Record, backward and packed weights, per cut.
    bytes: BTreeMap<String, usize>,
}

/// The quadrotor with some noise on its velocity reading, as the study trains it.
pub fn system(window: Option<NonZeroUsize>) -> anyhow::Result<Quadrotor> {
    let velocity = "0.20".parse()?;
    Ok(QuadrotorConfig { velocity, window, ..QuadrotorConfig::default() }.check()?)
}

pub fn learner(isa: Isa, system: &Quadrotor, cuts: &[Cut]) -> anyhow::Result<Learner> {
    let (rows, steps) = (System::<f32>::batch_rows(system), System::<f32>::steps(system));
    Learner::new(isa, System::<f32>::program(system), rows, steps, system.spec(), cuts)
}

/// Writes the batch of an update into a rollout.
pub fn fill(system: &Quadrotor, update: u64, rollout: &mut Rollout<f32>) {
    system.fill_batch(BatchKey { seed: 1, stream: Stream::A, update }, rollout);
}

pub fn measure(isa: Isa, rounds: usize) -> anyhow::Result<Timings> {
    let all = system(None)?;
    let without_memory = system(NonZeroUsize::new(1))?;
    let program: &Arc<Program> = System::<f32>::program(&all);
    let segments = Cut::segments(8).context("8 is a length")?;
    let mut arms: Vec<(Cut, &Quadrotor)> =
        [Cut::FF, Cut::FD, Cut::F_SG, segments, Cut::KF].map(|cut| (cut, &all)).to_vec();
    arms.push((Cut::FF, &without_memory));
    let mut learners = arms
        .iter()
        .map(|(cut, system)| learner(isa, system, &[*cut]))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let mut six = learner(isa, &all, &Cut::SIX)?;
    let mut panel = PanelRun::new(isa, &all)?;
    let mut times = vec![Vec::new(); arms.len() + 2];
    for _ in 0..rounds {
        for (i, (_, system)) in arms.iter().enumerate() {
            let learner = &mut learners[i];
            burst(&mut times[i], || learner.update(|update, into| fill(system, update, into)))?;
        }
        let times = &mut times[arms.len()..];
        burst(&mut times[0], || six.differentiate(|update, into| fill(&all, update, into)))?;
        times[1].push(timed(|| panel.evaluate(&all))?);
    }
    let medians: Vec<f64> = times.iter().map(|times| median(times)).collect();
    let shown = arms.iter().zip(&learners).take(arms.len() - 1);
    let mut bytes: BTreeMap<String, usize> =
        shown.map(|((cut, _), learner)| (cut.to_string(), learner.bytes())).collect();
    bytes.insert("six graphs".to_owned(), six.bytes());
    Ok(Timings {
        weights: program.layout().len(),
        ff_ms: medians[0],
        fd_ms: medians[1],
        f_sg_ms: medians[2],
        seg8_ms: medians[3],
        kf_ms: medians[4],
        w1_ms: medians[5],
        six_graphs_ms: medians[6],
        panel_ms: medians[7],
        workspace_bytes: learners[0].bytes(),
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

/// The evaluation panel, forward only.
struct PanelRun {
    model: Model<f32>,
    rollout: Rollout<f32>,
    errors: Vec<f64>,
}

impl PanelRun {
    fn new(isa: Isa, system: &Quadrotor) -> anyhow::Result<Self> {
        let program = System::<f32>::program(system);
        let model = Model::new(program, isa, program.layout().initialise(1))?;
        let steps = System::<f32>::steps(system);
        let rollout = Rollout::new(program, PANEL_GROUP, steps, system.spec())?;
        Ok(Self { model, rollout, errors: vec![0.0; System::<f32>::panel_rows(system)] })
    }

    fn evaluate(&mut self, system: &Quadrotor) -> anyhow::Result<()> {
        for first in (0..self.errors.len()).step_by(PANEL_GROUP) {
            system.fill_panel(first, &mut self.rollout);
            self.model.roll_into(&mut self.rollout)?;
            system.row_errors(&self.rollout, &mut self.errors[first..]);
        }
        Ok(())
    }
}

impl Timings {
    pub fn text(&self) -> String {
        let mut out = format!(
            "quadrotor, {} weights, batch 8, 32 steps: sample, roll, backward, clip, AdamW\n",
            self.weights
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
        out
    }
}
