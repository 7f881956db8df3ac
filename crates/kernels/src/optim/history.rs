//! A gradient against what an optimizer's moments remember, weight by weight: ratios, and the terms
//! of sums that [`crate::reduce::add_in_sequence`] adds up.
//!
//! Everything is `f32` whatever the precision of the vectors, but for the terms, which are `f64`.

use crate::Real;
use crate::isa::dispatch;

/// What gradients are held against, `sqrt(vhat) + eps`, by a second moment that lacks its bias
/// correction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scale {
    /// Bias correction of the second moment.
    pub unbias: f32,
    /// Added to the square root.
    pub eps: f32,
}

/// A rule's direction after a step, weight by weight and in `f32`; decay is no part of it.
pub(super) trait Directed: Copy {
    /// The direction under a gradient, with the memory before the step; and whether it is
    /// *saturated*: within a tenth of the largest that any gradient brings about.
    fn element(&self, g: f32, first: f32, second: f32) -> (f32, bool);
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
fn sign_terms_body<R: Real, D: Directed>(
    d: D,
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
        let (direction, is_saturated) = d.element(g, m, v);
        let positive = if g > 0.0 { 1f32 } else { 0.0 };
        let sign = if g < 0.0 { -1.0 } else { positive };
        let wide = f64::from(direction);
        terms[i] = [f64::from(sign * direction), wide * wide];
        nonzero += u32::from(g != 0.0);
        saturated += u32::from(is_saturated);
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
    /// Terms of `sign(g) . direction` and `|direction|^2`; returns how many gradients are not zero
    /// and how many weights are saturated.
    pub(super) fn sign_terms_on<R: Real, D: Directed>(
        d: D,
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

    /// A direction that sees everything.
    #[derive(Clone, Copy)]
    struct Mixed;

    impl Directed for Mixed {
        fn element(&self, g: f32, m: f32, v: f32) -> (f32, bool) {
            (0.9 * m + 0.1 * g / (v + 0.5), g > m)
        }
    }

    fn values(k: usize, scale: f32) -> Vec<f32> {
        (0..N).map(|i| scale * ((i * k % 23) as f32 - 11.0)).collect()
    }

    #[test]
    fn terms_are_those_of_the_formulas_on_every_path() {
        let (g, m, full) = (values(7, 0.3), values(5, 0.01), values(9, 1.7));
        let v: Vec<f32> = values(3, 0.05).iter().map(|x| x * x).collect();
        let Scale { unbias, eps } = Scale { unbias: 40.0, eps: 1e-8 };
        for isa in Isa::available() {
            let (mut scale, mut rho, mut added) = ([0.0; N], [0.0; N], [0.0; N]);
            root_on(isa, unbias, &v, &mut scale);
            let above = ratio_on(isa, 0.25, eps, &g, &scale, &mut rho);
            ratio_of_difference_on(isa, 0.25, eps, &g, &full, &scale, &mut added);
            let (mut weight, mut own, mut scaled) = ([0.0; N], [0.0; N], [[0.0; 2]; N]);
            weights_on(isa, eps, &scale, &full, &mut weight, &mut own);
            scaled_terms_on(isa, &g, &weight, &own, &mut scaled);
            let mut signs = [[0.0; 2]; N];
            let [nonzero, saturated] = sign_terms_on(isa, Mixed, &g, &m, &v, &mut signs);
            let mut counts = [0; 3];
            for i in 0..N {
                let (g, m, v, root) = (g[i], m[i], v[i], (v[i] * unbias).sqrt());
                assert_eq!(scale[i], root, "{isa}");
                assert_eq!(rho[i], (g * 0.25).abs() / (root + eps), "{isa}");
                let difference = (f64::from(g) - f64::from(full[i])) * 0.25;
                assert_eq!(added[i], difference.abs() as f32 / (root + eps), "{isa}");
                let w = 1.0 / f64::from(root + eps);
                let (a, b) = (f64::from(g) * w, f64::from(full[i]) * w);
                assert_eq!(scaled[i], [a * a, a * b], "{isa}");
                let direction = f64::from(Mixed.element(g, m, v).0);
                let sign = f64::from(i8::from(g > 0.0) - i8::from(g < 0.0));
                assert_eq!(signs[i], [sign * direction, direction * direction], "{isa}");
                counts[0] += u32::from(rho[i] > 1.0);
                counts[1] += u32::from(g != 0.0);
                counts[2] += u32::from(g > m);
            }
            assert_eq!([above, nonzero, saturated], counts, "{isa}");
            assert!(counts.iter().all(|count| (1..N as u32).contains(count)), "{counts:?}");
        }
    }
}
