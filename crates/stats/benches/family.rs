//! The two budgets of the crate: a family of twelve, and the exact test at n = 24.
//!
//! A plain loop and the best of several repeats; a benchmark harness would add nothing to two
//! numbers. Run: `cargo bench -p backcut-stats`.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
#![expect(clippy::unwrap_used, reason = "helpers of a benchmark may fail it")]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

use backcut_stats::philox::{Philox, Stream};
use backcut_stats::signflip::{SignFlipOptions, Tail, sign_flip};
use backcut_stats::{Contrast, FamilyParams, Layout, SourceTable};

fn table(contrasts: usize, sources: usize) -> SourceTable {
    let stream = Philox::new(1, Stream::Simulation);
    let mut csv = String::from("seed");
    for column in 0..contrasts {
        let _ = write!(csv, ",c{column}");
    }
    for source in 0..sources {
        let _ = write!(csv, "\ns{source:04}");
        for column in 0..contrasts {
            let _ = write!(csv, ",{}", stream.uniform(source as u64, column as u32) - 0.4);
        }
    }
    SourceTable::from_csv(csv.as_bytes(), &Layout::default()).unwrap()
}

fn best_seconds(mut work: impl FnMut()) -> f64 {
    let time = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..15).map(|_| time(&mut work)).fold(f64::INFINITY, f64::min)
}

fn family(contrasts: usize, sources: usize, draws: usize) -> f64 {
    let table = table(contrasts, sources);
    let contrasts = (0..contrasts).map(|c| Contrast::column(&format!("c{c}"))).collect();
    let params = FamilyParams { draws, ..FamilyParams::new(contrasts) };
    let family = params.check().unwrap();
    best_seconds(|| drop(black_box(family.run(&table).unwrap())))
}

fn main() {
    println!(
        "12 contrasts, 28 sources, 100,000 draws: {:.3} s (budget 0.2)",
        family(12, 28, 100_000)
    );
    println!("12 contrasts, 28 sources, 200,000 draws: {:.3} s", family(12, 28, 200_000));
    println!("12 contrasts, 56 sources, 100,000 draws: {:.3} s", family(12, 56, 100_000));
    let stream = Philox::new(2, Stream::Simulation);
    for n in [24, 28, 32] {
        let values: Vec<f64> = (0..n).map(|i| stream.uniform(0, i) - 0.3).collect();
        let options = SignFlipOptions { exact_up_to: 40, ..SignFlipOptions::default() };
        let seconds = best_seconds(|| {
            black_box(sign_flip(black_box(&values), Tail::TwoSided, &options).unwrap());
        });
        println!(
            "all 2^{n} sign patterns: {seconds:.6} s{}",
            if n == 24 { " (budget 0.5)" } else { "" }
        );
    }
    let values: Vec<f64> = (0..28).map(|i| stream.uniform(0, i) - 0.3).collect();
    let seconds = best_seconds(|| {
        black_box(sign_flip(&values, Tail::TwoSided, &SignFlipOptions::default()).unwrap());
    });
    println!("1,000,000 drawn sign patterns at n = 28: {seconds:.3} s");
}
