//! Ours where it is not a contrast over endpoints: measured quantities, and errors along training.

use std::collections::BTreeMap;

use backcut_evidence::tables::UnitState;
use backcut_page::report::Results;
use backcut_page::report::estimate::{Estimate, Pick};
use backcut_page::report::results::{Study, canonical_condition, distinct};
use backcut_stats::correlation::spearman;
use backcut_stats::quantile::{mean, quantiles};

use crate::entry::{Curve, Measure, Other, Within};

/// The error of the plain prediction on the panel.
const PLAIN_ERROR: &str = "reference.error";

/// The parts that single windows are.
const WINDOWS: &str = "window *";

/// One value per source, or per state.
type Values = BTreeMap<String, f64>;

/// A measured quantity with the interval that was measured beside it.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The values with their mean.
    pub estimate: Estimate,
    /// What kind of interval it has, if not the usual one.
    pub kind: Option<String>,
    /// Whether the values are of states, several of one source.
    pub of_states: bool,
}

/// The study's tables, or the sentence that they are missing.
pub fn collected<'r>(results: &'r Results, study: &str) -> Result<&'r Study, String> {
    results.study(study).ok_or_else(|| format!("study {study} was not collected"))
}

/// The values of a measured quantity.
pub fn measured(results: &Results, measure: &Measure, study: &str) -> Result<Measured, String> {
    let tables = collected(results, study)?;
    let exists = |q: &&String| tables.measured(q).next().is_some();
    let Some(quantity) = measure.quantity.iter().find(exists) else {
        return Err(format!("study {study} holds no `{}`", measure.quantity.join("` or `")));
    };
    let asked = Asked { results, tables, measure };
    let weighted = |conditions: &[String], sign: f64| -> Vec<(f64, Values)> {
        let weight = sign / conditions.len() as f64;
        conditions.iter().map(|c| (weight, asked.states(quantity, None, c))).collect()
    };
    let mut columns = weighted(&measure.at, 1.0);
    columns.extend(weighted(&measure.minus, -1.0));
    let mut states: Vec<&String> = columns.iter().flat_map(|(_, column)| column.keys()).collect();
    states.sort();
    states.dedup();
    let (mut values, mut missing) = (Vec::new(), Vec::new());
    for state in states {
        let terms: Option<Vec<f64>> =
            columns.iter().map(|(w, column)| Some(w * column.get(state)?)).collect();
        match terms {
            Some(terms) => values.push((state.clone(), terms.iter().sum())),
            None => missing.push(state.clone()),
        }
    }
    if values.is_empty() {
        return Err(format!("no source of {study} has `{quantity}` at every condition needed"));
    }
    let mut estimate = results.from_values(values, missing);
    if asked.has_several_states() {
        // States of one source are not independent.
        estimate.interval = None;
    }
    let own =
        asked.own_interval(quantity).or_else(|| asked.windows_interval(quantity, estimate.mean));
    let own = own.filter(|_| estimate.n() == 1);
    let kind = own.map(|(interval, kind)| {
        estimate.interval = Some(interval);
        kind
    });
    Ok(Measured { estimate, kind, of_states: asked.has_several_states() })
}

/// The rank correlation of a quantity with another one, over the states that have both.
pub fn correlated(results: &Results, measure: &Measure, study: &str) -> Result<Estimate, String> {
    let found = measured(results, measure, study)?.estimate;
    let asked = Asked { results, tables: collected(results, study)?, measure };
    let (Some(quantity), Some(at)) = (measure.quantity.first(), measure.at.first()) else {
        return Err("no quantity or condition is named".to_owned());
    };
    let other = asked.states(quantity, measure.against.as_ref(), at);
    let pairs: Vec<(f64, f64)> =
        found.values.iter().filter_map(|(state, v)| Some((*v, *other.get(state)?))).collect();
    let (x, y): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
    let rho = spearman(&x, &y).map_err(|error| format!("failed to {error}"))?;
    Ok(Estimate { mean: rho, interval: None, ..found })
}

