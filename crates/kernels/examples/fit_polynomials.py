"""Prints the polynomial coefficients of `src/math/{f32,f64}.rs`. Needs mpmath.

Each target is interpolated at Chebyshev nodes of its interval in 120 digits, then every coefficient is
rounded to the working type. The printed error is that of the rounded polynomial, relative to the
whole function (the weight beside each target). The constants after them are exact sums of parts, for
reductions with fused multiply-add.
"""

import struct
from mpmath import mp, mpf, atanh, cos, exp, log, log1p, pi, sin, sqrt

mp.dps = 120


def to_f32(x):
    return struct.unpack("f", struct.pack("f", float(x)))[0]


def interpolate(target, lo, hi, count):
    nodes = [(lo + hi) / 2 + (hi - lo) / 2 * cos(pi * (2 * i + 1) / (2 * count)) for i in range(count)]
    values = [target(x) for x in nodes]
    # Newton's divided differences, then expansion into monomials.
    table = values[:]
    for level in range(1, count):
        for i in range(count - 1, level - 1, -1):
            table[i] = (table[i] - table[i - 1]) / (nodes[i] - nodes[i - level])
    poly = [mpf(0)]
    for i in range(count - 1, -1, -1):
        shifted = [mpf(0)] + poly
        for j, c in enumerate(poly):
            shifted[j] -= c * nodes[i]
        shifted[0] += table[i]
        poly = shifted
    return poly[:count]


def fit(name, target, weight, lo, hi, count, rounding):
    lo, hi = mpf(lo), mpf(hi)
    # The targets are quotients that vanish over vanish at 0: step aside, with digits to spare.
    aside = lambda x: target(x if abs(x) > 1e-20 else mpf("1e-20"))
    done = [mpf(rounding(c)) for c in interpolate(aside, lo, hi, count)]
    worst = mpf(0)
    for i in range(1001):
        x = lo + (hi - lo) * (i + mpf("0.5")) / 1001
        p = sum(c * x**j for j, c in enumerate(done))
        worst = max(worst, abs((p - aside(x)) * weight(x)))
    kind = "f32" if rounding is to_f32 else "f64"
    print(f"{name} {kind}: {count} coefficients, relative error 2^{float(log(worst, 2)):.1f}")
    for c in done:
        print(f"    {to_f32_text(c) if rounding is to_f32 else repr(float(c))},")


def to_f32_text(c):
    for digits in range(6, 12):
        text = f"{float(c):.{digits}e}"
        if to_f32(float(text)) == float(c):
            return text
    raise ValueError(c)


def parts(name, value, count, rounding):
    print(name, "f32" if rounding is to_f32 else "f64")
    for _ in range(count):
        c = rounding(value)
        print(f"    {to_f32_text(c) if rounding is to_f32 else repr(float(c))}")
        value -= mpf(c)


half_ln2 = mpf("0.3467")
quarter = mpf("0.795")  # pi/4, widened by the rounding of the quotient
squared = quarter**2

exp_q = lambda r: (exp(r) - 1 - r) / r**2
sin_s = lambda z: (sin(sqrt(z)) / sqrt(z) - 1) / z
cos_c = lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2
ln_p = lambda f: (log1p(f) - f + f**2 / 2) / f**3
ln_l = lambda z: (2 * atanh(sqrt(z)) / sqrt(z) - 2) / z
atanh_a = lambda z: (atanh(sqrt(z)) / sqrt(z) - 1) / z

for rounding, n_exp, n_sin, n_cos, n_atanh in ((to_f32, 6, 3, 3, 4), (float, 11, 6, 6, 8)):
    fit("exp: (e^r - 1 - r)/r^2", exp_q, lambda r: r**2, -half_ln2, half_ln2, n_exp, rounding)
    fit("sin: (sin r / r - 1)/z", sin_s, lambda z: z, 0, squared, n_sin, rounding)
    fit("cos: (cos r - 1 + z/2)/z^2", cos_c, lambda z: z**2 * mpf("1.43"), 0, squared, n_cos, rounding)
    fit("atanh: (atanh s / s - 1)/z", atanh_a, lambda z: z, 0, mpf("0.2004") ** 2, n_atanh, rounding)
    if rounding is to_f32:
        fit("ln: (ln(1+f) - f + f^2/2)/f^3", ln_p, lambda f: f**2, sqrt(mpf("0.5")) - 1, sqrt(mpf(2)) - 1, 9, rounding)
    else:
        fit("ln: (2 atanh s / s - 2)/z", ln_l, lambda z: z / 2, 0, mpf("0.17158") ** 2, 7, rounding)
    parts("ln 2", log(mpf(2)), 2, rounding)
    parts("(ln 2)/2", log(mpf(2)) / 2, 2, rounding)
    parts("pi/2", pi / 2, 3, rounding)
