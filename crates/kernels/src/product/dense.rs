//! The product `out = finish(start + x w)`.
//!
//! Rows are taken in tiles of eight (AVX-512) or four, the rest in tiles of four, two and one; fewer
//! rows come with more strips of columns, so that the number of sums in flight stays the same. The
//! start and the finish are part of the tile's life in registers: a bias, a residual or the
//! derivative of an activation costs no pass of its own.

use super::panels::{PANEL, Panels};
use super::tile::{self, Source, Strip, Tile};
use crate::Real;
use crate::isa::{Isa, Path};

/// What an output element starts from.
#[derive(Clone, Copy, Debug)]
pub enum Start<'a, R> {
    /// Zero.
    Zero,
    /// One value per column, length n.
    Bias(&'a [R]),
    /// What `out` holds.
    Accumulate,
}

/// What happens to the finished sum.
#[derive(Clone, Copy, Debug)]
pub enum Finish<'a, R> {
    /// `out = sum`.
    Store,
    /// `out = sum + r`, with `r` laid out like `out`.
    Add(&'a [R]),
    /// `out = sum * d`, with `d` laid out like `out`.
    Times(&'a [R]),
}

/// `out[r][c] = finish(start + sum over k of x[r][k] * w[k][c])`, the sum in the order of k.
///
/// `x`, `out` and the operand of `finish` are row-major; `x` has row stride `x_stride`, the other two
/// have row stride `out_stride`. Only the n columns of `w` are written.
///
/// # Panics
///
/// If a slice is too short for the shape, or a stride shorter than its row.
pub fn product<R: Real>(
    isa: Isa,
    rows: usize,
    x: &[R],
    x_stride: usize,
    w: &Panels<R>,
    start: Start<R>,
    finish: Finish<R>,
    out: &mut [R],
    out_stride: usize,
) {
    if rows == 0 || w.n() == 0 {
        return;
    }
    check(rows, x.len(), x_stride, w, start, finish, out.len(), out_stride);
    let call = Call { rows, x, x_stride, w, start, finish, out_stride };

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]
    fn avx512<R: Real>(call: Call<R>, out: &mut [R]) {
        if size_of::<R>() == 4 { call.run::<8, 16>(out) } else { call.run::<8, 8>(out) }
    }
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn avx2<R: Real>(call: Call<R>, out: &mut [R]) {
        if size_of::<R>() == 4 { call.run::<4, 8>(out) } else { call.run::<4, 4>(out) }
    }
    match isa.path() {
        // SAFETY: an `Isa` of this path exists only after the processor reported exactly the
        // features that the wrapper enables (`Isa::checked`); the body is safe code.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        Path::Avx512 => unsafe { avx512(call, out) },
        // SAFETY: as above, for AVX2 and FMA.
        #[cfg(target_arch = "x86_64")]
        #[allow(unsafe_code)]
        Path::Avx2 => unsafe { avx2(call, out) },
        _ => call.run::<4, 4>(out),
    }
}

fn check<R: Real>(
    rows: usize,
    x_len: usize,
    x_stride: usize,
    w: &Panels<R>,
    start: Start<R>,
    finish: Finish<R>,
    out_len: usize,
    out_stride: usize,
) {
    let (k, n) = (w.k(), w.n());
    assert!(x_stride >= k, "product: x_stride {x_stride} is shorter than a row of k = {k}");
    assert!(out_stride >= n, "product: out_stride {out_stride} is shorter than a row of n = {n}");
    let x_needs = (rows - 1) * x_stride + k;
    assert!(x_len >= x_needs, "product: x has {x_len} values, {rows} rows need {x_needs}");
    let out_needs = (rows - 1) * out_stride + n;
    assert!(
        out_len >= out_needs,
        "product: out has {out_len} values, {rows} rows need {out_needs}"
    );
    if let Start::Bias(bias) = start {
        assert!(bias.len() >= n, "product: bias has {} values, n is {n}", bias.len());
    }
    if let Finish::Add(operand) | Finish::Times(operand) = finish {
        let len = operand.len();
        assert!(len >= out_needs, "product: finish has {len} values, {rows} rows need {out_needs}");
    }
}

/// The arguments of one checked call, but for `out`.
#[derive(Clone, Copy)]
struct Call<'a, R> {
    rows: usize,
    x: &'a [R],
    x_stride: usize,
    w: &'a Panels<R>,
    start: Start<'a, R>,
    finish: Finish<'a, R>,
    out_stride: usize,
}

