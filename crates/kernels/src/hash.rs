//! A fast fixed hash of numbers' bit patterns: the fingerprint of the parameters after an update.
//!
//! It answers "are these two runs still identical?" at every update, so it must cost little beside
//! the update itself. It is no defence against forgery; files are sealed with SHA-256 elsewhere. A
//! crate such as `xxhash-rust` hashes bytes, and would need the values in memory in a fixed byte
//! order; this one reads values in logical order and vectorises with the kernels.
//!
//! **Definition.** Element i goes to lane i mod 32. A lane takes a word w (the bit pattern, widened
//! to 64 bits) by `s = (s ^ w) * M; s = s ^ (s >> 32)` with M odd. At the end the lanes are folded
//! in order by `h = rotate(h ^ s, 23) * M`, starting from the seed, the length and the width of the
//! type. Every step is a bijection of the state for a fixed word, and of the word for a fixed
//! state: **a change in a single element always changes the hash**, not merely with high
//! probability.

use crate::Real;
use crate::isa::dispatch;

const LANES: usize = 32;
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

dispatch! {
    /// Hash of `values` in order; chain slices by passing the hash of one as the `seed` of the
    /// next.
    pub fn hash_values, hash_values_on<R: Real>(seed: u64, values: &[R]) -> u64 = hash_body;
}

#[inline(always)]
fn absorb(state: u64, word: u64) -> u64 {
    let state = (state ^ word).wrapping_mul(MULTIPLIER);
    state ^ (state >> 32)
}

#[inline(always)]
fn hash_body<R: Real>(seed: u64, values: &[R]) -> u64 {
    let mut lanes = [0u64; LANES];
    for (i, lane) in lanes.iter_mut().enumerate() {
        *lane = (i as u64 + 1).wrapping_mul(MULTIPLIER);
    }
    let (blocks, tail) = values.as_chunks::<LANES>();
    for block in blocks {
        for (lane, value) in lanes.iter_mut().zip(block) {
            *lane = absorb(*lane, value.bits());
        }
    }
    for (lane, value) in lanes.iter_mut().zip(tail) {
        *lane = absorb(*lane, value.bits());
    }
    let mut hash = absorb(absorb(seed, values.len() as u64), size_of::<R>() as u64);
    for lane in lanes {
        hash = (hash ^ lane).rotate_left(23).wrapping_mul(MULTIPLIER);
    }
    hash ^ (hash >> 29)
}
