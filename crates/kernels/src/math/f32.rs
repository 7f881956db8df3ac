//! Transcendental functions in single precision. See [`crate::math`] for the decisions.

/// `sin`, `cos` and `tan` are NaN beyond this absolute value, 2^17.
pub const TRIGONOMETRIC_DOMAIN: f32 = 131_072.0;

/// Adding 1.5 * 2^23 leaves the nearest integer in the low bits of the sum.
const ROUND: f32 = 12_582_912.0;
const SIGN: u32 = 0x8000_0000;
const LN_2: [f32; 2] = [std::f32::consts::LN_2, -1.904_654_2e-9];
const HALF_LN_2: [f32; 2] = [3.465_736e-1, -9.523_271e-10];
const HALF_PI: [f32; 3] = [std::f32::consts::FRAC_PI_2, -4.371_139e-8, -1.715_124_5e-15];

/// c[0] + c[1] x + ..., by Horner's rule.
#[inline(always)]
fn polynomial<const N: usize>(x: f32, c: [f32; N]) -> f32 {
    let mut sum = c[N - 1];
    for i in (0..N - 1).rev() {
        sum = sum.mul_add(x, c[i]);
    }
    sum
}

/// The power of two with this biased exponent.
#[inline(always)]
fn power_of_two(biased: u32) -> f32 {
    f32::from_bits(biased << 23)
}

/// Gives a result computed at |x| the sign of x.
#[inline(always)]
fn signed_as(magnitude: f32, x: f32) -> f32 {
    f32::from_bits(magnitude.to_bits() ^ (x.to_bits() & SIGN))
}

/// Writes x = n ln 2 + r with |r| <= (ln 2)/2 (a little more after rounding); returns e^r - 1
/// beside n, which is given as the bit pattern of n + `ROUND`.
#[inline(always)]
fn reduced_exp_m1(x: f32) -> (u32, f32) {
    let shifted = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = n.mul_add(-LN_2[0], x); // exact
    let r = n.mul_add(-LN_2[1], r);
    let q = polynomial(
        r,
        [5e-1, 1.666_666_7e-1, 4.166_646_3e-2, 8.333_310_5e-3, 1.393_367_4e-3, 1.989_101_7e-4],
    );
    (shifted.to_bits(), (r * r).mul_add(q, r))
}

/// e^x, within 1 ulp. Overflows to infinity, underflows gradually through subnormals to 0.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    let bounded = if x > 89.0 { 89.0 } else { x };
    let bounded = if bounded < -104.0 { -104.0 } else { bounded };
    let (n, m1) = reduced_exp_m1(bounded);
    // 2^n in two factors, because n reaches from -150 to 128: only the last product rounds.
    let n = n.wrapping_sub(ROUND.to_bits()).wrapping_add(256);
    let half = n >> 1;
    let first = power_of_two(half.wrapping_sub(1));
    let second = power_of_two(n.wrapping_sub(half).wrapping_sub(1));
    let y = (1.0 + m1) * first * second;
    if x.is_nan() { f32::NAN } else { y }
}

/// Natural logarithm, within 1 ulp. Minus infinity at either zero, NaN below zero.
#[inline(always)]
pub fn ln(x: f32) -> f32 {
    let subnormal = x < f32::MIN_POSITIVE;
    let scaled = if subnormal { x * 8_388_608.0 } else { x };
    let bias = if subnormal { 8_388_608.0 + 150.0 } else { 8_388_608.0 + 127.0 };
    // x = 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2).
    let bits = scaled.to_bits().wrapping_add(0x3f80_0000 - 0x3f35_04f3);
    let k = f32::from_bits((bits >> 23) | 0x4b00_0000) - bias;
    let f = f32::from_bits((bits & 0x007f_ffff).wrapping_add(0x3f35_04f3)) - 1.0;
    let p = polynomial(
        f,
        [
            3.333_333e-1,
            -2.499_999_7e-1,
            2.000_071_6e-1,
            -1.666_780_3e-1,
            1.424_905_8e-1,
            -1.242_568_7e-1,
            1.168_542e-1,
            -1.147_973_4e-1,
            6.971_612e-2,
        ],
    );
    // ln(1 + f) = f + (f^3 p - f^2/2), and k ln 2 in two parts.
    let square = f * f;
    let tail = square.mul_add(f.mul_add(p, -0.5), k * LN_2[1]);
    let y = k.mul_add(LN_2[0], f + tail);
    let y = if x == f32::INFINITY { f32::INFINITY } else { y };
    let y = if x == 0.0 { f32::NEG_INFINITY } else { y };
    if x >= 0.0 { y } else { f32::NAN }
}

/// |x| = n pi/2 + r with |r| <= pi/4 (a little more after rounding).
struct Quadrant {
    /// n modulo 2^22, in the low bits.
    n: u32,
    sin: f32,
    cos: f32,
}

#[inline(always)]
fn quadrant(magnitude: f32) -> Quadrant {
    let shifted = magnitude.mul_add(std::f32::consts::FRAC_2_PI, ROUND);
    let n = shifted - ROUND;
    // Cody and Waite with fused multiply-add: the first difference is exact, and so is the second,
    // as r + low (a two-sum). The reduction stays accurate beside a multiple of pi/2.
    let first = n.mul_add(-HALF_PI[0], magnitude);
    let product = n * HALF_PI[1];
    let r = first - product;
    let back = r - first;
    let low = (first - (r - back)) - (product + back);
    let low = low - n.mul_add(HALF_PI[1], -product);
    let low = n.mul_add(-HALF_PI[2], low);

    let z = r * r;
    let s = polynomial(z, [-1.666_666_4e-1, 8.332_719e-3, -1.958_169_7e-4]);
    let sin = r + (z * r).mul_add(s, low);
    let c = polynomial(z, [4.166_666_4e-2, -1.388_827_3e-3, 2.454_173_6e-5]);
    let half = -0.5 * r;
    let head = half.mul_add(r, 1.0);
    let rounding = half.mul_add(r, 1.0 - head);
    let cos = head + (z * z).mul_add(c, r.mul_add(-low, rounding));
    Quadrant { n: shifted.to_bits(), sin, cos }
}