/// The errors of an arm at one update.
pub fn curve(results: &Results, curve: &Curve, study: &str) -> Result<Estimate, String> {
    let values = at_update(results, study, &curve.arm, &curve.condition, curve.update)?;
    let mut ratios = values.clone();
    if let Some(arm) = &curve.minus_arm {
        let other = at_update(results, study, arm, &curve.condition, curve.update)?;
        subtract(&mut ratios, &other);
    }
    if let Some(update) = curve.minus_update {
        let before = at_update(results, study, &curve.arm, &curve.condition, update)?;
        subtract(&mut ratios, &before);
    }
    if let Some(update) = curve.over_update {
        let before = at_update(results, study, &curve.arm, &curve.condition, update)?;
        divide(&mut ratios, &before);
    }
    if let Some(arm) = &curve.over_arm {
        let other = at_update(results, study, arm, &curve.condition, curve.update)?;
        divide(&mut ratios, &other);
    }
    if let Some(plain) = &curve.over_reference {
        let below = plain_error(results, &plain.study, &plain.arm)?;
        for value in ratios.values_mut() {
            *value /= below;
        }
    }
    if ratios.is_empty() {
        return Err(format!(
            "no source of {study} has everything that {} is compared with",
            curve.arm
        ));
    }
    let missing = values.into_keys().filter(|source| !ratios.contains_key(source)).collect();
    Ok(results.from_values(ratios.into_iter().collect(), missing))
}

/// The share of some arms' updates that were clipped, by source; at some conditions, or at all.
pub fn clipped(
    results: &Results,
    arms: &[String],
    conditions: &[String],
    study: &str,
) -> Result<Estimate, String> {
    let is_meant = |condition: &str| {
        let same = |c: &String| canonical_condition(c) == canonical_condition(condition);
        conditions.is_empty() || conditions.iter().any(same)
    };
    let mut counts: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for unit in &collected(results, study)?.units {
        let is_done =
            unit.state == UnitState::Done && unit.updates > 0 && is_meant(&unit.condition);
        let Some(clipped) = unit.clipped.filter(|_| is_done && arms.contains(&unit.arm)) else {
            continue;
        };
        let [of, all] = counts.entry(unit.source.clone()).or_default();
        (*of, *all) = (*of + clipped, *all + unit.updates);
    }
    if counts.is_empty() {
        return Err(format!("study {study} counts no clipped updates"));
    }
    let share = |(source, [of, all]): (String, [u64; 2])| (source, of as f64 / all as f64);
    Ok(results.from_values(counts.into_iter().map(share).collect(), Vec::new()))
}

/// The errors of an arm at one update, by source.
pub fn at_update(
    results: &Results,
    study: &str,
    arm: &str,
    condition: &str,
    update: u64,
) -> Result<Values, String> {
    let condition = canonical_condition(condition);
    let values: Values = collected(results, study)?
        .errors()
        .filter(|row| {
            row.arm == arm
                && row.update == update
                && row.state == UnitState::Done
                && canonical_condition(&row.condition) == condition
        })
        .filter_map(|row| Some((row.source.clone(), row.value?)))
        .collect();
    if values.is_empty() {
        return Err(format!("no unit of {study} has an error of {arm} at update {update}"));
    }
    Ok(values)
}

/// The error of the plain prediction on the panel of an arm: the same for every source.
pub fn plain_error(results: &Results, study: &str, arm: &str) -> Result<f64, String> {
    let found = collected(results, study)?.measured(PLAIN_ERROR).find(|row| row.arm == arm);
    found
        .and_then(|row| row.value)
        .ok_or_else(|| format!("study {study} holds no `{PLAIN_ERROR}` of {arm}"))
}

/// What an entry asks of a study's measurements.
struct Asked<'a> {
    results: &'a Results,
    tables: &'a Study,
    measure: &'a Measure,
}

