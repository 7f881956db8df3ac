//! The one seam through which everything above the engine makes and runs things.
//!
//! An [`Executor`] makes models, rollouts and workspaces, and is the only way to compute with them. They are
//! handles: a caller writes inputs (`input_mut`, `initial_mut`, `condition_input_mut`), reads results
//! (`values`, `loss`, `gradient`, `adjoint`) and never asks where the numbers live or who moves them.
//! A handle belongs to the executor that made it.
//!
//! **Decision: an executor runs whole programs, not kernels.** Everything between filling a batch and
//! reading a loss is its own affair: it may fuse, copy or queue as it likes. It may not change a bit, and
//! so no result's identity names the executor that computed it.
//!
//! **Decision: the heavy code is compiled here.** [`Cpu`] implements the trait for `f32` and for `f64`, one by
//! one: roll, backward and their kernels are instantiated once, in this crate, and others call them
//! through a table of functions. One call in a roll of thousands of instructions costs nothing.
//!
//! **Many runs at once.** The CPU computes one run per thread: a caller with many runs starts many threads
//! and shares one executor. A device that holds hundreds of runs wants one call for all of them. Its place
//! is beside [`Executor::step`], as `update_all(&self, runs: &mut [Run<R>])`, where a run is the model,
//! moments, rollout and workspace that a trainer owns (nothing is shared between two), and the default goes
//! one by one: roll, backward, norm, step, hash. It is not there yet because nobody would call it.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use backcut_kernels::optim::rule::Stretch;
use backcut_kernels::optim::{self, rule};
use backcut_kernels::{Isa, Real, hash};

use crate::backward::ages::{self, StateJacobians};
use crate::backward::workspace::Workspace;
use crate::backward::{BackwardError, Seeds};
use crate::compile::program::Program;
use crate::cut::Cut;
use crate::forward::model::{Model, WrongLength};
use crate::forward::roll::RollError;
use crate::forward::rollout::Rollout;
use crate::forward::spec::{ForwardError, ForwardSpec};

/// The optimizer's memory: the steps taken and both moments, flat, in the layout's order. SGD keeps its
/// velocity in the first and leaves the second at zero.
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

/// A way to compute. See the module for what it promises.
pub trait Executor<R: Real>: fmt::Debug + Send + Sync {
    /// How it computes, for people: a code path, a device.
    fn describe(&self) -> String;

    /// A program with parameter values, flat, in its layout's order.
    fn model(&self, program: &Arc<Program>, values: Vec<R>) -> Result<Model<R>, WrongLength>;

    /// Storage for `rows` trajectories of `steps` steps (a prefix included).
    fn rollout(
        &self,
        program: &Arc<Program>,
        rows: usize,
        steps: usize,
        spec: ForwardSpec<R>,
    ) -> Result<Rollout<R>, ForwardError>;

    /// Storage for differentiating `rollout`, or any other of its shape, under `cuts`.
    fn workspace(&self, rollout: &Rollout<R>, cuts: &[Cut]) -> Result<Workspace<R>, BackwardError>;

    /// The same with a chosen number of steps per weight product; it changes speed, never bits.
    fn workspace_with_chunk(
        &self,
        rollout: &Rollout<R>,
        cuts: &[Cut],
        chunk: usize,
    ) -> Result<Workspace<R>, BackwardError>;

    /// One lane per entry of `cuts`, never shared, for [`Executor::backward_seeded`].
    fn workspace_for_seeds(
        &self,
        rollout: &Rollout<R>,
        cuts: &[Cut],
    ) -> Result<Workspace<R>, BackwardError>;

    /// Gives a model other parameters.
    fn load(&self, model: &mut Model<R>, values: &[R]) -> Result<(), WrongLength>;

    /// Rolls the batch whose inputs `rollout` holds; returns the loss.
    fn roll(&self, model: &Model<R>, rollout: &mut Rollout<R>) -> Result<f64, RollError>;

    /// Rolls while checking every value; for finding where a non-finite number begins.
    fn roll_checked(&self, model: &Model<R>, rollout: &mut Rollout<R>) -> Result<f64, RollError>;

    /// The gradient of the rollout's loss under every cut of the workspace.
    fn backward(
        &self,
        model: &Model<R>,
        rollout: &Rollout<R>,
        workspace: &mut Workspace<R>,
    ) -> Result<(), BackwardError>;

    /// As [`Executor::backward`], stopping at the first non-finite adjoint.
    fn backward_checked(
        &self,
        model: &Model<R>,
        rollout: &Rollout<R>,
        workspace: &mut Workspace<R>,
    ) -> Result<(), BackwardError>;

    /// One backward per cut, each from its own seeds.
    fn backward_seeded(
        &self,
        model: &Model<R>,
        rollout: &Rollout<R>,
        workspace: &mut Workspace<R>,
        seeds: &[Seeds<R>],
    ) -> Result<(), BackwardError>;

    /// All closed-loop Jacobians of a rollout from one backward.
    fn state_jacobians(
        &self,
        model: &Model<R>,
        rollout: &Rollout<R>,
    ) -> Result<StateJacobians<R>, BackwardError>;

    /// The gradient of `cut`, split into contributions whose age lies in each bin. Age 0 is the loss that
    /// an action's own step pays. Bins may not overlap; together they need not cover every age.
    ///
    /// Only for cuts that detach memory: otherwise a path's age and its number of state edges differ.
    fn gradient_by_age(
        &self,
        model: &Model<R>,
        rollout: &Rollout<R>,
        cut: Cut,
        bins: &[Range<usize>],
    ) -> Result<Vec<Vec<R>>, BackwardError>;

