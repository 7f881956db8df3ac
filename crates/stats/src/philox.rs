//! The crate's random stream: Philox 4x32 with ten rounds, a pure function of key and counter.
//!
//! Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011). The key is
//! the user's seed; the counter is (draw, block within the draw, stream). Written here rather than
//! taken from `rand`: the algorithm is thirty lines, its published known-answer vectors pin it, and
//! no upgrade of a dependency can change a reported interval.

/// The generator's name, as reports and frozen analyses give it.
pub const GENERATOR: &str = "philox4x32-10";

/// What a stream of numbers is used for; two uses with one seed never share numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Stream {
    /// Whole-source bootstrap draws.
    Bootstrap = 1,
    /// Monte Carlo sign patterns.
    SignFlip = 2,
    /// Monte Carlo permutations of two samples.
    TwoSample = 3,
    /// Monte Carlo permutations of one variable against another.
    Correlation = 4,
    /// Simulated data in examples.
    Simulation = 5,
}

/// Numbers of one stream under one seed.
#[derive(Clone, Copy, Debug)]
pub struct Philox {
    key: [u32; 2],
    stream: u32,
}

impl Philox {
    /// The stream of a seed.
    pub fn new(seed: u64, stream: Stream) -> Self {
        Self { key: [seed as u32, (seed >> 32) as u32], stream: stream as u32 }
    }

    /// Four 32-bit words: block `block` of draw `draw`.
    #[inline]
    pub fn block(&self, draw: u64, block: u32) -> [u32; 4] {
        philox4x32_10([draw as u32, (draw >> 32) as u32, block, self.stream], self.key)
    }

    /// Fills `picks` with uniform indices below `n` for one draw, starting at word `offset`.
    ///
    /// An index is the high half of word times `n` (Lemire, without rejection): the deviation from
    /// uniform is below n / 2^32, far under the resolution of any number of draws used here. The
    /// offset is a multiple of four words so that strata of one draw use separate blocks.
    #[inline]
    pub fn indices(&self, draw: u64, first_block: u32, n: u32, picks: &mut [u32]) {
        for (chunk_index, chunk) in picks.chunks_mut(4).enumerate() {
            let words = self.block(draw, first_block + chunk_index as u32);
            for (pick, word) in chunk.iter_mut().zip(words) {
                *pick = ((u64::from(word) * u64::from(n)) >> 32) as u32;
            }
        }
    }

    /// Shuffles in place (Fisher and Yates) with the numbers of one draw.
    pub fn shuffle<T>(&self, draw: u64, items: &mut [T]) {
        let mut words = [0; 4];
        for (count, last) in (1..items.len()).rev().enumerate() {
            if count % 4 == 0 {
                words = self.block(draw, (count / 4) as u32);
            }
            let pick = (u64::from(words[count % 4]) * (last as u64 + 1)) >> 32;
            items.swap(last, pick as usize);
        }
    }

    /// A uniform number in (0, 1) with 52 random bits: position `position` of draw `draw`.
    pub fn uniform(&self, draw: u64, position: u32) -> f64 {
        let words = self.block(draw, position / 2);
        let half = (position % 2) as usize * 2;
        let bits = (u64::from(words[half]) << 32) | u64::from(words[half + 1]);
        ((bits >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
    }
}

#[inline]
fn philox4x32_10(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
    const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
    for round in 0..10 {
        if round > 0 {
            key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
        }
        let first = u64::from(MULTIPLIERS[0]) * u64::from(counter[0]);
        let second = u64::from(MULTIPLIERS[1]) * u64::from(counter[2]);
        counter = [
            (second >> 32) as u32 ^ counter[1] ^ key[0],
            second as u32,
            (first >> 32) as u32 ^ counter[3] ^ key[1],
            first as u32,
        ];
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_known_answers() {
        // The known-answer vectors distributed with Random123.
        assert_eq!(
            philox4x32_10([0; 4], [0; 2]),
            [0x6627_E8D5, 0xE169_C58D, 0xBC57_AC4C, 0x9B00_DBD8]
        );
        assert_eq!(
            philox4x32_10([u32::MAX; 4], [u32::MAX; 2]),
            [0x408F_276D, 0x41C8_3B0E, 0xA20B_C7C6, 0x6D54_51FD]
        );
        assert_eq!(
            philox4x32_10(
                [0x243F_6A88, 0x85A3_08D3, 0x1319_8A2E, 0x0370_7344],
                [0xA409_3822, 0x299F_31D0]
            ),
            [0xD16C_FE09, 0x94FD_CCEB, 0x5001_E420, 0x2412_6EA1]
        );
    }

    #[test]
    fn indices_are_pinned_and_in_range() {
        let mut picks = [0; 8];
        Philox::new(2026, Stream::Bootstrap).indices(3, 0, 28, &mut picks);
        assert!(picks.iter().all(|&p| p < 28));
        let mut again = [0; 8];
        Philox::new(2026, Stream::Bootstrap).indices(3, 0, 28, &mut again);
        assert_eq!(picks, again);
        Philox::new(2027, Stream::Bootstrap).indices(3, 0, 28, &mut again);
        assert_ne!(picks, again);
    }

    /// From a second implementation, with a seed and a draw of more than 32 bits.
    #[test]
    fn what_is_made_of_the_words_is_pinned() {
        let (seed, draw) = ((7 << 32) + 2026, (5 << 32) + 3);
        let mut picks = [0; 10];
        Philox::new(seed, Stream::Bootstrap).indices(draw, 2, 28, &mut picks);
        assert_eq!(picks, [11, 10, 4, 17, 14, 17, 18, 13, 10, 18]);
        let mut items: Vec<u32> = (0..12).collect();
        Philox::new(seed, Stream::TwoSample).shuffle(draw, &mut items);
        assert_eq!(items, [11, 10, 6, 5, 1, 4, 9, 0, 2, 7, 8, 3]);
        let stream = Philox::new(seed, Stream::Simulation);
        let uniforms = [0, 1, 6].map(|position| stream.uniform(draw, position));
        assert_eq!(
            uniforms,
            [0.993_573_049_530_336_2, 0.019_113_615_734_129_286, 0.377_558_419_046_707_7]
        );
    }

    #[test]
    fn shuffle_permutes() {
        let mut items: Vec<u32> = (0..30).collect();
        Philox::new(1, Stream::TwoSample).shuffle(0, &mut items);
        assert_ne!(items, (0..30).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..30).collect::<Vec<_>>());
    }

    #[test]
    fn uniform_stays_inside_the_open_interval() {
        let stream = Philox::new(9, Stream::Simulation);
        let mean = (0..10_000).map(|i| stream.uniform(i, 3)).sum::<f64>() / 10_000.0;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
    }
}
