//! [`Vectors`] with the instructions of x86-64: the only file that names them.
#![expect(unsafe_code, reason = "instructions and the features they need; see each SAFETY note")]

use std::any::TypeId;
use std::arch::x86_64::{
    __m128, __m256, __m512, _MM_HINT_T0, _mm_add_pd, _mm_add_ps, _mm_castpd_ps, _mm_castps_pd,
    _mm_fmadd_pd, _mm_fmadd_ps, _mm_loadu_ps, _mm_movehl_ps, _mm_movelh_ps, _mm_mul_pd, _mm_mul_ps,
    _mm_prefetch, _mm_set1_pd, _mm_set1_ps, _mm_storeu_ps, _mm_unpackhi_ps, _mm_unpacklo_ps,
    _mm256_add_pd, _mm256_add_ps, _mm256_castpd_ps, _mm256_castps_pd, _mm256_fmadd_pd,
    _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_mul_pd, _mm256_mul_ps, _mm256_set1_pd, _mm256_set1_ps,
    _mm256_storeu_ps, _mm512_add_pd, _mm512_add_ps, _mm512_castpd_ps, _mm512_castps_pd,
    _mm512_fmadd_pd, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_mul_pd, _mm512_mul_ps,
    _mm512_set1_pd, _mm512_set1_ps, _mm512_shuffle_f32x4, _mm512_storeu_ps, _mm512_unpackhi_pd,
    _mm512_unpackhi_ps, _mm512_unpacklo_pd, _mm512_unpacklo_ps,
};

use super::{Scalar, Square, Vectors, Work};
use crate::Real;
use crate::isa::{Isa, Path};

/// Proof that AVX-512 may be used: 64-byte registers.
#[derive(Clone, Copy)]
pub(crate) struct Avx512(());

/// Proof that AVX2 with FMA may be used: 32-byte registers.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(());

/// Proof that FMA may be used: 16-byte registers.
#[derive(Clone, Copy)]
pub(crate) struct Fma(());

/// Runs `work` with what `isa` offers, or gives it back if that is neither AVX-512 nor AVX2.
#[inline]
pub(crate) fn run<R: Real, W: Work<R>>(isa: Isa, work: W) -> Result<W::Output, W> {
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]
    fn avx512<R: Real, W: Work<R>>(work: W) -> W::Output {
        work.run::<Avx512, 8>(Avx512(()))
    }
    #[target_feature(enable = "avx2,fma")]
    fn avx2<R: Real, W: Work<R>>(work: W) -> W::Output {
        work.run::<Avx2, 4>(Avx2(()))
    }
    match isa.path() {
        // SAFETY: an `Isa` of this path exists only after the processor reported exactly the
        // features that the wrapper enables (`Isa::checked`).
        Path::Avx512 => Ok(unsafe { avx512(work) }),
        // SAFETY: as above, for AVX2 and FMA.
        Path::Avx2 => Ok(unsafe { avx2(work) }),
        Path::Portable => Err(work),
    }
}

/// Whether `R` is `f32`; it is `f64` otherwise. Decided when the program is compiled.
#[inline(always)]
fn single<R: Real>() -> bool {
    let single = TypeId::of::<R>() == TypeId::of::<f32>();
    assert!(single || TypeId::of::<R>() == TypeId::of::<f64>(), "a `Real` is f32 or f64");
    single
}

/// A register is held as the `f32` type and reinterpreted for `f64`, which costs no instruction.
macro_rules! vectors {
    ($token:ident, $register:ty, $narrow:ident = $make_narrow:expr,
     load $load:ident store $store:ident to_f64 $to_f64:ident to_f32 $to_f32:ident
     f32 $splat:ident $mul_add:ident $add:ident $mul:ident
     f64 $splat64:ident $mul_add64:ident $add64:ident $mul64:ident
     $(turns $turn:ident)?) => {
        impl<R: Real> Vectors<R> for $token {
            type Vector = $register;
            type Narrow = $narrow;
            const LANES: usize = size_of::<$register>() / size_of::<R>();

            #[inline(always)]
            fn narrow(self) -> $narrow {
                $make_narrow
            }
            #[inline(always)]
            fn splat(self, a: R) -> $register {
                // SAFETY: the token proves that the processor has the instruction.
                unsafe {
                    if single::<R>() {
                        $splat(f32::from_bits(a.bits() as u32))
                    } else {
                        $to_f32($splat64(f64::from_bits(a.bits())))
                    }
                }
            }
            #[inline(always)]
            fn load(self, from: &[R]) -> $register {
                single::<R>();
                let from = &from[..<Self as Vectors<R>>::LANES];
                // SAFETY: `from` holds one register's worth of `f32` or `f64`, at any alignment;
                // the token proves that the processor has the instruction.
                unsafe { $load(from.as_ptr().cast()) }
            }
            #[inline(always)]
            fn store(self, v: $register, to: &mut [R]) {
                single::<R>();
                let to = &mut to[..<Self as Vectors<R>>::LANES];
                // SAFETY: `to` has room for one register's worth of `f32` or `f64`, at any
                // alignment, and any bits are valid there; the token proves that the instruction
                // exists.
                unsafe { $store(to.as_mut_ptr().cast(), v) }
            }
            #[inline(always)]
            fn mul_add(self, a: $register, b: $register, c: $register) -> $register {
                // SAFETY: the token proves that the processor has the instruction.
                unsafe {
                    if single::<R>() {
                        $mul_add(a, b, c)
                    } else {
                        $to_f32($mul_add64($to_f64(a), $to_f64(b), $to_f64(c)))
                    }
                }
            }
            #[inline(always)]
            fn add(self, a: $register, b: $register) -> $register {
                // SAFETY: the token proves that the processor has the instruction.
                unsafe {
                    if single::<R>() { $add(a, b) } else { $to_f32($add64($to_f64(a), $to_f64(b))) }
                }
            }
            #[inline(always)]
            fn mul(self, a: $register, b: $register) -> $register {
                // SAFETY: the token proves that the processor has the instruction.
                unsafe {
                    if single::<R>() { $mul(a, b) } else { $to_f32($mul64($to_f64(a), $to_f64(b))) }
                }
            }
            #[inline(always)]
            fn prefetch(self, from: *const R) {
                // SAFETY: any address will do; asking for its line changes nothing that a program
                // can see.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast()) }
            }
            $(
                const TURNS: bool = <Self as Vectors<R>>::LANES == 16;
                #[inline(always)]
                fn transpose(self, square: [$register; 16]) -> [$register; 16] {
                    // SAFETY: the token proves that the processor has the instructions.
                    unsafe { $turn(square) }
                }
            )?
        }
    };
}

