//! Random numbers as a function of where they are used.
//!
//! A [`Stream`] has a seed and a name ("initial states", "noise"); [`Stream::at`] gives the
//! generator for one update and one row of the batch. Nothing is carried from one use to the next,
//! so the numbers depend neither on the order in which they are drawn nor on the thread that draws
//! them, and a run that resumes at update 700 needs no saved generator.
//!
//! **Generator.** ChaCha with 8 rounds, whose output is fixed by its specification. The coordinates
//! are not mixed into a small seed, where they could collide; they *are* the cipher's input:
//!
//! | cipher input | holds |
//! | --- | --- |
//! | key, bytes 0 to 7 | seed, little endian |
//! | key, bytes 8 to 23 | FNV-1a hash of the name, 128 bits, little endian |
//! | key, bytes 24 to 31 | update, little endian |
//! | nonce | row |
//! | counter | position, from 0 |
//!
//! Two different (seed, update, row) can never share a sequence; two names could only by a
//! collision of a 128-bit hash.
//!
//! **Normals.** Box and Muller's transform with this crate's own `ln`, `sin` and `cos`. The sampler
//! of `rand_distr` is not used: its values change with features that other crates in the tree
//! enable.
//!
//! Golden values are pinned in `tests/golden_streams.rs`.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::isa::dispatch;
use crate::{Isa, Real};

/// A named family of random sequences, one per (update, row).
///
/// ```
/// use backcut_kernels::random::Stream;
///
/// let noise = Stream::new(7, "noise");
/// let mut draws = noise.at(100, 3);
/// let again = noise.at(100, 3).normal();
/// assert_eq!(draws.normal(), again);
/// ```
#[derive(Clone, Debug)]
pub struct Stream {
    seed: u64,
    name: u128,
    isa: Isa,
}

impl Stream {
    /// The stream with this seed and name.
    pub fn new(seed: u64, name: &str) -> Self {
        Self { seed, name: fnv1a(name.as_bytes()), isa: Isa::detect() }
    }

    /// The sequence for one update and one row, from its beginning.
    pub fn at(&self, update: u64, row: u64) -> Draws {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&self.seed.to_le_bytes());
        key[8..24].copy_from_slice(&self.name.to_le_bytes());
        key[24..].copy_from_slice(&update.to_le_bytes());
        let mut rng = ChaCha8Rng::from_seed(key);
        rng.set_stream(row);
        Draws { rng, spare: None, isa: self.isa }
    }
}

/// FNV-1a, 128 bits.
fn fnv1a(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash, &byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    })
}

/// The random numbers of one (seed, name, update, row), in order.
#[derive(Clone, Debug)]
pub struct Draws {
    rng: ChaCha8Rng,
    /// The second normal of a pair, when only the first has been asked for.
    spare: Option<f64>,
    isa: Isa,
}

/// Pairs of normals transformed together.
const PAIRS: usize = 32;

impl Draws {
    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.rng.next_u64()
    }

    /// Uniform in [0, 1), a multiple of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Uniform in [lo, hi). (hi itself can appear by rounding when hi - lo is small beside them.)
    pub fn uniform_in(&mut self, lo: f64, hi: f64) -> f64 {
        self.uniform().mul_add(hi - lo, lo)
    }

    /// Standard normal; never beyond 8.6 in absolute value.
    ///
    /// Normals come in pairs made of two uniforms. The second waits for the next call of `normal`
    /// or [`fill_normal`](Self::fill_normal), whatever else is drawn in between.
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let u = 1.0 - self.uniform(); // in (0, 1]: its logarithm is finite
        let (v, mut even, mut odd) = (self.uniform(), [0.0], [0.0]);
        box_muller(self.isa, &[u], &[v], &mut even, &mut odd);
        self.spare = Some(odd[0]);
        even[0]
    }

    /// Fills with the values that as many calls of [`normal`](Self::normal) would give.
    pub fn fill_normal(&mut self, out: &mut [f64]) {
        let out = match (out.split_first_mut(), self.spare) {
            (Some((first, rest)), Some(spare)) => {
                *first = spare;
                self.spare = None;
                rest
            }
            _ => out,
        };
        let (mut u, mut v) = ([0.0; PAIRS], [0.0; PAIRS]);
        let (mut even, mut odd) = ([0.0; PAIRS], [0.0; PAIRS]);
        for out in out.chunks_mut(2 * PAIRS) {
            let n = out.len().div_ceil(2);
            for (u, v) in u.iter_mut().zip(&mut v).take(n) {
                *u = 1.0 - self.uniform(); // in (0, 1]: its logarithm is finite
                *v = self.uniform();
            }
            box_muller(self.isa, &u[..n], &v[..n], &mut even[..n], &mut odd[..n]);
            for (pair, (&even, &odd)) in out.chunks_mut(2).zip(even.iter().zip(&odd)) {
                pair[0] = even;
                match pair.get_mut(1) {
                    Some(second) => *second = odd,
                    None => self.spare = Some(odd),
                }
            }
        }
    }

    /// Uniform in 0..n, without bias (Lemire's multiplication with rejection). Panics for n = 0.
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "no number lies below 0");
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            // The low half is uneven only under 2^64 mod n.
            let low = product as u64;
            if low >= n || low >= n.wrapping_neg() % n {
                return (product >> 64) as u64;
            }
        }
    }

    /// A uniform permutation of 0..n (Fisher and Yates, from the last place down).
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, self.below(i as u64 + 1) as usize);
        }
        order
    }

    /// A uniform permutation of 0..n that leaves nothing in its place, or `None` for n = 1, where
    /// there is none. Permutations are drawn until one qualifies: e = 2.7 of them on average.
    pub fn derangement(&mut self, n: usize) -> Option<Vec<usize>> {
        if n == 1 {
            return None;
        }
        loop {
            let order = self.permutation(n);
            if order.iter().enumerate().all(|(place, &item)| place != item) {
                return Some(order);
            }
        }
    }
}

/// Uniforms u in (0, 1] and v in [0, 1) become independent normals
/// `sqrt(-2 ln u) cos(2 pi v)` and `sqrt(-2 ln u) sin(2 pi v)`.
#[inline(always)]
fn box_muller_body<R: Real>(u: &[R], v: &[R], even: &mut [R], odd: &mut [R]) {
    let (minus_two, tau) = (R::from_f64(-2.0), R::from_f64(std::f64::consts::TAU));
    for ((&u, &v), (even, odd)) in u.iter().zip(v).zip(even.iter_mut().zip(odd)) {
        let radius = (minus_two * u.ln()).sqrt();
        let angle = tau * v;
        *even = radius * angle.cos();
        *odd = radius * angle.sin();
    }
}

dispatch! {
    fn box_muller<R: Real>(u: &[R], v: &[R], even: &mut [R], odd: &mut [R]) = box_muller_body;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_hash_agrees_with_published_vectors() {
        assert_eq!(fnv1a(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
        assert_eq!(fnv1a(b"foobar"), 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18);
    }
}
