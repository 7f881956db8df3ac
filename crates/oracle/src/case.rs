//! One program, differentiated by the engine and by an oracle.

use std::sync::Arc;

use backcut_engine::{
    BackwardError, Cut, ForwardError, Model, Program, RollError, Rollout, Workspace, WrongLength,
};
use serde::Serialize;

use crate::differences::{directional_derivative, random_direction};
use crate::inputs::{OracleError, OracleInputs, OracleSpec};
use crate::random_program::{Random, random_inputs, random_parameters};

/// Largest accepted distance to the scalar oracle, relative to the gradient's norm.
pub const ORACLE_TOLERANCE: f64 = 1e-10;
const DIRECTIONS: usize = 3;

/// One program, ready to be rolled by the engine and by the oracle.
pub struct Case {
    /// The step.
    pub program: Arc<Program>,
    /// Its parameters.
    pub parameters: Vec<f64>,
    /// What goes in.
    pub inputs: OracleInputs,
    /// Rows, steps and forward.
    pub spec: OracleSpec,
}

/// Why a case cannot be rolled or differentiated.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error(transparent)]
#[expect(missing_docs, reason = "the error of what it names")]
pub enum CaseError {
    Parameters(#[from] WrongLength),
    Forward(#[from] ForwardError),
    Roll(#[from] RollError),
    Backward(#[from] BackwardError),
    Oracle(#[from] OracleError),
}

/// How the engine's gradient under one cut compares.
#[derive(Clone, Debug, Serialize)]
pub struct OfCut {
    /// The cut.
    pub cut: Cut,
    /// Distance to the oracle's gradient, relative to its norm.
    pub error: f64,
    /// The gradient from a backward of all cuts at once has the bits of its own backward.
    pub many_is_single: bool,
    /// After its backward, the record and a new forward have the bits of before.
    pub forward_is_same: bool,
    /// The engine's.
    #[serde(skip)]
    pub gradient: Vec<f64>,
}

impl OfCut {
    /// What is wrong, one line each.
    pub fn problems(&self) -> impl Iterator<Item = String> {
        let Self { cut, error, many_is_single, forward_is_same, .. } = self;
        // A NaN is within nothing.
        let is_close = *error < ORACLE_TOLERANCE;
        let problems = [
            (!is_close).then(|| format!("{cut} is {error:.1e} from the scalar oracle")),
            (!many_is_single).then(|| format!("{cut} among other cuts is not {cut} alone")),
            (!forward_is_same).then(|| format!("{cut} changed the forward")),
        ];
        problems.into_iter().flatten()
    }
}

impl Case {
    /// A program with random parameters and inputs.
    pub fn random(program: Program, rows: usize, steps: usize, seed: u64) -> Self {
        Self {
            parameters: random_parameters(&program, seed),
            inputs: random_inputs(&program, rows, steps, seed),
            program: Arc::new(program),
            spec: OracleSpec { rows, steps, ..OracleSpec::default() },
        }
    }

    /// Rolls it out, under these parameters.
    pub fn roll(&self, parameters: &[f64]) -> Result<(Model<f64>, Rollout<f64>), CaseError> {
        let OracleSpec { rows, steps, .. } = self.spec;
        let model = Model::new(&self.program, parameters.to_vec())?;
        let mut rollout = Rollout::new(&self.program, rows, steps, self.spec.forward_spec())?;
        self.inputs.write_into(&mut rollout)?;
        self.spec.feed_into(&mut rollout)?;
        model.roll(&mut rollout)?;
        Ok((model, rollout))
    }

    /// Every value that the rollout keeps as rows, and its loss, as bits.
    fn bits(&self, rollout: &Rollout<f64>) -> Vec<u64> {
        let sites = 0..self.program.nodes().len();
        let values = sites.flat_map(|site| rollout.values(site));
        values.chain(rollout.row_loss().unwrap_or_default()).map(|v| v.to_bits()).collect()
    }

    /// FF along random directions, against central differences of the engine's own loss: the
    /// largest error, relative to the gradient's norm.
    pub fn differences(&self, full: &[f64], seed: u64) -> f64 {
        let loss = |parameters: &[f64]| {
            let rolled = self.roll(parameters).ok();
            rolled.and_then(|(_, rollout)| rollout.loss()).unwrap_or(f64::NAN)
        };
        let random = &mut Random::new(seed);
        let error = |_| {
            let direction = random_direction(full.len(), random);
            let found: f64 = full.iter().zip(&direction).map(|(g, d)| g * d).sum();
            (found - directional_derivative(loss, &self.parameters, &direction)).abs() / norm(full)
        };
        // A NaN is the largest.
        let worse = |a: f64, b: f64| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) };
        (0..DIRECTIONS).map(error).fold(0.0, worse)
    }

    /// Differentiates it under cuts, together and alone, and by an oracle.
    pub fn compare(
        &self,
        cuts: &[Cut],
        oracle: impl Fn(Cut) -> Result<Vec<f64>, OracleError>,
    ) -> Result<Vec<OfCut>, CaseError> {
        let (model, mut rollout) = self.roll(&self.parameters)?;
        let forward = self.bits(&rollout);
        let mut all = Workspace::new(&rollout, cuts)?;
        all.draw(self.spec.draw);
        all.backward(&model, &rollout)?;
        let mut compared = Vec::new();
        for (i, &cut) in cuts.iter().enumerate() {
            let mut alone = Workspace::new(&rollout, &[cut])?;
            alone.draw(self.spec.draw);
            alone.backward(&model, &rollout)?;
            let mut forward_is_same = self.bits(&rollout) == forward;
            model.roll(&mut rollout)?;
            forward_is_same &= self.bits(&rollout) == forward;
            let gradient = alone.gradient(0).to_vec();
            let error = distance(&gradient, &oracle(cut)?);
            let many_is_single = same_bits(&gradient, all.gradient(i));
            compared.push(OfCut { cut, error, many_is_single, forward_is_same, gradient });
        }
        Ok(compared)
    }
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Euclidean, relative to the second one's norm.
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    let difference: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let apart = norm(&difference);
    if apart == 0.0 { 0.0 } else { apart / norm(b) }
}

/// Bit by bit.
pub fn same_bits(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}
