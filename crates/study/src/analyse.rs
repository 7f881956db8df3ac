//! From results to rows: every contrast of a study, judged, with the status that the ledger grants.
//!
//! A contrast that misses a source is not computed on the rest: its row says what is missing. No
//! source is dropped without a word.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use backcut_evidence::ledger::status::{Granted, Used, grant};
use backcut_evidence::ledger::{Contrast as Commitment, Entry, Ledger, Sample, Status};
use backcut_evidence::tables::Judgement;
use backcut_evidence::tables::rows::{AnalysisRow, ComparisonRow, PlanRow};
use backcut_files::Hash;
use backcut_stats::bootstrap::Units;
use backcut_stats::planning::{SampleSize, plan_noninferiority};
use backcut_stats::two_sample::{kolmogorov_smirnov, permutation_of_means};
use backcut_stats::{Contrast, DRAWS, FamilyParams, FamilyRow, SEED, SourceTable};

use crate::file::ComparisonTable;
use crate::memory::{Memory, commitments};
use crate::results::Results;
use crate::sample::is_of;
use crate::study::StudyFamily;
use crate::summary::Summary;

/// `analysis.csv`: one row per contrast.
pub fn analysis(results: &Results, ledger: &Ledger) -> Vec<AnalysisRow> {
    let memory = Memory::new(ledger);
    let recall = |entry: &Entry, contrast: &Commitment| memory.recall(entry, contrast);
    let units = results.plan.units.iter().zip(&results.summaries);
    let there: HashMap<Hash, Used> = units
        .filter_map(|(unit, summary)| {
            let &Summary { content, head, .. } = summary.as_ref()?;
            Some((unit.id, Used { unit: unit.id, content, head }))
        })
        .collect();
    let mut rows = Vec::new();
    for family in &results.study.families {
        let commitments = commitments(results.study, results.plan, family);
        let contrasts = commitments.into_iter().zip(&family.params.contrasts);
        for ((commitment, contrast), judged) in contrasts.zip(judge(results, family)) {
            let units = commitment.sample.as_ref().map_or_else(BTreeSet::new, Sample::set);
            let used: Vec<Used> =
                units.iter().filter_map(|unit| there.get(unit).copied()).collect();
            let mut granted = grant(ledger, &results.study.name, &commitment, &used, &recall);
            if let Some(sample) = &commitment.sample {
                granted.why += &results.rests_on(family, sample);
            }
            rows.push(analysis_row(family, contrast, commitment.direction, &judged, granted));
        }
    }
    rows
}

fn analysis_row(
    family: &StudyFamily,
    contrast: &Contrast,
    direction: Option<String>,
    judged: &Result<FamilyRow, String>,
    granted: Granted,
) -> AnalysisRow {
    let params = &family.params;
    let status = granted.standing();
    let (row, verdict) = match judged {
        Ok(row) if status.status == Status::Descriptive => (Some(row), Judgement::Described),
        Ok(row) => (Some(row), Judgement::Decided(row.verdict)),
        Err(problem) => (None, Judgement::NotComputed(problem.clone())),
    };
    AnalysisRow {
        family: family.table.name.clone(),
        contrast: contrast.name.clone(),
        expression: contrast.text.clone(),
        direction,
        sources: row.map(|r| r.n as u64),
        mean: row.map(|r| r.estimate),
        lower: row.map(|r| r.family[0]),
        upper: row.map(|r| r.family[1]),
        bound: params.bound,
        level: params.alpha,
        size: params.size.unwrap_or(params.contrasts.len()) as u64,
        unadjusted_p: row.map(|r| r.exact.p),
        adjusted_p: row.map(|r| r.adjusted_p),
        floor: row.map(|r| r.adjusted_floor),
        agreeing: row.map(|r| r.agreeing as u64),
        verdict,
        status,
        why: granted.why,
        pointwise_lower: row.map(|r| r.pointwise[0]),
        pointwise_upper: row.map(|r| r.pointwise[1]),
        one_out_lower: row.map(|r| r.leave_one_out.min),
        one_out_upper: row.map(|r| r.leave_one_out.max),
    }
}

/// A family's rows, or why there is none. A contrast without all its sources does not take the
/// others of its family with it; the level is shared by as many as were planned all the same.
fn judge(results: &Results, family: &StudyFamily) -> Vec<Result<FamilyRow, String>> {
    let all = &family.params.contrasts;
    let missing: Vec<Option<String>> = all
        .iter()
        .map(|contrast| source_table(results, family, std::slice::from_ref(contrast)).err())
        .collect();
    let complete: Vec<Contrast> =
        all.iter().zip(&missing).filter(|(_, m)| m.is_none()).map(|(c, _)| c.clone()).collect();
    let size = Some(family.params.size.unwrap_or(all.len()));
    let rows = source_table(results, family, &complete).and_then(|table| {
        let params = FamilyParams { contrasts: complete, size, ..family.params.clone() };
        let checked = params.check().map_err(|e| e.to_string())?;
        checked.run(&table).map(|report| report.rows).map_err(|e| e.to_string())
    });
    let mut rows = rows.map(Vec::into_iter);
    let mut next = || match &mut rows {
        Ok(rows) => rows.next().ok_or_else(|| "it has no row".to_owned()),
        Err(problem) => Err(problem.clone()),
    };
    missing.into_iter().map(|m| m.map_or_else(&mut next, Err)).collect()
}