impl Asked<'_> {
    fn has_several_states(&self) -> bool {
        let Measure { arms, cuts, updates, .. } = self.measure;
        [arms.len(), cuts.len(), updates.len()].iter().any(|count| *count > 1)
    }

    /// A value, or where it lies: how far from a place, or whether on the side of it that is asked for.
    fn placed(&self, value: f64) -> f64 {
        let Measure { apart_from, below, above, .. } = self.measure;
        let is_there = |yes: bool| if yes { 1.0 } else { 0.0 };
        let value = apart_from.map_or(value, |place| (value - place).abs());
        let value = below.map_or(value, |place| is_there(value < place));
        above.map_or(value, |place| is_there(value > place))
    }

    /// One value per source, arm, cut and update.
    fn states(&self, quantity: &str, other: Option<&Other>, condition: &str) -> Values {
        let Measure { arm, arms, cut, cuts, update, updates, .. } = self.measure;
        let all = |one: &Option<String>, several: &[String]| -> Vec<Option<String>> {
            if several.is_empty() {
                return vec![one.clone()];
            }
            several.iter().cloned().map(Some).collect()
        };
        let updates: Vec<Option<u64>> = if updates.is_empty() {
            vec![*update]
        } else {
            updates.iter().copied().map(Some).collect()
        };
        let part = self.measure.part.as_deref();
        let mut states = Values::new();
        for arm in &all(arm, arms) {
            for (cut, update) in
                all(cut, cuts).iter().flat_map(|cut| updates.iter().map(move |u| (cut, *u)))
            {
                let (arm_name, cut_name) = (arm.as_deref(), cut.as_deref());
                let pick = Pick { quantity, arm: arm_name, cut: cut_name, part, update };
                let pick = other.map_or(pick, |other| instead(pick, other));
                let at = update.filter(|_| updates.len() > 1).map(|update| update.to_string());
                for (source, value) in self.column(pick, condition) {
                    let names = [Some(source.as_str()), arm_name, cut_name, at.as_deref()];
                    let name = if self.has_several_states() {
                        names.into_iter().flatten().collect::<Vec<_>>().join(", ")
                    } else {
                        source
                    };
                    states.insert(name, value);
                }
            }
        }
        states
    }

    /// One value per source, of one part.
    fn of_part(&self, pick: Pick<'_>, condition: &str) -> Values {
        let found = |pick: Pick<'_>| self.results.measured(&self.tables.name, pick, condition);
        let mut values = found(pick);
        if let Some(over) = &self.measure.over {
            divide(&mut values, &found(instead(pick, over)));
        }
        if let Some(less) = &self.measure.less {
            subtract(&mut values, &found(instead(pick, less)));
        }
        for value in values.values_mut() {
            *value = self.placed(*value);
        }
        values
    }

    /// The values of all parts that a star stands for, by source; none if there is no star.
    fn lists(&self, pick: Pick<'_>, condition: &str) -> BTreeMap<String, Vec<f64>> {
        let mut lists: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        let Some((part, is_start)) = pick.part.and_then(starred) else { return lists };
        let kind = |name: &str| name.rsplit('.').next().unwrap_or(name).to_owned();
        let fits = |name: &&str| {
            let is_meant = if is_start { name.starts_with(part) } else { name.ends_with(part) };
            is_meant && !self.measure.except.contains(&kind(name))
        };
        let rows = self.tables.measured(pick.quantity);
        let parts = distinct(rows.filter_map(|row| row.part.as_deref()).filter(fits));
        for part in parts {
            for (source, value) in self.of_part(Pick { part: Some(part), ..pick }, condition) {
                lists.entry(source).or_default().push(value);
            }
        }
        lists
    }

    /// One value per source: of the part, or of all parts that a star stands for.
    fn column(&self, pick: Pick<'_>, condition: &str) -> Values {
        if pick.part.and_then(starred).is_none() {
            return self.of_part(pick, condition);
        }
        let lists = self.lists(pick, condition);
        let of_list = |mut list: Vec<f64>| match self.measure.within {
            Within::Median => quantiles(&mut list, &[0.5])[0],
            Within::P95 => quantiles(&mut list, &[0.95])[0],
            Within::Sum => list.iter().sum(),
            Within::Mean => mean(&list),
            Within::Least => list.into_iter().fold(f64::INFINITY, f64::min),
            Within::Greatest => list.into_iter().fold(f64::NEG_INFINITY, f64::max),
        };
        lists.into_iter().map(|(source, list)| (source, of_list(list))).collect()
    }

    /// The interval of a median over windows, where the value of a single state is one.
    fn windows_interval(&self, quantity: &str, value: f64) -> Option<([f64; 2], String)> {
        let Measure { arm, cut, part, within, update, at, minus, .. } = self.measure;
        let is_median = *within == Within::Median && at.len() == 1 && minus.is_empty();
        if !is_median || self.has_several_states() || !["all", WINDOWS].contains(&part.as_deref()?)
        {
            return None;
        }
        let (arm, cut) = (arm.as_deref(), cut.as_deref());
        let pick = Pick { quantity, arm, cut, part: Some(WINDOWS), update: *update };
        let mut list = self.lists(pick, &at[0]).into_values().next()?;
        let is_it = (quantiles(&mut list, &[0.5])[0] - value).abs() <= 1e-9 * value.abs();
        let interval = median_interval(list).filter(|_| is_it)?;
        Some((interval, "95% of a median, windows as independent".to_owned()))
    }

    /// The ends of the interval that was measured beside a value, and its kind; they lie in rows of their own.
    fn own_interval(&self, quantity: &str) -> Option<([f64; 2], String)> {
        let Measure { arm, cut, part, update, over, less, at, minus, .. } = self.measure;
        if over.is_some() || less.is_some() || at.len() != 1 || !minus.is_empty() {
            return None;
        }
        let names = ["lower", "upper"].map(|end| format!("{quantity}.{end}"));
        let end = |name: &str| {
            let pick = Pick {
                quantity: name,
                arm: arm.as_deref(),
                cut: cut.as_deref(),
                part: part.as_deref(),
                update: *update,
            };
            self.results.measured(&self.tables.name, pick, &at[0]).into_values().next()
        };
        let note = self.tables.measured(&names[0]).next().map(|row| row.note.clone());
        Some(([end(&names[0])?, end(&names[1])?], note.unwrap_or_default()))
    }
}

