//! One random rollout, run by the engine and by the oracle.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::sync::Arc;

use backcut_engine::{Cut, Draw, Model, Program, Rollout, Workspace};
use backcut_kernels::{Isa, Real};
use backcut_oracle::{
    OracleInputs, OracleResult, OracleSpec, interpret, random_cache_program, random_inputs,
    random_parameters, random_program,
};

/// Every kind of cut, with segments and step counts below, at and above short rollouts.
pub const KINDS: [&str; 24] = [
    "FF", "FD", "F_SG", "SEG-1", "SEG-2", "SEG-3", "SEG-9", "F_A0", "F_A0.5", "F_A1", "KF", "KD",
    "K_SG", "K_SEG-2", "K_A0.3", "K2F", "K2D", "K2_SG", "K2_A0.7", "K3F", "K3_SG", "K3_SEG-2",
    "K9F", "K9D",
];

/// Cuts of single edges, and of what an update draws; all but the last four fit programs without a
/// register.
pub const PARTS: [&str; 24] = [
    "FF:keys=D",
    "FF:values=SG",
    "F_SG:keys=F",
    "FF:cache0=D",
    "FD:cache1.values=F",
    "SEG-2:cache0.keys=A0.5",
    "K2F:values=SEG-2",
    "FF:observation=D",
    "K3_SG:observation=A0.5",
    "FF:body=D",
    "FF:first=D",
    "F_SG:rest=A0.5",
    "KF:body=F",
    "K2D:first=F",
    "K2F:first=F:rest=A0.3",
    "RSEG-2",
    "RT-0.4",
    "URT-0.3",
    "K2_URT-0.3",
    "FF:keys=RT-0.4",
    "FF:register=D",
    "F_SG:register=F",
    "FD:register=SEG-2",
    "K2F:register=A0.5:keys=SG",
];

/// The longest rollout of the programs below.
pub const MAX_STEPS: usize = 16;

pub fn cut(name: &str) -> Cut {
    name.parse().unwrap()
}

pub fn cuts(names: &[&str]) -> Vec<Cut> {
    names.iter().map(|name| cut(name)).collect()
}

pub fn spec(rows: usize, steps: usize) -> OracleSpec {
    OracleSpec { rows, steps, ..OracleSpec::default() }
}

/// A program with parameters and inputs, ready for any cut.
pub struct Case {
    pub program: Arc<Program>,
    pub parameters: Vec<f64>,
    pub inputs: OracleInputs,
    pub spec: OracleSpec,
}

impl Case {
    pub fn new(program: Program, seed: u64, spec: OracleSpec) -> Self {
        let parameters = random_parameters(&program, seed);
        let inputs = random_inputs(&program, spec.rows, spec.steps, seed);
        Self { program: Arc::new(program), parameters, inputs, spec }
    }

    /// Caches, a register, and whatever else the seed brings.
    pub fn random(seed: u64, spec: OracleSpec) -> Self {
        Self::new(random_program(seed, MAX_STEPS).unwrap(), seed, spec)
    }

    /// Without a register, so that windows and masks apply.
    pub fn random_caches(seed: u64, spec: OracleSpec) -> Self {
        Self::new(random_cache_program(seed, MAX_STEPS).unwrap(), seed, spec)
    }

    /// The same case with numbers that single precision holds.
    pub fn rounded_to_f32(mut self) -> Self {
        self.parameters.iter_mut().for_each(|p| *p = f64::from(*p as f32));
        self.inputs = self.inputs.rounded_to_f32();
        self
    }

    pub fn oracle(&self, cut: Cut) -> OracleResult {
        interpret(&self.program, &self.parameters, &self.inputs, &self.spec, cut).unwrap()
    }

    pub fn rolled<R: Real>(&self, isa: Isa) -> (Model<R>, Rollout<R>) {
        self.rolled_with(isa, &self.parameters)
    }

    pub fn rolled_with<R: Real>(&self, isa: Isa, parameters: &[f64]) -> (Model<R>, Rollout<R>) {
        let values = parameters.iter().map(|&p| R::from_f64(p)).collect();
        let model = Model::on(isa, &self.program, values).unwrap();
        let OracleSpec { rows, steps, .. } = self.spec;
        let mut rollout =
            Rollout::new(&self.program, rows, steps, self.spec.forward_spec()).unwrap();
        self.inputs.write_into(&mut rollout).unwrap();
        self.spec.feed_into(&mut rollout).unwrap();
        model.roll(&mut rollout).unwrap();
        (model, rollout)
    }

    /// The gradients of several cuts from one backward.
    pub fn gradients<R: Real>(&self, cuts: &[Cut]) -> Vec<Vec<R>> {
        let (model, rollout) = self.rolled(Isa::detect());
        backward_many(&model, &rollout, cuts)
    }

    pub fn gradient<R: Real>(&self, name: &str) -> Vec<R> {
        self.gradients(&[cut(name)]).remove(0)
    }
}

pub fn backward_many<R: Real>(model: &Model<R>, rollout: &Rollout<R>, cuts: &[Cut]) -> Vec<Vec<R>> {
    let mut workspace = Workspace::new(rollout, cuts).unwrap();
    workspace.draw(Draw::default());
    workspace.backward(model, rollout).unwrap();
    (0..cuts.len()).map(|i| workspace.gradient(i).to_vec()).collect()
}

pub fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// |a - b| / |b|, with NaN treated as infinitely far.
pub fn distance<R: Real>(a: &[R], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let difference: Vec<f64> = a.iter().zip(b).map(|(a, b)| a.to_f64() - b).collect();
    let distance = norm(&difference) / norm(b);
    if distance.is_nan() { f64::INFINITY } else { distance }
}

/// Numbers as bits: two zeros of different sign differ, a NaN equals itself.
pub fn bits<R: Real>(values: &[R]) -> Vec<u64> {
    values.iter().map(|v| v.to_f64().to_bits()).collect()
}
