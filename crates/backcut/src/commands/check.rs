//! `backcut check`: the engine against its oracles, on this machine, in a second or two.
//!
//! Two programs: the attention policy that the oracle writes out by hand, and a random program with
//! registers and whatever else its seed brings, which the oracle interprets. The tests of the engine
//! try many more; this is for whoever wants to see the numbers for a size of their own, or doubts a
//! new machine.
//!
//! `--system NAME` asks the same of a system's own program, and looks at what its author may have got
//! wrong: see [`system`].

mod batch;
mod case;
mod system;

use std::fmt::Write as _;

use anyhow::Context as _;
use backcut_engine::Cut;
use backcut_engine::oracle::{
    PolicySizes, interpret, policy_by_hand, random_program, trace_policy,
};
use backcut_study::Tools;
use backcut_text::thousands;
use serde::Serialize;

use crate::common::{print_json, print_judged};
use crate::exit::{Told as _, Verdict, user};
use crate::look::{Tone, Tones};
use crate::settings::SettingArgs;
use case::{
    Case, Compared, DIFFERENCES_TOLERANCE, ORACLE_TOLERANCE, compare, distance, same_bits, within,
};

/// Two cuts closer than this, relative to the norm, count as equal.
const APART: f64 = 1e-6;

/// Run the oracles on small programs or on a system's own, and print the errors.
#[derive(clap::Args)]
#[command(after_help = "Exit code: 0 all within tolerance, 1 something is not, 2 wrong input.")]
pub struct Args {
    /// Check this system's own program, sampler and forward, by its name in the catalogue
    #[arg(long, value_name = "NAME", conflicts_with_all = ["width", "heads", "layers"])]
    system: Option<String>,
    #[command(flatten)]
    settings: SettingArgs,
    /// Columns of the policy's hidden representation
    #[arg(long, default_value_t = 8)]
    width: usize,
    /// Attention heads
    #[arg(long, default_value_t = 2)]
    heads: usize,
    /// Attention layers
    #[arg(long, value_name = "N", default_value_t = 2)]
    layers: usize,
    /// Steps of the rollouts; a system's prefix comes on top
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

/// Words that decide.
pub const TONES: Tones = &[
    ("ok", Tone::Good),
    ("same", Tone::Good),
    ("all within tolerance", Tone::Good),
    ("nothing wrong", Tone::Good),
    ("FAILED", Tone::Bad),
    ("DIFFERS", Tone::Bad),
    ("out of tolerance:", Tone::Bad),
    ("wrong in", Tone::Bad),
];

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
pub fn run(args: &Args, tools: Tools) -> anyhow::Result<Verdict> {
    if let Some(name) = &args.system {
        return system::run(name, args, tools);
    }
    if !args.settings.is_empty() {
        return Err(user("settings without a system", "add --system NAME"));
    }
    args.check()?;
    let findings = examine(args)?;
    if args.json {
        print_json(&findings)?;
    } else {
        print_judged(findings.text(args), TONES)?;
    }
    Ok(if findings.ok { Verdict::Fine } else { Verdict::Failed })
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
    let Args { width, heads, layers, steps, rows, seed, .. } = *args;
    let sizes = PolicySizes { width, heads, layers, max_steps: steps };
    let policy = Case::random(trace_policy(sizes).told()?, rows, steps, seed);
    let random = Case::random(random_program(seed, steps)?, rows, steps, seed);
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
            let verdict = if *holds { "ok" } else { "FAILED" };
            let _ = writeln!(out, "{left:<8} {right:<6} must be {expected:<10} {verdict}");
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
