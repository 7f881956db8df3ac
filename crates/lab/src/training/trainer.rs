//! One source learning under one cut: sample, roll, differentiate, clip, step.
//!
//! A [`Trainer`] owns everything an update touches and allocates it once. Whatever continues a run
//! is a [`State`]; batches are a function of (seed, stream, update), so there is no generator to
//! save.
//!
//! Only the loss and the norm are checked for finiteness while training. When one of them is not
//! finite, the same pass runs again with every value watched (by determinism it meets the same
//! numbers), and the error names where the first bad one appeared. The parameters stay as they
//! were.

use std::borrow::Cow;

use backcut_engine::{
    BackwardError, Cut, ForwardError, Model, RollError, Rollout, Workspace, WrongLength,
};
use backcut_kernels::{Real, hash};
use backcut_systems::{BatchKey, Optimizer, Placed, SampleError, Stream, System};
use backcut_text::Hinted;

use crate::training::evaluate::{Evaluator, Panel, PanelError};
use crate::training::optimizer::{Moments, Stretch};

/// What distinguishes one training run of a system from another.
#[derive(Clone, PartialEq, Debug)]
pub struct Arm {
    /// The backward graph.
    pub cut: Cut,
    /// The source's seed: initial parameters and batches.
    pub seed: u64,
    /// The stream the batches come from.
    pub stream: Stream,
    /// Clip and optimizer.
    pub optimizer: Optimizer,
}

/// Everything that continues a run.
#[derive(Clone, PartialEq, Debug)]
pub struct State<R> {
    /// Updates done since initialisation.
    pub update: u64,
    /// Parameters, flat, in the layout's order.
    pub params: Vec<R>,
    /// The optimizer's memory and its own count of steps.
    pub moments: Moments<R>,
}

impl<R: Real> State<R> {
    /// The initial parameters of a source; the stream plays no part.
    pub fn initial(system: &dyn System<R>, seed: u64) -> Self {
        let params = system.program().layout().initialise(seed);
        let moments = Moments::zeros(params.len());
        Self { update: 0, params, moments }
    }

    /// Fingerprint of the parameters, as the log records it.
    pub fn hash(&self) -> u64 {
        hash::hash_values(0, &self.params)
    }
}

/// What one update did.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct UpdateLog {
    /// Updates done, this one included: the first update is number 1.
    pub update: u64,
    /// The loss before the update, summed over batch and steps.
    pub loss: f64,
    /// Global norm of the gradient.
    pub raw_norm: f64,
    /// `factor * raw_norm`.
    pub clipped_norm: f64,
    /// The clipping factor; 1 where nothing was clipped.
    pub factor: f64,
    /// Fingerprint of the parameters after the update.
    pub hash: u64,
}

impl UpdateLog {
    /// The gradient was longer than the threshold.
    pub fn is_clipped(&self) -> bool {
        self.factor < 1.0
    }
}

/// Why training stopped. Updates are counted from 1, as in the log.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum TrainError {
    /// The batch could not be drawn.
    #[error("update {update}: {source}")]
    Sample {
        /// The update.
        update: u64,
        /// What is wrong with the data.
        source: SampleError,
    },
    /// The rollout failed.
    #[error("update {update}: {source}")]
    Roll {
        /// The update.
        update: u64,
        /// Trajectory and step.
        source: RollError,
    },
    /// The backward failed, or met a number that is not finite.
    #[error("update {update}: {source}")]
    Backward {
        /// The update.
        update: u64,
        /// Instruction, step, trajectory and edge.
        source: BackwardError,
    },
    /// Every adjoint is finite, but their sum over steps is not.
    #[error(
        "update {update}: the gradient of `{parameter}` is not finite, though every adjoint is"
    )]
    Gradient {
        /// The update.
        update: u64,
        /// The first such parameter.
        parameter: String,
    },
    /// The panel could not be evaluated.
    #[error("evaluation after update {update}: {source}")]
    Panel {
        /// Updates done.
        update: u64,
        /// What is wrong with the data, or trajectory of the panel and step.
        source: PanelError,
    },
    /// The cut does not fit the program.
    #[error(transparent)]
    Cut(BackwardError),
    /// The forward does not fit the program.
    #[error(transparent)]
    Forward(#[from] ForwardError),
    /// A state of another program.
    #[error(transparent)]
    Length(#[from] WrongLength),
    /// A group of parameters that this policy does not have.
    #[error("{0}")]
    Groups(String),
}

impl Hinted for TrainError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Sample { .. } | Self::Panel { source: PanelError::Sample(_), .. } => {
                "the system's data changed or do not hold what its settings ask for"
            }
            Self::Roll { .. } | Self::Panel { .. } => {
                "the policy diverged: look at the norms in the log, lower the optimizer's rate"
            }
            Self::Backward { source, .. } | Self::Cut(source) => return source.hint(),
            Self::Gradient { .. } => "lower the loss's scale or the optimizer's rate",
            Self::Forward(_) => "choose a window between 1 and the number of steps",
            Self::Length(_) => "the state belongs to a policy of another size",
            Self::Groups(_) => "`backcut inspect` lists the parameters of a checkpoint",
        }
        .into()
    }

    fn is_bug(&self) -> bool {
        matches!(self, Self::Backward { source, .. } | Self::Cut(source) if source.is_bug())
    }
}

