//! A family on a table: estimates, intervals, audit, verdicts.

use backcut_text::thousands;
use serde::Serialize;

use super::params::{Bound, Family, MIN_SOURCES};
use crate::bootstrap::Units;
use crate::contrast::{Contrast, Direction};
use crate::error::StatsError;
use crate::leave_one_out::LeaveOneOut;
use crate::limit::{self, LARGE};
use crate::philox::GENERATOR;
use crate::quantile::{mean, quantiles};
use crate::signflip::{SignFlip, SignFlipOptions, Tail, sign_flip, sign_test};
use crate::table::SourceTable;
use crate::verdict::{Evidence, STATUS, Verdict};

/// Below this many sources a report warns that percentile intervals are too narrow.
///
/// Measured by the `coverage` example: nominal 95% intervals held the true mean in 0.89 of data sets of
/// normal sources at n = 8, 0.93 at 16 and 0.94 at 28; of lognormal sources in 0.80, 0.84 and 0.87.
pub const SMALL_SAMPLE: usize = 20;

/// Fewer bootstrap draws than this beyond an endpoint make the endpoint noisy.
const MIN_TAIL_DRAWS: f64 = 50.0;

/// One contrast, judged.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Row {
    /// The contrast's name.
    pub name: String,
    /// The expression as it was written.
    pub expression: String,
    /// The predicted direction.
    pub direction: Option<Direction>,
    /// What is known about when it was fixed: nothing, see [`STATUS`].
    pub status: &'static str,
    /// Independent units: sources, or clusters of them.
    pub n: usize,
    /// The mean over units, or the ratio of two means.
    pub estimate: f64,
    /// The pointwise percentile interval at 1 - alpha.
    pub pointwise: [f64; 2],
    /// The endpoints that decide: simultaneous, or one-sided bounds.
    pub family: [f64; 2],
    /// Units above, below and at zero (relative to the margin, if there is one).
    pub above: usize,
    /// Units below.
    pub below: usize,
    /// Units exactly at it.
    pub at: usize,
    /// Units on the side that the claim is about: the predicted one, under the margin, or the estimate's.
    pub agreeing: usize,
    /// The exact one-sided sign test on `agreeing` (units exactly at the line left out); absent for ratios.
    pub sign_test_p: Option<f64>,
    /// The sign-flip test.
    pub exact: SignFlip,
    /// Its p-value times the family size, at most 1.
    pub adjusted_p: f64,
    /// The smallest adjusted p-value that was possible.
    pub adjusted_floor: f64,
    /// What leaving out each unit does to the estimate.
    pub leave_one_out: LeaveOneOut,
    /// The decision.
    pub verdict: Verdict,
    /// Why, in words.
    pub reason: String,
}

/// A judged family.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    /// Rows of the table, which are sources unless there are clusters.
    pub sources: usize,
    /// Independent units.
    pub units: usize,
    /// What a unit is called: `sources` or `clusters`.
    pub unit_name: &'static str,
    /// How many comparisons share the level.
    pub family_size: usize,
    /// The level.
    pub alpha: f64,
    /// The kind of bound that decides.
    pub bound: Bound,
    /// The noninferiority margin.
    pub margin: Option<f64>,
    /// Bootstrap draws; 0 if the normal limit was taken ([`LARGE`]).
    pub draws: usize,
    /// The seed of every draw.
    pub seed: u64,
    /// The generator that the seed belongs to.
    pub generator: &'static str,
    /// The rows, in the order of the contrasts.
    pub rows: Vec<Row>,
    /// What a reader must know beside the numbers.
    pub notes: Vec<String>,
}

/// A contrast's values per unit.
struct Prepared<'a> {
    contrast: &'a Contrast,
    values: Vec<f64>,
    denominators: Option<Vec<f64>>,
}

impl Family {
    /// Judges every contrast on the sources that have a value in every cell it needs. The first note names
    /// those that were left out; their names come back too.
    pub fn run_on_complete(
        &self,
        table: &SourceTable,
    ) -> Result<(Report, Vec<String>), StatsError> {
        let mut cells = Vec::new();
        for contrast in &self.params.contrasts {
            cells.extend(contrast.cells_in(table)?);
        }
        let left_out = table.incomplete(&cells)?;
        let mut report = self.run(&table.without(&left_out))?;
        if !left_out.is_empty() {
            let (count, all) = (left_out.len(), table.sources().len());
            let names = left_out.join(", ");
            let note = format!("{count} of {all} sources left out for missing values: {names}");
            report.notes.insert(0, note);
        }
        Ok((report, left_out))
    }

