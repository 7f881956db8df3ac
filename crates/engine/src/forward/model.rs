//! Parameters with what is derived from them once per update: packed weights, both ways round.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use backcut_kernels::optim::rule::{self, Stretch};
use backcut_kernels::product::Panels;
use backcut_kernels::{Isa, Real, hash, optim};

use crate::compile::program::Program;
use crate::compiled::compiled_here;
use crate::trace::{ParamId, Scope};

/// A program with parameter values, ready to run on one code path.
#[derive(Clone, Debug)]
pub struct Model<R> {
    program: Arc<Program>,
    isa: Isa,
    values: Vec<R>,
    /// Renewed whenever the values may have changed; a rollout remembers the one that rolled it.
    stamp: u64,
    packed: Vec<Option<Packed<R>>>,
    /// Constants of the step's instructions and of the condition's, in the working precision.
    step_constants: Vec<R>,
    condition_constants: Vec<R>,
}

#[derive(Clone, Debug)]
struct Packed<R> {
    forward: Panels<R>,
    transposed: Panels<R>,
}

/// The optimizer's memory: the steps taken and both moments, flat, in the layout's order. SGD keeps
/// its velocity in the first and leaves the second at zero.
#[derive(Clone, PartialEq, Debug)]
pub struct Moments<R> {
    /// Steps taken.
    pub step: u64,
    /// Running mean of the gradient.
    pub first: Vec<R>,
    /// Running mean of its square.
    pub second: Vec<R>,
}

impl<R: Real> Moments<R> {
    /// No steps taken, all zeros.
    pub fn zeros(len: usize) -> Self {
        Self { step: 0, first: vec![R::ZERO; len], second: vec![R::ZERO; len] }
    }
}

/// A parameter vector of the wrong length.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{got} parameter values for a program with {want}")]
pub struct WrongLength {
    /// Values given.
    pub got: usize,
    /// Values needed.
    pub want: usize,
}

impl<R: Real> Model<R> {
    /// A model from a flat vector in the program's layout, on the fastest code path of this
    /// processor.
    pub fn new(program: &Arc<Program>, values: Vec<R>) -> Result<Self, WrongLength> {
        Self::on(Isa::detect(), program, values)
    }

    /// The same on a chosen code path: the same bits, at another speed.
    pub fn on(isa: Isa, program: &Arc<Program>, values: Vec<R>) -> Result<Self, WrongLength> {
        let want = program.layout().len();
        if values.len() != want {
            return Err(WrongLength { got: values.len(), want });
        }
        let mut packed: Vec<Option<Packed<R>>> = vec![None; program.layout().parameters().len()];
        for linear in program.linears.iter().chain(&program.condition_linears) {
            packed[linear.weight].get_or_insert_with(|| Packed {
                forward: Panels::zeros(linear.n_in, linear.n_out),
                transposed: Panels::zeros(linear.n_out, linear.n_in),
            });
        }
        let mut model = Self {
            program: program.clone(),
            isa,
            values,
            stamp: next_stamp(),
            packed,
            step_constants: round(&program.step.constants),
            condition_constants: round(&program.condition.constants),
        };
        repack(&mut model);
        Ok(model)
    }

    /// The program.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// The code path it runs on.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// The parameters, flat, in the layout's order.
    pub fn values(&self) -> &[R] {
        &self.values
    }

    /// Changes the parameters and packs them anew.
    pub(crate) fn edit(&mut self, change: impl FnOnce(&mut [R])) {
        change(&mut self.values);
        self.stamp = next_stamp();
        repack(self);
    }

    /// Takes other parameters.
    pub fn load(&mut self, values: &[R]) -> Result<(), WrongLength> {
        let (got, want) = (values.len(), self.values.len());
        if got != want {
            return Err(WrongLength { got, want });
        }
        self.edit(|own| own.copy_from_slice(values));
        Ok(())
    }

    /// One step in place on a gradient times `factor`: every stretch of the parameters by its own
    /// rule.
    pub fn step(
        &mut self,
        moments: &mut Moments<R>,
        gradient: &[R],
        stretches: &[Stretch],
        factor: R,
    ) {
        step(self, moments, gradient, stretches, factor);
    }

    fn step_here(
        &mut self,
        moments: &mut Moments<R>,
        gradient: &[R],
        stretches: &[Stretch],
        factor: R,
    ) {
        let Moments { step, first, second } = moments;
        *step += 1;
        let (isa, step) = (self.isa, *step);
        self.edit(|theta| {
            rule::step_on(isa, stretches, step, factor, theta, first, second, gradient);
        });
    }

    /// Global norm of a gradient, on the model's code path.
    pub fn norm(&self, gradient: &[R]) -> f64 {
        optim::global_norm_on(self.isa, gradient)
    }

    /// Fingerprint of the parameters.
    pub fn hash(&self) -> u64 {
        hash::hash_values_on(self.isa, 0, &self.values)
    }

    pub(crate) fn stamp(&self) -> u64 {
        self.stamp
    }

    /// Heap bytes of the packed weights.
    pub fn packed_bytes(&self) -> usize {
        let packed = self.packed.iter().flatten();
        packed.map(|p| p.forward.bytes() + p.transposed.bytes()).sum()
    }

    fn repack_here(&mut self) {
        for (parameter, packed) in self.program.layout().parameters().iter().zip(&mut self.packed) {
            if let Some(packed) = packed {
                let values = &self.values[parameter.range()];
                packed.forward.pack(self.isa, values);
                packed.transposed.pack_transposed(self.isa, values);
            }
        }
    }

    pub(crate) fn parameter(&self, id: ParamId) -> &[R] {
        &self.values[self.program.layout().parameters()[id].range()]
    }

    #[inline(always)]
    pub(crate) fn constants(&self, scope: Scope) -> &[R] {
        match scope {
            Scope::Step => &self.step_constants,
            Scope::Condition => &self.condition_constants,
        }
    }

    pub(crate) fn panels(&self, id: ParamId) -> &Panels<R> {
        &self.packed[id].as_ref().expect("every linear weight is packed").forward
    }

    pub(crate) fn transposed(&self, id: ParamId) -> &Panels<R> {
        &self.packed[id].as_ref().expect("every linear weight is packed").transposed
    }
}

compiled_here!(repack<R>(model: &mut Model<R>), Model::repack_here);
compiled_here!(
    step<R>(
        model: &mut Model<R>,
        moments: &mut Moments<R>,
        gradient: &[R],
        stretches: &[Stretch],
        factor: R
    ),
    Model::step_here
);

/// Stamps only tell states of models apart; no result depends on their values.
fn next_stamp() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn round<R: Real>(values: &[f64]) -> Vec<R> {
    values.iter().map(|&v| R::from_f64(v)).collect()
}
