//! Attention mass on earlier positions, per layer and head.

use std::ops::Range;

use crate::measure::error::MeasureError;
use crate::measure::finding::Finding;
use crate::measure::kinds::ages::{age_bins, age_name};
use crate::measure::panel;
use crate::measure::subject::Subject;

/// The mean over the panel of the probability that queries give to positions before their own.
///
/// The first predicted query of a rollout without a prefix has nothing before it and is left out.
/// The last finding of each layer averages its heads. With `ages`, each layer's probabilities by
/// how far back a position lies, over heads and over the queries that have such a position.
pub fn attention(subject: &Subject, ages: bool) -> Result<Vec<Finding>, MeasureError> {
    let (system, model) = (subject.system, panel::model(subject)?);
    let caches: Vec<String> = system.program().cache_names().map(str::to_owned).collect();
    if caches.is_empty() {
        return Err(MeasureError::Unfit("the program attends to no cache".to_owned()));
    }
    let spec = system.spec();
    let queries = spec.prefix.max(1)..system.steps();
    if queries.is_empty() {
        return Err(MeasureError::Unfit("a rollout of one step has no history".to_owned()));
    }
    // `[cache][head]`
    let mut mass: Vec<Vec<f64>> = vec![Vec::new(); caches.len()];
    // `[cache][age]`
    let mut by_age: Vec<Vec<f64>> = vec![vec![0.0; queries.end]; caches.len()];
    panel::visit(subject, &model, &spec, |_, rollout| {
        for ((cache, mass), by_age) in caches.iter().zip(&mut mass).zip(&mut by_age) {
            for t in queries.clone() {
                let Some((p, shape)) = rollout.probabilities(cache, t) else { continue };
                mass.resize(shape.heads, 0.0);
                for (head, mass) in mass.iter_mut().enumerate() {
                    for j in (0..=t).filter(|&j| spec.reads.shows(t, j)) {
                        let from = j * shape.lanes() + shape.lane(0, head);
                        let rows = &p[from..from + rollout.rows()];
                        let given = rows.iter().map(|&p| f64::from(p)).sum::<f64>();
                        by_age[t - j] += given;
                        if j < t {
                            *mass += given;
                        }
                    }
                }
            }
        }
    })?;
    let count = (system.panel_rows() * queries.len()) as f64;
    let mut findings = Vec::new();
    for ((cache, heads), by_age) in caches.iter().zip(&mass).zip(&by_age) {
        for (head, sum) in heads.iter().enumerate() {
            let part = format!("{cache}.head{head}");
            findings.push(Finding::new("attention.mass", "", part, sum / count));
        }
        let mean = heads.iter().sum::<f64>() / (count * heads.len() as f64);
        findings.push(Finding::new("attention.mass", "", cache, mean));
        if ages {
            let rows = system.panel_rows() * heads.len();
            findings.extend(shares(cache, by_age, &queries, rows));
        }
    }
    Ok(findings)
}

/// What queries give to positions of each age, in bins of ages: sums over a bin of means over the
/// queries that have a position of that age. Sums over `rows` trajectories and heads come in.
fn shares(cache: &str, sums: &[f64], queries: &Range<usize>, rows: usize) -> Vec<Finding> {
    let share = |age: usize| {
        let with = queries.end - queries.start.max(age);
        sums[age] / (rows * with) as f64
    };
    let of_bin = |bin: &Range<usize>| {
        let part = format!("{cache} {}", age_name(bin));
        Finding::new("attention.age", "", part, bin.clone().map(share).sum())
    };
    age_bins(queries.end).iter().map(of_bin).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_attention_gives_every_age_the_mean_of_its_queries() {
        // Queries 1 to 3 that give 1/(t + 1) to each of their t + 1 positions.
        let queries = 1..4;
        let mut sums = vec![0.0; 4];
        for t in queries.clone() {
            (0..=t).for_each(|age| sums[age] += 1.0 / (t + 1) as f64);
        }
        let found = shares("block0", &sums, &queries, 1);
        let parts: Vec<&str> = found.iter().map(|f| f.part.as_str()).collect();
        assert_eq!(parts, ["block0 age 0", "block0 age 1", "block0 age 2-3"]);
        let (first, second) = (1.0 / 2.0 + 1.0 / 3.0 + 1.0 / 4.0, 1.0 / 3.0 + 1.0 / 4.0);
        let expected = [first / 3.0, first / 3.0, second / 2.0 + 1.0 / 4.0];
        for (found, expected) in found.iter().zip(expected) {
            assert!((found.value.unwrap() - expected).abs() < 1e-15, "{found:?}");
        }
    }
}
