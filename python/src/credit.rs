//! The engine's credit rule as tables, for edges that a framework declares by name.

use backcut_engine::{Declared, Draw};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use serde_json::json;

use crate::explain::parse;
use crate::{told, wrong};

/// Tables are quadratic in the steps.
const MAX_STEPS: usize = 8192;

/// What is left of a memory edge for the stored representation, and for the weights that project
/// it.
type Tables<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// What a cut leaves of declared edges in a rollout of so many steps.
///
/// `memory` names edges, and says of each whether a step reads more than the one before it. If so
/// its tables are `[t][j]`, row by row, for step `t` that reads what step `j` stored (1 for the own
/// step); if not, `[j]` for what step `j` hands to the next one. `draw` is the seed and the update
/// of a cut that is drawn.
///
/// As JSON: `states` (of each its `factor`, and whether it `counts` as one that a path passes),
/// `values` (a factor each), `most` (how many counted state edges a path may pass; null for any
/// number).
#[pyfunction]
#[pyo3(signature = (name, memory, states, values, steps, draw=None))]
pub fn credit<'py>(
    py: Python<'py>,
    name: &str,
    memory: Vec<(String, bool)>,
    states: Vec<String>,
    values: Vec<String>,
    steps: usize,
    draw: Option<(u64, u64)>,
) -> PyResult<(String, Vec<Tables<'py>>)> {
    let cut = parse(name)?;
    if !(1..=MAX_STEPS).contains(&steps) {
        let what = format!("credit of {steps} steps can not be tabulated");
        return Err(wrong(what, &format!("use 1 to {MAX_STEPS} steps")));
    }
    let declared =
        Declared { memory: memory.iter().map(|(name, _)| name.clone()).collect(), states, values };
    let draw = draw.map(|(seed, update)| Draw::new(seed, update));
    let credit = declared.credit(cut, draw, steps).map_err(|error| told("", &error))?;
    let tables = memory.iter().enumerate().map(|(edge, (_, pairs))| {
        let readings: Vec<(usize, usize)> = if *pairs {
            (0..steps).flat_map(|t| (0..steps).map(move |j| (j, t))).collect()
        } else {
            (1..steps).map(|t| (t - 1, t)).collect()
        };
        // Of its own value a step has all, and what is not yet stored is not read.
        let share = |(j, t): (usize, usize)| match j.cmp(&t) {
            std::cmp::Ordering::Less => {
                let fate = credit.memory(edge, j, t);
                (fate.factor(), fate.of_weights())
            }
            std::cmp::Ordering::Equal => (1.0, 1.0),
            std::cmp::Ordering::Greater => (0.0, 0.0),
        };
        let (stored, weights): (Vec<f64>, Vec<f64>) = readings.into_iter().map(share).unzip();
        (stored.into_pyarray(py), weights.into_pyarray(py))
    });
    let tables = tables.collect();
    let state = |passage: &backcut_engine::Passage| json!({ "factor": passage.factor, "counts": passage.counts });
    let value = json!({
        "states": credit.states.iter().map(state).collect::<Vec<_>>(),
        "values": credit.values,
        "most": credit.most,
    });
    Ok((value.to_string(), tables))
}
