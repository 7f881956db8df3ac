//! Transcendental functions in double precision. See [`crate::math`] for the decisions.

/// `sin`, `cos` and `tan` are NaN beyond this absolute value, 2^30.
pub const TRIGONOMETRIC_DOMAIN: f64 = 1_073_741_824.0;

/// Adding 1.5 * 2^52 leaves the nearest integer in the low bits of the sum.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// 2^52, and the bits that make an integer below it the float 2^52 + that integer.
const TWO_52: f64 = 4_503_599_627_370_496.0;
const TWO_52_BITS: u64 = 0x4330_0000_0000_0000;
const MANTISSA: u64 = 0x000f_ffff_ffff_ffff;
const SQRT_HALF_BITS: u64 = 0x3fe6_a09e_667f_3bcd;
const SIGN: u64 = 0x8000_0000_0000_0000;
const LN_2: [f64; 2] = [std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17];
const HALF_LN_2: [f64; 2] = [0.346_573_590_279_972_64, 1.159_523_406_923_149_8e-17];
const HALF_PI: [f64; 3] =
    [std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17, -1.497_384_904_859_169_8e-33];

/// c[0] + c[1] x + ..., by Horner's rule.
#[inline(always)]
fn polynomial<const N: usize>(x: f64, c: [f64; N]) -> f64 {
    let mut sum = c[N - 1];
    for i in (0..N - 1).rev() {
        sum = sum.mul_add(x, c[i]);
    }
    sum
}

/// The power of two with this biased exponent.
#[inline(always)]
fn power_of_two(biased: u64) -> f64 {
    f64::from_bits(biased << 52)
}

/// Gives a result computed at |x| the sign of x.
#[inline(always)]
fn signed_as(magnitude: f64, x: f64) -> f64 {
    f64::from_bits(magnitude.to_bits() ^ (x.to_bits() & SIGN))
}

/// Writes x = n ln 2 + r with |r| <= (ln 2)/2 (a little more after rounding); returns e^r - 1
/// beside n, which is given as the bit pattern of n + `ROUND`.
#[inline(always)]
fn reduced_exp_m1(x: f64) -> (u64, f64) {
    let shifted = x.mul_add(std::f64::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = n.mul_add(-LN_2[0], x); // exact
    let r = n.mul_add(-LN_2[1], r);
    let q = polynomial(
        r,
        [
            0.5,
            0.166_666_666_666_666_7,
            0.041_666_666_666_666_67,
            0.008_333_333_333_326_12,
            0.001_388_888_888_888_386_7,
            0.000_198_412_698_748_739_75,
            2.480_158_732_534_016_2e-5,
            2.755_725_533_255_441e-6,
            2.755_727_379_918_863_3e-7,
            2.510_524_515_390_137e-8,
            2.091_464_523_699_868_5e-9,
        ],
    );
    (shifted.to_bits(), (r * r).mul_add(q, r))
}

/// e^x, within 1 ulp. Overflows to infinity, underflows gradually through subnormals to 0.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    let bounded = if x > 710.0 { 710.0 } else { x };
    let bounded = if bounded < -746.0 { -746.0 } else { bounded };
    let (n, m1) = reduced_exp_m1(bounded);
    // 2^n in two factors, because n reaches from -1076 to 1024: only the last product rounds.
    let n = n.wrapping_sub(ROUND.to_bits()).wrapping_add(2048);
    let half = n >> 1;
    let first = power_of_two(half.wrapping_sub(1));
    let second = power_of_two(n.wrapping_sub(half).wrapping_sub(1));
    let y = (1.0 + m1) * first * second;
    if x.is_nan() { f64::NAN } else { y }
}

