//! Cuts by name, and what they leave of a rollout's edges.

use backcut_engine::edges::{EdgeList, Fate, Through};
use backcut_engine::{Cut, ForwardSpec, MemoryCredit, MemoryReads, Program, StateCredit, Trace};
use backcut_systems::policy::{Initialisation, Mixer, Policy};
use pyo3::prelude::*;
use serde_json::json;

use crate::{told, wrong};

/// Listing is quadratic in the steps, and reach is listed for every loss.
const MAX_STEPS: usize = 512;

pub(crate) fn parse(name: &str) -> PyResult<Cut> {
    name.parse().map_err(|error| told("", &error))
}

/// What a cut's name says, as JSON: `depth` (steps that a loss reaches through states), `segment`
/// (steps per segment of memory) and `share` (of the credit across segments, what a stored
/// representation receives).
#[pyfunction]
pub fn cut(name: &str) -> PyResult<String> {
    let cut = parse(name)?;
    let depth = match cut.state {
        StateCredit::Full => None,
        StateCredit::Steps(steps) => Some(steps.get()),
    };
    let (segment, share) = match cut.memory {
        MemoryCredit::Full => (None, Some(0.0)),
        MemoryCredit::Projected => (Some(1), None),
        MemoryCredit::Stored { segment } => {
            (Some(segment.map_or(1, std::num::NonZeroU32::get)), Some(0.0))
        }
        MemoryCredit::Scaled { alpha } => (Some(1), Some(alpha.get())),
        MemoryCredit::Shifted { .. } | MemoryCredit::Random { .. } => {
            return Err(engine_only(&cut));
        }
    };
    if !cut.parts.is_empty() {
        return Err(engine_only(&cut));
    }
    let value = json!({
        "name": cut, "depth": depth, "segment": segment, "share": share, "meaning": cut.in_words(),
    });
    Ok(value.to_string())
}

/// What a cut placed by hand cannot carry out is never carried out in part.
fn engine_only(cut: &Cut) -> PyErr {
    if cut.parts.is_empty() {
        let what = format!("{cut} is drawn anew for every update, and nothing here draws");
        return wrong(what, "replay it on a Tape, with draw=(seed, update)");
    }
    let what = format!("{cut} names single edges, and nothing here has a name");
    wrong(what, "declare the edges on a Tape, and replay it there")
}

/// A small policy with one state and one attention layer: edges depend on nothing else.
fn program() -> PyResult<Program> {
    let policy = Policy {
        steps: MAX_STEPS,
        width: 4,
        layers: 1,
        heads: 1,
        hidden: 4,
        initialisation: Initialisation::Pytorch,
        mixer: Mixer::Attention,
        ..Policy::small()
    };
    let t = Trace::new();
    let state = t.state("state", 1);
    let action = policy.trace(&t, state, 1);
    t.tap("action", action);
    t.next("state", state + action);
    t.loss(action.square().sum());
    t.compile().map_err(|error| told("", &error))
}

/// What a cut keeps in a rollout, as JSON.
#[pyfunction]
#[pyo3(signature = (name, steps, window=None))]
pub fn explain(name: &str, steps: usize, window: Option<usize>) -> PyResult<String> {
    let cut = parse(name)?;
    if !(1..=MAX_STEPS).contains(&steps) {
        return Err(wrong(format!("{steps} steps can not be drawn"), "use 1 to 512 steps"));
    }
    let reads = match window {
        None => MemoryReads::All,
        Some(window) => ForwardSpec::<f32>::window(window).map_err(|error| told("", &error))?.reads,
    };
    let program = program()?;
    let edges = EdgeList::new(&program, steps, 0, &reads, cut).map_err(|error| told("", &error))?;
    let mut fates = (0..steps).map(|t| vec![json!(null); t + 1]).collect::<Vec<_>>();
    for (t, row) in fates.iter_mut().enumerate() {
        row[t] = json!("own");
    }
    for edge in edges.edges().iter().filter(|edge| edge.through == Through::Cache) {
        fates[edge.to][edge.from] = match edge.fate {
            Fate::Kept => json!("kept"),
            Fate::WeightsOnly => json!("weights only"),
            Fate::Scaled(alpha) => json!(alpha),
            Fate::Dropped => json!("cut"),
        };
    }
    let fewest = |tap: &str| -> Vec<Vec<Option<usize>>> {
        let site = program.tap(tap);
        let of_loss = |t: usize| {
            let reach = edges.reach(t);
            (0..=t).map(|step| reach.as_ref()?.at(step, site?)).collect()
        };
        (0..steps).map(of_loss).collect()
    };
    let value = json!({
        "cut": cut,
        "meaning": cut.in_words(),
        "steps": steps,
        "window": window,
        "memory": fates,
        "state_edges_per_path": edges.state_edges_per_path(),
        "stored": fewest("block0.stored"),
        "action": fewest("action"),
    });
    Ok(value.to_string())
}
