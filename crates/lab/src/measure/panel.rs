//! The fixed panel under a forward of one's choice, in groups of rows that stay in the cache.
//!
//! A row's bits do not depend on the group it sits in, so trajectories may be regrouped freely:
//! what is measured here agrees bit by bit with what training evaluates.

use crate::training::{Panel, in_panel};
use backcut_engine::{ForwardSpec, Model, Program, RollError, Rollout, Site};
use backcut_systems::System;

use crate::measure::error::MeasureError;
use crate::measure::subject::Subject;

/// The subject's parameters, ready to run.
pub(crate) fn model(subject: &Subject) -> Result<Model<f32>, MeasureError> {
    let params = subject.state.params.clone();
    Ok(Model::new(subject.system.program(), params)?)
}

/// The place of a tap, a state or an input.
pub(crate) fn site(program: &Program, name: &str) -> Result<Site, MeasureError> {
    program.tap(name).ok_or_else(|| {
        let known = program.tap_names().join(", ");
        MeasureError::Unfit(format!("`{name}` is no tap, state or input; known: {known}"))
    })
}

/// The panel's rows in groups: first row and how many.
pub(crate) fn groups(system: &dyn System<f32>) -> impl Iterator<Item = (usize, usize)> + use<> {
    let (rows, group) = (system.panel_rows(), system.panel_group());
    (0..rows).step_by(group).map(move |first| (first, group.min(rows - first)))
}

/// Rolls the panel's trajectories `first..first + rows` under `spec`.
pub(crate) fn roll_group(
    subject: &Subject,
    model: &Model<f32>,
    group: (usize, usize),
    spec: ForwardSpec<f32>,
) -> Result<Rollout<f32>, MeasureError> {
    roll_fed_group(subject, model, group, spec, |_| {})
}

/// The same with a forward that is fed: `feed` writes the values.
pub(crate) fn roll_fed_group(
    subject: &Subject,
    model: &Model<f32>,
    (first, rows): (usize, usize),
    spec: ForwardSpec<f32>,
    feed: impl FnOnce(&mut Rollout<f32>),
) -> Result<Rollout<f32>, MeasureError> {
    let system = subject.system;
    let mut rollout = Rollout::new(system.program(), rows, system.steps(), spec)?;
    feed(&mut rollout);
    roll(subject, model, first, &mut rollout)?;
    Ok(rollout)
}

fn roll(
    subject: &Subject,
    model: &Model<f32>,
    first: usize,
    rollout: &mut Rollout<f32>,
) -> Result<(), MeasureError> {
    subject.system.fill_panel(first, rollout)?;
    let failed = |error| MeasureError::Panel(in_panel(error, first));
    model.roll(rollout).map_err(failed)?;
    Ok(())
}

/// Errors of the whole panel under `spec`.
pub(crate) fn evaluate(
    subject: &Subject,
    model: &Model<f32>,
    spec: &ForwardSpec<f32>,
) -> Result<Panel, MeasureError> {
    let mut errors = vec![0.0; subject.system.panel_rows()];
    visit(subject, model, spec, |first, rollout| {
        subject.system.row_errors(rollout, &mut errors[first..first + rollout.rows()]);
    })?;
    Ok(Panel::new(errors))
}

/// Rolls the whole panel under `spec`, group by group in the same storage; `see` gets the first row
/// of each group and its rollout.
pub(crate) fn visit(
    subject: &Subject,
    model: &Model<f32>,
    spec: &ForwardSpec<f32>,
    mut see: impl FnMut(usize, &Rollout<f32>),
) -> Result<(), MeasureError> {
    let Subject { system, .. } = subject;
    let mut storage: Option<Rollout<f32>> = None;
    for (first, rows) in groups(*system) {
        let mut rollout = match storage.take() {
            Some(rollout) if rollout.rows() == rows => rollout,
            _ => Rollout::new(system.program(), rows, system.steps(), spec.clone())?,
        };
        roll(subject, model, first, &mut rollout)?;
        see(first, &rollout);
        storage = Some(rollout);
    }
    Ok(())
}

