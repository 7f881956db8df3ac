//! `backcut check`: the engine against its oracles, on this machine, in a second or two.
//!
//! Two programs: the attention policy that the oracle writes out by hand, and a random program with
//! registers and whatever else its seed brings, which the oracle interprets. The tests of the
//! engine try many more; this is for whoever wants to see the numbers for a size of their own, or
//! doubts a new machine.
//!
//! `--system NAME` asks the same of a system's own program, and looks at what its author may have
//! got wrong: see [`system`].

mod system;

use std::fmt::Write as _;

use anyhow::Context as _;
use backcut_engine::Cut;
use backcut_kernels::Isa;
use backcut_oracle::{
    Case, ORACLE_TOLERANCE, OfCut, PolicySizes, distance, interpret, policy_by_hand,
    random_program, same_bits, trace_policy,
};
use backcut_study::Tools;
use backcut_text::thousands;
use serde::Serialize;

use crate::common::{print_json, print_judged};
use crate::exit::{Told as _, Verdict, user};
use crate::look::{Tone, Tones};
use crate::settings::SettingArgs;

/// Largest accepted error along a direction, relative to the gradient's norm.
const DIFFERENCES_TOLERANCE: f64 = 1e-7;
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
                "{rows} rows of {steps} steps with {layers} layers of {width} columns are {} \
                 numbers",
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

/// What was found for one cut: distances to the policy written by hand and to the interpreted
/// random program, and whether both programs have the bits that they should have.
#[derive(Serialize)]
struct CutFindings {
    cut: Cut,
    policy_error: f64,
    random_error: f64,
    many_is_single: bool,
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
    /// What is out of tolerance, one line each.
    #[serde(skip)]
    problems: Vec<String>,
}

fn examine(args: &Args) -> anyhow::Result<Findings> {
    let Args { width, heads, layers, steps, rows, seed, .. } = *args;
    let sizes = PolicySizes { width, heads, layers, max_steps: steps };
    let policy = Case::random(trace_policy(sizes).told()?, rows, steps, seed);
    let random = Case::random(random_program(seed, steps)?, rows, steps, seed);
    let cuts = kinds(steps)?;

    let Case { program, parameters, inputs, spec } = &policy;
    let of_policy = policy.compare(&cuts, |cut| {
        Ok(policy_by_hand(program.layout(), parameters, sizes, inputs, spec, cut).gradient)
    })?;
    let Case { program, parameters, inputs, spec } = &random;
    let of_random = random
        .compare(&cuts, |cut| Ok(interpret(program, parameters, inputs, spec, cut)?.gradient))?;
    let central_differences = Differences {
        policy_error: policy.differences(&of_policy[0].gradient, seed),
        random_error: random.differences(&of_random[0].gradient, seed),
    };
    let identities = identities(steps, [&of_policy, &of_random])?;

    let pairs = || of_policy.iter().zip(&of_random);
    let mut problems: Vec<String> =
        pairs().flat_map(|(a, b)| a.problems().chain(b.problems())).collect();
    let Differences { policy_error, random_error } = central_differences;
    for error in [policy_error, random_error] {
        if error.is_nan() || error >= DIFFERENCES_TOLERANCE {
            problems.push(format!("FF is {error:.1e} from central differences"));
        }
    }
    for Identity { left, right, expected, .. } in identities.iter().filter(|i| !i.holds) {
        problems.push(format!("{left} and {right} should be: {expected}"));
    }
    let findings = |(policy, random): (&OfCut, &OfCut)| CutFindings {
        cut: policy.cut,
        policy_error: policy.error,
        random_error: random.error,
        many_is_single: policy.many_is_single && random.many_is_single,
        forward_is_same: policy.forward_is_same && random.forward_is_same,
    };
    Ok(Findings {
        code_path: Isa::detect().to_string(),
        oracle_tolerance: ORACLE_TOLERANCE,
        differences_tolerance: DIFFERENCES_TOLERANCE,
        cuts: pairs().map(findings).collect(),
        central_differences,
        identities,
        ok: problems.is_empty(),
        problems,
    })
}

