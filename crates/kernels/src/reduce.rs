//! Sums: one home, one order.
//!
//! Element `i` of a sum goes to partial sum `i % 16`; the partials are then added by halving
//! (`0+8, 1+9, ...`, then `0+4, ...`). Sixteen partials fill one AVX-512 register, two AVX2
//! registers or a plain array: the bits are those of the pattern, not of the machine.

use crate::Real;
use crate::isa::dispatch;

mod order;
mod sequence;
mod survey;

pub use order::{count_below, count_below_on, keep_between, keep_between_on};
pub use sequence::add_in_sequence;
pub use survey::{Fill, Survey, Term, survey, survey_on, widen, widen_on};

/// The number of partial sums.
pub const LANES: usize = 16;

/// Adds sixteen partial sums by halving. Written out so that it compiles to shuffles, not to
/// memory.
#[inline(always)]
pub(crate) fn combine<R: Real>(p: [R; LANES]) -> R {
    halve(p, |a, b| a + b)
}

#[inline(always)]
pub(crate) fn halve<R: Real>(p: [R; LANES], f: impl Fn(R, R) -> R) -> R {
    let mut eight = [R::ZERO; 8];
    for i in 0..8 {
        eight[i] = f(p[i], p[i + 8]);
    }
    let mut four = [R::ZERO; 4];
    for i in 0..4 {
        four[i] = f(eight[i], eight[i + 4]);
    }
    f(f(four[0], four[2]), f(four[1], four[3]))
}

/// The same pattern for terms that are not plain elements of slices: `partial[i % 16] = fuse(i,
/// partial[i % 16])`.
#[inline(always)]
pub(crate) fn accumulate<R: Real>(n: usize, mut fuse: impl FnMut(usize, R) -> R) -> R {
    let mut partial = [R::ZERO; LANES];
    for i in 0..n {
        partial[i % LANES] = fuse(i, partial[i % LANES]);
    }
    combine(partial)
}

/// Folds slices of equal length into the documented pattern: `partial[i % 16] = f(elements at i,
/// partial[i % 16])`. Whole groups of sixteen run as arrays, which the compiler turns into vectors;
/// an index into slices would keep their bounds checks and stay scalar.
macro_rules! fold {
    ($name:ident, $($x:ident),+) => {
        #[inline(always)]
        pub(crate) fn $name<R: Real, A: Real>($($x: &[R]),+, f: impl Fn($(fold!(@$x R)),+, A) -> A) -> A {
            let mut partial = [A::ZERO; LANES];
            let n = [$($x.len()),+][0];
            let whole = n / LANES * LANES;
            let mut at = 0;
            while at < whole {
                $(let $x: &[R; LANES] = fold_chunk($x, at);)+
                for i in 0..LANES {
                    partial[i] = f($($x[i]),+, partial[i]);
                }
                at += LANES;
            }
            for i in 0..n - whole {
                partial[i] = f($($x[whole + i]),+, partial[i]);
            }
            combine(partial)
        }
    };
    (@$x:ident $r:ident) => { $r };
}

#[inline(always)]
fn fold_chunk<R>(x: &[R], at: usize) -> &[R; LANES] {
    x[at..].first_chunk().expect("slices of equal length")
}

fold!(fold1, x);
fold!(fold2, x, y);
fold!(fold4, x, y, z, w);

#[inline(always)]
pub(crate) fn sum_body<R: Real>(x: &[R]) -> R {
    fold1(x, |x, sum: R| sum + x)
}

#[inline(always)]
pub(crate) fn dot_body<R: Real>(a: &[R], b: &[R]) -> R {
    fold2(a, &b[..a.len()], |a, b, sum: R| a.mul_add(b, sum))
}

#[inline(always)]
fn norm_squared_body<R: Real>(x: &[R]) -> f64 {
    fold1(x, |x, sum: f64| x.to_f64().mul_add(x.to_f64(), sum))
}

#[inline(always)]
fn dot_wide_body<R: Real>(a: &[R], b: &[R]) -> f64 {
    fold2(a, &b[..a.len()], |a, b, sum: f64| a.to_f64().mul_add(b.to_f64(), sum))
}

#[inline(always)]
fn double_difference_squared_body<R: Real>(a: &[R], b: &[R], c: &[R], d: &[R]) -> f64 {
    let n = a.len();
    fold4(a, &b[..n], &c[..n], &d[..n], |a, b, c, d, sum: f64| {
        let difference = (a.to_f64() - b.to_f64()) - (c.to_f64() - d.to_f64());
        difference.mul_add(difference, sum)
    })
}