/// Natural logarithm, within 1 ulp. Minus infinity at either zero, NaN below zero.
#[inline(always)]
pub fn ln(x: f64) -> f64 {
    let subnormal = x < f64::MIN_POSITIVE;
    let scaled = if subnormal { x * TWO_52 } else { x };
    let bias = if subnormal { TWO_52 + 1075.0 } else { TWO_52 + 1023.0 };
    // x = 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2).
    let bits = scaled.to_bits().wrapping_add(0x3ff0_0000_0000_0000 - SQRT_HALF_BITS);
    let k = f64::from_bits((bits >> 52) | TWO_52_BITS) - bias;
    let f = f64::from_bits((bits & MANTISSA).wrapping_add(SQRT_HALF_BITS)) - 1.0;
    // ln(1 + f) = 2 atanh s with s = f / (2 + f), arranged so that f itself is never rounded:
    // ln(1 + f) = f - (f^2/2 - s (f^2/2 + z p(z))), z = s^2.
    let s = f / (2.0 + f);
    let z = s * s;
    let p = polynomial(
        z,
        [
            0.666_666_666_666_667,
            0.399_999_999_998_994_55,
            0.285_714_286_259_985_6,
            0.222_222_111_310_285_2,
            0.181_828_893_996_777_2,
            0.153_317_124_793_813_01,
            0.146_165_624_221_046_45,
        ],
    );
    let half_square = 0.5 * f * f;
    let inner = s.mul_add(z.mul_add(p, half_square), k * LN_2[1]);
    let y = k.mul_add(LN_2[0], f - (half_square - inner));
    let y = if x == f64::INFINITY { f64::INFINITY } else { y };
    let y = if x == 0.0 { f64::NEG_INFINITY } else { y };
    if x >= 0.0 { y } else { f64::NAN }
}

/// |x| = n pi/2 + r with |r| <= pi/4 (a little more after rounding).
struct Quadrant {
    /// n modulo 2^51, in the low bits.
    n: u64,
    sin: f64,
    cos: f64,
}

#[inline(always)]
fn quadrant(magnitude: f64) -> Quadrant {
    let shifted = magnitude.mul_add(std::f64::consts::FRAC_2_PI, ROUND);
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
    let s = polynomial(
        z,
        [
            -0.166_666_666_666_666_63,
            0.008_333_333_333_330_641,
            -0.000_198_412_698_362_988_18,
            2.755_731_586_699_187_3e-6,
            -2.505_108_334_942_492e-8,
            1.591_467_783_346_350_4e-10,
        ],
    );
    let sin = r + (z * r).mul_add(s, low);
    let c = polynomial(
        z,
        [
            0.041_666_666_666_666_664,
            -0.001_388_888_888_888_720_5,
            2.480_158_729_847_807e-5,
            -2.755_731_712_436_578_6e-7,
            2.087_611_592_985_403e-9,
            -1.138_047_319_630_972_6e-11,
        ],
    );
    let half = -0.5 * r;
    let head = half.mul_add(r, 1.0);
    let rounding = half.mul_add(r, 1.0 - head);
    let cos = head + (z * z).mul_add(c, r.mul_add(-low, rounding));
    Quadrant { n: shifted.to_bits(), sin, cos }
}

/// Selects by the lowest bit of the quadrant.
#[inline(always)]
fn pick(n: u64, even: f64, odd: f64) -> f64 {
    if n & 1 == 0 { even } else { odd }
}

/// Sine of x radians, within 1 ulp for |x| <= [`TRIGONOMETRIC_DOMAIN`], also beside multiples of
/// pi; NaN beyond.
#[inline(always)]
pub fn sin(x: f64) -> f64 {
    let q = quadrant(x.abs());
    let y = pick(q.n, q.sin, q.cos);
    let y = signed_as(f64::from_bits(y.to_bits() ^ ((q.n & 2) << 62)), x);
    if x.abs() <= TRIGONOMETRIC_DOMAIN { y } else { f64::NAN }
}

/// Cosine of x radians, within 1 ulp for |x| <= [`TRIGONOMETRIC_DOMAIN`], also beside odd multiples
/// of pi/2; NaN beyond.
#[inline(always)]
pub fn cos(x: f64) -> f64 {
    let q = quadrant(x.abs());
    let y = pick(q.n, q.cos, q.sin);
    let y = f64::from_bits(y.to_bits() ^ ((q.n.wrapping_add(1) & 2) << 62));
    if x.abs() <= TRIGONOMETRIC_DOMAIN { y } else { f64::NAN }
}

