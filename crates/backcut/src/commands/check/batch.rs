//! What a sampler wrote: every number of a batch, compared with another batch, by place.

use std::fmt;
use std::sync::Arc;

use backcut_engine::oracle::{OracleInputs, OracleSpec};
use backcut_engine::{Program, Rollout};

/// Where a number of a batch lies, in words.
pub struct Place {
    what: &'static str,
    name: String,
    row: usize,
    step: Option<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, name, row, step } = self;
        write!(f, "{what} `{name}`, trajectory {row}")?;
        step.map_or(Ok(()), |step| write!(f, ", step {step}"))
    }
}

/// Every number that a sampler wrote, in one order.
pub struct Numbers {
    program: Arc<Program>,
    inputs: OracleInputs,
    spec: OracleSpec,
}

impl Numbers {
    /// Reads them from a rollout.
    pub fn of(rollout: &mut Rollout<f64>) -> Self {
        let (rows, steps) = (rollout.rows(), rollout.steps());
        Self {
            program: rollout.program().clone(),
            inputs: OracleInputs::read_from(rollout, rows, steps),
            spec: OracleSpec::read_from(rollout, rows, steps),
        }
    }

    /// The first row of numbers, beside the same one of another batch, for which `is` holds.
    pub fn find(&self, other: &Self, is: impl Fn(&[f64], &[f64]) -> bool) -> Option<Place> {
        type Steps = [Vec<Vec<f64>>];
        let steps_of = |what, name: &str, first: usize, ours: &Steps, theirs: &Steps| {
            for (t, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                if let Some(row) = rows_of(ours, theirs, &is) {
                    return Some(Place { what, name: name.to_owned(), row, step: Some(first + t) });
                }
            }
            None
        };
        let named = self.program.inputs().zip(self.inputs.inputs.iter().zip(&other.inputs.inputs));
        for ((name, _), (ours, theirs)) in named {
            if let place @ Some(_) = steps_of("input", name, 0, ours, theirs) {
                return place;
            }
        }
        for (ours, theirs) in self.spec.overrides.iter().zip(&other.spec.overrides) {
            let (ours, name) = (&ours.values, &ours.site);
            let first = theirs.first;
            if let place @ Some(_) = steps_of("fed value", name, first, ours, &theirs.values) {
                return place;
            }
        }
        let (a, b) = (&self.inputs, &other.inputs);
        for (ours, (theirs, (name, _))) in
            a.condition.iter().zip(b.condition.iter().zip(self.program.condition_inputs()))
        {
            let found = ours.iter().zip(theirs).position(|(a, b)| rows_of(a, b, &is).is_some());
            if let Some(row) = found {
                let name = name.to_owned();
                return Some(Place { what: "condition input", name, row, step: None });
            }
        }
        let carried = self.program.states().iter().zip(a.states.iter().zip(&b.states));
        let registers = self.program.registers().iter().zip(a.registers.iter().zip(&b.registers));
        for (state, (ours, theirs)) in carried.chain(registers) {
            if let Some(row) = rows_of(ours, theirs, &is) {
                let name = state.name.clone();
                return Some(Place { what: "initial value of", name, row, step: None });
            }
        }
        None
    }

    /// Where two batches differ in a bit.
    pub fn difference(&self, other: &Self) -> Option<Place> {
        self.find(other, |a, b| a.iter().zip(b).any(|(a, b)| a.to_bits() != b.to_bits()))
    }
}

fn rows_of(
    ours: &[Vec<f64>],
    theirs: &[Vec<f64>],
    is: impl Fn(&[f64], &[f64]) -> bool,
) -> Option<usize> {
    ours.iter().zip(theirs).position(|(a, b)| is(a, b))
}

/// Overwrites everything that a sampler writes.
pub fn spoil(rollout: &mut Rollout<f64>) {
    const NEVER_DRAWN: f64 = 1.234_567_890_123e17;
    let program = rollout.program().clone();
    for (name, _) in program.inputs() {
        rollout.input_mut(name).into_iter().flatten().for_each(|x| *x = NEVER_DRAWN);
    }
    for (name, _) in program.condition_inputs() {
        rollout.condition_input_mut(name).into_iter().flatten().for_each(|x| *x = NEVER_DRAWN);
    }
    for carried in program.states().iter().chain(program.registers()) {
        rollout.initial_mut(&carried.name).into_iter().flatten().for_each(|x| *x = NEVER_DRAWN);
    }
    let fed: Vec<String> = rollout.spec().fed.iter().map(|fed| fed.site.clone()).collect();
    for name in fed {
        rollout.fed_mut(&name).into_iter().flatten().for_each(|x| *x = NEVER_DRAWN);
    }
}
