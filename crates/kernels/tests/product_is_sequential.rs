//! Every element of a product is one chain of fused multiply-adds in the order of k, bit for bit,
//! on every code path, whatever the shape, the strides, the start and the finish.

use backcut_kernels::product::{Finish, PANEL, Panels, Start, product};
use backcut_kernels::{Isa, Real};
use proptest::prelude::*;

/// Values of both signs and many magnitudes, so that another order of summation shows.
fn values<R: Real>(len: usize, seed: u64) -> Vec<R> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / f64::from(1 << 24) - 0.5
    };
    (0..len).map(|_| R::from_f64(next() * (8.0 * next()).exp2())).collect()
}

fn bits<R: Real>(values: &[R]) -> Vec<u64> {
    values.iter().map(|v| v.bits()).collect()
}

#[derive(Clone, Copy, Debug)]
struct Shape {
    rows: usize,
    k: usize,
    n: usize,
    x_stride: usize,
    out_stride: usize,
}

/// The definition, one element at a time.
fn naive<R: Real>(s: Shape, x: &[R], w: &[R], start: Start<R>, finish: Finish<R>, out: &mut [R]) {
    for r in 0..s.rows {
        for c in 0..s.n {
            let at = r * s.out_stride + c;
            let mut sum = match start {
                Start::Zero => R::ZERO,
                Start::Bias(bias) => bias[c],
                Start::Accumulate => out[at],
            };
            for k in 0..s.k {
                sum = x[r * s.x_stride + k].mul_add(w[k * s.n + c], sum);
            }
            out[at] = match finish {
                Finish::Store => sum,
                Finish::Add(residual) => sum + residual[at],
                Finish::Times(derivative) => sum * derivative[at],
            };
        }
    }
}

fn agrees<R: Real>(s: Shape, seed: u64) {
    let x = values::<R>(s.rows * s.x_stride, seed);
    let w = values::<R>(s.k * s.n, seed + 1);
    let bias = values::<R>(s.n, seed + 2);
    let operand = values::<R>(s.rows * s.out_stride, seed + 3);
    let before = values::<R>(s.rows * s.out_stride, seed + 4);
    for isa in Isa::available() {
        let mut packed = Panels::zeros(s.k, s.n);
        packed.pack(isa, &w);
        for start in [Start::Zero, Start::Bias(&bias), Start::Accumulate] {
            for finish in [Finish::Store, Finish::Add(&operand), Finish::Times(&operand)] {
                let mut expected = before.clone();
                naive(s, &x, &w, start, finish, &mut expected);
                let mut out = before.clone();
                product(
                    isa,
                    s.rows,
                    &x,
                    s.x_stride,
                    &packed,
                    start,
                    finish,
                    &mut out,
                    s.out_stride,
                );
                assert_eq!(bits(&out), bits(&expected), "{isa} {s:?} {start:?} {finish:?}");
            }
        }
    }
}

