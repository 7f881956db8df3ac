//! `atanh(z) / z` and `sin(h) / h` with their slopes, by even series near zero: a rhumb line on the
//! sphere needs both where the direct quotients lose every digit.

use crate::Real;

#[inline(always)]
pub(crate) fn atanh_ratio<R: Real>(z: R) -> R {
    let s = z * z;
    let c = R::from_f64;
    let series = c(1.0 / 7.0).mul_add(s, c(0.2)).mul_add(s, c(1.0 / 3.0)).mul_add(s, R::ONE);
    let small = z.abs() < c(1e-3);
    let safe = if small { c(0.5) } else { z };
    let quotient = safe.atanh() / safe;
    if small { series } else { quotient }
}

/// d/dz (atanh(z)/z) = (1/(1-z^2) - atanh(z)/z) / z; series 2z/3 + 4z^3/5 + 6z^5/7.
#[inline(always)]
pub(crate) fn atanh_ratio_slope<R: Real>(z: R, value: R) -> R {
    let s = z * z;
    let c = R::from_f64;
    let small = z.abs() < c(5e-2);
    let series = z * c(10.0 / 11.0)
        .mul_add(s, c(8.0 / 9.0))
        .mul_add(s, c(6.0 / 7.0))
        .mul_add(s, c(0.8))
        .mul_add(s, c(2.0 / 3.0));
    let safe = if small { c(0.5) } else { z };
    let direct = (R::ONE / (R::ONE - s) - value) / safe;
    if small { series } else { direct }
}

#[inline(always)]
pub(crate) fn sin_ratio<R: Real>(h: R) -> R {
    let s = h * h;
    let c = R::from_f64;
    let series = c(1.0 / 362_880.0)
        .mul_add(s, c(-1.0 / 5_040.0))
        .mul_add(s, c(1.0 / 120.0))
        .mul_add(s, c(-1.0 / 6.0))
        .mul_add(s, R::ONE);
    let small = h.abs() < c(1e-1);
    let safe = if small { R::ONE } else { h };
    let quotient = safe.sin() / safe;
    if small { series } else { quotient }
}

/// d/dh (sin(h)/h) = (cos(h) - sin(h)/h) / h; series -h/3 + h^3/30 - h^5/840 + h^7/45360.
#[inline(always)]
pub(crate) fn sin_ratio_slope<R: Real>(h: R, value: R) -> R {
    let s = h * h;
    let c = R::from_f64;
    let small = h.abs() < c(2e-1);
    let series = h * c(-1.0 / 3_991_680.0)
        .mul_add(s, c(1.0 / 45_360.0))
        .mul_add(s, c(-1.0 / 840.0))
        .mul_add(s, c(1.0 / 30.0))
        .mul_add(s, c(-1.0 / 3.0));
    let safe = if small { R::ONE } else { h };
    let direct = (safe.cos() - value) / safe;
    if small { series } else { direct }
}
