//! The matrix product at the shapes that policies use, beside the machine's own peak.

use std::fmt::Write as _;

use backcut_kernels::Isa;
use backcut_kernels::product::{measure_peak, throughput};
use serde::Serialize;

/// Rows, inner length and columns: the quadrotor's and the vessel's products, and larger ones.
const SHAPES: [[usize; 3]; 10] = [
    [8, 64, 192],
    [8, 64, 64],
    [8, 105, 64],
    [8, 64, 256],
    [4, 256, 768],
    [4, 256, 1024],
    [4, 1024, 256],
    [256, 64, 64],
    [64, 256, 64],
    [1152, 256, 1024],
];

#[derive(Serialize)]
struct Product {
    rows: usize,
    k: usize,
    columns: usize,
    gflops: f64,
    percent_of_peak: f64,
}

/// GFLOP/s of the fastest batches.
#[derive(Serialize)]
pub struct Products {
    peak_gflops: f64,
    products: Vec<Product>,
}

/// Measures each shape for about `milliseconds`, in turns with the peak.
pub fn measure(isa: Isa, milliseconds: u64) -> Products {
    const TURNS: u64 = 4;
    let slice = milliseconds / TURNS;
    let mut peak: f64 = 0.0;
    let mut best = [0.0f64; SHAPES.len()];
    for _ in 0..TURNS {
        peak = peak.max(measure_peak::<f32>(isa, slice));
        for (best, [rows, k, columns]) in best.iter_mut().zip(SHAPES) {
            *best = best.max(throughput(isa, rows, k, columns, slice));
        }
    }
    let product = |([rows, k, columns], gflops): ([usize; 3], f64)| Product {
        rows,
        k,
        columns,
        gflops,
        percent_of_peak: 100.0 * gflops / peak,
    };
    Products { peak_gflops: peak, products: SHAPES.into_iter().zip(best).map(product).collect() }
}

impl Products {
    /// Percent of the peak at the slowest shape.
    pub fn slowest(&self) -> f64 {
        self.products.iter().map(|p| p.percent_of_peak).fold(f64::INFINITY, f64::min)
    }

    pub fn text(&self) -> String {
        let mut out = format!(
            "matrix product, fastest batches; peak of a register-only FMA loop {:.1} GFLOP/s\n",
            self.peak_gflops
        );
        let _ = writeln!(out, "  rows     k  columns   GFLOP/s   % of peak");
        for Product { rows, k, columns, gflops, percent_of_peak } in &self.products {
            let _ = writeln!(
                out,
                "{rows:>6} {k:>5} {columns:>8} {gflops:>9.1} {percent_of_peak:>11.0}"
            );
        }
        out
    }
}
