//! Hands the oracle's inputs to the engine, so that both run the same rollout.

use std::num::NonZeroUsize;

use backcut_kernels::Real;

use super::inputs::{OracleError, OracleInputs, OracleSpec};
use crate::forward::rollout::Rollout;
use crate::forward::spec::{Fed, ForwardSpec, Mask, MemoryReads};

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

    /// Writes what is fed from outside into a rollout with this forward.
    pub fn feed_into<R: Real>(&self, rollout: &mut Rollout<R>) -> Result<(), OracleError> {
        for fixed in &self.overrides {
            let values = fixed.values.iter().flatten().flatten().copied();
            write(rollout.fed_mut(&fixed.site), values)?;
        }
        Ok(())
    }
}
