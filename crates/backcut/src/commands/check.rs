//! `backcut check`: the engine against its oracles, on this machine, in a second or two.
//!
//! Two programs: the attention policy that the oracle writes out by hand, and a random program with
//! registers and whatever else its seed brings, which the oracle interprets. The tests of the engine
//! try many more; this is for whoever wants to see the numbers for a size of their own, or doubts a
//! new machine.

use std::fmt::Write as _;
use std::sync::Arc;

use anyhow::Context as _;
use backcut_engine::oracle::{
    OracleInputs, OracleSpec, PolicySizes, Random, directional_derivative, interpret,
    policy_by_hand, random_direction, random_inputs, random_parameters, random_program,
    trace_policy,
};
use backcut_engine::{Cpu, Cut, Executor, Model, Program, Rollout};
use backcut_text::thousands;
use serde::Serialize;

use crate::common::print;
use crate::exit::{Told as _, Verdict, user};

/// Largest accepted distance to the scalar oracle, relative to the gradient's norm.
const ORACLE_TOLERANCE: f64 = 1e-10;
/// Largest accepted error along a direction, relative to the gradient's norm.
const DIFFERENCES_TOLERANCE: f64 = 1e-7;
/// Two cuts closer than this, relative to the norm, count as equal.
const APART: f64 = 1e-6;
const DIRECTIONS: usize = 3;

/// Run the oracles on small programs, for every kind of cut, and print the errors.
#[derive(clap::Args)]
#[command(after_help = "Exit code: 0 all within tolerance, 1 something is not, 2 wrong input.")]
pub struct Args {
    /// Columns of the policy's hidden representation
    #[arg(long, default_value_t = 8)]
    width: usize,
    /// Attention heads
    #[arg(long, default_value_t = 2)]
    heads: usize,
    /// Attention layers
    #[arg(long, value_name = "N", default_value_t = 2)]
    layers: usize,
    /// Steps of the rollouts
    #[arg(long, value_name = "T", default_value_t = 6)]
    steps: usize,
    /// Rows of the batch
    #[arg(long, default_value_t = 3)]
    rows: usize,
    /// Seed of the random program, the parameters and the inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// The most numbers that the scalar oracle may write down in one rollout: about a gigabyte.
const MAX_TAPE: usize = 10_000_000;

impl Args {
    /// The oracle keeps every number of a rollout apart, so programs are small here.
    fn check(&self) -> anyhow::Result<()> {
        let Self { width, heads, layers, steps, rows, .. } = *self;
        for (name, value, least) in [
            ("width", width, 1),
            ("heads", heads, 1),
            ("layers", layers, 1),
            ("steps", steps, 3), // fewer leave SEG-2 nothing to cut
            ("rows", rows, 1),
        ] {
            if !(least..=1024).contains(&value) {
                let what = format!("--{name} {value}");
                return Err(user(
                    what,
                    format_args!("use at least {least} {name} and at most 1024"),
                ));
            }
        }
        let tape = rows * steps * layers * width * (12 * width + 2 * steps);
        if tape > MAX_TAPE {
            let what = format!(
                "{rows} rows of {steps} steps with {layers} layers of {width} columns are {} numbers",
                thousands(tape)
            );
            return Err(user(what, "the oracle is for small programs: use fewer of them"));
        }
        Ok(())
    }
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<Verdict> {
    args.check()?;
    let findings = examine(args)?;
    let output = if args.json {
        serde_json::to_string_pretty(&findings).context("failed to write JSON")? + "\n"
    } else {
        findings.text(args)
    };
    print(output)?;
    Ok(if findings.ok { Verdict::Fine } else { Verdict::Failed })
}

/// One program, ready to be rolled by the engine and by the oracle.
struct Case {
    executor: &'static dyn Executor<f64>,
    program: Arc<Program>,
    parameters: Vec<f64>,
    inputs: OracleInputs,
    spec: OracleSpec,
}

impl Case {
    fn new(program: Program, args: &Args) -> Self {
        let spec = OracleSpec { rows: args.rows, steps: args.steps, ..OracleSpec::default() };
        Self {
            executor: Cpu::detect(),
            parameters: random_parameters(&program, args.seed),
            inputs: random_inputs(&program, args.rows, args.steps, args.seed),
            program: Arc::new(program),
            spec,
        }
    }

