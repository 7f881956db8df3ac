//! Registers full of numbers, one token per instruction set.
//!
//! **Decision: explicit vector types.** Plain arrays in plain loops usually compile to the same
//! instructions, until a tile of 16 vectors meets one more level of inlining and the compiler gives
//! up on it: measured, 50 times slower, and only in some callers. A vector type leaves it no choice.
//! Everything above is generic over [`Vectors`], and safe.
//!
//! A token proves that the processor has its instructions: it exists only inside [`run`].

#[cfg(target_arch = "x86_64")]
mod x86;

use crate::Real;
use crate::isa::Isa;

/// Vector arithmetic on `R` with the instructions that the token stands for.
///
pub(crate) trait Vectors<R: Real>: Copy {
    /// One register.
    type Vector: Copy;
    /// The token for narrower registers, for columns that do not fill one of these.
    type Narrow: Square<R>;
    /// Numbers per register.
    const LANES: usize;

    fn narrow(self) -> Self::Narrow;
    fn splat(self, a: R) -> Self::Vector;
    /// The first `LANES` values of `from`.
    fn load(self, from: &[R]) -> Self::Vector;
    /// Writes the first `LANES` values of `to`.
    fn store(self, v: Self::Vector, to: &mut [R]);
    /// `a * b + c`, rounded once.
    fn mul_add(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    fn mul(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Asks for the cache line at `from`, which will be needed soon if it is there at all.
    fn prefetch(self, from: *const R);
    /// Whether 16 registers of 16 lanes are a square that [`Vectors::transpose`] can turn.
    const TURNS: bool = false;
    /// Transposes a 16 x 16 matrix.
    fn transpose(self, _square: [Self::Vector; 16]) -> [Self::Vector; 16] {
        unreachable!("only where `TURNS`")
    }
}

/// Registers few enough lanes wide to hold a square matrix in four of them.
pub(crate) trait Square<R: Real>: Vectors<R> {
    /// Transposes the `LANES` x `LANES` matrix that the first `LANES` registers hold.
    fn transpose_small(self, square: [Self::Vector; 4]) -> [Self::Vector; 4];
}

/// Work that is generic over the instructions it uses.
pub(crate) trait Work<R: Real> {
    /// What the work returns.
    type Output;
    /// Does the work in tiles of at most `TALL` rows. Must be `#[inline(always)]`.
    fn run<T: Vectors<R>, const TALL: usize>(self, vectors: T) -> Self::Output;
}

/// One number at a time, in plain Rust.
#[derive(Clone, Copy)]
pub(crate) struct Scalar;

impl<R: Real> Vectors<R> for Scalar {
    type Vector = R;
    type Narrow = Scalar;
    const LANES: usize = 1;

    #[inline(always)]
    fn narrow(self) -> Scalar {
        self
    }
    #[inline(always)]
    fn splat(self, a: R) -> R {
        a
    }
    #[inline(always)]
    fn load(self, from: &[R]) -> R {
        from[0]
    }
    #[inline(always)]
    fn store(self, v: R, to: &mut [R]) {
        to[0] = v;
    }
    #[inline(always)]
    fn mul_add(self, a: R, b: R, c: R) -> R {
        a.mul_add(b, c)
    }
    #[inline(always)]
    fn add(self, a: R, b: R) -> R {
        a + b
    }
    #[inline(always)]
    fn mul(self, a: R, b: R) -> R {
        a * b
    }
    #[inline(always)]
    fn prefetch(self, _from: *const R) {}
}

impl<R: Real> Square<R> for Scalar {
    #[inline(always)]
    fn transpose_small(self, square: [R; 4]) -> [R; 4] {
        square
    }
}

/// Runs `work` with the instructions that `isa` stands for.
#[inline]
pub(crate) fn run<R: Real, W: Work<R>>(isa: Isa, work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    let work = match x86::run(isa, work) {
        Ok(output) => return output,
        Err(work) => work,
    };
    let _ = isa;
    work.run::<Scalar, 4>(Scalar)
}
