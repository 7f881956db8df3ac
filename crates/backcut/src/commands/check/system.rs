//! `backcut check --system NAME`: a system's own program against the scalar oracle, and its
//! sampler, its forward and its loss against what authors of systems get wrong.
//!
//! The sampler fills a batch of the system's own size, so it need not know other sizes; the oracle,
//! which writes down every number, takes its first rows and steps.

use std::fmt::Write as _;
use std::sync::Arc;

use anyhow::Result;
use backcut_engine::{Cut, Model, Rollout, Workspace};
use backcut_kernels::Isa;
use backcut_oracle::{
    Case, ORACLE_TOLERANCE, OfCut, OracleInputs, OracleSpec, Random, interpret, random_direction,
    same_bits,
};
use backcut_study::Tools;
use backcut_systems::{BatchKey, Stream, System, SystemChoice};
use backcut_text::thousands;
use serde::Serialize;

use super::{Args, MAX_TAPE, TONES, word};
use crate::common::{described, print_json, print_judged};
use crate::exit::{Told as _, Verdict, user};

/// An error of FF along a direction beyond this is worth a note.
const DIFFERENCES_TOLERANCE: f64 = 1e-5;
/// Every kind of cut that can be told apart over a few steps; FF first. Each edge that the program
/// names is closed alone too.
const CUTS: &str = "FF FD F_SG SEG-2 F_A0.5 KF KD K_SG K2F K2_SEG-2 K2_SG RSEG-2 RT-0.4 URT-0.3";
/// Words of a gradient that is zero everywhere.
const IGNORED: &str =
    "the loss ignores the action: its gradient is exactly zero in every parameter";

/// Everything that was found.
#[derive(Serialize)]
struct Findings {
    system: String,
    code_path: String,
    weights: usize,
    rows: usize,
    steps: usize,
    batch_rows: usize,
    all_steps: usize,
    cuts: Vec<OfCut>,
    /// Cuts that the program does not allow, with the reason.
    unfit: Vec<(String, String)>,
    central_differences: Option<f64>,
    /// What is worth knowing and not wrong.
    notes: Vec<String>,
    /// What is wrong.
    problems: Vec<String>,
}

/// Runs the command for a system.
pub fn run(name: &str, args: &Args, tools: Tools) -> Result<Verdict> {
    for (what, value, least) in [("steps", args.steps, 3), ("rows", args.rows, 1)] {
        if value < least {
            return Err(user(format!("--{what} {value}"), format!("use at least {least}")));
        }
    }
    let choice = SystemChoice::new(name, serde_json::Map::new());
    let built = args.settings.over(&choice, tools.catalogue)?;
    let findings = examine(built.double(), described(&built), args)?;
    if args.json {
        print_json(&findings)?;
    } else {
        print_judged(findings.text(args.seed), TONES)?;
    }
    Ok(if findings.problems.is_empty() { Verdict::Fine } else { Verdict::Failed })
}

fn examine(system: &dyn System<f64>, name: String, args: &Args) -> Result<Findings> {
    let program = system.program();
    let (weights, all_steps) = (program.layout().len(), system.steps());
    let mut findings = Findings {
        system: name,
        code_path: Isa::detect().to_string(),
        weights,
        rows: 0,
        steps: 0,
        batch_rows: system.batch_rows(),
        all_steps,
        cuts: Vec::new(),
        unfit: Vec::new(),
        central_differences: None,
        notes: Vec::new(),
        problems: Vec::new(),
    };
    let key = BatchKey { seed: args.seed, stream: Stream::A, update: 0 };
    let mut rollout = draw(system, key)?;
    findings.sampler(system, key, &mut rollout)?;
    let parameters: Vec<f64> = program.layout().initialise(args.seed);
    if !findings.problems.is_empty() {
        return Ok(findings); // whatever follows would rest on it
    }
    findings.forward(&parameters, &mut rollout, args.seed)?;
    if !findings.problems.is_empty() {
        return Ok(findings);
    }
    let prefix = rollout.spec().prefix;
    let steps = all_steps.min(prefix + args.steps);
    // Half of the numbers on the tape are products with weights, and K2 computes twice.
    let tape = |rows: usize| 4 * weights * rows * steps;
    let rows = args.rows.min(system.batch_rows());
    let rows = (1..=rows).rev().find(|rows| tape(*rows) <= MAX_TAPE).ok_or_else(|| {
        let what = format!("{weights} weights over {steps} steps are too much for the oracle");
        user(what, "choose smaller sizes with --set, or fewer --steps")
    })?;
    (findings.rows, findings.steps) = (rows, steps);
    let case = Case {
        program: Arc::clone(program),
        parameters,
        inputs: OracleInputs::read_from(&mut rollout, rows, steps),
        spec: OracleSpec::read_from(&mut rollout, rows, steps),
    };
    findings.oracle(&case, args.seed)?;
    Ok(findings)
}

