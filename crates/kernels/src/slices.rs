//! The functions of [`crate::math`] over slices, compiled once per code path.
//!
//! Each `map_*` writes `out[i] = f(x[i])`. The slices must have the same length; lanes never meet,
//! so an element's bits depend on nothing but that element.

use crate::Real;
use crate::isa::dispatch;

macro_rules! maps {
    ($($(#[$meta:meta])* $name:ident, $on:ident = $function:ident;)*) => {
        mod body {
            use crate::Real;
            $(
                #[inline(always)]
                pub(super) fn $function<R: Real>(x: &[R], out: &mut [R]) {
                    assert_eq!(x.len(), out.len());
                    for (y, &x) in out.iter_mut().zip(x) {
                        *y = x.$function();
                    }
                }
            )*
        }
        $(dispatch! {
            $(#[$meta])*
            pub fn $name, $on<R: Real>(x: &[R], out: &mut [R]) = body::$function;
        })*
    };
}

maps! {
    /// e^x of every element.
    map_exp, map_exp_on = exp;
    /// Natural logarithm of every element.
    map_ln, map_ln_on = ln;
    /// Sine of every element.
    map_sin, map_sin_on = sin;
    /// Cosine of every element.
    map_cos, map_cos_on = cos;
    /// Tangent of every element.
    map_tan, map_tan_on = tan;
    /// Hyperbolic tangent of every element.
    map_tanh, map_tanh_on = tanh;
    /// Inverse hyperbolic tangent of every element.
    map_atanh, map_atanh_on = atanh;
    /// 1 / (1 + e^-x) of every element.
    map_sigmoid, map_sigmoid_on = sigmoid;
}
