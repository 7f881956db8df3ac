//! From results to rows: every contrast of a study, judged, with the status that the ledger grants.
//!
//! A contrast that misses a source is not computed on the rest: its row says what is missing. No source
//! is dropped without a word.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use backcut_ledger::Ledger;
use backcut_ledger::status::{Used, grant};
use backcut_stats::bootstrap::Units;
use backcut_stats::planning::{Plan as Sources, plan_noninferiority};
use backcut_stats::two_sample::{kolmogorov_smirnov, permutation_of_means};
use backcut_stats::{Bound, Contrast, FamilyParams, Layout, Row, SourceTable};

use crate::collect::Results;
use crate::commit::{commitments, hash, is_of, parse, units_of};
use crate::error::StudyError;
use crate::study::StudyFamily;
use crate::table::{Kind, Table, Value};

/// The columns of `analysis.csv`.
const ANALYSIS: [(&str, Kind); 21] = [
    ("family", Kind::Text),
    ("contrast", Kind::Text),
    ("expression", Kind::Text),
    ("direction", Kind::Text),
    ("sources", Kind::Count),
    ("mean", Kind::Number),
    ("lower", Kind::Number),
    ("upper", Kind::Number),
    ("bound", Kind::Text),
    ("level", Kind::Number),
    ("size", Kind::Count),
    ("exact_p", Kind::Number),
    ("floor", Kind::Number),
    ("agreeing", Kind::Count),
    ("verdict", Kind::Text),
    ("status", Kind::Text),
    ("why", Kind::Text),
    ("pointwise_lower", Kind::Number),
    ("pointwise_upper", Kind::Number),
    ("one_out_lower", Kind::Number),
    ("one_out_upper", Kind::Number),
];

/// `analysis.csv`: one row per contrast.
pub fn analysis(results: &Results, ledger: &Ledger) -> Result<Table, StudyError> {
    let mut table = Table::new("analysis", &ANALYSIS);
    for family in &results.study.families {
        let params = &family.params;
        let judged = judge(results, family);
        for (index, commitment) in commitments(family).iter().enumerate() {
            let contrast = &params.contrasts[index];
            let mut used = Vec::new();
            for unit in units_of(results.study, results.plan, family, &commitment.name) {
                if let Some(summary) = &results.summaries[unit as usize] {
                    let unit = hash(&results.plan.units[unit as usize].id);
                    let (content, head) = (parse(&summary.content)?, parse(&summary.head)?);
                    used.push(Used { unit, content, head });
                }
            }
            let granted = grant(ledger, &results.study.name, commitment, &used);
            let mut row: Vec<Value> = vec![
                family.table.name.as_str().into(),
                contrast.name.as_str().into(),
                contrast.text.as_str().into(),
                commitment.direction.clone().into(),
            ];
            let bound = match params.bound {
                Bound::TwoSided => "two-sided",
                Bound::OneSided => "one-sided",
            };
            let size = params.size.unwrap_or(params.contrasts.len()) as u64;
            match &judged[index] {
                Ok(judged) => row.extend(numbers(judged, bound, params.alpha, size)),
                Err(problem) => {
                    row.extend([Value::Empty, Value::Empty, Value::Empty, Value::Empty]);
                    row.extend([bound.into(), params.alpha.into(), size.into()]);
                    row.extend([Value::Empty, Value::Empty, Value::Empty]);
                    row.push(format!("not computed: {problem}").into());
                }
            }
            row.extend([granted.status.to_string().into(), granted.why.into()]);
            row.extend(match &judged[index] {
                Ok(row) => {
                    let [low, high] = row.pointwise;
                    let out = &row.leave_one_out;
                    [low.into(), high.into(), out.min.into(), out.max.into()]
                }
                Err(_) => [Value::Empty, Value::Empty, Value::Empty, Value::Empty],
            });
            table.rows.push(row);
        }
    }
    Ok(table)
}

fn numbers(row: &Row, bound: &str, alpha: f64, size: u64) -> Vec<Value> {
    vec![
        (row.n as u64).into(),
        row.estimate.into(),
        row.family[0].into(),
        row.family[1].into(),
        bound.into(),
        alpha.into(),
        size.into(),
        row.adjusted_p.into(),
        row.adjusted_floor.into(),
        (row.agreeing as u64).into(),
        row.verdict.words().into(),
    ]
}

