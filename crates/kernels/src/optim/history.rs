//! A gradient against what AdamW's moments remember, weight by weight: ratios, and the terms of sums
//! that [`crate::reduce::add_in_sequence`] adds up.
//!
//! Everything is `f32` whatever the precision of the vectors, but for the terms, which are `f64`.

use crate::Real;
use crate::isa::dispatch;

/// Scalars of AdamW's direction `mhat / (sqrt(vhat) + eps)` after a step.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Direction {
    /// Decay of the first moment.
    pub keep1: f32,
    /// What a gradient adds to the first moment, the clipping factor included.
    pub new1: f32,
    /// Decay of the second moment.
    pub keep2: f32,
    /// What a squared gradient adds to the second moment, the squared clipping factor included.
    pub new2: f32,
    /// Bias correction of the first moment.
    pub unbias1: f32,
    /// Bias correction of the second moment.
    pub unbias2: f32,
    /// Added to the square root of the second moment.
    pub eps: f32,
    /// `|mhat| / sqrt(vhat)` from which a weight counts as saturated.
    pub threshold: f32,
}

#[inline(always)]
fn narrow<R: Real>(x: R) -> f32 {
    x.to_f64() as f32
}

#[inline(always)]
fn root_body<R: Real>(unbias: f32, second: &[R], root: &mut [f32]) {
    for (root, v) in root.iter_mut().zip(second) {
        *root = (narrow(*v) * unbias).sqrt();
    }
}

#[inline(always)]
fn ratio_body<R: Real>(
    factor: f32,
    eps: f32,
    gradient: &[R],
    root: &[f32],
    ratio: &mut [f32],
) -> u32 {
    let n = ratio.len();
    let (gradient, root) = (&gradient[..n], &root[..n]);
    let mut above = 0;
    for i in 0..n {
        ratio[i] = (narrow(gradient[i]) * factor).abs() / (root[i] + eps);
        above += u32::from(ratio[i] > 1.0);
    }
    above
}

#[inline(always)]
fn ratio_of_difference_body<R: Real>(
    factor: f64,
    eps: f32,
    a: &[R],
    b: &[R],
    root: &[f32],
    ratio: &mut [f32],
) {
    let n = ratio.len();
    let (a, b, root) = (&a[..n], &b[..n], &root[..n]);
    for i in 0..n {
        let difference = ((a[i].to_f64() - b[i].to_f64()) * factor).abs() as f32;
        ratio[i] = difference / (root[i] + eps);
    }
}

#[inline(always)]
fn weights_body<R: Real>(eps: f32, root: &[f32], full: &[R], weight: &mut [f64], own: &mut [f64]) {
    let n = weight.len();
    let (root, full, own) = (&root[..n], &full[..n], &mut own[..n]);
    for i in 0..n {
        weight[i] = 1.0 / f64::from(root[i] + eps);
        own[i] = full[i].to_f64() * weight[i];
    }
}

#[inline(always)]
fn scaled_terms_body<R: Real>(
    gradient: &[R],
    weight: &[f64],
    full: &[f64],
    terms: &mut [[f64; 2]],
) {
    let n = terms.len();
    let (gradient, weight, full) = (&gradient[..n], &weight[..n], &full[..n]);
    for i in 0..n {
        let own = gradient[i].to_f64() * weight[i];
        terms[i] = [own * own, own * full[i]];
    }
}

#[inline(always)]
fn sign_terms_body<R: Real>(
    d: Direction,
    gradient: &[R],
    first: &[R],
    second: &[R],
    terms: &mut [[f64; 2]],
) -> [u32; 2] {
    let n = terms.len();
    let (gradient, first, second) = (&gradient[..n], &first[..n], &second[..n]);
    let (mut nonzero, mut saturated) = (0, 0);
    for i in 0..n {
        let (g, m, v) = (narrow(gradient[i]), narrow(first[i]), narrow(second[i]));
        let mean = (d.keep1 * m + d.new1 * g) * d.unbias1;
        let root = ((d.keep2 * v + d.new2 * (g * g)) * d.unbias2).sqrt();
        let direction = mean / (root + d.eps);
        let positive = if g > 0.0 { 1f32 } else { 0.0 };
        let sign = if g < 0.0 { -1.0 } else { positive };
        let wide = f64::from(direction);
        terms[i] = [f64::from(sign * direction), wide * wide];
        nonzero += u32::from(g != 0.0);
        saturated += u32::from(mean.abs() > d.threshold * root);
    }
    [nonzero, saturated]
}