    /// Judges every contrast on the table. Any gap, duplicate or non-finite value is an error.
    pub fn run(&self, table: &SourceTable) -> Result<Report, StatsError> {
        let units = Units::of(table);
        let mut prepared = Vec::new();
        let mut columns = Vec::new();
        for contrast in &self.params.contrasts {
            let evaluated = contrast.evaluate(table)?;
            let values = units.average(&evaluated.values);
            let denominators = evaluated.denominators.map(|d| units.average(&d));
            columns.push(values.clone());
            columns.extend(denominators.clone());
            prepared.push(Prepared { contrast, values, denominators });
        }
        if units.len() < MIN_SOURCES {
            return Err(StatsError::TooFewSources { found: units.len(), needed: MIN_SOURCES });
        }
        let draws = if units.len() > LARGE { 0 } else { self.params.draws };
        let mut drawn = units.means(&columns, draws, self.params.seed)?.into_iter();
        let mut notes = self.notes(&units);
        let mut rows = Vec::new();
        for item in &prepared {
            let mut estimates = drawn.next().unwrap_or_default();
            if item.denominators.is_some() {
                let below = drawn.next().unwrap_or_default();
                notes.extend(divide(item, &mut estimates, &below)?);
            }
            let half = self.params.alpha / 2.0;
            let tail = self.params.bound.tail(self.params.alpha, self.size);
            let levels = [half, 1.0 - half, tail, 1.0 - tail];
            let ends = if draws == 0 {
                limit::quantiles(&units, &item.values, item.denominators.as_deref(), &levels)
            } else {
                quantiles(&mut estimates, &levels)
            };
            rows.push(self.row(item, &ends)?);
        }
        notes.extend(self.row_notes(&rows));
        Ok(Report {
            sources: table.sources().len(),
            units: units.len(),
            unit_name: if units.clustered() { "clusters" } else { "sources" },
            family_size: self.size,
            alpha: self.params.alpha,
            bound: self.params.bound,
            margin: self.params.margin,
            draws,
            seed: self.params.seed,
            generator: GENERATOR,
            rows,
            notes,
        })
    }

    /// Judges a contrast by the ends of its pointwise interval and of the family's.
    fn row(&self, item: &Prepared<'_>, ends: &[f64]) -> Result<Row, StatsError> {
        let params = &self.params;
        let estimate = match &item.denominators {
            None => mean(&item.values),
            Some(below) => mean(&item.values) / mean(below),
        };
        let leave_one_out = LeaveOneOut::of(&item.values, item.denominators.as_deref());
        let range = [leave_one_out.min, leave_one_out.max, estimate];
        if !ends.iter().chain(&range).all(|value| value.is_finite()) {
            let contrast = item.contrast.text.clone();
            let place = "a mean over sources".into();
            return Err(StatsError::Overflow { contrast, place });
        }
        let tested = self.tested(item);
        let test = self.exact(&tested, item.contrast.direction)?;
        let adjust = |p: f64| (p * self.size as f64).min(1.0);
        let count = |test: fn(&f64) -> bool| tested.iter().filter(|v| test(v)).count();
        let (above, below) = (count(|v| *v > 0.0), count(|v| *v < 0.0));
        let claim_is_below = match item.contrast.direction {
            Some(direction) => direction == Direction::Negative,
            None => params.margin.is_some() || estimate < 0.0,
        };
        let agreeing = if claim_is_below { below } else { above };
        let family = [ends[2], ends[3]];
        let (verdict, reason) = Evidence {
            interval: family,
            direction: item.contrast.direction,
            margin: params.margin,
            adjusted_p: adjust(test.p),
            floor: adjust(test.floor),
            alpha: params.alpha,
        }
        .decide();
        Ok(Row {
            name: item.contrast.name.clone(),
            expression: item.contrast.text.clone(),
            direction: item.contrast.direction,
            status: STATUS,
            n: item.values.len(),
            estimate,
            pointwise: [ends[0], ends[1]],
            family,
            above,
            below,
            at: tested.len() - above - below,
            agreeing,
            sign_test_p: item.denominators.is_none().then(|| sign_test(agreeing, above + below)),
            exact: test,
            adjusted_p: adjust(test.p),
            adjusted_floor: adjust(test.floor),
            leave_one_out,
            verdict,
            reason,
        })
    }