/// A family's rows, or why there is none. A contrast without all its sources does not take the others
/// of its family with it; the level is shared by as many as were planned all the same.
fn judge(results: &Results, family: &StudyFamily) -> Vec<Result<Row, String>> {
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
        let arm = &results.study.arms[place.arm as usize];
        let grid = &results.study.grids[arm.grid];
        let (condition, _) = &grid.conditions[place.condition as usize];
        let name = format!("{}@{condition}", arm.name);
        let is_used = cells.contains(&&*name) || cells.contains(&&*format!("{}@*", arm.name));
        if !is_used || !is_of(family, results.study, place) {
            continue;
        }
        let source = grid.sources[place.source as usize];
        let value = match &family.table.quantity {
            None => results.error(place, family.table.at),
            Some(quantity) => match results.quantity(place, quantity, None) {
                Some(value) => value,
                None => continue, // another measurement of the same state
            },
        };
        // One measurement of a state may lack what another one has found.
        let slot = wanted.entry((source, name)).or_default();
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
    let mut csv = String::from("source,arm,value\n");
    for ((source, cell), value) in &wanted {
        let value = value.unwrap_or_default();
        let _ = writeln!(csv, "{source},{cell},{value:e}"); // writing to a string cannot fail
    }
    SourceTable::from_csv(csv.as_bytes(), &Layout::default()).map_err(|e| e.to_string())
}

/// `plans.csv`: how many sources a noninferiority study would need.
pub fn plans(results: &Results) -> Option<Table> {
    let columns = [
        ("family", Kind::Text),
        ("contrast", Kind::Text),
        ("margin", Kind::Number),
        ("power", Kind::Number),
        ("sources", Kind::Count),
        ("words", Kind::Text),
    ];
    let mut table = Table::new("plans", &columns);
    for family in &results.study.families {
        let (Some(power), Some(margin)) = (family.table.plan_power, family.table.margin) else {
            continue;
        };
        for contrast in &family.params.contrasts {
            let (sources, words) = match required(results, family, contrast, margin, power) {
                Ok(Sources::Sources { count, power }) => {
                    (Some(count as u64), format!("{count} sources give power {power:.3}"))
                }
                Ok(Sources::NoNumber { mean, margin }) => (
                    None,
                    format!("no number: the mean {mean:.4} is not below the margin {margin}"),
                ),
                Ok(Sources::MoreThan { count }) => (None, format!("more than {count}")),
                Err(problem) => (None, format!("not computed: {problem}")),
            };
            table.rows.push(vec![
                family.table.name.as_str().into(),
                contrast.name.as_str().into(),
                margin.into(),
                power.into(),
                sources.into(),
                words.into(),
            ]);
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

fn required(
    results: &Results,
    family: &StudyFamily,
    contrast: &Contrast,
    margin: f64,
    power: f64,
) -> Result<Sources, String> {
    let table = source_table(results, family, std::slice::from_ref(contrast))?;
    let values = contrast.evaluate(&table).map_err(|e| e.to_string())?.values;
    let values = Units::of(&table).average(&values);
    let params = &family.params;
    let size = params.size.unwrap_or(params.contrasts.len());
    let level = params.bound.tail(params.alpha, size);
    plan_noninferiority(&values, margin, level, power).map_err(|e| e.to_string())
}

/// `comparisons.csv`: endpoints of unpaired sources.
pub fn comparisons(results: &Results) -> Option<Table> {
    let columns = [
        ("name", Kind::Text),
        ("kind", Kind::Text),
        ("left", Kind::Text),
        ("right", Kind::Text),
        ("left_mean", Kind::Number),
        ("right_mean", Kind::Number),
        ("statistic", Kind::Number),
        ("p", Kind::Number),
        ("note", Kind::Text),
    ];
    let mut table = Table::new("comparisons", &columns);
    for item in &results.study.comparisons {
        let side = |cell: &str| -> Option<Vec<f64>> { results.cell(cell).into_iter().collect() };
        let sides = side(&item.left).zip(side(&item.right));
        let outcome = match &sides {
            None => Err("a source is missing".to_owned()),
            Some((x, y)) if item.kind == "permutation" => permutation_of_means(x, y, 100_000, 0)
                .map(|t| (t.difference, t.p))
                .map_err(|e| e.to_string()),
            Some((x, y)) => {
                kolmogorov_smirnov(x, y).map(|t| (t.statistic, t.p)).map_err(|e| e.to_string())
            }
        };
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let means = sides.as_ref().map(|(x, y)| (mean(x), mean(y)));
        let (statistic, p, note) = match outcome {
            Ok((statistic, p)) => (Some(statistic), Some(p), String::new()),
            Err(problem) => (None, None, format!("not computed: {problem}")),
        };
        table.rows.push(vec![
            item.name.as_str().into(),
            item.kind.as_str().into(),
            item.left.as_str().into(),
            item.right.as_str().into(),
            means.map(|m| m.0).into(),
            means.map(|m| m.1).into(),
            statistic.into(),
            p.into(),
            note.into(),
        ]);
    }
    (!table.rows.is_empty()).then_some(table)
}
