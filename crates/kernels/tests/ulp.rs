//! The stated error of every transcendental function, in units in the last place.
//!
//! Single precision is compared with the standard library's double precision, whose own error (less
//! than 2^-28 of a single-precision ulp) does not show. Double precision is compared with the
//! double-double evaluation in `reference`.

mod reference;

use backcut_kernels::slices::{
    map_atanh_on, map_cos_on, map_exp_on, map_ln_on, map_sigmoid_on, map_sin_on, map_tan_on,
    map_tanh_on,
};
use backcut_kernels::{Isa, Real, math};
use reference::Dd;

type Map<R> = fn(Isa, &[R], &mut [R]);

/// Error of `got`, in ulp of the exact result, which is `high + low`.
fn error_in_ulp<R: Real>(got: R, high: f64, low: f64, mantissa_bits: i32, least: i32) -> f64 {
    let got = got.to_f64();
    if got == high && (low == 0.0 || !high.is_finite()) || got.is_nan() && high.is_nan() {
        return 0.0;
    }
    // In single precision, infinity stands for 2^128, and so does everything above that.
    let top = if mantissa_bits == 24 { 2f64.powi(128) } else { f64::INFINITY };
    let (got, high) = (got.clamp(-top, top), high.clamp(-top, top));
    let exponent = ((high.abs().to_bits() >> 52) as i32 - 1023 - (mantissa_bits - 1)).max(least);
    // 2^-exponent in two factors: it may exceed the largest number.
    let (a, b) = (-exponent / 2, -exponent - -exponent / 2);
    (((got - high) - low) * 2f64.powi(a) * 2f64.powi(b)).abs()
}

/// Largest error of `map` over every `stride`-th single-precision bit pattern, and over the last
/// patterns below 1, where `atanh` is steepest.
fn worst_f32(map: Map<f32>, exact: fn(f64) -> f64, domain: fn(f32) -> bool, stride: usize) -> f64 {
    let isa = Isa::detect();
    let mut worst = (0.0, 0.0);
    let mut y = [0f32; 1024];
    let mut patterns = (0..=u32::MAX).step_by(stride).chain(0x3f7f_f000..=0x3f80_0000);
    loop {
        let x: Vec<f32> =
            patterns.by_ref().map(f32::from_bits).filter(|&x| domain(x)).take(1024).collect();
        if x.is_empty() {
            break;
        }
        map(isa, &x, &mut y[..x.len()]);
        for (&x, &y) in x.iter().zip(&y) {
            let error = error_in_ulp(y, exact(f64::from(x)), 0.0, 24, -149);
            assert!(!error.is_nan(), "x = {x:e} gives {y:e}");
            if error > worst.0 {
                worst = (error, x);
            }
        }
    }
    println!("f32 worst {:.3} ulp at {:e}", worst.0, worst.1);
    worst.0
}

fn everywhere(_: f32) -> bool {
    true
}

fn trigonometric(x: f32) -> bool {
    x.abs() <= math::f32::TRIGONOMETRIC_DOMAIN
}

fn sigmoid(x: f64) -> f64 {
    if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) }
}

fn check_f32(stride: usize) {
    assert!(worst_f32(map_exp_on, f64::exp, everywhere, stride) <= 1.0, "exp");
    assert!(worst_f32(map_ln_on, f64::ln, everywhere, stride) <= 1.0, "ln");
    assert!(worst_f32(map_sin_on, f64::sin, trigonometric, stride) <= 1.0, "sin");
    assert!(worst_f32(map_cos_on, f64::cos, trigonometric, stride) <= 1.0, "cos");
    assert!(worst_f32(map_tan_on, f64::tan, trigonometric, stride) <= 2.5, "tan");
    assert!(worst_f32(map_tanh_on, f64::tanh, everywhere, stride) <= 2.0, "tanh");
    assert!(worst_f32(map_atanh_on, f64::atanh, everywhere, stride) <= 2.0, "atanh");
    assert!(worst_f32(map_sigmoid_on, sigmoid, everywhere, stride) <= 1.5, "sigmoid");
}