    /// The per-unit values whose mean is zero exactly on the line that the claim is about.
    ///
    /// For a ratio of means A / B against a margin m that is A - m B, and A against zero.
    fn tested(&self, item: &Prepared<'_>) -> Vec<f64> {
        let margin = self.params.margin.unwrap_or(0.0);
        match &item.denominators {
            None => item.values.iter().map(|v| v - margin).collect(),
            Some(below) => {
                // A negative denominator turns the inequality around.
                let sign = if mean(below) < 0.0 { -1.0 } else { 1.0 };
                item.values.iter().zip(below).map(|(a, b)| sign * (a - margin * b)).collect()
            }
        }
    }

    fn exact(&self, values: &[f64], direction: Option<Direction>) -> Result<SignFlip, StatsError> {
        let params = &self.params;
        let tail = match (params.margin, params.bound, direction) {
            (Some(_), _, _) | (None, Bound::OneSided, Some(Direction::Negative)) => Tail::Lower,
            (None, Bound::OneSided, Some(Direction::Positive)) => Tail::Upper,
            (None, _, _) => Tail::TwoSided,
        };
        if values.len() > LARGE {
            return Ok(limit::sign_flip(values, tail));
        }
        let options = SignFlipOptions {
            exact_up_to: params.exact_up_to,
            draws: params.patterns,
            seed: params.seed,
        };
        sign_flip(values, tail, &options)
    }

