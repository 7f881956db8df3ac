//! What a rollout of the oracle is given, and why it may refuse it.

use backcut_engine::edges::Through;
use backcut_engine::{Draw, Program};

/// Everything a rollout is given from outside, in plain nested vectors.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OracleInputs {
    /// `[input][step][row][column]`, in the program's order.
    pub inputs: Vec<Vec<Vec<Vec<f64>>>>,
    /// `[condition input][row][token][column]`, in the program's order.
    pub condition: Vec<Vec<Vec<Vec<f64>>>>,
    /// Initial states, `[state][row][column]`.
    pub states: Vec<Vec<Vec<f64>>>,
    /// Initial registers, `[register][row][column]`.
    pub registers: Vec<Vec<Vec<f64>>>,
}

/// How long a rollout is, and what its attentions may read.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OracleSpec {
    /// Rows of the batch.
    pub rows: usize,
    /// Steps, the prefix included.
    pub steps: usize,
    /// Steps at the start that run without gradients and whose loss does not count.
    pub prefix: usize,
    /// Positions a query reads, its own included; `None` for all.
    pub window: Option<usize>,
    /// `mask[t][j]`: may step `t` read step `j`? Its own position it always reads.
    pub mask: Option<Vec<Vec<bool>>>,
    /// Values fed from outside in place of a site's own; constants under every cut.
    pub overrides: Vec<FixedValues>,
    /// What cuts leave to chance.
    pub draw: Draw,
    /// What is differentiated; `None` for the loss.
    pub objective: Option<Objective>,
    /// An edge to treat wrongly on purpose, to show that a comparison would notice.
    pub wrong_edge: Option<WrongEdge>,
}

/// Values of a tap, state, register or input at some steps.
#[derive(Clone, PartialEq, Debug)]
pub struct FixedValues {
    /// Its name.
    pub site: String,
    /// First step.
    pub first: usize,
    /// `[step][row][column]`.
    pub values: Vec<Vec<Vec<f64>>>,
}

/// A sum to differentiate in place of the loss.
#[derive(Clone, PartialEq, Debug)]
pub struct Objective {
    /// Weight of the loss.
    pub loss: f64,
    /// Weights of taps, all steps from the first: the adjoints that a caller seeds.
    pub seeds: Vec<FixedValues>,
}

/// One edge of a rollout: dropped if the cut keeps all of it, kept otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WrongEdge {
    /// What it runs through; of a cache, keys and values together.
    pub through: Through,
    /// Which state, register or cache, in the program's order.
    pub index: usize,
    /// The earlier step.
    pub from: usize,
    /// The later step.
    pub to: usize,
}

/// Why the oracle cannot run a program.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OracleError {
    /// A cut that the program cannot honour.
    #[error("{0}")]
    Cut(String),
    /// No loss to differentiate.
    #[error("the program has no loss")]
    NoLoss,
    /// The inputs do not fit the program.
    #[error("{0}")]
    Shape(String),
}

/// Whether everything that will be indexed is there.
pub(crate) fn check(
    program: &Program,
    parameters: &[f64],
    inputs: &OracleInputs,
    spec: &OracleSpec,
) -> Result<(), OracleError> {
    let require = |holds: bool, what: &str| {
        if holds { Ok(()) } else { Err(OracleError::Shape(what.to_owned())) }
    };
    let table = |rows: &[Vec<f64>], len: usize, width: usize| {
        rows.len() == len && rows.iter().all(|row| row.len() == width)
    };
    let rows = spec.rows;
    require(parameters.len() == program.layout().len(), "the number of parameters does not fit")?;
    require(spec.prefix < spec.steps, "the prefix leaves no step to learn from")?;
    require(spec.window != Some(0), "a window of 0 reads nothing; 1 is the current step alone")?;
    require(
        program.max_steps().is_none_or(|max| spec.steps <= max),
        "the rollout is longer than a learned table",
    )?;
    require(
        inputs.inputs.len() == program.inputs().count()
            && program.inputs().zip(&inputs.inputs).all(|((_, width), steps)| {
                steps.len() >= spec.steps && steps.iter().all(|step| table(step, rows, width))
            }),
        "inputs are not [input][step][row][column]",
    )?;
    require(
        inputs.condition.len() == program.condition_inputs().count()
            && program.condition_inputs().zip(&inputs.condition).all(|((_, width), all)| {
                all.len() == rows && all.iter().all(|row| table(row, program.tokens(), width))
            }),
        "condition inputs are not [input][row][token][column]",
    )?;
    let carried = [(program.states(), &inputs.states), (program.registers(), &inputs.registers)];
    require(
        carried.iter().all(|(carried, given)| {
            carried.len() == given.len()
                && carried.iter().zip(*given).all(|(c, given)| table(given, rows, c.width))
        }),
        "initial states or registers are not [state][row][column]",
    )?;
    let seeds = spec.objective.iter().flat_map(|objective| &objective.seeds);
    require(
        spec.overrides.iter().chain(seeds).all(|fixed| {
            let width = program.tap(&fixed.site).map(|site| program.width(site));
            let fits = |width| fixed.values.iter().all(|step| table(step, rows, width));
            width.is_some_and(fits) && fixed.first + fixed.values.len() <= spec.steps
        }),
        "overrides or seeds are not [step][row][column] of a tap",
    )?;
    require(
        spec.mask.as_ref().is_none_or(|mask| {
            mask.len() >= spec.steps && mask.iter().all(|row| row.len() >= spec.steps)
        }),
        "the mask is not [step][step]",
    )
}