vectors!(Avx512, __m512, Fma = Fma(()),
    load _mm512_loadu_ps store _mm512_storeu_ps to_f64 _mm512_castps_pd to_f32 _mm512_castpd_ps
    f32 _mm512_set1_ps _mm512_fmadd_ps _mm512_add_ps _mm512_mul_ps
    f64 _mm512_set1_pd _mm512_fmadd_pd _mm512_add_pd _mm512_mul_pd
    turns turn);
vectors!(Avx2, __m256, Fma = Fma(()),
    load _mm256_loadu_ps store _mm256_storeu_ps to_f64 _mm256_castps_pd to_f32 _mm256_castpd_ps
    f32 _mm256_set1_ps _mm256_fmadd_ps _mm256_add_ps _mm256_mul_ps
    f64 _mm256_set1_pd _mm256_fmadd_pd _mm256_add_pd _mm256_mul_pd);
vectors!(Fma, __m128, Scalar = Scalar,
    load _mm_loadu_ps store _mm_storeu_ps to_f64 _mm_castps_pd to_f32 _mm_castpd_ps
    f32 _mm_set1_ps _mm_fmadd_ps _mm_add_ps _mm_mul_ps
    f64 _mm_set1_pd _mm_fmadd_pd _mm_add_pd _mm_mul_pd);

/// Transposes sixteen registers of sixteen `f32`: pairs, quadruples, then whole quarters of
/// registers.
#[target_feature(enable = "avx512f")]
#[inline]
#[expect(clippy::large_types_passed_by_value, reason = "it is inlined: the rows are registers")]
fn turn(rows: [__m512; 16]) -> [__m512; 16] {
    /// The first and third, or the second and fourth, quarters of two registers.
    const EVEN: i32 = 0b10_00_10_00;
    const ODD: i32 = 0b11_01_11_01;
    let mut pairs = rows;
    for i in 0..8 {
        let (a, b) = (rows[2 * i], rows[2 * i + 1]);
        (pairs[2 * i], pairs[2 * i + 1]) = (_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
    }
    // Quarter `l` of register `4 i + c` holds column `4 l + c` of rows `4 i .. 4 i + 4`.
    let mut quads = rows;
    for i in 0..4 {
        for half in 0..2 {
            let a = _mm512_castps_pd(pairs[4 * i + half]);
            let b = _mm512_castps_pd(pairs[4 * i + half + 2]);
            quads[4 * i + 2 * half] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
            quads[4 * i + 2 * half + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
        }
    }
    let mut columns = rows;
    for c in 0..4 {
        let (a, b, d, e) = (quads[c], quads[4 + c], quads[8 + c], quads[12 + c]);
        let (low, high) = (_mm512_shuffle_f32x4::<EVEN>(a, b), _mm512_shuffle_f32x4::<EVEN>(d, e));
        columns[c] = _mm512_shuffle_f32x4::<EVEN>(low, high);
        columns[8 + c] = _mm512_shuffle_f32x4::<ODD>(low, high);
        let (low, high) = (_mm512_shuffle_f32x4::<ODD>(a, b), _mm512_shuffle_f32x4::<ODD>(d, e));
        columns[4 + c] = _mm512_shuffle_f32x4::<EVEN>(low, high);
        columns[12 + c] = _mm512_shuffle_f32x4::<ODD>(low, high);
    }
    columns
}

impl<R: Real> Square<R> for Fma {
    #[inline(always)]
    fn transpose_small(self, [a, b, c, d]: [__m128; 4]) -> [__m128; 4] {
        // SAFETY: the token proves that the processor has the instructions.
        unsafe {
            if single::<R>() {
                let (ab, cd) = (_mm_unpacklo_ps(a, b), _mm_unpacklo_ps(c, d));
                let (ef, gh) = (_mm_unpackhi_ps(a, b), _mm_unpackhi_ps(c, d));
                [
                    _mm_movelh_ps(ab, cd),
                    _mm_movehl_ps(cd, ab),
                    _mm_movelh_ps(ef, gh),
                    _mm_movehl_ps(gh, ef),
                ]
            } else {
                [_mm_movelh_ps(a, b), _mm_movehl_ps(b, a), c, d]
            }
        }
    }
}