/// Selects by the lowest bit of the quadrant.
#[inline(always)]
fn pick(n: u32, even: f32, odd: f32) -> f32 {
    if n & 1 == 0 { even } else { odd }
}

/// Sine of x radians, within 1 ulp for |x| <= [`TRIGONOMETRIC_DOMAIN`], also beside multiples of
/// pi; NaN beyond.
#[inline(always)]
pub fn sin(x: f32) -> f32 {
    let q = quadrant(x.abs());
    let y = pick(q.n, q.sin, q.cos);
    let y = signed_as(f32::from_bits(y.to_bits() ^ ((q.n & 2) << 30)), x);
    if x.abs() <= TRIGONOMETRIC_DOMAIN { y } else { f32::NAN }
}

/// Cosine of x radians, within 1 ulp for |x| <= [`TRIGONOMETRIC_DOMAIN`], also beside odd multiples
/// of pi/2; NaN beyond.
#[inline(always)]
pub fn cos(x: f32) -> f32 {
    let q = quadrant(x.abs());
    let y = pick(q.n, q.cos, q.sin);
    let y = f32::from_bits(y.to_bits() ^ ((q.n.wrapping_add(1) & 2) << 30));
    if x.abs() <= TRIGONOMETRIC_DOMAIN { y } else { f32::NAN }
}

/// Tangent of x radians, within 2.5 ulp for |x| <= [`TRIGONOMETRIC_DOMAIN`]; NaN beyond.
#[inline(always)]
pub fn tan(x: f32) -> f32 {
    let q = quadrant(x.abs());
    let y = pick(q.n, q.sin, q.cos) / pick(q.n, q.cos, q.sin);
    let y = signed_as(f32::from_bits(y.to_bits() ^ (q.n << 31)), x);
    if x.abs() <= TRIGONOMETRIC_DOMAIN { y } else { f32::NAN }
}

/// numerator / (a + b) for a, b >= 0, as if the sum were not rounded. (`low` is the rounding of the
/// sum as long as a is not below its last place; beyond that it is 0 and the quotient is 1.)
#[inline(always)]
fn quotient(numerator: f32, a: f32, b: f32) -> f32 {
    let sum = a + b;
    let low = b - (sum - a);
    let inverse = 1.0 / sum;
    let y = numerator * inverse;
    let rest = y.mul_add(-low, y.mul_add(-sum, numerator));
    rest.mul_add(inverse, y)
}

/// Hyperbolic tangent, within 2 ulp; exactly 1 or -1 for |x| >= 10.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    let magnitude = if x.abs() > 10.0 { 10.0 } else { x.abs() };
    // tanh a = m / (m + 2) with m = e^(2a) - 1 = 2^n (e^r - 1) + (2^n - 1), n >= 0.
    let (n, m1) = reduced_exp_m1(2.0 * magnitude);
    let scale = power_of_two(n.wrapping_sub(ROUND.to_bits()).wrapping_add(127));
    let m = scale.mul_add(m1, scale - 1.0);
    let y = signed_as(quotient(m, 2.0, m), x);
    if x.is_nan() { f32::NAN } else { y }
}

/// Inverse hyperbolic tangent, within 2 ulp. Infinite at 1 and -1, NaN beyond.
#[inline(always)]
pub fn atanh(x: f32) -> f32 {
    let magnitude = x.abs();
    let a = if magnitude < 1.0 { magnitude } else { 0.5 };
    // (1 + a) / (1 - a) = 2^k (1 + s) / (1 - s), so atanh a = k (ln 2)/2 + atanh s, |s| < 0.201.
    // The difference of the bit patterns is the base-2 logarithm of the ratio, to within 0.09.
    let above = 1.0 + a;
    let below = 1.0 - a;
    let k = above.to_bits().wrapping_sub(below.to_bits()).wrapping_add(1 << 22) >> 23;
    let scale = power_of_two(k.wrapping_add(127));
    // Where 1 - a rounds, k is small and 1 + 2^k is exact; where 1 + 2^k rounds, 1 - a is exact.
    let scaled = scale * below;
    let small = k <= 20;
    let (up, down) = (1.0 + scale, 1.0 - scale);
    let numerator = if small { a.mul_add(up, down) } else { (1.0 - scaled) + a };
    let denominator = if small { a.mul_add(down, up) } else { above + scaled };
    let s = numerator / denominator;
    let z = s * s;
    let p = polynomial(z, [3.333_333_4e-1, 2.000_015_8e-1, 1.426_621_2e-1, 1.187_687_4e-1]);
    let k = f32::from_bits(k | 0x4b00_0000) - 8_388_608.0;
    let tail = (z * s).mul_add(p, k * HALF_LN_2[1]);
    let y = k.mul_add(HALF_LN_2[0], s + tail);
    let y = if magnitude == 1.0 { f32::INFINITY } else { y };
    if magnitude <= 1.0 { signed_as(y, x) } else { f32::NAN }
}

/// 1 / (1 + e^-x), within 1.5 ulp, also where it is tiny: for very negative x it is e^x, down to
/// subnormals and 0.
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    let t = exp(-x.abs());
    let numerator = if x < 0.0 { t } else { 1.0 };
    let y = quotient(numerator, 1.0, t);
    if x.is_nan() { f32::NAN } else { y }
}
