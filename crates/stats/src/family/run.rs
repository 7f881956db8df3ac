//! A family on a table: estimates, intervals, audit, verdicts.

use super::params::{Bound, Family};
use super::report::{FamilyRow, Report};
use crate::bootstrap::{MIN_SOURCES, Units};
use crate::contrast::{Contrast, Direction};
use crate::error::StatsError;
use crate::leave_one_out::LeaveOneOut;
use crate::limit::{self, LARGE};
use crate::philox::GENERATOR;
use crate::quantile::{mean, quantiles};
use crate::signflip::{SignFlip, SignFlipOptions, Tail, sign_flip, sign_test};
use crate::table::SourceTable;
use crate::verdict::{Evidence, STATUS};

/// A contrast's values per unit.
pub(crate) struct Prepared<'a> {
    pub(crate) contrast: &'a Contrast,
    pub(crate) values: Vec<f64>,
    pub(crate) denominators: Option<Vec<f64>>,
}

impl Prepared<'_> {
    /// The mean over units, or the ratio of two means.
    pub(crate) fn estimate(&self) -> f64 {
        let above = mean(&self.values);
        self.denominators.as_ref().map_or(above, |below| above / mean(below))
    }

    /// Levels of the estimate's draws, made of the next columns of drawn means; without draws,
    /// those of the normal limit. The note is on a ratio that means little.
    pub(crate) fn ends(
        &self,
        units: &Units,
        mut drawn: impl Iterator<Item = Vec<f64>>,
        levels: &[f64],
    ) -> Result<(Vec<f64>, Option<String>), StatsError> {
        let mut estimates = drawn.next().unwrap_or_default();
        let mut note = None;
        if self.denominators.is_some() {
            let below = drawn.next().unwrap_or_default();
            note = divide(self, &mut estimates, &below)?;
        }
        let ends = if estimates.is_empty() {
            limit::quantiles(units, &self.values, self.denominators.as_deref(), levels)
        } else {
            quantiles(&mut estimates, levels)
        };
        Ok((ends, note))
    }
}

impl Family {
    /// Judges every contrast on the sources that have a value in every cell it needs. The first
    /// note names those that were left out; their names come back too.
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
            let half = self.params.alpha / 2.0;
            let tail = self.params.bound.tail(self.params.alpha, self.size);
            let levels = [half, 1.0 - half, tail, 1.0 - tail];
            let (ends, note) = item.ends(&units, &mut drawn, &levels)?;
            notes.extend(note);
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
    fn row(&self, item: &Prepared<'_>, ends: &[f64]) -> Result<FamilyRow, StatsError> {
        let params = &self.params;
        let estimate = item.estimate();
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
            test: test.called(),
        }
        .decide();
        Ok(FamilyRow {
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
    use crate::{FamilyParams, Layout, Verdict};

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
