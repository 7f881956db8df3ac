//! The gradient layer trajectory by trajectory, on the panel: what single windows say, how they
//! agree, and how far that depends on which segments were looked at.
//!
//! Trajectories of one segment (the system names them) are no independent witnesses. Intervals
//! therefore resample whole segments within their strata; a system that names none has a segment
//! per trajectory.

use std::collections::{BTreeMap, BTreeSet};

use backcut_engine::Cut;
use backcut_stats::bootstrap::Units;
use backcut_stats::correlation::{spearman, spearman_interval};
use backcut_stats::quantile::quantiles;
use backcut_stats::{DRAWS, SEED};
use backcut_systems::System;

use crate::measure::define::{Definition, define};
use crate::measure::error::MeasureError;
use crate::measure::finding::{Finding, Of};
use crate::measure::groups::ALL;
use crate::measure::kinds::ages::ages;
use crate::measure::kinds::gradient_seeds::seed_resultant;
use crate::measure::panel;
use crate::measure::rig::Rig;
use crate::measure::subject::Subject;
use crate::measure::summary::summarise;

pub const DEFINITIONS: &[Definition] = &[
    define("windows", "windows.error", "the error of the trajectory's rollout"),
    define("windows", "windows.norm", "|g| of one trajectory under the cut"),
    define("windows", "windows.ratio", "|g| / |g_ref|; the reference is FF, or the cut after `vs`"),
    define("windows", "windows.difference", "|g - g_ref| / |g_ref| of one trajectory"),
    define("windows", "windows.cosine", "g . g_ref / (|g| |g_ref|) of one trajectory"),
    define(
        "windows",
        "windows.cancellation",
        "age.cancellation of FD's gradient of one trajectory",
    ),
    define("windows", "windows.resultant", "seed.resultant of one trajectory"),
    define(
        "windows",
        "windows.depth",
        "|g_FF - g_FD| / |g_FF| - |g_KF - g_KD| / |g_KF|: what physical depth adds to the effect \
         of the memory cut",
    ),
    define(
        "windows",
        "windows.spearman",
        "rank correlation over trajectories of cancellation with what the part names",
    ),
    define("windows", "windows.segments", "how many segments the trajectories come from"),
];

/// The level of the interval of a median: two predictions share 5%.
const LEVELS: [f64; 2] = [0.0125, 0.9875];
/// The level of the interval of a correlation.
const LEVELS_ALONE: [f64; 2] = [0.025, 0.975];

/// Measures `count` trajectories, evenly spread over the panel, each by itself.
pub fn windows(
    subject: &Subject,
    cuts: &[Cut],
    count: usize,
) -> Result<Vec<Finding>, MeasureError> {
    let rows = spread(subject.system.panel_rows(), count);
    let mut rig = Rig::of_rows(subject.system, cuts, 1)?;
    rig.set(&subject.state.params)?;
    let mut lists = Vec::with_capacity(rows.len());
    for &row in &rows {
        panel::fill_rows(subject.system, &[row], rig.rollout_mut())?;
        rig.differentiate_filled(|error| panel::of_trajectories(error, &[row]))?;
        lists.push(of_one(&rig)?);
    }
    let units = units(subject.system, &rows);
    let mut findings = Vec::new();
    for (list, row) in lists.iter().zip(&rows) {
        let part = format!("window {row}");
        findings.extend(list.iter().map(|f| Finding { part: part.clone(), ..f.clone() }));
    }
    let segments = Finding::new("windows.segments", "", ALL, units.len() as f64);
    let mut summary =
        if lists.len() == 1 { lists[0].clone() } else { summarise(&lists, "windows") };
    for (quantity, cut) in [("windows.ratio", "KF"), ("windows.depth", "")] {
        summary.extend(median_interval(&lists, quantity, cut, &units));
    }
    summary.extend(correlations(&lists, &units));
    summary.push(segments);
    summary.extend(findings);
    Ok(summary)
}

/// So many of `0..rows`, evenly spread; all of them if there are fewer.
fn spread(rows: usize, count: usize) -> Vec<usize> {
    let count = count.clamp(1, rows.max(1));
    (0..count).map(|i| i * rows / count).collect()
}

/// What one trajectory says.
fn of_one(rig: &Rig<f32>) -> Result<Vec<Finding>, MeasureError> {
    let mut error = [0.0];
    rig.system().row_errors(rig.rollout(), &mut error);
    let mut findings = vec![Finding::new("windows.error", "", ALL, error[0])];
    let (cuts, compared) = (rig.cuts(), rig.compared_gradients());
    let question = rig.question();
    let against_full = (0..cuts.len()).map(|i| (i, 0, question.of(i)));
    let against_kept = question.retained.iter().map(|&(i, kept)| {
        let names = [i, kept].map(|at| question.arms[at].clone());
        let [own, kept_name] = names;
        (i, kept, Of::Against(own, kept_name))
    });
    for (index, reference, of) in against_full.chain(against_kept) {
        let geometry = compared.whole(index, reference);
        let [norm, others @ ..] = geometry.report("windows", &of, ALL, &question.arms[reference]);
        if reference == 0 {
            findings.push(norm);
        }
        if index != reference {
            findings.extend(others);
        }
    }
    let effect = |cut: Cut, kept: Cut| compared.whole(rig.find(cut)?, rig.find(kept)?).difference();
    if rig.find(Cut::FD).is_some() {
        let found = ages(rig, Cut::FD)?;
        let cancellation = found.into_iter().find(|f| f.quantity == "age.cancellation");
        findings.extend(cancellation.map(|f| renamed(f, "windows.cancellation")));
    }
    findings.push(renamed(seed_resultant(rig)?, "windows.resultant"));
    let has_all = [Cut::FD, Cut::KF, Cut::KD].iter().all(|cut| rig.find(*cut).is_some());
    if has_all && let (Some(full), Some(one)) = (effect(Cut::FD, Cut::FF), effect(Cut::KD, Cut::KF))
    {
        findings.push(Finding::new("windows.depth", "", ALL, full - one));
    }
    Ok(findings)
}

