//! `backcut measure streams`: do the two sampling streams draw from the same distribution?
//!
//! Stream b must differ from stream a in every number and in no distribution. One value per
//! trajectory and quantity enters the two-sample Kolmogorov-Smirnov test, so the values are
//! independent.

use std::path::PathBuf;

use super::save;
use anyhow::Result;
use backcut::command::{Tools, Verdict, user};
use backcut::say::outln;
use backcut_evidence::tables::rows::StreamRow;
use backcut_evidence::tables::{Plain, to_csv};
use backcut_stats::two_sample::kolmogorov_smirnov;
use backcut_systems::quadrotor::{Batch, HORIZON, QuadrotorConfig, STATE};
use backcut_systems::{BatchKey, Stream};

use backcut_text::thousands;

/// Options of `backcut measure streams`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// First seed [default: the seven-point study's]
    #[arg(long, default_value_t = 2_026_091_701)]
    first: u64,
    /// Seeds
    #[arg(long, default_value_t = 16)]
    count: u64,
    /// First update whose batch is drawn
    #[arg(long, default_value_t = 800)]
    from: u64,
    /// The update after the last
    #[arg(long, default_value_t = 1000)]
    to: u64,
    /// Write the table (CSV) into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// What is compared: a name, and one number per trajectory of a batch.
type Quantity = (&'static str, fn(&Batch, usize) -> f64);

const QUANTITIES: [Quantity; 6] = [
    ("reference velocity at the start (x)", |b, row| path(&b.reference_velocity, b, row)[0]),
    ("rms of the reference speed", |b, row| rms(path(&b.reference_velocity, b, row))),
    ("largest reference excursion", |b, row| {
        path(&b.reference_position, b, row).iter().fold(0.0, |m: f64, p| m.max(p.abs()))
    }),
    ("rms of the noise", |b, row| rms(&b.noise[row * b.steps * 3..][..b.steps * 3])),
    ("initial position offset", |b, row| rms(&b.initial_state[row * STATE..][..3])),
    ("initial velocity offset", |b, row| rms(&b.initial_state[row * STATE + 6..][..3])),
];

fn path<'a>(values: &'a [f64], batch: &Batch, row: usize) -> &'a [f64] {
    let width = (batch.steps + HORIZON + 1) * 3;
    &values[row * width..][..width]
}

fn rms(values: &[f64]) -> f64 {
    (values.iter().map(|v| v * v).sum::<f64>() / values.len() as f64).sqrt()
}

/// Runs the command.
pub fn run(args: &Args, _: Tools) -> Result<Verdict> {
    if args.count == 0 || args.to <= args.from || args.count * (args.to - args.from) > 1_000_000 {
        return Err(user("no batches, or too many", "give --count seeds and --from below --to"));
    }
    let system = QuadrotorConfig::default().check()?;
    let mut samples = vec![[Vec::new(), Vec::new()]; QUANTITIES.len()];
    let mut shared = 0;
    for seed in (args.first..).take(args.count as usize) {
        for update in args.from..args.to {
            let batches = [Stream::A, Stream::B]
                .map(|stream| system.batch(BatchKey { seed, stream, update }));
            let pairs = batches[0].noise.iter().zip(&batches[1].noise);
            shared += pairs.filter(|(a, b)| a == b).count();
            for ((_, value), sides) in QUANTITIES.iter().zip(&mut samples) {
                for (batch, side) in batches.iter().zip(sides) {
                    side.extend((0..batch.rows).map(|row| value(batch, row)));
                }
            }
        }
    }
    outln!(
        "streams a and b: {} trajectories each, two-sample Kolmogorov-Smirnov",
        thousands(samples[0][0].len())
    )?;
    outln!("numbers in common: {shared}")?;
    let mut rows = Vec::new();
    for ((name, _), [a, b]) in QUANTITIES.iter().zip(&samples) {
        let test = kolmogorov_smirnov(a, b)?;
        outln!("  {name:<38} D = {:.5}   p = {:.3}", test.statistic, test.p)?;
        rows.push(StreamRow {
            quantity: (*name).to_owned(),
            trajectories: a.len() as u64,
            statistic: Plain(test.statistic),
            p: Plain(test.p),
        });
    }
    if let Some(out) = &args.out {
        save(out, "streams.csv", &to_csv(&rows)?)?;
    }
    Ok(Verdict::Fine)
}
