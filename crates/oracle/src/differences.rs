//! Directional derivatives by central differences, extrapolated.
//!
//! A central difference of step `h` errs by a series in `h^2`. Four of them at `h, h/2, h/4, h/8`
//! remove the first three terms (Richardson), so a step as large as 0.02 suffices and rounding,
//! which is divided by `h`, stays small: an error near 1e-12 of a smooth function's scale.

use crate::random_program::Random;

const FIRST_STEP: f64 = 0.02;
const LEVELS: usize = 4;

/// The derivative of `f` at `x` along `direction`.
pub fn directional_derivative(f: impl Fn(&[f64]) -> f64, x: &[f64], direction: &[f64]) -> f64 {
    let at = |h: f64| {
        let moved: Vec<f64> = x.iter().zip(direction).map(|(x, d)| x + h * d).collect();
        f(&moved)
    };
    let mut row: Vec<f64> = Vec::new();
    for level in 0..LEVELS {
        let h = FIRST_STEP / 2f64.powi(level as i32);
        let mut next = vec![(at(h) - at(-h)) / (2.0 * h)];
        for (order, coarse) in row.iter().enumerate() {
            let fine = next[order];
            next.push(fine + (fine - coarse) / (4f64.powi(order as i32 + 1) - 1.0));
        }
        row = next;
    }
    row[LEVELS - 1]
}

/// A direction of length one.
pub fn random_direction(len: usize, random: &mut Random) -> Vec<f64> {
    let direction: Vec<f64> = (0..len).map(|_| random.uniform(-1.0, 1.0)).collect();
    let norm = direction.iter().map(|d| d * d).sum::<f64>().sqrt();
    direction.iter().map(|d| d / norm).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_smooth_function_to_twelve_digits() {
        // d/dh exp(sin(x . a)) along a = cos(x . a) exp(sin(x . a)) |a|^2
        let (x, a) = ([0.3, -0.7, 1.1], [0.6, 0.48, 0.64]);
        let dot = |x: &[f64]| x.iter().zip(&a).map(|(x, a)| x * a).sum::<f64>();
        let found = directional_derivative(|x| dot(x).sin().exp(), &x, &a);
        let expected = dot(&x).cos() * dot(&x).sin().exp() * dot(&a);
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }
}
