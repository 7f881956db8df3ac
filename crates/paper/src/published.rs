//! What the paper publishes per source, and the pointwise 95% interval of its values.
//!
//! **The rule.** Intervals of the paper are brought to one kind before anything is compared. Where
//! its values per source are published, the interval is the bootstrap interval of their mean, made
//! as ours is. Else it is the interval that it prints; one that is adjusted for a family is
//! narrowed by the ratio of normal quantiles. Where it prints a mean over n sources alone, its
//! interval is taken to be as wide as ours would be with n sources.

use backcut_page::report::Results;
use backcut_page::report::estimate::Estimate;
use backcut_stats::normal::normal_quantile;
use backcut_stats::{Contrast, Layout, SourceTable};

use crate::entry::{Entry, PerSource};

/// The paper's tables of values per source. The statistics are tested against what the paper makes
/// of them, too.
const TABLES: [(&str, &str); 8] = [
    ("a4_directional", include_str!("../data/a4_directional.csv")),
    ("a6_noninferiority", include_str!("../data/a6_noninferiority.csv")),
    ("c5_from_initialization", include_str!("../data/c5_from_initialization.csv")),
    ("c6_seg2_minus_fsg", include_str!("../data/c6_seg2_minus_fsg.csv")),
    ("e3_forward_intervention", include_str!("../data/e3_forward_intervention.csv")),
    ("seven_point_gap", include_str!("../data/seven_point_gap.csv")),
    (
        "seven_point_relative_excess_percent",
        include_str!("../data/seven_point_relative_excess_percent.csv"),
    ),
    ("vessel_gap", include_str!("../data/vessel_gap.csv")),
];

/// Where the interval of a published number comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Basis {
    /// The paper's values per source.
    PerSource,
    /// The interval that the paper prints.
    Printed,
    /// Nothing is printed: as wide as ours.
    AsOurs,
    /// What the kind of number implies: counts, spreads and correlations of known numbers of
    /// sources.
    Counted,
}

/// The values per source of a published number.
pub fn values(of: &PerSource) -> Result<Vec<(String, f64)>, String> {
    let found = TABLES.iter().find(|(name, _)| *name == of.table);
    let (_, text) = found.ok_or_else(|| format!("no table of the paper is called {}", of.table))?;
    let table = SourceTable::from_csv(text.as_bytes(), &Layout::default());
    let table = table.map_err(|error| format!("failed to {error}"))?;
    let contrast = Contrast::parse(&of.expression).map_err(|error| format!("failed to {error}"))?;
    let evaluated = contrast.evaluate(&table).map_err(|error| format!("failed to {error}"))?;
    let scaled = evaluated.values.into_iter().map(|value| value * of.scale);
    Ok(table.sources().iter().cloned().zip(scaled).collect())
}

/// The mean of the values per source with its pointwise 95% interval.
pub fn estimate(results: &Results, of: &PerSource) -> Result<Estimate, String> {
    Ok(results.from_values(values(of)?, Vec::new()))
}

/// The pointwise 95% interval of a published number; `ours` is our number with its own and its
/// count of sources.
pub fn interval(
    results: &Results,
    entry: &Entry,
    ours: (f64, Option<[f64; 2]>, usize),
) -> Option<([f64; 2], Basis)> {
    let paper = entry.paper?;
    if let Some(of) = &entry.per_source {
        return Some((estimate(results, of).ok()?.interval?, Basis::PerSource));
    }
    if let Some(ends) = entry.interval {
        let level = |m: f64| normal_quantile(1.0 - 0.05 / (2.0 * m));
        let narrower = level(1.0) / level(f64::from(entry.family.unwrap_or(1)));
        return Some((ends.map(|end| paper + (end - paper) * narrower), Basis::Printed));
    }
    let (value, ends, count) = ours;
    let more = match (entry.n, count) {
        (Some(n), count) if n > 0 && count > 0 => (count as f64 / f64::from(n)).sqrt(),
        _ => 1.0,
    };
    Some((ends?.map(|end| paper + (end - value) * more), Basis::AsOurs))
}