fn shapes() -> impl Strategy<Value = Shape> {
    (1..20_usize, 0..40_usize, 1..150_usize, 0..4_usize, 0..4_usize).prop_map(
        |(rows, k, n, x_gap, out_gap)| Shape {
            rows,
            k,
            n,
            x_stride: k + x_gap,
            out_stride: n + out_gap,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn product_is_the_sequential_sum_in_f32(shape in shapes(), seed in any::<u32>()) {
        agrees::<f32>(shape, seed.into());
    }

    #[test]
    fn product_is_the_sequential_sum_in_f64(shape in shapes(), seed in any::<u32>()) {
        agrees::<f64>(shape, seed.into());
    }

    #[test]
    fn packing_a_transpose_is_packing_the_transposed_matrix(
        k in 0..70_usize, n in 0..100_usize, seed in any::<u32>(),
    ) {
        let w = values::<f32>(k * n, seed.into());
        let transposed: Vec<f32> = (0..k * n).map(|at| w[at % n * k + at / n]).collect();
        for isa in Isa::available() {
            let (mut a, mut b) = (Panels::zeros(k, n), Panels::zeros(k, n));
            a.pack_transposed(isa, &w);
            b.pack(isa, &transposed);
            prop_assert_eq!(&a, &b);
        }
    }
}

#[test]
fn a_row_has_the_same_bits_alone_and_among_others() {
    let (k, n) = (37, 70);
    let x = values::<f32>(256 * k, 5);
    let w = values::<f32>(k * n, 6);
    for isa in Isa::available() {
        let mut packed = Panels::zeros(k, n);
        packed.pack(isa, &w);
        let run = |rows: usize, x: &[f32]| {
            let mut out = vec![0.0; rows * n];
            product(isa, rows, x, k, &packed, Start::Zero, Finish::Store, &mut out, n);
            bits(&out)
        };
        let all = run(256, &x);
        for rows in [1, 2, 3, 4, 7, 8] {
            for first in [0, 5, 248] {
                let some = run(rows, &x[first * k..(first + rows) * k]);
                assert_eq!(some, all[first * n..(first + rows) * n], "{isa}, {rows} rows");
            }
        }
    }
}

#[test]
fn packing_again_leaves_no_trace_of_the_first() {
    let (k, n) = (9, PANEL + 3);
    for isa in Isa::available() {
        let mut packed = Panels::zeros(k, n);
        packed.pack_transposed(isa, &values::<f64>(k * n, 1));
        packed.pack(isa, &values::<f64>(k * n, 2));
        let mut fresh = Panels::zeros(k, n);
        fresh.pack(isa, &values::<f64>(k * n, 2));
        assert_eq!(packed, fresh);
        packed.pack(isa, &vec![0.0; k * n]);
        assert_eq!(packed, Panels::zeros(k, n));
        assert_eq!(packed.bytes(), 2 * k * PANEL * 8);
    }
}

/// One row of 3 terms and 2 columns, with the given lengths in place of the right ones.
fn call(x: usize, x_stride: usize, bias: usize, operand: usize, out: usize, out_stride: usize) {
    let w = Panels::<f32>::zeros(3, 2);
    let (x, bias, operand) = (vec![0.0; x], vec![0.0; bias], vec![0.0; operand]);
    let (start, finish) = (Start::Bias(&bias), Finish::Add(&operand));
    let isa = Isa::detect();
    product(isa, 2, &x, x_stride, &w, start, finish, &mut vec![0.0; out], out_stride);
}

#[test]
fn right_lengths_are_accepted() {
    call(6, 3, 2, 4, 4, 2);
    call(7, 4, 2, 5, 5, 3);
}

#[test]
#[should_panic(expected = "x has 5 values, 2 rows need 6")]
fn short_x_is_refused() {
    call(5, 3, 2, 4, 4, 2);
}

#[test]
#[should_panic(expected = "x_stride 2 is shorter than a row of k = 3")]
fn short_x_stride_is_refused() {
    call(6, 2, 2, 4, 4, 2);
}

#[test]
#[should_panic(expected = "bias has 1 values, n is 2")]
fn short_bias_is_refused() {
    call(6, 3, 1, 4, 4, 2);
}

#[test]
#[should_panic(expected = "finish has 3 values, 2 rows need 4")]
fn short_finish_operand_is_refused() {
    call(6, 3, 2, 3, 4, 2);
}

#[test]
#[should_panic(expected = "out has 3 values, 2 rows need 4")]
fn short_out_is_refused() {
    call(6, 3, 2, 4, 3, 2);
}

#[test]
#[should_panic(expected = "out_stride 1 is shorter than a row of n = 2")]
fn short_out_stride_is_refused() {
    call(6, 3, 2, 4, 4, 1);
}

#[test]
#[should_panic(expected = "packing a 3 x 2 matrix needs 6 values, got 5")]
fn packing_the_wrong_size_is_refused() {
    Panels::<f32>::zeros(3, 2).pack(Isa::detect(), &[0.0; 5]);
}