/// A batch, freshly drawn.
fn draw(system: &dyn System<f64>, key: BatchKey) -> Result<Rollout<f64>> {
    let (program, rows, steps) = (system.program(), system.batch_rows(), system.steps());
    let mut rollout = Rollout::new(program, rows, steps, system.spec()).told()?;
    system.fill_batch(key, &mut rollout).map_err(|e| user(e, "look at the system's sampler"))?;
    Ok(rollout)
}

impl Findings {
    /// Draws batches again and looks whether they are functions of their seed.
    fn sampler(
        &mut self,
        system: &dyn System<f64>,
        key: BatchKey,
        rollout: &mut Rollout<f64>,
    ) -> Result<()> {
        let first = written(rollout);
        if let Some((place, _)) = first.iter().find(|(_, row)| row.iter().any(|v| !v.is_finite())) {
            self.problems.push(format!("the sampler wrote a number that is not finite: {place}"));
        }
        if let Some(place) = difference(&first, &written(&mut draw(system, key)?)) {
            self.problems.push(format!(
                "the sampler is not a function of its seed: two draws of one batch differ in \
                 {place}"
            ));
            return Ok(());
        }
        let other = BatchKey { seed: key.seed + 1, ..key };
        let mut used = draw(system, other)?;
        if difference(&first, &written(&mut used)).is_none() {
            self.notes.push("another seed draws the same batch".to_owned());
        }
        let later = BatchKey { update: 1, ..key };
        if difference(&first, &written(&mut draw(system, later)?)).is_none() {
            self.notes.push("the next update has the same batch".to_owned());
        }
        // In the place of the batch before, numbers that no sampler draws.
        spoil(&mut used);
        system.fill_batch(key, &mut used).map_err(|e| user(e, "look at the system's sampler"))?;
        if let Some(place) = difference(&first, &written(&mut used)) {
            self.problems.push(format!(
                "the sampler leaves numbers of the batch before: it did not write {place}"
            ));
        }
        Ok(())
    }

    /// Rolls the whole batch with every value watched, and looks what the loss depends on.
    fn forward(&mut self, parameters: &[f64], rollout: &mut Rollout<f64>, seed: u64) -> Result<()> {
        let layout = rollout.program().layout().clone();
        // At its initial zeros a program may hide what its loss depends on: look a step away, too.
        let direction = random_direction(parameters.len(), &mut Random::new(seed));
        let scale = 0.1 * (parameters.len() as f64).sqrt();
        let moved: Vec<f64> =
            parameters.iter().zip(&direction).map(|(p, d)| p + scale * d).collect();
        let mut reached = vec![false; layout.parameters().len()];
        for (i, values) in [parameters.to_vec(), moved].into_iter().enumerate() {
            let model = Model::new(rollout.program(), values)?;
            let mut workspace = Workspace::new(rollout, &[Cut::FF]).told()?;
            let failed = if let Err(error) = model.roll_checked(rollout) {
                Some(("forward", error.to_string()))
            } else {
                let run = workspace.backward_checked(&model, rollout);
                run.err().map(|error| ("backward", error.to_string()))
            };
            if let Some((pass, error)) = failed {
                if i > 0 {
                    break; // other parameters may well leave the range
                }
                self.problems.push(format!("the {pass} fails on the first batch: {error}"));
                return Ok(());
            }
            let gradient = workspace.gradient(0);
            for (reached, parameter) in reached.iter_mut().zip(layout.parameters()) {
                *reached |= gradient[parameter.range()].iter().any(|g| *g != 0.0);
            }
        }
        if !reached.contains(&true) {
            self.problems.push(IGNORED.to_owned());
            return Ok(());
        }
        let all = layout.parameters().iter().zip(&reached);
        let lost: Vec<&str> = all.filter(|(_, r)| !**r).map(|(p, _)| p.name.as_str()).collect();
        if !lost.is_empty() {
            self.notes.push(format!("no gradient reaches {}", lost.join(", ")));
        }
        Ok(())
    }

    /// The engine's gradients against the oracle's.
    fn oracle(&mut self, case: &Case, seed: u64) -> Result<()> {
        let (_, rollout) = case.roll(&case.parameters)?;
        let mut cuts = Vec::new();
        let edges = case.program.edge_names().into_iter().map(|edge| format!("FF:{edge}=D"));
        for name in CUTS.split_whitespace().map(str::to_owned).chain(edges) {
            let fits = name.parse::<Cut>().map_err(|error| error.to_string()).and_then(|cut| {
                let fits = Workspace::new(&rollout, &[cut]);
                fits.map(|_| cut).map_err(|error| error.to_string())
            });
            match fits {
                Ok(cut) => cuts.push(cut),
                Err(why) => self.unfit.push((name, why)),
            }
        }
        let Case { program, parameters, inputs, spec } = case;
        self.cuts = case.compare(&cuts, |cut| {
            Ok(interpret(program, parameters, inputs, spec, cut)?.gradient)
        })?;
        self.problems.extend(self.cuts.iter().flat_map(OfCut::problems));
        if case.spec.prefix > 0 {
            let note =
                "not held to central differences: the prefix passes no gradient, they see it";
            self.notes.push(note.to_owned());
            return Ok(());
        }
        let error = case.differences(&self.cuts[0].gradient, seed);
        self.central_differences = Some(error);
        if error.is_nan() || error >= DIFFERENCES_TOLERANCE {
            // The oracle knows the program; differences know neither its stop_gradient() nor its
            // kinks.
            self.notes.push(format!(
                "central differences disagree by more than {DIFFERENCES_TOLERANCE:.0e}: look for a \
                 stop_gradient() or a kink, as of clamp, in the program"
            ));
        }
        Ok(())
    }

