//! How often a nominal 95% percentile interval holds the true mean, for small n.
//!
//! An example and not a test: it takes a minute and its answer is a table for the guide.
//! Run: `cargo run --release -p backcut-stats --example coverage`.
//!
//! The exact test is run beside it: its rejection rate under a true null, which for symmetric
//! sources can not exceed 0.05, and for skewed ones can.

use backcut_stats::bootstrap::mean_interval;
use backcut_stats::philox::{Philox, Stream};
use backcut_stats::signflip::{SignFlipOptions, Tail, sign_flip};

const REPEATS: u64 = 4000;
const DRAWS: usize = 2000;

/// A sampler with mean zero, from two uniform numbers.
type Sampler = fn(f64, f64) -> f64;

fn normal(u: f64, v: f64) -> f64 {
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

fn exponential(u: f64, _: f64) -> f64 {
    -u.ln() - 1.0
}

fn lognormal(u: f64, v: f64) -> f64 {
    normal(u, v).exp() - 0.5f64.exp()
}

fn main() {
    let samplers: [(&str, Sampler); 3] =
        [("normal", normal), ("exponential", exponential), ("lognormal", lognormal)];
    println!("{REPEATS} data sets each, {DRAWS} draws; standard error of a coverage about 0.005");
    println!(
        "{:<12} {:>4}  {:>9}  {:>9}  {:>21}",
        "sources", "n", "95%", "99.29%", "exact test at 0.05"
    );
    for (name, sampler) in samplers {
        for n in [8u32, 16, 28] {
            let stream = Philox::new(u64::from(n), Stream::Simulation);
            let (mut pointwise, mut family, mut rejected) = (0, 0, 0);
            for repeat in 0..REPEATS {
                let values: Vec<f64> = (0..n)
                    .map(|i| {
                        sampler(stream.uniform(repeat, 2 * i), stream.uniform(repeat, 2 * i + 1))
                    })
                    .collect();
                let holds = |tail: f64| {
                    let levels = [tail, 1.0 - tail];
                    let interval = mean_interval(&values, levels, DRAWS, repeat);
                    interval.is_ok_and(|[low, high]| low <= 0.0 && 0.0 <= high)
                };
                pointwise += u32::from(holds(0.025));
                family += u32::from(holds(0.025 / 7.0));
                let options = SignFlipOptions { exact_up_to: 28, ..SignFlipOptions::default() };
                let test = sign_flip(&values, Tail::TwoSided, &options);
                rejected += u32::from(test.is_ok_and(|test| test.p <= 0.05));
            }
            let share = |count: u32| f64::from(count) / REPEATS as f64;
            println!(
                "{name:<12} {n:>4}  {:>9.3}  {:>9.3}  {:>21.3}",
                share(pointwise),
                share(family),
                share(rejected)
            );
        }
    }
}