/// Two order statistics that hold the median of a continuous distribution with a probability of at least 95%.
fn median_interval(mut list: Vec<f64>) -> Option<[f64; 2]> {
    list.sort_by(f64::total_cmp);
    let n = list.len();
    // The chance that at most `j` of `n` values lie below the median: halves of Pascal's triangle, row by row.
    let (mut weight, mut below, mut j) = (0.5f64.powi(i32::try_from(n).ok()?), 0.0, 0);
    while below + weight <= 0.025 {
        below += weight;
        weight *= (n - j) as f64 / (j + 1) as f64;
        j += 1;
    }
    Some([*list.get(j.checked_sub(1)?)?, *list.get(n.checked_sub(j)?)?])
}

/// Every value less its own of another list; those without one are dropped.
fn subtract(values: &mut Values, off: &Values) {
    values.retain(|source, value| {
        let off = off.get(source);
        *value -= off.unwrap_or(&0.0);
        off.is_some()
    });
}

/// Every value over its own below; those without one are dropped.
fn divide(values: &mut Values, below: &Values) {
    values.retain(|source, value| {
        let below = below.get(source).copied().filter(|below| *below != 0.0);
        *value /= below.unwrap_or(1.0);
        below.is_some()
    });
}

/// The same place, but for what `other` names.
fn instead<'a>(pick: Pick<'a>, other: &'a Other) -> Pick<'a> {
    Pick {
        quantity: other.quantity.as_deref().unwrap_or(pick.quantity),
        arm: other.arm.as_deref().or(pick.arm),
        cut: other.cut.as_deref().or(pick.cut),
        part: other.part.as_deref().or(pick.part),
        ..pick
    }
}

/// What stands before or behind a star, and whether it is the start.
fn starred(part: &str) -> Option<(&str, bool)> {
    let start = part.strip_suffix('*').map(|rest| (rest, true));
    start.or_else(|| part.strip_prefix('*').map(|rest| (rest, false)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_lies_between_known_order_statistics() {
        // Tables of the sign test: the 10th and 23rd of 32, the 2nd and 9th of 10, and nothing for 5.
        let of = |n: usize| median_interval((1..=n).rev().map(|i| i as f64).collect());
        assert_eq!(of(32), Some([10.0, 23.0]));
        assert_eq!(of(10), Some([2.0, 9.0]));
        assert_eq!(of(5), None);
    }
}
