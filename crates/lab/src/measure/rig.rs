//! Everything a measurement touches at one state, allocated once: model, rollout, and one workspace
//! for all cuts.
//!
//! One forward serves every cut. A panel of many states of one system uses one rig: setting a state
//! copies its parameters, and a batch is rolled and differentiated into the same storage. Nothing
//! is remembered from one state to the next, so the order of states changes no bit.

use std::sync::OnceLock;

use crate::training::{Optimizer, State};
use backcut_engine::{Cut, Layout, Model, RollError, Rollout, Workspace, WrongLength};
use backcut_kernels::Real;
use backcut_systems::{BatchKey, System};

use crate::measure::comparison::{Comparison, Plan, Question};
use crate::measure::error::MeasureError;
use crate::measure::groups::{Group, groups, groups_apart};
use crate::measure::layers::{Step, Steps};
use crate::measure::median::Medians;

/// A system's storage for measuring under some cuts; FF, the reference, is always the first.
pub struct Rig<'s, R: Real> {
    system: &'s dyn System<R>,
    cuts: Vec<Cut>,
    groups: Vec<Group>,
    model: Model<R>,
    rollout: Rollout<R>,
    workspace: Workspace<R>,
    norms: Vec<f64>,
    loss: f64,
    question: Question,
    plan: Plan,
    /// The sums over the gradients, once somebody asks for them.
    compared: OnceLock<Comparison>,
    medians: Medians,
}

impl<'s, R: Real> Rig<'s, R> {
    /// Storage for `cuts`, without those named twice.
    pub fn new(system: &'s dyn System<R>, cuts: &[Cut]) -> Result<Self, MeasureError> {
        Self::of_rows(system, cuts, system.batch_rows())
    }

    /// The same for a batch of so many trajectories.
    pub(crate) fn of_rows(
        system: &'s dyn System<R>,
        cuts: &[Cut],
        rows: usize,
    ) -> Result<Self, MeasureError> {
        let mut distinct = vec![Cut::FF];
        for cut in cuts {
            if !distinct.contains(cut) {
                distinct.push(*cut);
            }
        }
        let program = system.program();
        let zeros = vec![R::ZERO; program.layout().len()];
        let model = Model::new(program, zeros)?;
        let rollout = Rollout::new(program, rows, system.steps(), system.spec())?;
        let workspace = Workspace::new(&rollout, &distinct)?;
        let norms = vec![0.0; distinct.len()];
        let groups = groups(program.layout());
        let question = Question::of_cuts(&distinct);
        let plan = Plan::new(&groups, &question);
        Ok(Self {
            system,
            cuts: distinct,
            groups,
            model,
            rollout,
            workspace,
            norms,
            loss: 0.0,
            question,
            plan,
            compared: OnceLock::new(),
            medians: Medians::default(),
        })
    }

    /// Sets redundant parameters apart: they are a group of their own, which no sum over everything
    /// holds.
    #[must_use]
    pub fn apart(mut self) -> Self {
        self.groups = groups_apart(self.system.program().layout());
        self.plan = Plan::new(&self.groups, &self.question);
        self.compared = OnceLock::new();
        self
    }

    /// Takes over parameters.
    pub fn set(&mut self, params: &[R]) -> Result<(), MeasureError> {
        Ok(self.model.load(params)?)
    }

    /// Rolls a batch.
    pub fn roll(&mut self, key: BatchKey) -> Result<(), MeasureError> {
        self.system.fill_batch(key, &mut self.rollout)?;
        self.roll_filled(|source| MeasureError::Roll { update: key.update + 1, source })
    }

    fn roll_filled(
        &mut self,
        failed: impl FnOnce(RollError) -> MeasureError,
    ) -> Result<(), MeasureError> {
        self.loss = self.model.roll(&mut self.rollout).map_err(failed)?;
        Ok(())
    }

    /// Rolls a batch and differentiates it under every cut.
    pub fn differentiate(&mut self, key: BatchKey) -> Result<(), MeasureError> {
        self.system.fill_batch(key, &mut self.rollout)?;
        self.workspace.draw(key.draw());
        self.differentiate_filled(|source| MeasureError::Roll { update: key.update + 1, source })
    }

