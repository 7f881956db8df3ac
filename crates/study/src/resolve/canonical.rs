//! The canonical form: what is frozen, and what a changed file is compared with.

use serde_json::{Value, json};

use crate::study::{Arm, Grid, Measured, Study};

/// The canonical form: what was resolved, in JSON.
pub(super) fn describe(study: &Study) -> Value {
    let grid = |g: &Grid| {
        let conditions: Vec<Value> =
            g.conditions.iter().map(|(label, choice)| json!([label, choice])).collect();
        json!({ "sources": g.sources, "conditions": conditions })
    };
    let arm = |a: &Arm| {
        let mut settings = a.settings.clone();
        let window = settings.remove("window"); // it was a key of its own before there were others
        let mut arm = json!({
            "name": a.name, "grid": a.grid, "conditions": a.conditions, "cut": a.cut,
            "window": window, "from": a.from, "updates": a.updates, "stream": a.stream,
            "evaluations": a.evaluations, "optimizer": a.optimizer, "keep": a.keep,
            "origin": a.origin,
        });
        if !settings.is_empty() {
            arm["settings"] = settings.into();
        }
        arm
    };
    let measured = |m: &Measured| json!({ "arm": m.arm, "update": m.update, "what": m.what, "reference": m.reference });
    json!({
        "version": 1,
        "name": study.name,
        "title": study.title,
        "grids": study.grids.iter().map(grid).collect::<Vec<_>>(),
        "arms": study.arms.iter().map(arm).collect::<Vec<_>>(),
        "measurements": study.measured.iter().map(measured).collect::<Vec<_>>(),
        "families": study.families.iter().map(|f| &f.table).collect::<Vec<_>>(),
        "comparisons": study.comparisons,
    })
}
