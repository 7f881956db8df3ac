//! What one update needs in memory, per cut. Time is measured where there is a clock: in the
//! binary.

use backcut_engine::{Cut, Model, Rollout, Workspace};
use backcut_kernels::Real;
use backcut_systems::System;

use crate::measure::define::{Definition, define};
use crate::measure::error::MeasureError;
use crate::measure::finding::Finding;
use crate::measure::groups::ALL;

/// What its quantities are.
pub(crate) const DEFINITIONS: &[Definition] = &[
    define(
        "cost",
        "cost.workspace-bytes",
        "bytes of the backward's storage for one cut; allocated once, nothing during an update",
    ),
    define(
        "cost",
        "cost.peak-bytes",
        "workspace, recorded rollout, packed weights, parameters and both moments",
    ),
    define(
        "cost",
        "cost.median-ms",
        "median wall time of one update (sample, roll, backward, clip, step) over interleaved \
         rounds",
    ),
    define("cost", "cost.min-ms", "fastest of the same: what the machine can do when left alone"),
    define(
        "cost",
        "cost.instructions",
        "instructions of one update; the note names tool and code path (`perf stat, user mode`: \
         the difference of two runs of different length; `callgrind`: the update alone, on a \
         processor without AVX-512). Only counts with the same note compare",
    ),
];

/// Bytes that an update under each cut holds at its peak. Everything is allocated before the first
/// update and nothing during one, so what is held is the peak.
pub fn update_bytes<R: Real>(
    system: &dyn System<R>,
    cuts: &[Cut],
) -> Result<Vec<Finding>, MeasureError> {
    let program = system.program();
    let rollout = Rollout::new(program, system.batch_rows(), system.steps(), system.spec())?;
    let weights = program.layout().len();
    let model = Model::new(program, vec![R::ZERO; weights])?;
    // Parameters and both moments.
    let state = 3 * weights * size_of::<R>();
    let shared = rollout.bytes() + model.packed_bytes() + state;
    let mut findings = Vec::new();
    for cut in cuts {
        let workspace = Workspace::new(&rollout, &[*cut])?.bytes();
        findings.push(Finding::new("cost.workspace-bytes", cut, ALL, workspace as f64));
        findings.push(Finding::new("cost.peak-bytes", cut, ALL, (workspace + shared) as f64));
    }
    Ok(findings)
}
