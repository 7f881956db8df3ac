//! Double-double arithmetic (about 31 digits) and plain, slow series for the functions under test.
//!
//! Shares nothing with the functions it judges: halving of the argument and Taylor series instead
//! of fitted polynomials, constants from their decimal expansions.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// The unevaluated sum of two doubles; the second is at most half an ulp of the first.
#[derive(Clone, Copy, Debug)]
pub struct Dd(pub f64, pub f64);

const LN_2: [f64; 3] =
    [std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17, 5.707_708_438_416_212e-34];
const HALF_PI: [f64; 4] = [
    std::f64::consts::FRAC_PI_2,
    6.123_233_995_736_766e-17,
    -1.497_384_904_859_169_8e-33,
    5.562_271_104_316_826e-50,
];

fn two_sum(a: f64, b: f64) -> Dd {
    let s = a + b;
    let t = s - a;
    Dd(s, (a - (s - t)) + (b - t))
}

fn two_product(a: f64, b: f64) -> Dd {
    let p = a * b;
    Dd(p, a.mul_add(b, -p))
}

impl From<f64> for Dd {
    fn from(x: f64) -> Self {
        Self(x, 0.0)
    }
}

impl Add for Dd {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let s = two_sum(self.0, other.0);
        let t = two_sum(self.1, other.1);
        let s = two_sum(s.0, s.1 + t.0);
        two_sum(s.0, s.1 + t.1)
    }
}

impl Neg for Dd {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0, -self.1)
    }
}

impl Sub for Dd {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Dd {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let p = two_product(self.0, other.0);
        two_sum(p.0, p.1 + (self.0 * other.1 + self.1 * other.0))
    }
}

impl Div for Dd {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let q = self.0 / other.0;
        let rest = self - other * q.into();
        let r = rest.0 / other.0;
        let rest = rest - other * r.into();
        two_sum(q, r) + (rest.0 / other.0).into()
    }
}

impl Dd {
    /// `self - n * (the sum of parts)`, every product exact.
    fn minus_multiple(self, n: f64, parts: &[f64]) -> Self {
        parts.iter().fold(self, |rest, &part| rest - two_product(n, part))
    }

    /// e^x - 1 for |x| <= 0.35: the argument is divided by 64, then (e - 1) is doubled up six
    /// times.
    fn small_exp_m1(self) -> Self {
        let x = Self(self.0 / 64.0, self.1 / 64.0);
        let mut term = x;
        let mut sum = x;
        for n in 2..16 {
            term = term * x / Self::from(f64::from(n));
            sum = sum + term;
        }
        for _ in 0..6 {
            sum = sum * (sum + 2.0.into());
        }
        sum
    }

    /// (2^n, e^r - 1) with x = n ln 2 + r.
    fn split_exp(self) -> (i32, Self) {
        let n = (self.0 / LN_2[0]).round();
        (n as i32, self.minus_multiple(n, &LN_2).small_exp_m1())
    }

    fn scaled(self, n: i32) -> Self {
        let (a, b) = (2f64.powi(n / 2), 2f64.powi(n - n / 2));
        Self(self.0 * a * b, self.1 * a * b)
    }

    fn exp(self) -> Self {
        let (n, m1) = self.split_exp();
        (m1 + 1.0.into()).scaled(n)
    }

    /// Two Newton steps from the standard library's logarithm: y + (x e^-y - 1) - ...
    fn ln(self) -> Self {
        let mut y = Self::from(self.0.ln());
        for _ in 0..2 {
            let (n, m1) = (-y).split_exp();
            let e = self.scaled(n) * (m1 + 1.0.into()) - 1.0.into();
            // ln(1 + e) to second order; |e| < 1e-15 at the first step.
            y = y + e - e * e * 0.5.into();
        }
        y
    }

    /// (sin r, cos r, n) with x = n pi/2 + r.
    fn sin_cos(self) -> (Self, Self, i64) {
        let n = (self.0 / HALF_PI[0]).round();
        let r = self.minus_multiple(n, &HALF_PI);
        let z = -(r * r);
        let (mut s, mut c) = (r, Self::from(1.0));
        let (mut sin, mut cos) = (s, c);
        for k in 1..15 {
            let k = f64::from(2 * k);
            c = c * z / Self::from((k - 1.0) * k);
            s = s * z / Self::from(k * (k + 1.0));
            cos = cos + c;
            sin = sin + s;
        }
        (sin, cos, n as i64)
    }

    /// e^x.
    pub fn exp_of(x: f64) -> Self {
        Self::from(x).exp()
    }

    /// Natural logarithm.
    pub fn ln_of(x: f64) -> Self {
        // Out of the subnormals first, where a low part would be lost.
        let tiny = x < 1e-290;
        let y = Self::from(if tiny { x * 2f64.powi(100) } else { x }).ln();
        if tiny { y.minus_multiple(100.0, &LN_2) } else { y }
    }

    /// Sine.
    pub fn sin_of(x: f64) -> Self {
        let (s, c, n) = Self::from(x).sin_cos();
        [s, c, -s, -c][n.rem_euclid(4) as usize]
    }

    /// Cosine.
    pub fn cos_of(x: f64) -> Self {
        let (s, c, n) = Self::from(x).sin_cos();
        [c, -s, -c, s][n.rem_euclid(4) as usize]
    }

    /// Tangent.
    pub fn tan_of(x: f64) -> Self {
        let (s, c, n) = Self::from(x).sin_cos();
        if n % 2 == 0 { s / c } else { -(c / s) }
    }

    /// Hyperbolic tangent.
    pub fn tanh_of(x: f64) -> Self {
        if x.abs() < 1e-100 {
            return x.into(); // the quotient would lose its low part to underflow
        }
        let (n, m1) = Self::from(2.0 * x).split_exp();
        let m = m1.scaled(n) + (Self::from(2f64.powi(n)) - 1.0.into());
        m / (m + 2.0.into())
    }

    /// Inverse hyperbolic tangent.
    pub fn atanh_of(x: f64) -> Self {
        if x.abs() < 0.01 {
            // Series: x + x^3/3 + ...
            let z = two_product(x, x);
            let (mut term, mut sum) = (Self::from(x), Self::from(x));
            for k in 1..9 {
                term = term * z;
                sum = sum + term / Self::from(f64::from(2 * k + 1));
            }
            return sum;
        }
        let one = Self::from(1.0);
        ((one + x.into()) / (one - x.into())).ln() * 0.5.into()
    }

    /// 1 / (1 + e^-x).
    pub fn sigmoid_of(x: f64) -> Self {
        let t = Self::exp_of(-x.abs());
        let numerator = if x < 0.0 { t } else { 1.0.into() };
        if x < -690.0 { t } else { numerator / (t + 1.0.into()) }
    }
}
