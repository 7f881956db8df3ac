//! A weight gradient is one chain of fused multiply-adds per element, blocks from last to first and
//! rows ascending, bit for bit, on every code path, however the steps are grouped into calls.

use backcut_kernels::product::{Blocks, bias_gradient, weight_gradient};
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
    blocks: usize,
    rows: usize,
    n_in: usize,
    n_out: usize,
}

struct Operands<R> {
    x: Vec<R>,
    dy: Vec<R>,
    dw: Vec<R>,
    db: Vec<R>,
}

impl<R: Real> Operands<R> {
    fn new(s: Shape, seed: u64) -> Self {
        Self {
            x: values(s.blocks * s.rows * s.n_in, seed),
            dy: values(s.blocks * s.rows * s.n_out, seed + 1),
            dw: values(s.n_in * s.n_out, seed + 2),
            db: values(s.n_out, seed + 3),
        }
    }
}

/// The definition, one term at a time.
fn naive<R: Real>(s: Shape, given: &Operands<R>) -> (Vec<R>, Vec<R>) {
    let (mut dw, mut db) = (given.dw.clone(), given.db.clone());
    for b in (0..s.blocks).rev() {
        for r in 0..s.rows {
            let step = b * s.rows + r;
            for o in 0..s.n_out {
                let dy = given.dy[step * s.n_out + o];
                db[o] += dy;
                for i in 0..s.n_in {
                    let sum = &mut dw[i * s.n_out + o];
                    *sum = given.x[step * s.n_in + i].mul_add(dy, *sum);
                }
            }
        }
    }
    (dw, db)
}

fn agrees<R: Real>(s: Shape, seed: u64) {
    let given = Operands::<R>::new(s, seed);
    let (expected_dw, expected_db) = naive(s, &given);
    for isa in Isa::available() {
        let (mut dw, mut db) = (given.dw.clone(), given.db.clone());
        let dy = Blocks::dense(&given.dy, s.rows * s.n_out);
        weight_gradient(isa, s.blocks, s.rows, s.n_in, s.n_out, &given.x, dy, &mut dw);
        bias_gradient(isa, s.blocks, s.rows, s.n_out, dy, &mut db);
        assert_eq!(bits(&dw), bits(&expected_dw), "weight, {isa} {s:?}");
        assert_eq!(bits(&db), bits(&expected_db), "bias, {isa} {s:?}");

        // The same blocks with something else between them.
        let (mut dw, mut db) = (given.dw.clone(), given.db.clone());
        let len = s.rows * s.n_out;
        let apart = |block: &[R]| [block, &[R::from_f64(f64::NAN); 3]].concat();
        let data: Vec<R> = given.dy.chunks(len).flat_map(apart).collect();
        let dy = Blocks { data: &data, stride: len + 3 };
        weight_gradient(isa, s.blocks, s.rows, s.n_in, s.n_out, &given.x, dy, &mut dw);
        bias_gradient(isa, s.blocks, s.rows, s.n_out, dy, &mut db);
        assert_eq!(bits(&dw), bits(&expected_dw), "weight apart, {isa} {s:?}");
        assert_eq!(bits(&db), bits(&expected_db), "bias apart, {isa} {s:?}");
    }
}

fn shapes() -> impl Strategy<Value = Shape> {
    let width = || prop_oneof![1..10_usize, 10..150_usize];
    (0..5_usize, 1..9_usize, width(), width()).prop_map(|(blocks, rows, n_in, n_out)| Shape {
        blocks,
        rows,
        n_in,
        n_out,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn gradient_is_the_sequential_sum_in_f32(shape in shapes(), seed in any::<u32>()) {
        agrees::<f32>(shape, seed.into());
    }

    #[test]
    fn gradient_is_the_sequential_sum_in_f64(shape in shapes(), seed in any::<u32>()) {
        agrees::<f64>(shape, seed.into());
    }
}

#[test]
fn shapes_of_a_policy_agree() {
    for (n_in, n_out) in [(64, 64), (105, 64), (64, 4), (9, 4), (4, 64), (33, 192), (64, 100)] {
        agrees::<f32>(Shape { blocks: 3, rows: 8, n_in, n_out }, 17);
    }
}

#[test]
fn more_steps_than_any_staging_buffer_agree() {
    agrees::<f32>(Shape { blocks: 70, rows: 9, n_in: 5, n_out: 40 }, 23);
    agrees::<f64>(Shape { blocks: 70, rows: 9, n_in: 40, n_out: 3 }, 29);
}

#[test]
fn wide_matrices_agree_panel_by_panel() {
    agrees::<f32>(Shape { blocks: 21, rows: 5, n_in: 259, n_out: 203 }, 31);
    agrees::<f64>(Shape { blocks: 16, rows: 4, n_in: 256, n_out: 128 }, 37);
    agrees::<f32>(Shape { blocks: 2, rows: 65, n_in: 256, n_out: 72 }, 41);
}

#[test]
fn chunk_size_does_not_change_the_bits() {
    let all = Shape { blocks: 16, rows: 8, n_in: 21, n_out: 36 };
    let given = Operands::<f32>::new(all, 11);
    for isa in Isa::available() {
        let run = |chunk: usize| {
            let (mut dw, mut db) = (given.dw.clone(), given.db.clone());
            for first in (0..all.blocks).step_by(chunk).rev() {
                let x = &given.x[first * all.rows * all.n_in..];
                let dy = &given.dy[first * all.rows * all.n_out..];
                let dy = Blocks::dense(dy, all.rows * all.n_out);
                weight_gradient(isa, chunk, all.rows, all.n_in, all.n_out, x, dy, &mut dw);
                bias_gradient(isa, chunk, all.rows, all.n_out, dy, &mut db);
            }
            (bits(&dw), bits(&db))
        };
        let whole = run(16);
        assert_eq!(run(4), whole, "{isa}");
        assert_eq!(run(1), whole, "{isa}");
    }
}

fn call(x: usize, dy: usize, dw: usize) {
    let (x, dy, mut dw) = (vec![0.0_f32; x], vec![0.0; dy], vec![0.0; dw]);
    weight_gradient(Isa::detect(), 2, 3, 4, 5, &x, Blocks::dense(&dy, 15), &mut dw);
}

#[test]
fn right_lengths_are_accepted() {
    call(24, 30, 20);
}

#[test]
#[should_panic(expected = "weight_gradient: x has 23 values, the shape needs 24")]
fn short_x_is_refused() {
    call(23, 30, 20);
}

#[test]
#[should_panic(expected = "weight_gradient: dy has 29 values, the shape needs 30")]
fn short_dy_is_refused() {
    call(24, 29, 20);
}

#[test]
#[should_panic(expected = "weight_gradient: dw has 19 values, the shape needs 20")]
fn short_dw_is_refused() {
    call(24, 30, 19);
}

#[test]
#[should_panic(expected = "bias_gradient: db has 4 values, the shape needs 5")]
fn short_db_is_refused() {
    let dy = [0.0_f32; 30];
    bias_gradient(Isa::detect(), 2, 3, 5, Blocks::dense(&dy, 15), &mut [0.0; 4]);
}