impl<R: Real> Call<'_, R> {
    /// The whole product, in tiles of at most `TALL` rows and vectors of `L` lanes.
    #[inline(always)]
    fn run<const TALL: usize, const L: usize>(self, out: &mut [R]) {
        let mut row = 0;
        let strips = self.w.n().div_ceil(2 * L);
        let tall_rows = self.rows - self.rows % TALL;
        for strip in 0..strips {
            for row in (0..tall_rows).step_by(TALL) {
                self.tile::<TALL, 1, L>(row, strip, out);
            }
        }
        row += tall_rows;
        if TALL > 4 && self.rows - row >= 4 {
            for strip in 0..strips {
                self.tile::<4, 1, L>(row, strip, out);
            }
            row += 4;
        }
        if self.rows - row >= 2 {
            let mut strip = 0;
            while strip + 2 <= strips {
                self.tile::<2, 2, L>(row, strip, out);
                strip += 2;
            }
            if strip < strips {
                self.tile::<2, 1, L>(row, strip, out);
            }
            row += 2;
        }
        if row < self.rows {
            let mut strip = 0;
            while strip + 4 <= strips {
                self.tile::<1, 4, L>(row, strip, out);
                strip += 4;
            }
            while strip < strips {
                self.tile::<1, 1, L>(row, strip, out);
                strip += 1;
            }
        }
    }

    #[inline(always)]
    fn tile<const M: usize, const S: usize, const L: usize>(
        &self,
        row: usize,
        strip: usize,
        out: &mut [R],
    ) {
        let sources = std::array::from_fn(|s| {
            let vector = 2 * (strip + s);
            Source { panel: self.w.panel(vector * L / PANEL), vector: vector % (PANEL / L) }
        });
        let x = std::array::from_fn(|m| &self.x[(row + m) * self.x_stride..]);
        let acc = self.started::<M, S, L>(row, strip, out);
        let acc = tile::accumulate::<R, M, S, L>(self.w.k(), x, sources, acc);
        self.finished(row, strip, acc, out);
    }

    /// The place in `out` of strip `strip` of a row, cut at column n.
    #[inline(always)]
    fn place<const L: usize>(&self, row: usize, strip: usize) -> std::ops::Range<usize> {
        let first = strip * 2 * L;
        let width = (self.w.n() - first).min(2 * L);
        let at = row * self.out_stride + first;
        at..at + width
    }

    #[inline(always)]
    fn started<const M: usize, const S: usize, const L: usize>(
        &self,
        row: usize,
        strip: usize,
        out: &[R],
    ) -> Tile<R, M, S, L> {
        match self.start {
            Start::Zero => [[[[R::ZERO; L]; 2]; S]; M],
            Start::Bias(bias) => {
                let bias = &bias[..self.w.n()];
                [std::array::from_fn(|s| tile::load(&bias[(strip + s) * 2 * L..])); M]
            }
            Start::Accumulate => std::array::from_fn(|m| {
                std::array::from_fn(|s| tile::load(&out[self.place::<L>(row + m, strip + s)]))
            }),
        }
    }

    #[inline(always)]
    fn finished<const M: usize, const S: usize, const L: usize>(
        &self,
        row: usize,
        strip: usize,
        acc: Tile<R, M, S, L>,
        out: &mut [R],
    ) {
        for m in 0..M {
            for s in 0..S {
                let place = self.place::<L>(row + m, strip + s);
                let value: Strip<R, L> = acc[m][s];
                let value = match self.finish {
                    Finish::Store => value,
                    Finish::Add(r) => combine(value, tile::load(&r[place.clone()]), |a, b| a + b),
                    Finish::Times(d) => combine(value, tile::load(&d[place.clone()]), |a, b| a * b),
                };
                tile::store(value, &mut out[place]);
            }
        }
    }
}

#[inline(always)]
fn combine<R: Real, const L: usize>(
    mut a: Strip<R, L>,
    b: Strip<R, L>,
    f: impl Fn(R, R) -> R,
) -> Strip<R, L> {
    for v in 0..2 {
        for lane in 0..L {
            a[v][lane] = f(a[v][lane], b[v][lane]);
        }
    }
    a
}
