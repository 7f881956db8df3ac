//! One program, differentiated by the engine and by an oracle.

use std::sync::Arc;

use backcut_engine::oracle::{
    OracleInputs, OracleSpec, Random, directional_derivative, random_direction, random_inputs,
    random_parameters,
};
use backcut_engine::{Cpu, Cut, Executor, Model, Program, Rollout};

/// Largest accepted distance to the scalar oracle, relative to the gradient's norm.
pub const ORACLE_TOLERANCE: f64 = 1e-10;
/// Largest accepted error along a direction, relative to the gradient's norm.
pub const DIFFERENCES_TOLERANCE: f64 = 1e-7;
const DIRECTIONS: usize = 3;

/// One program, ready to be rolled by the engine and by the oracle.
pub struct Case {
    /// What computes.
    pub executor: &'static dyn Executor<f64>,
    /// The step.
    pub program: Arc<Program>,
    /// Its parameters.
    pub parameters: Vec<f64>,
    /// What goes in.
    pub inputs: OracleInputs,
    /// Rows, steps and forward.
    pub spec: OracleSpec,
}

impl Case {
    /// A program with random parameters and inputs.
    pub fn random(program: Program, rows: usize, steps: usize, seed: u64) -> Self {
        let spec = OracleSpec { rows, steps, ..OracleSpec::default() };
        Self {
            executor: Cpu::detect(),
            parameters: random_parameters(&program, seed),
            inputs: random_inputs(&program, rows, steps, seed),
            program: Arc::new(program),
            spec,
        }
    }

    /// Rolls it out, under these parameters.
    pub fn roll(&self, parameters: &[f64]) -> anyhow::Result<(Model<f64>, Rollout<f64>)> {
        let OracleSpec { rows, steps, .. } = self.spec;
        let model = self.executor.model(&self.program, parameters.to_vec())?;
        let mut rollout =
            self.executor.rollout(&self.program, rows, steps, self.spec.forward_spec())?;
        self.inputs.write_into(&mut rollout)?;
        self.spec.feed_into(&mut rollout)?;
        self.executor.roll(&model, &mut rollout)?;
        Ok((model, rollout))
    }

    /// Every value that the rollout keeps as rows, and its loss, as bits.
    fn bytes(&self, rollout: &Rollout<f64>) -> Vec<u64> {
        let sites = 0..self.program.nodes().len();
        let values = sites.flat_map(|site| rollout.values(site));
        values.chain(rollout.row_loss().unwrap_or_default()).map(|v| v.to_bits()).collect()
    }

    /// FF along random directions, against central differences of the engine's own loss.
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
        (0..DIRECTIONS).map(error).fold(0.0, worse)
    }
}

/// The gradients of one program and how they compare, cut by cut.
pub struct Compared {
    /// By cut.
    pub gradients: Vec<Vec<f64>>,
    /// Distance to the oracle's gradient, relative to its norm.
    pub errors: Vec<f64>,
    /// A backward of all cuts at once gives the bits of its own.
    pub many_is_single: Vec<bool>,
    /// After its backward, the record and a new forward have the bits of before.
    pub forward_is_same: Vec<bool>,
}

/// Differentiates a case under cuts, together and alone, and by an oracle.
pub fn compare(
    case: &Case,
    cuts: &[Cut],
    oracle: impl Fn(Cut) -> anyhow::Result<Vec<f64>>,
) -> anyhow::Result<Compared> {
    let (model, mut rollout) = case.roll(&case.parameters)?;
    let forward = case.bytes(&rollout);
    let mut all = case.executor.workspace(&rollout, cuts)?;
    all.draw(case.spec.draw);
    case.executor.backward(&model, &rollout, &mut all)?;
    let mut compared = Compared {
        gradients: Vec::new(),
        errors: Vec::new(),
        many_is_single: Vec::new(),
        forward_is_same: Vec::new(),
    };
    for (i, &cut) in cuts.iter().enumerate() {
        let mut alone = case.executor.workspace(&rollout, &[cut])?;
        alone.draw(case.spec.draw);
        case.executor.backward(&model, &rollout, &mut alone)?;
        let mut is_same = case.bytes(&rollout) == forward;
        case.executor.roll(&model, &mut rollout)?;
        is_same &= case.bytes(&rollout) == forward;
        let gradient = alone.gradient(0).to_vec();
        compared.errors.push(distance(&gradient, &oracle(cut)?));
        compared.many_is_single.push(same_bits(&gradient, all.gradient(i)));
        compared.forward_is_same.push(is_same);
        compared.gradients.push(gradient);
    }
    Ok(compared)
}

/// A NaN is within nothing.
pub fn within(error: f64, tolerance: f64) -> bool {
    error < tolerance
}

/// The larger error, where a NaN is the largest.
fn worse(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

/// Euclidean.
pub fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Relative to the second one's norm.
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    let difference: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let apart = norm(&difference);
    if apart == 0.0 { 0.0 } else { apart / norm(b) }
}

/// Bit by bit.
pub fn same_bits(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}