    /// What follows from the design alone.
    fn notes(&self, units: &Units) -> Vec<String> {
        let mut notes = Vec::new();
        let n = units.len();
        if n < SMALL_SAMPLE {
            notes.push(format!(
                "n = {n} is below {SMALL_SAMPLE}: percentile intervals are too narrow (for normal sources \
                 a nominal 95% covers about 0.89 at n = 8 and 0.93 at n = 16, less for skewed \
                 ones); read the exact test beside them"
            ));
        }
        let tail = self.params.bound.tail(self.params.alpha, self.size) * self.params.draws as f64;
        if n > LARGE {
            notes.push(format!(
                "n = {} is above {}: nothing is drawn, intervals and tests are those of the normal limit",
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
    fn row_notes(&self, rows: &[Row]) -> Vec<String> {
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
        for row in rows.iter().filter(|row| row.leave_one_out.sign_kept < row.n) {
            notes.push(format!(
                "{}: the estimate keeps its sign in {} of {} leave-one-out repeats",
                row.name, row.leave_one_out.sign_kept, row.n
            ));
        }
        notes
    }
}

/// Turns draws of the numerator into draws of the ratio.
fn divide(
    item: &Prepared<'_>,
    above: &mut [f64],
    below: &[f64],
) -> Result<Option<String>, StatsError> {
    let center = item.denominators.as_ref().map_or(0.0, |d| mean(d));
    let contrast = item.contrast.text.clone();
    if center == 0.0 {
        let place = "the mean over sources".into();
        return Err(StatsError::ZeroDenominator { contrast, place });
    }
    if below.contains(&0.0) {
        let place = "at least one bootstrap draw".into();
        return Err(StatsError::ZeroDenominator { contrast, place });
    }
    for (above, below) in above.iter_mut().zip(below) {
        *above /= below;
    }
    let crossing = below.iter().filter(|b| b.signum() != center.signum()).count();
    Ok((crossing > 0).then(|| {
        format!(
            "{}: the denominator's mean changes sign in {crossing} of {} draws, so the interval \
             of the ratio means little",
            item.contrast.name,
            below.len()
        )
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FamilyParams, Layout};

    fn table(csv: &str) -> SourceTable {
        SourceTable::from_csv(csv.as_bytes(), &Layout::default()).unwrap()
    }

    #[test]
    fn very_many_sources_are_judged_without_a_draw() {
        let lines = (0..=LARGE).map(|i| format!("{i},{},{}\n", i % 100, i % 100 + i % 3));
        let report = run(
            &format!("source,a,b\n{}", lines.collect::<String>()),
            &["[b] - [a] > 0", "q = mean([b]) / mean([a])"],
        );
        let report = report.unwrap();
        assert_eq!((report.draws, report.rows[0].exact.patterns), (0, 0));
        assert!(report.notes[0].starts_with("n = 10,001 is above 10,000: nothing is drawn"));
        for (row, truth) in report.rows.iter().zip([1.0, 1.0 + 1.0 / 49.5]) {
            let [low, high] = row.pointwise;
            assert!(low < truth && truth < high && high - low < 0.05, "{low} {high}");
            assert!(row.family[0] <= low && high <= row.family[1]);
        }
        assert_eq!(report.rows[0].verdict, Verdict::Supported);
        assert!(!crate::text::render(&report, "many").contains("draws of"));
    }

    fn run(csv: &str, contrasts: &[&str]) -> Result<Report, StatsError> {
        let contrasts = contrasts.iter().map(|t| Contrast::parse(t).unwrap()).collect();
        FamilyParams::new(contrasts).check().unwrap().run(&table(csv))
    }

    #[test]
    fn fewer_than_four_sources_are_refused() {
        let error = run("seed,a\n1,1\n2,2\n3,3\n", &["[a]"]).unwrap_err();
        assert_eq!(error, StatsError::TooFewSources { found: 3, needed: 4 });
    }

    #[test]
    fn ratio_of_means_is_not_the_mean_of_ratios() {
        let csv = "seed,a,b\n1,1,1\n2,2,4\n3,3,2\n4,4,3\n5,5,9\n";
        let report = run(csv, &["mean([a]) / mean([b])"]).unwrap();
        assert_eq!(report.rows[0].estimate, 15.0 / 19.0);
        let [low, high] = report.rows[0].pointwise;
        assert!(low < 15.0 / 19.0 && 15.0 / 19.0 < high);
        assert_eq!(report.rows[0].sign_test_p, None);
    }

    #[test]
    fn a_denominator_that_changes_sign_is_announced() {
        let csv = "seed,a,b\n1,1,5.13\n2,2,-4.01\n3,3,2.37\n4,4,-1.51\n5,5,0.53\n";
        let report = run(csv, &["mean([a]) / mean([b])"]).unwrap();
        assert!(report.notes.iter().any(|n| n.contains("changes sign")), "{:?}", report.notes);
        let zero = "seed,a,b\n1,1,1\n2,2,-1\n3,3,1\n4,4,-1\n";
        let error = run(zero, &["mean([a]) / mean([b])"]).unwrap_err();
        assert!(matches!(error, StatsError::ZeroDenominator { .. }));
    }

    #[test]
    fn means_that_leave_the_finite_numbers_are_errors() {
        let huge = "seed,a,b\n1,1e308,1\n2,1e308,1\n3,1e308,1\n4,1e308,1\n";
        assert!(matches!(run(huge, &["[a]"]), Err(StatsError::Overflow { .. })));
        // Without source 4 the denominator's mean is zero.
        let csv = "seed,a,b\n1,1,1.5\n2,2,-2.5\n3,3,1\n4,4,8.3\n";
        assert!(run(csv, &["mean([a]) / mean([b])"]).is_err());
    }

    #[test]
    fn the_floor_is_said_when_it_decides() {
        let csv = "seed,a\n1,1\n2,2\n3,3\n4,4\n";
        let report = run(csv, &["[a] > 0"]).unwrap();
        assert_eq!(report.rows[0].verdict, Verdict::SupportedNotByExact);
        assert!(
            report.notes.iter().any(|n| n.contains("M * 2 / 2^n = 0.125")),
            "{:?}",
            report.notes
        );
    }

    fn rows(count: usize, line: impl Fn(usize) -> String) -> String {
        let lines: Vec<String> = (0..count).map(|i| format!("{i},{}\n", line(i))).collect();
        lines.concat()
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

    /// A ratio of -2 to the margin -1: below it, whatever the sign of both means.
    #[test]
    fn a_ratio_is_tested_against_its_margin_on_the_side_of_its_denominator() {
        for sign in [1.0, -1.0] {
            let lines = rows(8, |i| format!("{},{}", -sign * (4.0 + 0.1 * i as f64), 2.0 * sign));
            let params = FamilyParams::new(vec![Contrast::parse("mean([a]) / mean([b])").unwrap()]);
            let params = FamilyParams { margin: Some(-1.0), ..params };
            let csv = format!("seed,a,b\n{lines}");
            let row = params.check().unwrap().run(&table(&csv)).unwrap().rows[0].clone();
            assert_eq!((row.agreeing, row.n), (8, 8), "{sign}");
            assert_eq!(row.exact.p, 1.0 / 256.0, "{sign}");
            assert_eq!(row.verdict, Verdict::Noninferior, "{sign}");
        }
        let params = FamilyParams::new(vec![Contrast::parse("[a]").unwrap()]);
        let params = FamilyParams { margin: Some(5.0), ..params };
        let csv = format!("seed,a\n{}", rows(8, |i| (4.0 + 0.1 * i as f64).to_string()));
        let row = params.check().unwrap().run(&table(&csv)).unwrap().rows[0].clone();
        assert_eq!((row.agreeing, row.exact.p), (8, 1.0 / 256.0));
    }
}