/// Tangent of x radians, within 2.5 ulp for |x| <= [`TRIGONOMETRIC_DOMAIN`]; NaN beyond.
#[inline(always)]
pub fn tan(x: f64) -> f64 {
    let q = quadrant(x.abs());
    let y = pick(q.n, q.sin, q.cos) / pick(q.n, q.cos, q.sin);
    let y = signed_as(f64::from_bits(y.to_bits() ^ (q.n << 63)), x);
    if x.abs() <= TRIGONOMETRIC_DOMAIN { y } else { f64::NAN }
}

/// numerator / (a + b) for a, b >= 0, as if the sum were not rounded. (`low` is the rounding of the
/// sum as long as a is not below its last place; beyond that it is 0 and the quotient is 1.)
#[inline(always)]
fn quotient(numerator: f64, a: f64, b: f64) -> f64 {
    let sum = a + b;
    let low = b - (sum - a);
    let inverse = 1.0 / sum;
    let y = numerator * inverse;
    let rest = y.mul_add(-low, y.mul_add(-sum, numerator));
    rest.mul_add(inverse, y)
}

/// Hyperbolic tangent, within 2 ulp; exactly 1 or -1 for |x| >= 20.
#[inline(always)]
pub fn tanh(x: f64) -> f64 {
    let magnitude = if x.abs() > 20.0 { 20.0 } else { x.abs() };
    // tanh a = m / (m + 2) with m = e^(2a) - 1 = 2^n (e^r - 1) + (2^n - 1), n >= 0.
    let (n, m1) = reduced_exp_m1(2.0 * magnitude);
    let scale = power_of_two(n.wrapping_sub(ROUND.to_bits()).wrapping_add(1023));
    let m = scale.mul_add(m1, scale - 1.0);
    let y = signed_as(quotient(m, 2.0, m), x);
    if x.is_nan() { f64::NAN } else { y }
}

/// Inverse hyperbolic tangent, within 2 ulp. Infinite at 1 and -1, NaN beyond.
#[inline(always)]
pub fn atanh(x: f64) -> f64 {
    let magnitude = x.abs();
    let a = if magnitude < 1.0 { magnitude } else { 0.5 };
    // (1 + a) / (1 - a) = 2^k (1 + s) / (1 - s), so atanh a = k (ln 2)/2 + atanh s, |s| < 0.201.
    // The difference of the bit patterns is the base-2 logarithm of the ratio, to within 0.09.
    let above = 1.0 + a;
    let below = 1.0 - a;
    let k = above.to_bits().wrapping_sub(below.to_bits()).wrapping_add(1 << 51) >> 52;
    let scale = power_of_two(k.wrapping_add(1023));
    // Where 1 - a rounds, k is small and 1 + 2^k is exact; where 1 + 2^k rounds, 1 - a is exact.
    let scaled = scale * below;
    let small = k <= 50;
    let (up, down) = (1.0 + scale, 1.0 - scale);
    let numerator = if small { a.mul_add(up, down) } else { (1.0 - scaled) + a };
    let denominator = if small { a.mul_add(down, up) } else { above + scaled };
    let s = numerator / denominator;
    let z = s * s;
    let p = polynomial(
        z,
        [
            0.333_333_333_333_333_3,
            0.200_000_000_000_040_15,
            0.142_857_142_836_187_42,
            0.111_111_115_273_740_8,
            0.090_908_685_623_775_71,
            0.076_944_439_110_565_45,
            0.066_046_574_645_522_41,
            0.068_060_240_451_019_31,
        ],
    );
    let k = f64::from_bits(k | TWO_52_BITS) - TWO_52;
    let tail = (z * s).mul_add(p, k * HALF_LN_2[1]);
    let y = k.mul_add(HALF_LN_2[0], s + tail);
    let y = if magnitude == 1.0 { f64::INFINITY } else { y };
    if magnitude <= 1.0 { signed_as(y, x) } else { f64::NAN }
}

/// 1 / (1 + e^-x), within 1.5 ulp, also where it is tiny: for very negative x it is e^x, down to
/// subnormals and 0.
#[inline(always)]
pub fn sigmoid(x: f64) -> f64 {
    let t = exp(-x.abs());
    let numerator = if x < 0.0 { t } else { 1.0 };
    let y = quotient(numerator, 1.0, t);
    if x.is_nan() { f64::NAN } else { y }
}