/// A training run in memory.
pub struct Trainer<'s, R: Real> {
    system: &'s dyn System<R>,
    arm: Arm,
    placed: Placed,
    /// Written anew with every step.
    stretches: Vec<Stretch>,
    update: u64,
    model: Model<R>,
    moments: Moments<R>,
    rollout: Rollout<R>,
    workspace: Workspace<R>,
    evaluator: Evaluator<R>,
}

impl<'s, R: Real> Trainer<'s, R> {
    /// Starts a source from its initial parameters.
    pub fn new(system: &'s dyn System<R>, arm: Arm) -> Result<Self, TrainError> {
        let state = State::initial(system, arm.seed);
        Self::resume(system, arm, state)
    }

    /// Continues from a state, under the same arm or another.
    pub fn resume(
        system: &'s dyn System<R>,
        arm: Arm,
        state: State<R>,
    ) -> Result<Self, TrainError> {
        let State { update, params, moments } = state;
        for moment in [&moments.first, &moments.second] {
            if moment.len() != params.len() {
                return Err(WrongLength { got: moment.len(), want: params.len() }.into());
            }
        }
        let program = system.program();
        let placed = Placed::new(&arm.optimizer, program.layout()).map_err(TrainError::Groups)?;
        let stretches = placed.stretches(&arm.optimizer, 1);
        let model = Model::new(program, params)?;
        let rollout = Rollout::new(program, system.batch_rows(), system.steps(), system.spec())?;
        let workspace = Workspace::new(&rollout, &[arm.cut]).map_err(TrainError::Cut)?;
        let evaluator = Evaluator::new(system)?;
        Ok(Self {
            system,
            arm,
            placed,
            stretches,
            update,
            model,
            moments,
            rollout,
            workspace,
            evaluator,
        })
    }

    /// The arm.
    pub fn arm(&self) -> &Arm {
        &self.arm
    }

    /// Updates done since initialisation.
    pub fn update(&self) -> u64 {
        self.update
    }

    /// The model as it is now.
    pub fn model(&self) -> &Model<R> {
        &self.model
    }

    /// The optimizer's memory as it is now.
    pub fn moments(&self) -> &Moments<R> {
        &self.moments
    }

    /// The batch of the last update, rolled.
    pub fn rollout(&self) -> &Rollout<R> {
        &self.rollout
    }

    /// The gradient of the last update, before clipping.
    pub fn gradient(&self) -> &[R] {
        self.workspace.gradient(0)
    }

    /// A copy of everything that continues this run.
    pub fn state(&self) -> State<R> {
        State {
            update: self.update,
            params: self.model.values().to_vec(),
            moments: self.moments.clone(),
        }
    }

    /// One update. Allocates nothing.
    pub fn step(&mut self) -> Result<UpdateLog, TrainError> {
        let update = self.update + 1;
        let Arm { seed, stream, .. } = self.arm;
        let key = BatchKey { seed, stream, update: self.update };
        self.system
            .fill_batch(key, &mut self.rollout)
            .map_err(|source| TrainError::Sample { update, source })?;
        let Self { model, moments, rollout, workspace, .. } = self;
        let loss = model.roll(rollout).map_err(|source| TrainError::Roll { update, source })?;
        workspace.draw(key.draw());
        let backward = |source| TrainError::Backward { update, source };
        workspace.backward(model, rollout).map_err(backward)?;
        let raw_norm = model.norm(workspace.gradient(0));
        if !raw_norm.is_finite() {
            workspace.backward_checked(model, rollout).map_err(backward)?;
            return Err(TrainError::Gradient { update, parameter: self.bad_parameter() });
        }
        let optimizer = &self.arm.optimizer;
        let factor = optimizer.clip.factor(raw_norm);
        self.placed.stretches_into(optimizer, moments.step + 1, &mut self.stretches);
        model.step(moments, workspace.gradient(0), &self.stretches, R::from_f64(factor));
        let hash = model.hash();
        self.update = update;
        let clipped_norm = factor * raw_norm;
        Ok(UpdateLog { update, loss, raw_norm, clipped_norm, factor, hash })
    }

    /// The fixed panel under the parameters as they are now.
    pub fn evaluate(&mut self) -> Result<Panel, TrainError> {
        self.evaluator
            .evaluate(self.system, &self.model)
            .map_err(|source| TrainError::Panel { update: self.update, source })
    }

    fn bad_parameter(&self) -> String {
        let gradient = self.workspace.gradient(0);
        let parameters = self.model.program().layout().parameters();
        let is_bad = |range: std::ops::Range<usize>| gradient[range].iter().any(|g| !g.is_finite());
        let bad = parameters.iter().find(|p| is_bad(p.range()));
        bad.map_or_else(|| "the whole vector".to_owned(), |p| p.name.clone())
    }
}