/// Rolls any trajectories of the panel together, in any order.
///
/// A system fills whole groups of neighbours, so each row's inputs are copied out of its group.
pub(crate) fn roll_rows(
    subject: &Subject,
    model: &Model<f32>,
    rows: &[usize],
) -> Result<Rollout<f32>, MeasureError> {
    let Subject { system, .. } = subject;
    let mut together = Rollout::new(system.program(), rows.len(), system.steps(), system.spec())?;
    fill_rows(*system, rows, &mut together)?;
    model.roll(&mut together).map_err(|error| of_trajectories(error, rows))?;
    Ok(together)
}

/// Fills a rollout with any trajectories of the panel, in any order.
pub(crate) fn fill_rows(
    system: &dyn System<f32>,
    rows: &[usize],
    together: &mut Rollout<f32>,
) -> Result<(), MeasureError> {
    let program = system.program();
    let new = |rows| Rollout::new(program, rows, system.steps(), system.spec());
    let mut storage: Option<(usize, Rollout<f32>)> = None;
    let count = rows.len();
    let inputs: Vec<(String, usize)> = program.inputs().map(|(n, w)| (n.to_owned(), w)).collect();
    let carried = program.states().iter().chain(program.registers());
    let carried: Vec<(String, usize)> = carried.map(|c| (c.name.clone(), c.width)).collect();
    let condition: Vec<(String, usize)> =
        program.condition_inputs().map(|(n, w)| (n.to_owned(), w * program.tokens())).collect();
    let fed: Vec<(String, usize)> = (together.spec().fed.iter())
        .filter_map(|fed| Some((fed.site.clone(), program.width(program.tap(&fed.site)?))))
        .collect();
    for (place, &row) in rows.iter().enumerate() {
        let group = groups(system).find(|(first, rows)| (*first..first + rows).contains(&row));
        let Some((first, size)) = group else {
            return Err(MeasureError::Unfit(format!("trajectory {row} is not in the panel")));
        };
        let (filled, mut group) = match storage.take() {
            Some((filled, group)) if group.rows() == size => (Some(filled), group),
            _ => (None, new(size)?),
        };
        if filled != Some(first) {
            system.fill_panel(first, &mut group)?;
        }
        let take = |from: Option<&mut [f32]>, to: Option<&mut [f32]>, width: usize| {
            copy(from, (size, row - first), to, (count, place), width);
        };
        for (name, width) in &inputs {
            take(group.input_mut(name), together.input_mut(name), *width);
        }
        for (name, width) in &carried {
            take(group.initial_mut(name), together.initial_mut(name), *width);
        }
        for (name, width) in &condition {
            take(group.condition_input_mut(name), together.condition_input_mut(name), *width);
        }
        for (name, width) in &fed {
            take(group.fed_mut(name), together.fed_mut(name), *width);
        }
        storage = Some((first, group));
    }
    Ok(())
}

/// A failure of trajectories that were rolled together, named as the panel's.
pub(crate) fn of_trajectories(error: RollError, rows: &[usize]) -> MeasureError {
    MeasureError::Panel(of_rows(error, rows))
}

/// One row of `[block][rows][width]` into one row of another such table; rows and place are given
/// for each.
fn copy(
    from: Option<&mut [f32]>,
    (from_rows, from_place): (usize, usize),
    to: Option<&mut [f32]>,
    (to_rows, to_place): (usize, usize),
    width: usize,
) {
    if let (Some(from), Some(to)) = (from, to) {
        let blocks = to.chunks_exact_mut(to_rows * width).zip(from.chunks_exact(from_rows * width));
        for (to, from) in blocks {
            let row = &from[from_place * width..][..width];
            to[to_place * width..][..width].copy_from_slice(row);
        }
    }
}

/// Names the panel's trajectory instead of the place in a regrouped batch.
fn of_rows(error: RollError, rows: &[usize]) -> RollError {
    match error {
        RollError::NonFinite(mut fault) => {
            fault.row = rows[fault.row];
            RollError::NonFinite(fault)
        }
        RollError::OutOfBounds { name, row, step, value, limit } => {
            RollError::OutOfBounds { name, row: rows[row], step, value, limit }
        }
        RollError::WrongProgram => RollError::WrongProgram,
    }
}
