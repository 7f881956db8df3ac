//! GELU in its tanh form, saving the derivative in the forward.
//!
//! `gelu(x) = x/2 (1 + tanh(u))`, `u = c (x + a x^3)`, `c = sqrt(2/pi)`, `a = 0.044715`;
//! `gelu'(x) = (1 + tanh(u))/2 + x/2 (1 - tanh(u)^2) c (1 + 3 a x^2)`.

use crate::Real;
use crate::isa::dispatch;

const C: f64 = 0.797_884_560_802_865_4;
const A: f64 = 0.044_715;

#[inline(always)]
fn forward_body<R: Real>(x: &[R], y: &mut [R], derivative: &mut [R]) {
    let (half, c, a) = (R::from_f64(0.5), R::from_f64(C), R::from_f64(A));
    let three_a = R::from_f64(3.0 * A);
    let n = x.len();
    let (y, derivative) = (&mut y[..n], &mut derivative[..n]);
    for i in 0..n {
        let v = x[i];
        let square = v * v;
        let tanh = (c * v * a.mul_add(square, R::ONE)).tanh();
        let gate = half.mul_add(tanh, half);
        let slope = half * v * (R::ONE - tanh * tanh) * (c * three_a.mul_add(square, R::ONE));
        y[i] = v * gate;
        derivative[i] = gate + slope;
    }
}

dispatch! {
    /// `y = gelu(x)` and `derivative = gelu'(x)`.
    pub fn gelu<R: Real>(x: &[R], y: &mut [R], derivative: &mut [R]) = forward_body;
}