    fn roll(&self, parameters: &[f64]) -> anyhow::Result<(Model<f64>, Rollout<f64>)> {
        let OracleSpec { rows, steps, .. } = self.spec;
        let model = self.executor.model(&self.program, parameters.to_vec())?;
        let mut rollout =
            self.executor.rollout(&self.program, rows, steps, self.spec.forward_spec())?;
        self.inputs.write_into(&mut rollout)?;
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
    fn differences(&self, full: &[f64], seed: u64) -> f64 {
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

/// What was found for one cut.
#[derive(Serialize)]
struct CutFindings {
    cut: Cut,
    /// Distance to the policy written by hand, relative to its gradient's norm.
    policy_error: f64,
    /// The same for the interpreted random program.
    random_error: f64,
    /// The gradient from a backward of all cuts at once has the bits of its own backward.
    many_is_single: bool,
    /// After its backward, the record and a new forward have the bits of before.
    forward_is_same: bool,
}

/// Two cuts that must give the same bits, or must not.
#[derive(Serialize)]
struct Identity {
    left: Cut,
    right: Cut,
    expected: &'static str,
    holds: bool,
}

#[derive(Serialize)]
struct Differences {
    policy_error: f64,
    random_error: f64,
}

#[derive(Serialize)]
struct Findings {
    code_path: String,
    oracle_tolerance: f64,
    differences_tolerance: f64,
    cuts: Vec<CutFindings>,
    central_differences: Differences,
    identities: Vec<Identity>,
    ok: bool,
}

fn examine(args: &Args) -> anyhow::Result<Findings> {
    let Args { width, heads, layers, steps, .. } = *args;
    let sizes = PolicySizes { width, heads, layers, max_steps: steps };
    let policy = Case::new(trace_policy(sizes).told()?, args);
    let random = Case::new(random_program(args.seed, steps)?, args);
    let cuts = kinds(steps)?;

    let by_hand = |cut: Cut| -> anyhow::Result<Vec<f64>> {
        let Case { program, parameters, inputs, spec, .. } = &policy;
        Ok(policy_by_hand(program.layout(), parameters, sizes, inputs, spec, cut).gradient)
    };
    let interpreted = |cut: Cut| -> anyhow::Result<Vec<f64>> {
        let Case { program, parameters, inputs, spec, .. } = &random;
        Ok(interpret(program, parameters, inputs, spec, cut)?.gradient)
    };
    let of_policy = compare(&policy, &cuts, by_hand)?;
    let of_random = compare(&random, &cuts, interpreted)?;
    let full = |compared: &Compared| compared.gradients[0].clone();
    let central_differences = Differences {
        policy_error: policy.differences(&full(&of_policy), args.seed),
        random_error: random.differences(&full(&of_random), args.seed),
    };
    let identities = identities(&cuts, steps, &[&of_policy, &of_random])?;
    let findings = |i: usize| CutFindings {
        cut: cuts[i],
        policy_error: of_policy.errors[i],
        random_error: of_random.errors[i],
        many_is_single: of_policy.many_is_single[i] && of_random.many_is_single[i],
        forward_is_same: of_policy.forward_is_same[i] && of_random.forward_is_same[i],
    };
    let mut findings = Findings {
        code_path: policy.executor.describe(),
        oracle_tolerance: ORACLE_TOLERANCE,
        differences_tolerance: DIFFERENCES_TOLERANCE,
        cuts: (0..cuts.len()).map(findings).collect(),
        central_differences,
        identities,
        ok: false,
    };
    findings.ok = findings.problems().is_empty();
    Ok(findings)
}

/// Every kind of cut; FF first.
fn kinds(steps: usize) -> anyhow::Result<Vec<Cut>> {
    let names = "FF FD F_SG SEG-1 SEG-2 SEG-T F_A0 F_A0.5 F_A1 KF KD K_SG K_SEG-1 K_SEG-2 K_SEG-T \
                 K_A0.5 K2F K2D K2_SG K2_SEG-1 K3F K3_SEG-2";
    let parse = |name: &str| Ok(name.replace("-T", &format!("-{steps}")).parse()?);
    names.split_whitespace().map(parse).collect()
}

/// The gradients of one program and how they compare, cut by cut.
struct Compared {
    gradients: Vec<Vec<f64>>,
    errors: Vec<f64>,
    many_is_single: Vec<bool>,
    forward_is_same: Vec<bool>,
}

fn compare(
    case: &Case,
    cuts: &[Cut],
    oracle: impl Fn(Cut) -> anyhow::Result<Vec<f64>>,
) -> anyhow::Result<Compared> {
    let (model, mut rollout) = case.roll(&case.parameters)?;
    let forward = case.bytes(&rollout);
    let mut all = case.executor.workspace(&rollout, cuts)?;
    case.executor.backward(&model, &rollout, &mut all)?;
    let mut compared = Compared {
        gradients: Vec::new(),
        errors: Vec::new(),
        many_is_single: Vec::new(),
        forward_is_same: Vec::new(),
    };
    for (i, &cut) in cuts.iter().enumerate() {
        let mut alone = case.executor.workspace(&rollout, &[cut])?;
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

fn identities(cuts: &[Cut], steps: usize, programs: &[&Compared]) -> anyhow::Result<Vec<Identity>> {
    let whole = format!("SEG-{steps}");
    let same = [
        ("SEG-1", "F_SG"),
        (whole.as_str(), "FF"),
        ("F_A0", "F_SG"),
        ("K_SEG-1", "K_SG"),
        (&format!("K_{whole}"), "KF"),
        ("K2_SEG-1", "K2_SG"),
    ];
    let differ = [("SEG-2", "FF"), ("SEG-2", "F_SG"), ("FD", "F_SG"), ("KF", "FF"), ("K2F", "KF")];
    let find = |name: &str| -> anyhow::Result<(Cut, usize)> {
        let cut = name.parse()?;
        let at = cuts.iter().position(|c| *c == cut).context("a cut that was not run")?;
        Ok((cut, at))
    };
    let mut identities = Vec::new();
    for ((left, right), expected) in
        same.map(|pair| (pair, "same bits")).into_iter().chain(differ.map(|p| (p, "different")))
    {
        let ((left, l), (right, r)) = (find(left)?, find(right)?);
        let holds = programs.iter().all(|p| {
            let (a, b) = (&p.gradients[l], &p.gradients[r]);
            if expected == "same bits" { same_bits(a, b) } else { distance(a, b) > APART }
        });
        identities.push(Identity { left, right, expected, holds });
    }
    Ok(identities)
}

impl Findings {
    /// What is out of tolerance, one line each.
    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for found in &self.cuts {
            let cut = found.cut;
            for error in [found.policy_error, found.random_error] {
                if !within(error, ORACLE_TOLERANCE) {
                    problems.push(format!("{cut} is {error:.1e} from the scalar oracle"));
                }
            }
            if !found.many_is_single {
                problems.push(format!("{cut} among other cuts is not {cut} alone"));
            }
            if !found.forward_is_same {
                problems.push(format!("{cut} changed the forward"));
            }
        }
        let Differences { policy_error, random_error } = self.central_differences;
        for error in [policy_error, random_error] {
            if !within(error, DIFFERENCES_TOLERANCE) {
                problems.push(format!("FF is {error:.1e} from central differences"));
            }
        }
        for Identity { left, right, expected, .. } in self.identities.iter().filter(|i| !i.holds) {
            problems.push(format!("{left} and {right} should be: {expected}"));
        }
        problems
    }

    fn text(&self, args: &Args) -> String {
        let Args { width, heads, layers, steps, rows, seed, .. } = args;
        let word = |holds: bool| if holds { "same" } else { "DIFFERS" };
        let mut out = format!(
            "policy of width {width}, {heads} heads, {layers} layers; {steps} steps, {rows} rows, seed {seed}; \
             f64, {}\n\n",
            self.code_path
        );
        let _ =
            writeln!(out, "           distance to the scalar oracle   bits among    bits of the");
        let _ = writeln!(out, "cut            policy    random program    other cuts    forward");
        for found in &self.cuts {
            let CutFindings { cut, policy_error, random_error, .. } = found;
            let (many, forward) = (word(found.many_is_single), word(found.forward_is_same));
            let _ = writeln!(
                out,
                "{cut:<10}    {policy_error:>7.1e}           {random_error:>7.1e}    {many:<10}    {forward}"
            );
        }
        let Differences { policy_error, random_error } = self.central_differences;
        let _ = writeln!(out, "\nFF against central differences of the loss");
        let _ =
            writeln!(out, "{:<10}    {policy_error:>7.1e}           {random_error:>7.1e}", "FF");
        let _ = writeln!(out, "\nidentities, both programs");
        for Identity { left, right, expected, holds } in &self.identities {
            let verdict = if *holds { "yes" } else { "NO" };
            let _ = writeln!(out, "{left:<8} {right:<6} {expected:<10} {verdict}");
        }
        let problems = self.problems();
        let _ = if problems.is_empty() {
            writeln!(
                out,
                "\nall within tolerance ({ORACLE_TOLERANCE:.0e} to the oracle, \
                 {DIFFERENCES_TOLERANCE:.0e} to differences)"
            )
        } else {
            writeln!(out, "\nout of tolerance:\n  {}", problems.join("\n  "))
        };
        out
    }
}

/// A NaN is within nothing.
fn within(error: f64, tolerance: f64) -> bool {
    error < tolerance
}

/// The larger error, where a NaN is the largest.
fn worse(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    let difference: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    norm(&difference) / norm(b)
}

fn same_bits(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}