#[test]
fn single_precision_is_within_its_stated_error() {
    check_f32(499);
}

#[test]
#[ignore = "several minutes: every single-precision number"]
fn single_precision_is_within_its_stated_error_everywhere() {
    check_f32(1);
}

/// Largest error of `map` over points spread evenly in value and in exponent over `[lo, hi]`, and
/// over neighbours of the multiples of `near`.
fn worst_f64(map: Map<f64>, exact: fn(f64) -> Dd, lo: f64, hi: f64, near: f64) -> f64 {
    const POINTS: u32 = 12_000;
    let mut x = Vec::new();
    for i in 0..=POINTS {
        let even = lo + (hi - lo) * (f64::from(i) / f64::from(POINTS));
        // Logarithmic from 2^-1074 or so up to the larger end, with a scrambled mantissa.
        let top = lo.abs().max(hi.abs()).to_bits();
        let log = f64::from_bits(top / u64::from(POINTS) * u64::from(i));
        let small = hi * 2f64.powf(-40.0 * f64::from(i) / f64::from(POINTS));
        let beside = near * f64::from(i * 7 + 1);
        let next = |k: u64| f64::from_bits(beside.to_bits() + k);
        x.extend([even, log, -log, small, -small, next(0), next(1), -next(2)]);
    }
    x.retain(|&x| (lo..=hi).contains(&x));
    let mut y = vec![0.0; x.len()];
    map(Isa::detect(), &x, &mut y);
    let mut worst = (0.0, 0.0);
    for (&x, &y) in x.iter().zip(&y) {
        let Dd(high, low) = exact(x);
        let error = error_in_ulp(y, high, low, 53, -1074);
        assert!(!error.is_nan(), "x = {x:e} gives {y:e}, not {high:e}");
        if error > worst.0 {
            worst = (error, x);
        }
    }
    println!("f64 worst {:.3} ulp at {:e}, {} points", worst.0, worst.1, x.len());
    worst.0
}

#[test]
fn double_precision_is_within_its_stated_error() {
    let half_pi = std::f64::consts::FRAC_PI_2;
    let largest = math::f64::TRIGONOMETRIC_DOMAIN;
    let below_one = 1.0 - f64::EPSILON / 2.0;
    assert!(worst_f64(map_exp_on, Dd::exp_of, -745.0, 709.7, 0.3465) <= 1.0, "exp");
    assert!(worst_f64(map_exp_on, Dd::exp_of, -2.0, 2.0, 0.001) <= 1.0, "exp");
    assert!(worst_f64(map_ln_on, Dd::ln_of, 5e-324, f64::MAX, 0.01) <= 1.0, "ln");
    assert!(worst_f64(map_ln_on, Dd::ln_of, 0.4, 2.1, 1e-5) <= 1.0, "ln");
    for range in [7.0, 1e3, largest] {
        assert!(worst_f64(map_sin_on, Dd::sin_of, -range, range, half_pi) <= 1.0, "sin");
        assert!(worst_f64(map_cos_on, Dd::cos_of, -range, range, half_pi) <= 1.0, "cos");
        assert!(worst_f64(map_tan_on, Dd::tan_of, -range, range, half_pi) <= 2.5, "tan");
    }
    assert!(worst_f64(map_tanh_on, Dd::tanh_of, -21.0, 21.0, 1e-5) <= 2.0, "tanh");
    assert!(worst_f64(map_tanh_on, Dd::tanh_of, -1.0, 1.0, 1e-6) <= 2.0, "tanh");
    assert!(worst_f64(map_atanh_on, Dd::atanh_of, -below_one, below_one, 1e-5) <= 2.0, "atanh");
    assert!(worst_f64(map_atanh_on, Dd::atanh_of, 0.1, 0.9, 1e-5) <= 2.0, "atanh");
    assert!(worst_f64(map_sigmoid_on, Dd::sigmoid_of, -745.0, 40.0, 1e-4) <= 1.5, "sigmoid");
    assert!(worst_f64(map_sigmoid_on, Dd::sigmoid_of, -3.0, 3.0, 1e-5) <= 1.5, "sigmoid");
}