#[inline(always)]
fn distance_squared_body<R: Real>(a: &[R], b: &[R]) -> f64 {
    fold2(a, &b[..a.len()], |a, b, sum: f64| {
        let difference = a.to_f64() - b.to_f64();
        difference.mul_add(difference, sum)
    })
}

dispatch! {
    /// The ordered sum of `x`.
    pub fn sum, sum_on<R: Real>(x: &[R]) -> R = sum_body;
}
dispatch! {
    /// The ordered scalar product of `a` and `b` (`b` at least as long).
    pub fn dot, dot_on<R: Real>(a: &[R], b: &[R]) -> R = dot_body;
}
dispatch! {
    /// The squared Euclidean norm, accumulated in `f64` whatever the precision of `x`.
    pub fn norm_squared, norm_squared_on<R: Real>(x: &[R]) -> f64 = norm_squared_body;
}
dispatch! {
    /// The scalar product accumulated in `f64` whatever the precision of the operands.
    pub fn dot_wide, dot_wide_on<R: Real>(a: &[R], b: &[R]) -> f64 = dot_wide_body;
}
dispatch! {
    /// The squared Euclidean norm of `a - b`, formed and accumulated in `f64`: exactly 0 where the
    /// two agree in every bit, which `|a|^2 - 2 a.b + |b|^2` is not.
    pub fn distance_squared, distance_squared_on<R: Real>(a: &[R], b: &[R]) -> f64 = distance_squared_body;
}
dispatch! {
    /// The squared Euclidean norm of `(a - b) - (c - d)`, formed and accumulated in `f64`.
    pub fn double_difference_squared, double_difference_squared_on<R: Real>(
        a: &[R],
        b: &[R],
        c: &[R],
        d: &[R],
    ) -> f64 = double_difference_squared_body;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Isa;

    #[test]
    fn distances_keep_what_norms_and_dots_would_lose() {
        // (1 + 2^-20) - 1 = 2^-20 in f32; its square is far below the rounding of |a|^2.
        let a: Vec<f32> =
            (0..37).map(|i| if i == 35 { 1.0 + 2f32.powi(-20) } else { 1.0 }).collect();
        let b = vec![1f32; 37];
        for isa in Isa::available() {
            assert_eq!(distance_squared_on(isa, &a, &b), 2f64.powi(-40), "{isa}");
            assert_eq!(distance_squared_on(isa, &a, &a), 0.0, "{isa}");
        }
    }

    #[test]
    fn double_differences_have_the_documented_pattern() {
        for n in [0, 1, 15, 16, 17, 105] {
            let x = |k: usize| -> Vec<f32> {
                (0..n).map(|i| ((i * k % 23) as f32 - 9.7) / 3.0).collect()
            };
            let [a, b, c, d] = [37, 41, 5, 11].map(x);
            let sum = |f: &dyn Fn(usize) -> f64| {
                let mut partial = [0.0; LANES];
                (0..n).for_each(|i| partial[i % LANES] = f(i).mul_add(f(i), partial[i % LANES]));
                combine(partial)
            };
            let wide = |x: &[f32], i: usize| f64::from(x[i]);
            let twice = sum(&|i| (wide(&a, i) - wide(&b, i)) - (wide(&c, i) - wide(&d, i)));
            for isa in Isa::available() {
                assert_eq!(
                    double_difference_squared_on(isa, &a, &b, &c, &d),
                    twice,
                    "{isa} n = {n}"
                );
            }
        }
    }

    #[test]
    fn every_path_gives_the_documented_pattern() {
        for n in [0, 1, 3, 15, 16, 17, 64, 105] {
            let x: Vec<f32> = (0..n).map(|i| ((i * 37 % 19) as f32 - 7.3) / 3.0).collect();
            let mut partial = [0f32; 16];
            for (i, v) in x.iter().enumerate() {
                partial[i % 16] += v;
            }
            for half in [8, 4, 2, 1] {
                for i in 0..half {
                    partial[i] += partial[i + half];
                }
            }
            for isa in Isa::available() {
                assert_eq!(sum_on(isa, &x).to_bits(), partial[0].to_bits(), "{isa} n = {n}");
            }
        }
    }
}
