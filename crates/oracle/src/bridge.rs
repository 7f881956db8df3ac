//! Hands the oracle's inputs to the engine, so that both run the same rollout.

use std::num::NonZeroUsize;

use backcut_engine::{Fed, ForwardSpec, Mask, MemoryReads, Rollout};
use backcut_kernels::Real;

use crate::inputs::{FixedValues, OracleError, OracleInputs, OracleSpec};

fn write<R: Real>(
    to: Option<&mut [R]>,
    from: impl Iterator<Item = f64>,
) -> Result<(), OracleError> {
    let from: Vec<R> = from.map(R::from_f64).collect();
    match to.filter(|to| to.len() == from.len()) {
        Some(to) => to.copy_from_slice(&from),
        None => return Err(OracleError::Shape("the inputs do not fit the rollout".to_owned())),
    }
    Ok(())
}

impl OracleInputs {
    /// Writes everything into a rollout of the same program, rows and steps.
    pub fn write_into<R: Real>(&self, rollout: &mut Rollout<R>) -> Result<(), OracleError> {
        let program = rollout.program().clone();
        for ((name, _), values) in program.inputs().zip(&self.inputs) {
            let flat = values.iter().flatten().flatten().copied();
            write(rollout.input_mut(name), flat)?;
        }
        for ((name, _), values) in program.condition_inputs().zip(&self.condition) {
            let flat = values.iter().flatten().flatten().copied();
            write(rollout.condition_input_mut(name), flat)?;
        }
        let states = program.states().iter().zip(&self.states);
        for (carried, values) in states.chain(program.registers().iter().zip(&self.registers)) {
            write(rollout.initial_mut(&carried.name), values.iter().flatten().copied())?;
        }
        Ok(())
    }

    /// The first rows and steps of what a rollout was filled with, in its own numbers.
    pub fn read_from<R: Real>(rollout: &mut Rollout<R>, rows: usize, steps: usize) -> Self {
        let (program, all) = (rollout.program().clone(), rollout.rows());
        let table = |values: &[R], len: usize, width: usize| -> Vec<Vec<f64>> {
            let rows = values.chunks(width).take(len);
            rows.map(|row| row.iter().map(|v| v.to_f64()).collect()).collect()
        };
        let mut read = Self::default();
        for (name, width) in program.inputs() {
            let values = rollout.input_mut(name).unwrap_or_default();
            let steps = values.chunks(all * width).take(steps);
            read.inputs.push(steps.map(|step| table(step, rows, width)).collect());
        }
        for (name, width) in program.condition_inputs() {
            let values = rollout.condition_input_mut(name).unwrap_or_default();
            let tokens = program.tokens();
            let rows = values.chunks(tokens * width).take(rows);
            read.condition.push(rows.map(|row| table(row, tokens, width)).collect());
        }
        for (carried, into) in
            [(program.states(), &mut read.states), (program.registers(), &mut read.registers)]
        {
            for state in carried {
                let values = rollout.initial_mut(&state.name).unwrap_or_default();
                into.push(table(values, rows, state.width));
            }
        }
        read
    }

    /// The inputs as single precision holds them.
    #[must_use]
    pub fn rounded_to_f32(mut self) -> Self {
        let nested = self.inputs.iter_mut().chain(&mut self.condition).flatten();
        let carried = self.states.iter_mut().chain(&mut self.registers);
        for value in nested.chain(carried).flatten().flatten() {
            *value = f64::from(*value as f32);
        }
        self
    }
}

impl OracleSpec {
    /// The same forward in the engine's terms; a window and a mask together are one mask.
    pub fn forward_spec<R: Real>(&self) -> ForwardSpec<R> {
        let in_window = |t: usize, j: usize| self.window.is_none_or(|window| t - j < window);
        let reads = match (&self.mask, self.window.and_then(NonZeroUsize::new)) {
            (Some(mask), _) => {
                MemoryReads::Mask(Mask::new(self.steps, |t, j| mask[t][j] && in_window(t, j)))
            }
            (None, Some(window)) => MemoryReads::Window(window),
            (None, None) => MemoryReads::All,
        };
        let fed = self.overrides.iter().map(|fixed| Fed {
            site: fixed.site.clone(),
            steps: fixed.first..fixed.first + fixed.values.len(),
        });
        ForwardSpec { prefix: self.prefix, reads, fed: fed.collect(), donor: None }
    }

    /// The forward of a rollout's first rows and steps, with what was fed into it. A donor's memory
    /// is not part of it.
    pub fn read_from<R: Real>(rollout: &mut Rollout<R>, rows: usize, steps: usize) -> Self {
        let ForwardSpec { prefix, reads, fed, .. } = rollout.spec().clone();
        let window =
            if let MemoryReads::Window(window) = reads { Some(window.get()) } else { None };
        let mask = matches!(reads, MemoryReads::Mask(_))
            .then(|| (0..steps).map(|t| (0..steps).map(|j| reads.shows(t, j)).collect()).collect());
        let (program, all) = (rollout.program().clone(), rollout.rows());
        let mut overrides = Vec::new();
        for Fed { site, steps: at } in fed.into_iter().filter(|fed| fed.steps.start < steps) {
            let width = program.tap(&site).map_or(1, |site| program.width(site));
            let values = rollout.fed_mut(&site).unwrap_or_default();
            let row = |row: &[R]| row.iter().map(|v| v.to_f64()).collect();
            let step = |step: &[R]| step.chunks(width).take(rows).map(row).collect();
            let kept = values.chunks(all * width).take(steps - at.start);
            let values = kept.map(step).collect();
            overrides.push(FixedValues { site, first: at.start, values });
        }
        Self { rows, steps, prefix, window, mask, overrides, ..Self::default() }
    }

    /// Writes what is fed from outside into a rollout with this forward.
    pub fn feed_into<R: Real>(&self, rollout: &mut Rollout<R>) -> Result<(), OracleError> {
        for fixed in &self.overrides {
            let values = fixed.values.iter().flatten().flatten().copied();
            write(rollout.fed_mut(&fixed.site), values)?;
        }
        Ok(())
    }
}
