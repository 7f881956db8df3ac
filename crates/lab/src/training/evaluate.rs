//! The fixed panel: forward only, in groups of rows, one error per trajectory.
//!
//! A row's bits do not depend on its group, so the size of a group is a matter of speed alone; the
//! system chooses it.

use backcut_engine::{ForwardError, Model, RollError, Rollout};
use backcut_kernels::{Real, reduce};
use backcut_systems::{SampleError, System};

/// The errors of one evaluation.
#[derive(Clone, PartialEq, Debug)]
pub struct Panel {
    /// One per trajectory, in the panel's order.
    pub errors: Vec<f64>,
    /// Their mean, summed in the order of `kernels::reduce`.
    pub mean: f64,
}

impl Panel {
    /// From errors per trajectory.
    pub fn new(errors: Vec<f64>) -> Self {
        let mean = reduce::sum(&errors) / errors.len() as f64;
        Self { errors, mean }
    }
}

/// Why a panel could not be evaluated.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum PanelError {
    /// Its trajectories could not be drawn.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// A trajectory failed; its row counts within the panel.
    #[error(transparent)]
    Roll(#[from] RollError),
}

/// Storage for evaluations; no gradient buffers.
#[derive(Clone, Debug)]
pub struct Evaluator<R: Real> {
    group: Rollout<R>,
    /// For the rows that do not fill a group.
    rest: Option<Rollout<R>>,
}

impl<R: Real> Evaluator<R> {
    /// For a system, with its own forward.
    pub fn new(system: &dyn System<R>) -> Result<Self, ForwardError> {
        Self::in_groups(system, system.panel_group())
    }

    /// The same with a chosen group size; it changes speed, never bits.
    pub fn in_groups(system: &dyn System<R>, rows: usize) -> Result<Self, ForwardError> {
        let rollout = |rows| Rollout::new(system.program(), rows, system.steps(), system.spec());
        let panel = system.panel_rows();
        let rows = rows.min(panel);
        let rest = panel.checked_rem(rows).unwrap_or(0);
        let rest = if rest > 0 { Some(rollout(rest)?) } else { None };
        Ok(Self { group: rollout(rows)?, rest })
    }

    /// Errors of the whole panel under `model`. A failure names the panel's trajectory.
    pub fn evaluate(
        &mut self,
        system: &dyn System<R>,
        model: &Model<R>,
    ) -> Result<Panel, PanelError> {
        let mut errors = vec![0.0; system.panel_rows()];
        let mut first = 0;
        while first < errors.len() {
            let left = errors.len() - first;
            let rollout = match &mut self.rest {
                Some(rest) if left < self.group.rows() => rest,
                _ => &mut self.group,
            };
            let rows = rollout.rows();
            system.fill_panel(first, rollout)?;
            model.roll(rollout).map_err(|error| in_panel(error, first))?;
            system.row_errors(rollout, &mut errors[first..first + rows]);
            first += rows;
        }
        Ok(Panel::new(errors))
    }
}

/// A group counts its rows from zero; the panel does not: names the trajectory of the panel.
pub fn in_panel(error: RollError, first: usize) -> RollError {
    match error {
        RollError::NonFinite(mut fault) => {
            fault.row += first;
            RollError::NonFinite(fault)
        }
        RollError::OutOfBounds { name, row, step, value, limit } => {
            RollError::OutOfBounds { name, row: row + first, step, value, limit }
        }
        RollError::WrongProgram => RollError::WrongProgram,
    }
}
