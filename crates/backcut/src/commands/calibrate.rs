//! `backcut calibrate`: how well a spread of initial states matches the paper's FF and w = 1 errors.
//!
//! The paper does not publish the spread. This command trains FF and the memoryless w = 1 on seeds
//! that no study uses and sets their errors beside the paper's. No cut's cost enters: a spread chosen
//! here cannot have been chosen for what the studies ask.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result};
use backcut_engine::{Cpu, Cut, Executor};
use backcut_paper::values;
use backcut_systems::policy::Initialisation;
use backcut_systems::quadrotor::{InitialSpread, Quadrotor, QuadrotorConfig, VelocityReading};
use backcut_systems::{BatchKey, Stream, System};
use backcut_training::{AdamWSettings, Arm, Optimizer, Trainer};

use crate::exit::{Told as _, Verdict, user};
use crate::say::{self, outln};

/// The first calibration seed; studies use seeds from 2026091441 on.
const FIRST_SEED: u64 = 910_000_001;
/// The pilot that measures the clip threshold.
const PILOT_SEED: u64 = 910_000_000;
const PILOT_UPDATES: u64 = 100;
const PILOT_BATCHES: u64 = 16;

/// Try a spread of initial states against the paper's FF and memoryless errors.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Standard deviation of the initial position in m
    #[arg(long)]
    position: Option<f64>,
    /// Standard deviation of the initial attitude in rad
    #[arg(long)]
    attitude: Option<f64>,
    /// Standard deviation of the initial velocity in m/s
    #[arg(long)]
    velocity: Option<f64>,
    /// Standard deviation of the initial body rates in rad/s
    #[arg(long)]
    rates: Option<f64>,
    /// How weights start: pytorch, gpt or gpt-pytorch-embedding
    #[arg(long)]
    initialisation: Option<String>,
    /// Calibration seeds
    #[arg(long, default_value_t = 8)]
    seeds: u64,
    /// Updates of each run
    #[arg(long, default_value_t = 1000)]
    updates: u64,
    /// Only measure the clip threshold
    #[arg(long)]
    pilot_only: bool,
    /// Machine-readable output
    #[arg(long)]
    json: bool,
}

/// A condition and window, with the paper's FF error or its memoryless excess.
struct Target {
    reading: VelocityReading,
    window: Option<NonZeroUsize>,
    paper: f64,
}