dispatch! {
    /// `sqrt(vhat)`, with the bias correction of the second moment.
    pub fn root, root_on<R: Real>(unbias: f32, second: &[R], root: &mut [f32]) = root_body;
}
dispatch! {
    /// `|factor g| / (sqrt(vhat) + eps)`; returns how many lie above one.
    pub fn ratio, ratio_on<R: Real>(
        factor: f32,
        eps: f32,
        gradient: &[R],
        root: &[f32],
        ratio: &mut [f32],
    ) -> u32 = ratio_body;
}
dispatch! {
    /// `|factor (a - b)| / (sqrt(vhat) + eps)`, the numerator formed in `f64`.
    pub fn ratio_of_difference, ratio_of_difference_on<R: Real>(
        factor: f64,
        eps: f32,
        a: &[R],
        b: &[R],
        root: &[f32],
        ratio: &mut [f32],
    ) = ratio_of_difference_body;
}
dispatch! {
    /// `w = 1 / (sqrt(vhat) + eps)` and the reference gradient times `w`.
    pub fn weights, weights_on<R: Real>(
        eps: f32,
        root: &[f32],
        full: &[R],
        weight: &mut [f64],
        own: &mut [f64],
    ) = weights_body;
}
dispatch! {
    /// Terms of `|w g|^2` and `(w g) . (w g_FF)`.
    pub fn scaled_terms, scaled_terms_on<R: Real>(
        gradient: &[R],
        weight: &[f64],
        full: &[f64],
        terms: &mut [[f64; 2]],
    ) = scaled_terms_body;
}
dispatch! {
    /// Terms of `sign(g) . direction` and `|direction|^2`; returns how many gradients are not zero and how
    /// many weights are saturated.
    pub fn sign_terms, sign_terms_on<R: Real>(
        d: Direction,
        gradient: &[R],
        first: &[R],
        second: &[R],
        terms: &mut [[f64; 2]],
    ) -> [u32; 2] = sign_terms_body;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Isa;

    const N: usize = 77;

    fn values(k: usize, scale: f32) -> Vec<f32> {
        (0..N).map(|i| scale * ((i * k % 23) as f32 - 11.0)).collect()
    }

    #[test]
    fn terms_are_those_of_the_formulas_on_every_path() {
        let (g, m, full) = (values(7, 0.3), values(5, 0.01), values(9, 1.7));
        let v: Vec<f32> = values(3, 0.05).iter().map(|x| x * x).collect();
        let d = Direction {
            keep1: 0.9,
            new1: 0.1,
            keep2: 0.999,
            new2: 0.001,
            unbias1: 1.3,
            unbias2: 40.0,
            eps: 1e-8,
            threshold: 0.05,
        };
        for isa in Isa::available() {
            let (mut scale, mut rho, mut added) = ([0.0; N], [0.0; N], [0.0; N]);
            root_on(isa, d.unbias2, &v, &mut scale);
            let above = ratio_on(isa, 0.25, d.eps, &g, &scale, &mut rho);
            ratio_of_difference_on(isa, 0.25, d.eps, &g, &full, &scale, &mut added);
            let (mut weight, mut own, mut scaled) = ([0.0; N], [0.0; N], [[0.0; 2]; N]);
            weights_on(isa, d.eps, &scale, &full, &mut weight, &mut own);
            scaled_terms_on(isa, &g, &weight, &own, &mut scaled);
            let mut signs = [[0.0; 2]; N];
            let [nonzero, saturated] = sign_terms_on(isa, d, &g, &m, &v, &mut signs);
            let mut counts = [0; 3];
            for i in 0..N {
                let (g, m, v, root) = (g[i], m[i], v[i], (v[i] * d.unbias2).sqrt());
                assert_eq!(scale[i], root, "{isa}");
                assert_eq!(rho[i], (g * 0.25).abs() / (root + d.eps), "{isa}");
                let difference = (f64::from(g) - f64::from(full[i])) * 0.25;
                assert_eq!(added[i], difference.abs() as f32 / (root + d.eps), "{isa}");
                let w = 1.0 / f64::from(root + d.eps);
                let (a, b) = (f64::from(g) * w, f64::from(full[i]) * w);
                assert_eq!(scaled[i], [a * a, a * b], "{isa}");
                let mean = (d.keep1 * m + d.new1 * g) * d.unbias1;
                let after = ((d.keep2 * v + d.new2 * (g * g)) * d.unbias2).sqrt();
                let direction = f64::from(mean / (after + d.eps));
                let sign = f64::from(i8::from(g > 0.0) - i8::from(g < 0.0));
                assert_eq!(signs[i], [sign * direction, direction * direction], "{isa}");
                counts[0] += u32::from(rho[i] > 1.0);
                counts[1] += u32::from(g != 0.0);
                counts[2] += u32::from(mean.abs() > d.threshold * after);
            }
            assert_eq!([above, nonzero, saturated], counts, "{isa}");
            assert!(counts.iter().all(|count| (1..N as u32).contains(count)), "{counts:?}");
        }
    }
}