fn renamed(finding: Finding, quantity: &str) -> Finding {
    Finding { quantity: quantity.to_owned(), ..finding }
}

/// Trajectories by segment, within strata. A stratum with a single segment would never vary: all of
/// these are one stratum.
fn units(system: &dyn System<f32>, rows: &[usize]) -> Units {
    let labels = rows.iter().map(|&row| {
        let own = || (String::new(), format!("{row}"));
        system.panel_segment(row).unwrap_or_else(own)
    });
    pooled(labels.collect())
}

fn pooled(mut labels: Vec<(String, String)>) -> Units {
    let mut segments: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (stratum, segment) in &labels {
        segments.entry(stratum.clone()).or_default().insert(segment.clone());
    }
    for (stratum, segment) in &mut labels {
        if segments[stratum].len() == 1 {
            *segment = format!("{stratum}/{segment}");
            stratum.clear();
        }
    }
    Units::grouped(labels)
}

fn values(lists: &[Vec<Finding>], quantity: &str, cut: &str) -> Option<Vec<f64>> {
    let of = |list: &Vec<Finding>| {
        list.iter().find(|f| f.quantity == quantity && f.of == *cut).and_then(|f| f.value)
    };
    lists.iter().map(of).collect()
}

/// The ends of the interval of a quantity's median.
fn median_interval(
    lists: &[Vec<Finding>],
    quantity: &str,
    cut: &str,
    units: &Units,
) -> Vec<Finding> {
    let Some(values) = values(lists, quantity, cut).filter(|_| units.len() > 1) else {
        return Vec::new();
    };
    let (mut medians, mut picked) = (Vec::with_capacity(DRAWS), Vec::new());
    units.resample(DRAWS, SEED, |_, picks| {
        picked.clear();
        let rows = picks.iter().flat_map(|&unit| &units.members()[unit as usize]);
        picked.extend(rows.map(|&row| values[row]));
        medians.push(quantiles(&mut picked, &[0.5])[0]);
    });
    ends(quantity, cut, ALL, &quantiles(&mut medians, &LEVELS), "segments resampled, 5% for two")
}

fn ends(quantity: &str, cut: &str, part: &str, ends: &[f64], note: &str) -> Vec<Finding> {
    let end = |(suffix, value): (&str, &f64)| Finding {
        note: note.to_owned(),
        ..Finding::new(format!("{quantity}.{suffix}"), cut, part, *value)
    };
    ["lower", "upper"].into_iter().zip(ends).map(end).collect()
}

/// Cancellation against the rollout's error and against the resultant.
fn correlations(lists: &[Vec<Finding>], units: &Units) -> Vec<Finding> {
    const QUANTITY: &str = "windows.spearman";
    let Some(cancellation) = values(lists, "windows.cancellation", "FD") else { return Vec::new() };
    let mut findings = Vec::new();
    for (part, quantity) in [("error", "windows.error"), ("resultant", "windows.resultant")] {
        let Some(other) = values(lists, quantity, "") else { continue };
        let found = spearman(&cancellation, &other).and_then(|rho| {
            spearman_interval(&cancellation, &other, units, LEVELS_ALONE, DRAWS, SEED)
                .map(|interval| (rho, interval))
        });
        match found {
            Ok((rho, interval)) => {
                findings.push(Finding::new(QUANTITY, "FD", part, rho));
                findings.extend(ends(
                    QUANTITY,
                    "FD",
                    part,
                    &interval.ends,
                    "segments resampled, 95%",
                ));
            }
            Err(why) => findings.push(Finding::undefined(QUANTITY, "FD", part, &why.to_string())),
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_spread_over_the_whole_panel() {
        assert_eq!(spread(10, 4), [0, 2, 5, 7]);
        assert_eq!(spread(3, 32), [0, 1, 2]);
        assert_eq!(spread(5, 0), [0]);
    }

    #[test]
    fn strata_of_one_segment_are_pooled() {
        let label = |(stratum, segment): (&str, &str)| (stratum.to_owned(), segment.to_owned());
        // Vessel a has two segments, b and c one each; d's two windows are of one segment.
        let rows = [("a", "1"), ("a", "2"), ("b", "1"), ("c", "1"), ("d", "9"), ("d", "9")];
        let units = pooled(rows.map(label).into());
        assert_eq!((units.len(), units.strata_and_singletons()), (5, (2, 0)));
        assert_eq!(units.members().iter().map(Vec::len).max(), Some(2));
    }

    #[test]
    fn the_interval_of_a_median_resamples_segments() {
        // Two segments that disagree: the median of a draw is one of three numbers.
        let one = |value| vec![Finding::new("windows.depth", "", ALL, value)];
        let lists: Vec<Vec<Finding>> = [0.0, 0.0, 1.0, 1.0].map(one).into();
        let labels = ["a", "a", "b", "b"].map(|s| (String::new(), s.to_owned()));
        let found = median_interval(&lists, "windows.depth", "", &Units::grouped(labels));
        let ends: Vec<f64> = found.iter().map(|f| f.value.unwrap()).collect();
        assert_eq!(ends, [0.0, 1.0]);
        let alone = Units::grouped(["a", "a", "a", "a"].map(|s| (String::new(), s.to_owned())));
        assert!(median_interval(&lists, "windows.depth", "", &alone).is_empty());
    }
}