    fn text(&self, seed: u64) -> String {
        let Self { system, code_path, rows, steps, batch_rows, all_steps, .. } = self;
        let mut out = format!("{system}: {} weights, seed {seed}\n", thousands(self.weights));
        if !self.cuts.is_empty() {
            let _ = writeln!(
                out,
                "the sampler is a function of its seed; {batch_rows} rows of {all_steps} steps \
                 roll to finite numbers\n\n{rows} rows of {steps} steps, f64, \
                 {code_path}\n\n{:<24} {:>15}   bits among    bits of the\n{:<24} {:>15}   other \
                 cuts    forward",
                "", "distance to the", "cut", "scalar oracle"
            );
        }
        for OfCut { cut, error, many_is_single, forward_is_same, .. } in &self.cuts {
            let (many, forward) = (word(*many_is_single), word(*forward_is_same));
            let cut = cut.to_string();
            let _ = writeln!(out, "{cut:<24} {error:>15.1e}   {many:<10}    {forward}");
        }
        if let Some(error) = self.central_differences {
            let _ = writeln!(out, "\nFF is {error:.1e} from central differences of the loss");
        }
        for (cut, why) in &self.unfit {
            let _ = writeln!(out, "{cut} is not for this program: {why}");
        }
        for note in &self.notes {
            let _ = writeln!(out, "note: {note}");
        }
        let _ = if self.problems.is_empty() {
            writeln!(out, "all within tolerance ({ORACLE_TOLERANCE:.0e} to the oracle)")
        } else {
            writeln!(out, "\nwrong in {system}:\n  {}", self.problems.join("\n  "))
        };
        out
    }
}

/// Every row of numbers that a sampler wrote, each with its place in words, in one order.
fn written(rollout: &mut Rollout<f64>) -> Vec<(String, Vec<f64>)> {
    let (program, rows, steps) = (rollout.program().clone(), rollout.rows(), rollout.steps());
    let inputs = OracleInputs::read_from(rollout, rows, steps);
    let spec = OracleSpec::read_from(rollout, rows, steps);
    let mut written = Vec::new();
    let mut push = |what: &str, name: &str, row: usize, step: Option<usize>, values| {
        let step = step.map_or(String::new(), |step| format!(", step {step}"));
        written.push((format!("{what} `{name}`, trajectory {row}{step}"), values));
    };
    let stepwise = program.inputs().zip(inputs.inputs);
    let stepwise = stepwise.map(|((name, _), steps)| ("input", name.to_owned(), 0, steps));
    let fed = spec.overrides.into_iter().map(|fed| ("fed value", fed.site, fed.first, fed.values));
    for (what, name, first, steps) in stepwise.chain(fed) {
        for (t, rows) in steps.into_iter().enumerate() {
            for (row, values) in rows.into_iter().enumerate() {
                push(what, &name, row, Some(first + t), values);
            }
        }
    }
    for ((name, _), rows) in program.condition_inputs().zip(inputs.condition) {
        for (row, tokens) in rows.into_iter().enumerate() {
            push("condition input", name, row, None, tokens.concat());
        }
    }
    let states = program.states().iter().zip(inputs.states);
    for (carried, rows) in states.chain(program.registers().iter().zip(inputs.registers)) {
        for (row, values) in rows.into_iter().enumerate() {
            push("initial value of", &carried.name, row, None, values);
        }
    }
    written
}

/// The first place where two batches differ in a bit.
fn difference<'w>(
    ours: &'w [(String, Vec<f64>)],
    theirs: &[(String, Vec<f64>)],
) -> Option<&'w str> {
    let mut pairs = ours.iter().zip(theirs);
    let (found, _) = pairs.find(|((_, a), (_, b))| !same_bits(a, b))?;
    Some(&found.0)
}

/// Overwrites everything that a sampler writes.
fn spoil(rollout: &mut Rollout<f64>) {
    const NEVER_DRAWN: f64 = 1.234_567_890_123e17;
    let program = rollout.program().clone();
    let spoil = |values: Option<&mut [f64]>| values.into_iter().for_each(|v| v.fill(NEVER_DRAWN));
    program.inputs().for_each(|(name, _)| spoil(rollout.input_mut(name)));
    program.condition_inputs().for_each(|(name, _)| spoil(rollout.condition_input_mut(name)));
    for carried in program.states().iter().chain(program.registers()) {
        spoil(rollout.initial_mut(&carried.name));
    }
    for fed in rollout.spec().fed.clone() {
        spoil(rollout.fed_mut(&fed.site));
    }
}