/// Every kind of cut; FF first.
fn kinds(steps: usize) -> anyhow::Result<Vec<Cut>> {
    let names = "FF FD F_SG SEG-1 SEG-2 SEG-T F_A0 F_A0.5 F_A1 KF KD K_SG K_SEG-1 K_SEG-2 K_SEG-T \
                 K_A0.5 K2F K2D K2_SG K2_SEG-1 K3F K3_SEG-2";
    let parse = |name: &str| Ok(name.replace("-T", &format!("-{steps}")).parse()?);
    names.split_whitespace().map(parse).collect()
}

fn identities(steps: usize, programs: [&[OfCut]; 2]) -> anyhow::Result<Vec<Identity>> {
    const SAME: &str = "SEG-1 F_SG SEG-T FF F_A0 F_SG K_SEG-1 K_SG K_SEG-T KF K2_SEG-1 K2_SG";
    const DIFFERENT: &str = "SEG-2 FF SEG-2 F_SG FD F_SG KF FF K2F KF";
    let mut identities = Vec::new();
    for (names, must_be_same) in [(SAME, true), (DIFFERENT, false)] {
        let expected = if must_be_same { "same bits" } else { "different" };
        let names = names.replace("-T", &format!("-{steps}"));
        let cuts: Vec<Cut> = names.split(' ').map(str::parse).collect::<Result<_, _>>()?;
        for &[left, right] in cuts.as_chunks().0 {
            let mut holds = true;
            for program in programs {
                let find = |cut| program.iter().find(|found| found.cut == cut);
                let (a, b) = find(left).zip(find(right)).context("a cut that was not run")?;
                let (a, b) = (&a.gradient, &b.gradient);
                holds &= if must_be_same { same_bits(a, b) } else { distance(a, b) > APART };
            }
            identities.push(Identity { left, right, expected, holds });
        }
    }
    Ok(identities)
}

/// Bits that should be the same.
fn word(holds: bool) -> &'static str {
    if holds { "same" } else { "DIFFERS" }
}

impl Findings {
    fn text(&self, args: &Args) -> String {
        let Args { width, heads, layers, steps, rows, seed, .. } = args;
        let mut out = format!(
            "policy of width {width}, {heads} heads, {layers} layers; {steps} steps, {rows} rows, \
             seed {seed}; f64, {}\n\n           distance to the scalar oracle   bits among    bits \
             of the\ncut            policy    random program    other cuts    forward\n",
            self.code_path
        );
        for found in &self.cuts {
            let CutFindings { cut, policy_error, random_error, .. } = found;
            let (many, forward) = (word(found.many_is_single), word(found.forward_is_same));
            let _ = writeln!(
                out,
                "{cut:<10}    {policy_error:>7.1e}           {random_error:>7.1e}    {many:<10}    \
                 {forward}"
            );
        }
        let Differences { policy_error, random_error } = self.central_differences;
        let _ = writeln!(
            out,
            "\nFF against central differences of the loss\n{:<10}    \
             {policy_error:>7.1e}           {random_error:>7.1e}\n\nidentities, both programs",
            "FF"
        );
        for Identity { left, right, expected, holds } in &self.identities {
            let verdict = if *holds { "ok" } else { "FAILED" };
            let _ = writeln!(out, "{left:<8} {right:<6} must be {expected:<10} {verdict}");
        }
        let _ = if self.ok {
            writeln!(
                out,
                "\nall within tolerance ({ORACLE_TOLERANCE:.0e} to the oracle, \
                 {DIFFERENCES_TOLERANCE:.0e} to differences)"
            )
        } else {
            writeln!(out, "\nout of tolerance:\n  {}", self.problems.join("\n  "))
        };
        out
    }
}
