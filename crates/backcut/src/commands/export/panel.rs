//! `backcut export --panel`: the evaluation panel with what probes, donors and attention are
//! computed from.
//!
//! Every tap over the whole panel, the attention's probabilities, the recorded derangement and
//! folds, and this program's own findings at the same state: another program can compute each of
//! them anew and compare.

use anyhow::Result;
use backcut_engine::{Model, Rollout};
use backcut_lab::measure::memory::panel_derangement;
use backcut_lab::measure::probe::{Folds, STRENGTHS};
use backcut_lab::measure::{Measurement, Subject, measure};
use backcut_lab::training::{RunConfig, State, Tensors};
use backcut_systems::{BatchKey, System};
use serde_json::{Map, Value, json};

use super::{Start, describe};
use crate::exit::{Told as _, user};

/// Taps of the whole panel, `[step][row][column]`, and probabilities,
/// `[row][head][query][position]`.
#[derive(Default)]
struct Gathered {
    taps: Vec<(String, usize, Vec<f32>)>,
    attention: Vec<(String, usize, Vec<f32>)>,
    errors: Vec<f64>,
}

impl Gathered {
    fn new(system: &dyn System<f32>) -> Self {
        let (program, rows, steps) = (system.program(), system.panel_rows(), system.steps());
        let tap = |name: &str| {
            let width = program.width(program.tap(name)?);
            Some((name.to_owned(), width, vec![0.0; steps * rows * width]))
        };
        let attention = program.cache_names().map(|name| (name.to_owned(), 0, Vec::new()));
        Self {
            taps: program.tap_names().into_iter().filter_map(tap).collect(),
            attention: attention.collect(),
            errors: vec![0.0; rows],
        }
    }

    /// Takes over the trajectories from `first` on.
    fn take(&mut self, system: &dyn System<f32>, first: usize, rollout: &Rollout<f32>) {
        let (all, rows, steps) = (system.panel_rows(), rollout.rows(), rollout.steps());
        for (name, width, values) in &mut self.taps {
            let Some(site) = rollout.program().tap(name) else { continue };
            for t in 0..steps {
                let from = rollout.value(site, t);
                values[(t * all + first) * *width..][..rows * *width].copy_from_slice(from);
            }
        }
        for (cache, heads, values) in &mut self.attention {
            for t in 0..steps {
                let Some((p, shape)) = rollout.probabilities(cache, t) else { continue };
                *heads = shape.heads;
                values.resize(all * shape.heads * steps * steps, 0.0);
                for (row, head, j) in places(rows, shape.heads, t + 1) {
                    let to = (((first + row) * shape.heads + head) * steps + t) * steps + j;
                    if rollout.spec().reads.shows(t, j) {
                        values[to] = p[j * shape.lanes() + shape.lane(row, head)];
                    }
                }
            }
        }
        system.row_errors(rollout, &mut self.errors[first..first + rows]);
    }
}

fn places(rows: usize, heads: usize, end: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..rows)
        .flat_map(move |row| (0..heads).flat_map(move |head| (0..end).map(move |j| (row, head, j))))
}

/// The file's bytes.
pub fn export(
    system: &dyn System<f32>,
    config: &RunConfig,
    start: Option<Start>,
) -> Result<Vec<u8>> {
    let (program, rows, steps) = (system.program(), system.panel_rows(), system.steps());
    let layout = program.layout();
    let state = match start {
        Some(start) => start.checkpoint.state(layout).told()?,
        None => State::initial(system, config.seed),
    };
    let model = Model::new(program, state.params.clone())?;
    let mut gathered = Gathered::new(system);
    for first in (0..rows).step_by(system.panel_group()) {
        let count = system.panel_group().min(rows - first);
        let mut rollout = Rollout::new(program, count, steps, system.spec()).told()?;
        system.fill_panel(first, &mut rollout).map_err(|e| user(e, "it has no panel"))?;
        let hint = "the policy fails on the panel: choose another checkpoint";
        model.roll(&mut rollout).map_err(|e| user(e, hint))?;
        gathered.take(system, first, &rollout);
    }
    let mut tensors = Tensors::default();
    tensors.add_parameters("param", layout, model.values());
    for (name, shape, values) in system.raw_panel() {
        let rounded: Vec<f32> = values.iter().map(|v| *v as f32).collect();
        tensors.add(&format!("input/{name}"), &shape, &rounded);
    }
    for (name, width, values) in &gathered.taps {
        tensors.add(&format!("panel/{name}"), &[steps, rows, *width], values);
    }
    for (name, heads, values) in &gathered.attention {
        tensors.add(&format!("attention/{name}"), &[rows, *heads, steps, steps], values);
    }
    tensors.add("panel_error", &[rows], &gathered.errors);

    let (seed, stream, update) = (config.seed, config.stream, state.update);
    let key = BatchKey { seed, stream, update };
    let subject = Subject { system, state: &state, optimizer: &config.optimizer, key };
    let mut header = describe::<f32>(config, state.update, state.moments.step, &Map::new())?;
    header["kind"] = "panel".into();
    header["constants"] = system.constants().into();
    header["donors"] = json!(panel_derangement(rows));
    header["strengths"] = json!(STRENGTHS);
    if let Ok(folds) = Folds::fixed(rows) {
        let (outer, inner): (Vec<usize>, Vec<usize>) = (0..rows).map(|row| folds.of(row)).unzip();
        header["folds"] = json!({"outer": outer, "inner": inner});
    }
    let probe = Measurement::Probe { common: false, target: None, token: None, stored: None };
    let measurements =
        [probe, Measurement::Donor { memories: vec![] }, Measurement::Attention { ages: false }];
    header["measured"] =
        measurements.iter().map(|what| (what.kind().to_owned(), found(what, &subject))).collect();
    header["layout"]["panel"] =
        "taps of the step program over the whole panel, [step][row][column]".into();
    header["layout"]["attention"] =
        "probabilities, [row][head][query][position]; zero where a query does not look".into();
    header["layout"]["donors"] = "row i reads what row donors[i] stored before each step".into();
    header["layout"]["folds"] = "outer and inner fold of every trajectory, for probes".into();
    Ok(tensors.to_bytes(&header))
}

/// This program's own findings, or why there are none.
fn found(what: &Measurement, subject: &Subject) -> Value {
    match measure(what, subject, None) {
        Ok(findings) => findings
            .iter()
            .map(|f| json!({"quantity": f.quantity, "part": f.part, "value": f.value}))
            .collect(),
        Err(error) => json!({"not measured": error.to_string()}),
    }
}
