//! An update taken apart: for programs that are no system, and for several graphs at once.

use std::sync::Arc;

use backcut_engine::{Cut, Draw, ForwardSpec, Model, Moments, Program, Rollout, Workspace};
use backcut_kernels::optim::rule::{AdamW, Rule, Stretch};

use crate::exit::Told as _;

/// The quadrotor study's settings.
const ADAMW: AdamW = AdamW { rate: 1e-3, beta1: 0.9, beta2: 0.999, eps: 1e-8, decay: 0.01 };
const CLIP: f64 = 1.0;

/// Everything one update touches.
pub struct Learner {
    model: Model<f32>,
    rollout: Rollout<f32>,
    workspace: Workspace<f32>,
    moments: Moments<f32>,
    updates: u64,
}

impl Learner {
    pub fn new(
        program: &Arc<Program>,
        rows: usize,
        steps: usize,
        spec: ForwardSpec<f32>,
        cuts: &[Cut],
    ) -> anyhow::Result<Self> {
        let params = program.layout().initialise::<f32>(1);
        let moments = Moments::zeros(params.len());
        let model = Model::new(program, params)?;
        let rollout = Rollout::new(program, rows, steps, spec).told()?;
        let workspace = Workspace::new(&rollout, cuts).told()?;
        Ok(Self { model, rollout, workspace, moments, updates: 0 })
    }

    /// Bytes of the record, the backward's buffers and the packed weights.
    pub fn bytes(&self) -> usize {
        self.rollout.bytes() + self.workspace.bytes() + self.model.packed_bytes()
    }

    /// Fills in a batch.
    pub fn sample(
        &mut self,
        fill: impl FnOnce(u64, &mut Rollout<f32>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        fill(self.updates, &mut self.rollout)?;
        self.workspace.draw(Draw::new(0, self.updates));
        self.updates += 1;
        Ok(())
    }

    /// The forward.
    pub fn roll(&mut self) -> anyhow::Result<()> {
        self.model.roll(&mut self.rollout)?;
        Ok(())
    }

    /// The gradients of all cuts.
    pub fn backward(&mut self) -> anyhow::Result<()> {
        self.workspace.backward(&self.model, &self.rollout).told()
    }

    /// Clips by the global norm, takes AdamW's step, packs the new weights.
    pub fn step(&mut self) {
        let Self { model, moments, workspace, .. } = self;
        let factor = (CLIP / model.norm(workspace.gradient(0))).min(1.0) as f32;
        let stretch = Stretch { range: 0..moments.first.len(), rule: Rule::AdamW(ADAMW) };
        model.step(moments, workspace.gradient(0), &[stretch], factor);
    }
}