    /// Global norm of the gradient of the `cut`-th requested cut.
    fn norm(&self, workspace: &Workspace<R>, cut: usize) -> f64;

    /// One step in place on the gradient of the `cut`-th requested cut times `factor`: every stretch of the
    /// parameters by its own rule.
    fn step(
        &self,
        model: &mut Model<R>,
        moments: &mut Moments<R>,
        workspace: &Workspace<R>,
        cut: usize,
        stretches: &[Stretch],
        factor: R,
    );

    /// Fingerprint of a model's parameters.
    fn hash(&self, model: &Model<R>) -> u64;
}

/// The compiler's optimisation level for this crate, in which the heavy code is compiled: `0` is a build
/// that is some hundred times slower than it could be.
pub const OPT_LEVEL: &str = env!("BACKCUT_OPT_LEVEL");

/// The processor, on one of its code paths: the only executor so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cpu {
    isa: Isa,
}

impl Cpu {
    /// On the fastest code path that this processor offers.
    pub fn detect() -> &'static Self {
        static FASTEST: OnceLock<Cpu> = OnceLock::new();
        FASTEST.get_or_init(|| Self::on(Isa::detect()))
    }

    /// On a chosen code path: the same bits, at another speed.
    pub fn on(isa: Isa) -> Self {
        Self { isa }
    }
}

macro_rules! compiled_for {
    ($($real:ty)*) => {$(
        impl Executor<$real> for Cpu {
            fn describe(&self) -> String {
                self.isa.to_string()
            }

            fn model(
                &self,
                program: &Arc<Program>,
                values: Vec<$real>,
            ) -> Result<Model<$real>, WrongLength> {
                Model::new(program, self.isa, values)
            }

            fn rollout(
                &self,
                program: &Arc<Program>,
                rows: usize,
                steps: usize,
                spec: ForwardSpec<$real>,
            ) -> Result<Rollout<$real>, ForwardError> {
                Rollout::new(program, rows, steps, spec)
            }

            fn workspace(
                &self,
                rollout: &Rollout<$real>,
                cuts: &[Cut],
            ) -> Result<Workspace<$real>, BackwardError> {
                Workspace::new(rollout, cuts)
            }

            fn workspace_with_chunk(
                &self,
                rollout: &Rollout<$real>,
                cuts: &[Cut],
                chunk: usize,
            ) -> Result<Workspace<$real>, BackwardError> {
                Workspace::with_chunk(rollout, cuts, chunk)
            }

            fn workspace_for_seeds(
                &self,
                rollout: &Rollout<$real>,
                cuts: &[Cut],
            ) -> Result<Workspace<$real>, BackwardError> {
                Workspace::for_seeds(rollout, cuts)
            }

            fn load(&self, model: &mut Model<$real>, values: &[$real]) -> Result<(), WrongLength> {
                model.load(values)
            }

            fn roll(
                &self,
                model: &Model<$real>,
                rollout: &mut Rollout<$real>,
            ) -> Result<f64, RollError> {
                model.roll_into(rollout)
            }

            fn roll_checked(
                &self,
                model: &Model<$real>,
                rollout: &mut Rollout<$real>,
            ) -> Result<f64, RollError> {
                model.roll_checked(rollout)
            }

            fn backward(
                &self,
                model: &Model<$real>,
                rollout: &Rollout<$real>,
                workspace: &mut Workspace<$real>,
            ) -> Result<(), BackwardError> {
                workspace.backward(model, rollout)
            }

            fn backward_checked(
                &self,
                model: &Model<$real>,
                rollout: &Rollout<$real>,
                workspace: &mut Workspace<$real>,
            ) -> Result<(), BackwardError> {
                workspace.backward_checked(model, rollout)
            }

            fn backward_seeded(
                &self,
                model: &Model<$real>,
                rollout: &Rollout<$real>,
                workspace: &mut Workspace<$real>,
                seeds: &[Seeds<$real>],
            ) -> Result<(), BackwardError> {
                workspace.backward_seeded(model, rollout, seeds)
            }

            fn state_jacobians(
                &self,
                model: &Model<$real>,
                rollout: &Rollout<$real>,
            ) -> Result<StateJacobians<$real>, BackwardError> {
                ages::state_jacobians(model, rollout)
            }

            fn gradient_by_age(
                &self,
                model: &Model<$real>,
                rollout: &Rollout<$real>,
                cut: Cut,
                bins: &[Range<usize>],
            ) -> Result<Vec<Vec<$real>>, BackwardError> {
                ages::gradient_by_age(model, rollout, cut, bins)
            }

            fn norm(&self, workspace: &Workspace<$real>, cut: usize) -> f64 {
                optim::global_norm_on(self.isa, workspace.gradient(cut))
            }

            fn step(
                &self,
                model: &mut Model<$real>,
                moments: &mut Moments<$real>,
                workspace: &Workspace<$real>,
                cut: usize,
                stretches: &[Stretch],
                factor: $real,
            ) {
                let Moments { step, first, second } = moments;
                *step += 1;
                let (isa, step, g) = (self.isa, *step, workspace.gradient(cut));
                model.edit(|theta| {
                    rule::step_on(isa, stretches, step, factor, theta, first, second, g);
                });
            }

            fn hash(&self, model: &Model<$real>) -> u64 {
                hash::hash_values_on(self.isa, 0, model.values())
            }
        }
    )*};
}

compiled_for!(f32 f64);