/// The values that a family compares, as a table of sources.
fn source_table(
    results: &Results,
    family: &StudyFamily,
    contrasts: &[Contrast],
) -> Result<SourceTable, String> {
    let cells: Vec<&str> = contrasts.iter().flat_map(Contrast::cells).collect();
    let mut wanted: BTreeMap<(u64, String), Option<f64>> = BTreeMap::new();
    for place in &results.plan.places {
        let (cell, source) = results.study.cell(place);
        let is_used = cells.iter().any(|name| cell.is_meant_by(name));
        if !is_used || !is_of(family, results.study, place) {
            continue;
        }
        let value = match &family.table.quantity {
            None => results.error(place, family.table.at),
            Some(quantity) => match results.quantity(place, quantity, None) {
                Some(value) => value,
                None => continue, // another measurement of the same state
            },
        };
        // One measurement of a state may lack what another one has found.
        let slot = wanted.entry((source, cell.to_string())).or_default();
        *slot = slot.or(value);
    }
    let missing: Vec<String> = wanted
        .iter()
        .filter(|(_, value)| value.is_none())
        .map(|((source, cell), _)| format!("{cell} of source {source}"))
        .collect();
    if let Some(first) = missing.first() {
        let more = missing.len() - 1;
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        return Err(format!("no value of {first}{more}"));
    }
    let values = wanted
        .iter()
        .filter_map(|((source, cell), value)| Some((source.to_string(), cell, (*value)?)));
    SourceTable::from_values(values).map_err(|e| e.to_string())
}

/// `plans.csv`: how many sources a noninferiority study would need.
pub fn plans(results: &Results) -> Vec<PlanRow> {
    let mut rows = Vec::new();
    for family in &results.study.families {
        let (Some(power), Some(margin)) = (family.table.plan_power, family.table.margin) else {
            continue;
        };
        for contrast in &family.params.contrasts {
            let (sources, words) = match required(results, family, contrast, margin, power) {
                Ok(SampleSize::Sources { count, power }) => {
                    (Some(count as u64), format!("{count} sources give power {power:.3}"))
                }
                Ok(SampleSize::NoNumber { mean, margin }) => (
                    None,
                    format!("no number: the mean {mean:.4} is not below the margin {margin}"),
                ),
                Ok(SampleSize::MoreThan { count }) => (None, format!("more than {count}")),
                Err(problem) => (None, format!("not computed: {problem}")),
            };
            let (family, contrast) = (family.table.name.clone(), contrast.name.clone());
            rows.push(PlanRow { family, contrast, margin, power, sources, words });
        }
    }
    rows
}

fn required(
    results: &Results,
    family: &StudyFamily,
    contrast: &Contrast,
    margin: f64,
    power: f64,
) -> Result<SampleSize, String> {
    let table = source_table(results, family, std::slice::from_ref(contrast))?;
    let values = contrast.evaluate(&table).map_err(|e| e.to_string())?.values;
    let values = Units::of(&table).average(&values);
    let params = &family.params;
    let size = params.size.unwrap_or(params.contrasts.len());
    let level = params.bound.tail(params.alpha, size);
    plan_noninferiority(&values, margin, level, power).map_err(|e| e.to_string())
}

/// `comparisons.csv`: endpoints of unpaired sources.
pub fn comparisons(results: &Results) -> Vec<ComparisonRow> {
    results.study.comparisons.iter().map(|table| comparison(results, table)).collect()
}

fn comparison(results: &Results, table: &ComparisonTable) -> ComparisonRow {
    let side = |cell: &str| -> Option<Vec<f64>> { results.cell(cell).into_iter().collect() };
    let sides = side(&table.left).zip(side(&table.right));
    let outcome = match &sides {
        None => Err("a source is missing".to_owned()),
        Some((x, y)) if table.kind == "permutation" => {
            permutation_of_means(x, y, DRAWS as u64, SEED)
                .map(|t| (t.difference, t.p))
                .map_err(|e| e.to_string())
        }
        Some((x, y)) => {
            kolmogorov_smirnov(x, y).map(|t| (t.statistic, t.p)).map_err(|e| e.to_string())
        }
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let (statistic, p, note) = match outcome {
        Ok((statistic, p)) => (Some(statistic), Some(p), String::new()),
        Err(problem) => (None, None, format!("not computed: {problem}")),
    };
    ComparisonRow {
        name: table.name.clone(),
        kind: table.kind.clone(),
        left: table.left.clone(),
        right: table.right.clone(),
        left_mean: sides.as_ref().map(|(x, _)| mean(x)),
        right_mean: sides.as_ref().map(|(_, y)| mean(y)),
        statistic,
        p,
        note,
    }
}
