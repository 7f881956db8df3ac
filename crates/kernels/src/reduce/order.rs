//! Order statistics: counting below a bound and keeping what lies between two. No rounding is
//! involved, so no order matters.

use super::LANES;
use crate::Real;
use crate::isa::dispatch;

#[inline(always)]
fn count_below_body<R: Real>(x: &[R], bound: R) -> usize {
    let mut count = 0u32;
    for &x in x {
        count += u32::from(x < bound);
    }
    count as usize
}

#[inline(always)]
fn keep_between_body<R: Real>(x: &[R], low: R, high: R, kept: &mut [R]) -> usize {
    let is_between = |x: R| x >= low && x <= high;
    let mut count = 0;
    let (chunks, rest) = x.as_chunks::<LANES>();
    for chunk in chunks {
        let mut hits = 0u32;
        for &x in chunk {
            hits |= u32::from(is_between(x));
        }
        if hits == 0 {
            continue;
        }
        // Which of them is a matter of chance: no branch could be foreseen.
        for &x in chunk {
            kept[count] = x;
            count += usize::from(is_between(x));
        }
    }
    for &x in rest {
        kept[count] = x;
        count += usize::from(is_between(x));
    }
    count
}

dispatch! {
    /// How many values lie below `bound`.
    pub fn count_below, count_below_on<R: Real>(x: &[R], bound: R) -> usize = count_below_body;
}
dispatch! {
    /// Writes the values from `low` to `high`, both included, to `kept`, which is at least as long
    /// as `x`; returns how many they are. Fast where they are few.
    pub fn keep_between, keep_between_on<R: Real>(
        x: &[R],
        low: R,
        high: R,
        kept: &mut [R],
    ) -> usize = keep_between_body;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Isa;

    #[test]
    fn bounds_count_as_stated() {
        let x: Vec<f32> = (0..1000).map(|i| (i * 37 % 101) as f32).collect();
        for isa in Isa::available() {
            for bound in [0.0, 1.0, 50.0, 100.0, 101.0] {
                let want = x.iter().filter(|x| **x < bound).count();
                assert_eq!(count_below_on(isa, &x, bound), want, "{isa} {bound}");
            }
            let mut kept = vec![0.0; x.len()];
            let count = keep_between_on(isa, &x, 7.0, 9.0, &mut kept);
            let inside = |x: &f32| (7.0..=9.0).contains(x);
            let want: Vec<f32> = x.iter().copied().filter(inside).collect();
            assert_eq!(kept[..count], want, "{isa}");
        }
    }
}