fn targets() -> Vec<Target> {
    let with =
        |window: Option<NonZeroUsize>| move |(reading, paper)| Target { reading, window, paper };
    values::calibrated_ff()
        .into_iter()
        .map(with(None))
        .chain(values::calibrated_excess().into_iter().map(with(Some(NonZeroUsize::MIN))))
        .collect()
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Verdict> {
    let base = config(args)?;
    if args.seeds == 0 || args.updates == 0 {
        return Err(user("nothing to train", "use at least one seed and one update"));
    }
    let clip = pilot(&base)?;
    if args.pilot_only && args.json {
        say::json(serde_json::json!({ "spread": base.spread, "clip": clip }))?;
        return Ok(Verdict::Fine);
    }
    if !args.json {
        announce(&base, clip)?;
    }
    if args.pilot_only {
        return Ok(Verdict::Fine);
    }
    let targets = targets();
    let jobs: Vec<(usize, u64)> = (0..targets.len())
        .flat_map(|t| (0..args.seeds).map(move |s| (t, FIRST_SEED + s)))
        .collect();
    let outcomes = train_all(&base, &targets, &jobs, clip, args.updates)?;
    let mean = |target: usize| {
        let values: Vec<f64> = jobs
            .iter()
            .zip(&outcomes)
            .filter(|(j, _)| j.0 == target)
            .map(|(_, o)| o.error)
            .collect();
        values.iter().sum::<f64>() / values.len() as f64
    };
    let clipped: u64 = outcomes.iter().map(|o| o.clipped).sum();
    let updates = args.updates * jobs.len() as u64;
    if args.json {
        let rows: Vec<_> = targets
            .iter()
            .enumerate()
            .map(|(i, t)| {
                serde_json::json!({
                    "noise": t.reading.to_string(),
                    "window": t.window,
                    "paper": t.paper,
                    "mean_error": mean(i),
                })
            })
            .collect();
        let out = serde_json::json!({
            "spread": base.spread, "clip": clip, "seeds": args.seeds, "updates": args.updates,
            "clipped_updates": clipped, "all_updates": updates, "rows": rows,
        });
        say::json(serde_json::to_string_pretty(&out)?)?;
        return Ok(Verdict::Fine);
    }
    outln!("{:>8} {:>7} {:>10} {:>10} {:>10}", "noise", "arm", "ours", "paper", "difference")?;
    for (i, target) in targets.iter().enumerate() {
        let reading = target.reading.to_string();
        if target.window.is_none() {
            let (ours, paper) = (mean(i), target.paper);
            let difference = 100.0 * (ours / paper - 1.0);
            outln!("{reading:>8} {:>7} {ours:>10.5} {paper:>10.5} {difference:>+9.1}%", "FF")?;
        } else {
            let full = targets
                .iter()
                .position(|t| t.reading == target.reading && t.window.is_none())
                .context("no FF run to compare with")?;
            let (ours, paper) = (100.0 * (mean(i) / mean(full) - 1.0), 100.0 * target.paper);
            outln!("{reading:>8} {:>7} {ours:>+9.1}% {paper:>+9.1}%", "w = 1")?;
        }
    }
    outln!("clipped: {clipped} of {updates} updates")?;
    Ok(Verdict::Fine)
}

fn announce(base: &QuadrotorConfig, clip: f64) -> Result<()> {
    outln!("spread: {:?}, initialisation {:?}", base.spread, base.policy.initialisation)?;
    outln!(
        "clip threshold (median raw FF norm over {PILOT_BATCHES} fresh batches at update \
         {PILOT_UPDATES}): {clip:.2}; the paper's: {}",
        values::CLIP
    )
}

fn config(args: &Args) -> Result<QuadrotorConfig> {
    let mut base = QuadrotorConfig::default();
    let spread: InitialSpread = base.spread;
    base.spread = InitialSpread {
        position_m: args.position.unwrap_or(spread.position_m),
        attitude_rad: args.attitude.unwrap_or(spread.attitude_rad),
        velocity_mps: args.velocity.unwrap_or(spread.velocity_mps),
        rates_radps: args.rates.unwrap_or(spread.rates_radps),
    };
    base.policy.initialisation = match args.initialisation.as_deref() {
        None => base.policy.initialisation,
        Some("pytorch") => Initialisation::Pytorch,
        Some("gpt") => Initialisation::Gpt,
        Some("gpt-pytorch-embedding") => Initialisation::GptPytorchEmbedding,
        Some(other) => {
            let what = format!("--initialisation {other}");
            return Err(user(what, "write pytorch, gpt or gpt-pytorch-embedding"));
        }
    };
    Ok(base)
}

fn system(base: &QuadrotorConfig, target: &Target) -> Result<Quadrotor> {
    let config =
        QuadrotorConfig { velocity: target.reading, window: target.window, ..base.clone() };
    config.check().told()
}

fn arm(seed: u64, clip: f64) -> Arm {
    let optimizer = Optimizer::adamw(AdamWSettings::default(), clip);
    Arm { cut: Cut::FF, seed, stream: Stream::A, optimizer }
}

/// The median raw FF gradient norm over fresh batches at update 100 of a pilot: noise 0.20 m/s, a seed
/// of its own, not clipped, batches from stream b, which the pilot has not seen.
fn pilot(base: &QuadrotorConfig) -> Result<f64> {
    let target = Target { reading: VelocityReading::Noise(0.2), window: None, paper: 0.0 };
    let system = system(base, &target)?;
    let executor: &dyn Executor<f32> = Cpu::detect();
    let mut trainer: Trainer<f32> =
        Trainer::new(executor, &system, arm(PILOT_SEED, f64::MAX)).told()?;
    for _ in 0..PILOT_UPDATES {
        trainer.step().told()?;
    }
    let model = trainer.model();
    let spec = System::<f32>::spec(&system);
    let (rows, steps) = (System::<f32>::batch_rows(&system), System::<f32>::steps(&system));
    let mut rollout = executor.rollout(model.program(), rows, steps, spec)?;
    let mut workspace = executor.workspace(&rollout, &[Cut::FF])?;
    let mut norms = Vec::new();
    for update in 0..PILOT_BATCHES {
        system
            .fill_batch(BatchKey { seed: PILOT_SEED, stream: Stream::B, update }, &mut rollout)?;
        executor.roll(model, &mut rollout)?;
        executor.backward(model, &rollout, &mut workspace)?;
        norms.push(executor.norm(&workspace, 0));
    }
    norms.sort_by(f64::total_cmp);
    let middle = norms.len() / 2;
    Ok(f64::midpoint(norms[middle - 1], norms[middle]))
}

struct Outcome {
    error: f64,
    clipped: u64,
}

fn train_all(
    base: &QuadrotorConfig,
    targets: &[Target],
    jobs: &[(usize, u64)],
    clip: f64,
    updates: u64,
) -> Result<Vec<Outcome>> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, Outcome)>> {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(&(target, seed)) = jobs.get(index) else { return Ok(done) };
            let system = system(base, &targets[target])?;
            let mut trainer: Trainer<f32> =
                Trainer::new(Cpu::detect(), &system, arm(seed, clip)).told()?;
            let mut clipped = 0;
            for _ in 0..updates {
                clipped += u64::from(trainer.step().told()?.is_clipped());
            }
            done.push((index, Outcome { error: trainer.evaluate().told()?.mean, clipped }));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let mut all = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut all = Vec::new();
        for handle in handles {
            let done = handle.join().map_err(|_| anyhow::anyhow!("a training thread panicked"))?;
            all.extend(done?);
        }
        anyhow::Ok(all)
    })?;
    all.sort_by_key(|(index, _)| *index);
    Ok(all.into_iter().map(|(_, outcome)| outcome).collect())
}