    /// Rolls what was filled in and differentiates it under every cut.
    pub(crate) fn differentiate_filled(
        &mut self,
        failed: impl FnOnce(RollError) -> MeasureError,
    ) -> Result<(), MeasureError> {
        self.roll_filled(failed)?;
        self.compared = OnceLock::new();
        let Self { model, rollout, workspace, .. } = self;
        workspace.backward(model, rollout)?;
        for (index, norm) in self.norms.iter_mut().enumerate() {
            *norm = model.norm(workspace.gradient(index));
        }
        if self.norms.iter().any(|norm| !norm.is_finite()) {
            // By determinism the watched pass meets the same numbers and names the first bad one.
            workspace.backward_checked(model, rollout)?;
            let what = "a gradient is not finite, though every adjoint is";
            return Err(MeasureError::Unfit(what.to_owned()));
        }
        Ok(())
    }

    /// The system.
    pub fn system(&self) -> &'s dyn System<R> {
        self.system
    }

    /// The cuts, FF first.
    pub fn cuts(&self) -> &[Cut] {
        &self.cuts
    }

    /// Where a cut stands among them.
    pub fn find(&self, cut: Cut) -> Option<usize> {
        self.cuts.iter().position(|c| *c == cut)
    }

    /// The parameter groups.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The model as set.
    pub fn model(&self) -> &Model<R> {
        &self.model
    }

    /// The last batch, rolled.
    pub fn rollout(&self) -> &Rollout<R> {
        &self.rollout
    }

    /// The batch, to be filled.
    pub(crate) fn rollout_mut(&mut self) -> &mut Rollout<R> {
        &mut self.rollout
    }

    /// The loss of the last batch, summed over batch and steps.
    pub fn loss(&self) -> f64 {
        self.loss
    }

    /// The gradient under the `index`-th cut.
    pub fn gradient(&self, index: usize) -> &[R] {
        self.workspace.gradient(index)
    }

    /// Global norm of the gradient under the `index`-th cut, as training logs it.
    pub fn norm(&self, index: usize) -> f64 {
        self.norms[index]
    }

    /// What is asked of these cuts.
    pub(crate) fn question(&self) -> &Question {
        &self.question
    }

    /// The sums that answer it.
    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// All gradients against each other. Two layers of findings rest on these sums: they are kept
    /// until the next batch is differentiated.
    pub(crate) fn compared_gradients(&self) -> &Comparison {
        self.compared.get_or_init(|| self.plan.compare_gradients(&self.gradients()))
    }

    /// The gradients, cut by cut.
    pub(crate) fn gradients(&self) -> Vec<&[R]> {
        (0..self.cuts.len()).map(|i| self.gradient(i)).collect()
    }

    /// Where every parameter lies.
    pub(crate) fn layout(&self) -> &Layout {
        self.model.program().layout()
    }

    /// Storage for medians, kept from state to state: lend it, and put it back.
    pub(crate) fn medians(&mut self) -> &mut Medians {
        &mut self.medians
    }

    /// Parameters and moments of this program's length.
    pub(crate) fn check_state(&self, state: &State<R>) -> Result<(), MeasureError> {
        let want = self.model.values().len();
        let lengths = [&state.params, &state.moments.first, &state.moments.second].map(Vec::len);
        match lengths.into_iter().find(|got| *got != want) {
            Some(got) => Err(WrongLength { got, want }.into()),
            None => Ok(()),
        }
    }

    /// What clip and optimizer make of the gradients from `state`, which stays as it is.
    pub fn steps<'a>(
        &'a self,
        optimizer: &Optimizer,
        state: &'a State<R>,
    ) -> Result<Steps<'a, R>, MeasureError> {
        self.check_state(state)?;
        let step = Step::new(optimizer, self.layout(), state)?;
        Ok(Steps::new(step, state, self.gradients(), &self.norms))
    }
}
