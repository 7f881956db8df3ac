//! What a reader must know beside the numbers: where a design is weak, and what its results do not
//! show.

use backcut_text::thousands;

use super::params::{Bound, Family};
use super::report::FamilyRow;
use crate::bootstrap::Units;
use crate::contrast::Contrast;
use crate::limit::LARGE;
use crate::signflip::Tail;

/// Below this many sources a report warns that percentile intervals are too narrow.
///
/// Measured by the `coverage` example: nominal 95% intervals held the true mean in 0.89 of data
/// sets of normal sources at n = 8, 0.93 at 16 and 0.94 at 28; of lognormal sources in 0.80, 0.84
/// and 0.87.
pub const SMALL_SAMPLE: usize = 20;

/// Fewer bootstrap draws than this beyond an endpoint make the endpoint noisy.
const MIN_TAIL_DRAWS: f64 = 50.0;

impl Family {
    /// What follows from the design alone.
    pub(super) fn notes(&self, units: &Units) -> Vec<String> {
        let mut notes = Vec::new();
        let n = units.len();
        if n < SMALL_SAMPLE {
            notes.push(format!(
                "n = {n} is below {SMALL_SAMPLE}: percentile intervals are too narrow (for normal \
                 sources a nominal 95% covers about 0.89 at n = 8 and 0.93 at n = 16, less for \
                 skewed ones); read the exact test beside them"
            ));
        }
        let tail = self.params.bound.tail(self.params.alpha, self.size) * self.params.draws as f64;
        if n > LARGE {
            notes.push(format!(
                "n = {} is above {}: nothing is drawn, intervals and tests are those of the normal \
                 limit",
                thousands(n),
                thousands(LARGE)
            ));
        } else if tail < MIN_TAIL_DRAWS {
            notes.push(format!(
                "only {tail:.0} of {} draws lie beyond each family endpoint; use more draws",
                self.params.draws
            ));
        }
        let (strata, singletons) = units.strata_and_singletons();
        if singletons > 0 && strata > 1 {
            notes.push(format!(
                "{singletons} of {strata} strata hold a single unit, which no draw can vary"
            ));
        }
        if self.params.bound == Bound::OneSided {
            notes.push("the two one-sided bounds are not a joint interval".into());
        }
        notes
    }

    /// What follows from the results.
    pub(super) fn row_notes(&self, rows: &[FamilyRow]) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(row) = rows.iter().find(|row| row.adjusted_floor > self.params.alpha) {
            let sided = if row.exact.tail == Tail::TwoSided { "2" } else { "1" };
            notes.push(format!(
                "with n = {} and M = {} the exact test can not reach an adjusted p below \
                 M * {sided} / 2^n = {:.3}: it can reject nothing in this family",
                row.n, self.size, row.adjusted_floor
            ));
        }
        if let Some(error) = rows.iter().filter_map(|r| r.exact.monte_carlo_error).reduce(f64::max)
        {
            notes.push(format!(
                "exact p from {} drawn sign patterns (more than {} sources), p = (1 + count) / \
                 (1 + draws), standard error at most {error:.1e}",
                self.params.patterns, self.params.exact_up_to
            ));
        }
        for row in rows.iter().filter(|row| row.at > 0) {
            let line = if self.params.margin.is_some() { "the margin" } else { "zero" };
            notes.push(format!(
                "{}: {} of {} lie exactly at {line} and count for neither side",
                row.name, row.at, row.n
            ));
        }
        let judged = rows.iter().zip(&self.params.contrasts);
        let is_bare = |(row, contrast): &(&FamilyRow, &Contrast)| {
            self.params.margin.is_none() && row.below == 0 && contrast.body.is_bare_ratio()
        };
        for (row, _) in judged.filter(is_bare) {
            notes.push(format!(
                "{}: a ratio of positive numbers is above zero whatever they are; to ask whether \
                 two cells differ, divide their difference: ([a] - [b]) / [b]",
                row.name
            ));
        }
        for row in rows.iter().filter(|row| row.leave_one_out.sign_kept < row.n) {
            notes.push(format!(
                "{}: the estimate keeps its sign in {} of {} leave-one-out repeats",
                row.name, row.leave_one_out.sign_kept, row.n
            ));
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use crate::{Contrast, FamilyParams, Layout, SourceTable};

    fn table(csv: &str) -> SourceTable {
        SourceTable::from_csv(csv.as_bytes(), &Layout::default()).unwrap()
    }

    fn rows(count: usize, line: impl Fn(usize) -> String) -> String {
        let lines: Vec<String> = (0..count).map(|i| format!("{i},{}\n", line(i))).collect();
        lines.concat()
    }

    #[test]
    fn a_ratio_that_can_only_be_positive_is_pointed_out() {
        let csv = format!("seed,a-1,b\n{}", rows(8, |i| format!("{}.5,2.0", 1 + i % 3)));
        let notes = |text: &str| {
            let params = FamilyParams::new(vec![Contrast::parse(text).unwrap()]);
            params.check().unwrap().run(&table(&csv)).unwrap().notes.join("\n")
        };
        for bare in ["[a-1] / [b]", "mean([a-1]) / mean([b])"] {
            assert!(notes(bare).contains("above zero whatever"), "{bare}");
        }
        for fine in ["([a-1] - [b]) / [b]", "[a-1] - [b]", "[a-1]"] {
            assert!(!notes(fine).contains("above zero whatever"), "{fine}");
        }
    }

    #[test]
    fn the_design_is_commented_on_where_it_is_weak() {
        let notes = |csv: &str, params: &dyn Fn(FamilyParams) -> FamilyParams| {
            let params = params(FamilyParams::new(vec![Contrast::parse("[a]").unwrap()]));
            params.check().unwrap().run(&table(csv)).unwrap().notes
        };
        let has = |notes: &[String], words: &str| notes.iter().any(|n| n.contains(words));
        let plain = |count| format!("seed,a\n{}", rows(count, |i| (i + 1).to_string()));
        assert!(has(&notes(&plain(19), &|p| p), "n = 19 is below 20"));
        assert!(!has(&notes(&plain(20), &|p| p), "is below 20"));
        // 2.5% of 1,000 draws are 25, and of 2,000 draws the 50 that are wanted.
        let few = notes(&plain(20), &|p| FamilyParams { draws: 1000, ..p });
        assert!(has(&few, "only 25 of 1000 draws lie beyond each family endpoint"), "{few:?}");
        assert!(!has(&notes(&plain(20), &|p| FamilyParams { draws: 2000, ..p }), "use more draws"));
        let strata = |of: &dyn Fn(usize) -> usize| {
            format!("seed,stratum,a\n{}", rows(20, |i| format!("s{},{}", of(i), i + 1)))
        };
        let single = notes(&strata(&|i| i / 19), &|p| p);
        assert!(has(&single, "1 of 2 strata hold a single unit"), "{single:?}");
        assert!(!has(&notes(&strata(&|i| i / 10), &|p| p), "hold a single unit"));
    }
}
