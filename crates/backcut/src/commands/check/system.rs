//! `backcut check --system NAME`: a system's own program against the scalar oracle, and its sampler, its
//! forward and its loss against what authors of systems get wrong.
//!
//! The sampler fills a batch of the system's own size, so it need not know other sizes; the oracle, which
//! writes down every number, takes its first rows and steps.

use std::fmt::Write as _;
use std::sync::Arc;

use anyhow::Result;
use backcut_engine::oracle::{OracleInputs, OracleSpec, Random, interpret, random_direction};
use backcut_engine::{Cpu, Cut, Executor, Rollout};
use backcut_study::Tools;
use backcut_systems::{BatchKey, Stream, System, SystemChoice};
use backcut_text::thousands;
use serde::Serialize;

use super::batch::{Numbers, spoil};
use super::case::{Case, ORACLE_TOLERANCE, compare, within};
use super::{Args, MAX_TAPE, TONES};
use crate::common::{described, print_json, print_judged};
use crate::exit::{Told as _, Verdict, user};

/// An error of FF along a direction beyond this is worth a note.
const DIFFERENCES_TOLERANCE: f64 = 1e-5;
/// Every kind of cut that can be told apart over a few steps; FF first. Each edge that the program names is closed
/// alone too.
const CUTS: &str = "FF FD F_SG SEG-2 F_A0.5 KF KD K_SG K2F K2_SEG-2 K2_SG RSEG-2 RT-0.4 URT-0.3";
/// Words of a gradient that is zero everywhere.
const IGNORED: &str =
    "the loss ignores the action: its gradient is exactly zero in every parameter";

/// What was found for one cut.
#[derive(Serialize)]
struct OfCut {
    cut: Cut,
    /// Distance to the oracle, relative to its gradient's norm.
    error: f64,
    many_is_single: bool,
    forward_is_same: bool,
}

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
    let executor: &'static dyn Executor<f64> = Cpu::detect();
    let (weights, all_steps) = (program.layout().len(), system.steps());
    let mut findings = Findings {
        system: name,
        code_path: executor.describe(),
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
    let mut rollout = draw(executor, system, key)?;
    findings.sampler(executor, system, key, &mut rollout)?;
    let parameters: Vec<f64> = program.layout().initialise(args.seed);
    if !findings.problems.is_empty() {
        return Ok(findings); // whatever follows would rest on it
    }
    findings.forward(executor, &parameters, &mut rollout, args.seed)?;
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
        executor,
        program: Arc::clone(program),
        parameters,
        inputs: OracleInputs::read_from(&mut rollout, rows, steps),
        spec: OracleSpec::read_from(&mut rollout, rows, steps),
    };
    findings.oracle(&case, args.seed)?;
    Ok(findings)
}

/// A batch, freshly drawn.
fn draw(
    executor: &dyn Executor<f64>,
    system: &dyn System<f64>,
    key: BatchKey,
) -> Result<Rollout<f64>> {
    let (program, rows, steps) = (system.program(), system.batch_rows(), system.steps());
    let mut rollout = executor.rollout(program, rows, steps, system.spec()).told()?;
    system.fill_batch(key, &mut rollout).map_err(|e| user(e, "look at the system's sampler"))?;
    Ok(rollout)
}

impl Findings {
    /// Draws batches again and looks whether they are functions of their seed.
    fn sampler(
        &mut self,
        executor: &dyn Executor<f64>,
        system: &dyn System<f64>,
        key: BatchKey,
        rollout: &mut Rollout<f64>,
    ) -> Result<()> {
        let first = Numbers::of(rollout);
        if let Some(place) = first.find(&first, |a, _| a.iter().any(|v| !v.is_finite())) {
            self.problems.push(format!("the sampler wrote a number that is not finite: {place}"));
        }
        let again = Numbers::of(&mut draw(executor, system, key)?);
        if let Some(place) = first.difference(&again) {
            self.problems.push(format!(
                "the sampler is not a function of its seed: two draws of one batch differ in {place}"
            ));
            return Ok(());
        }
        let other = BatchKey { seed: key.seed + 1, ..key };
        let mut used = draw(executor, system, other)?;
        if first.difference(&Numbers::of(&mut used)).is_none() {
            self.notes.push("another seed draws the same batch".to_owned());
        }
        let later = BatchKey { update: 1, ..key };
        if first.difference(&Numbers::of(&mut draw(executor, system, later)?)).is_none() {
            self.notes.push("the next update has the same batch".to_owned());
        }
        // In the place of the batch before, numbers that no sampler draws.
        spoil(&mut used);
        system.fill_batch(key, &mut used).map_err(|e| user(e, "look at the system's sampler"))?;
        if let Some(place) = first.difference(&Numbers::of(&mut used)) {
            self.problems.push(format!(
                "the sampler leaves numbers of the batch before: it did not write {place}"
            ));
        }
        Ok(())
    }

    /// Rolls the whole batch with every value watched, and looks what the loss depends on.
    fn forward(
        &mut self,
        executor: &dyn Executor<f64>,
        parameters: &[f64],
        rollout: &mut Rollout<f64>,
        seed: u64,
    ) -> Result<()> {
        let layout = rollout.program().layout().clone();
        // Zeros of an initialisation may hide what the loss depends on.
        let direction = random_direction(parameters.len(), &mut Random::new(seed));
        let scale = 0.1 * (parameters.len() as f64).sqrt();
        let moved: Vec<f64> =
            parameters.iter().zip(&direction).map(|(p, d)| p + scale * d).collect();
        let mut reached = vec![false; layout.parameters().len()];
        for (i, values) in [parameters.to_vec(), moved].into_iter().enumerate() {
            let model = executor.model(rollout.program(), values)?;
            if let Err(error) = executor.roll_checked(&model, rollout) {
                if i == 0 {
                    self.problems.push(format!("the forward fails on the first batch: {error}"));
                    return Ok(());
                }
                break; // other parameters may well leave the range
            }
            let mut workspace = executor.workspace(rollout, &[Cut::FF]).told()?;
            if let Err(error) = executor.backward_checked(&model, rollout, &mut workspace) {
                if i == 0 {
                    self.problems.push(format!("the backward fails on the first batch: {error}"));
                    return Ok(());
                }
                break;
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
                let fits = case.executor.workspace(&rollout, &[cut]);
                fits.map(|_| cut).map_err(|error| error.to_string())
            });
            match fits {
                Ok(cut) => cuts.push(cut),
                Err(why) => self.unfit.push((name, why)),
            }
        }
        let interpreted = |cut: Cut| -> Result<Vec<f64>> {
            let Case { program, parameters, inputs, spec, .. } = case;
            Ok(interpret(program, parameters, inputs, spec, cut)?.gradient)
        };
        let compared = compare(case, &cuts, interpreted)?;
        self.cuts = (0..cuts.len())
            .map(|i| OfCut {
                cut: cuts[i],
                error: compared.errors[i],
                many_is_single: compared.many_is_single[i],
                forward_is_same: compared.forward_is_same[i],
            })
            .collect();
        for OfCut { cut, error, many_is_single, forward_is_same } in &self.cuts {
            if !within(*error, ORACLE_TOLERANCE) {
                self.problems.push(format!("{cut} is {error:.1e} from the scalar oracle"));
            }
            if !many_is_single {
                self.problems.push(format!("{cut} among other cuts is not {cut} alone"));
            }
            if !forward_is_same {
                self.problems.push(format!("{cut} changed the forward"));
            }
        }
        if case.spec.prefix > 0 {
            let note =
                "not held to central differences: the prefix passes no gradient, they see it";
            self.notes.push(note.to_owned());
            return Ok(());
        }
        let error = case.differences(&compared.gradients[0], seed);
        self.central_differences = Some(error);
        if !within(error, DIFFERENCES_TOLERANCE) {
            // The oracle knows the program; differences know neither its stop_gradient() nor its kinks.
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
        let word = |holds: bool| if holds { "same" } else { "DIFFERS" };
        if !self.cuts.is_empty() {
            let _ = writeln!(
                out,
                "the sampler is a function of its seed; {batch_rows} rows of {all_steps} steps roll to \
                 finite numbers\n\n{rows} rows of {steps} steps, f64, {code_path}\n\n\
                 {:<24} {:>15}   bits among    bits of the\n{:<24} {:>15}   other cuts    forward",
                "", "distance to the", "cut", "scalar oracle"
            );
        }
        for OfCut { cut, error, many_is_single, forward_is_same } in &self.cuts {
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
