//! Pearson and Spearman correlation, with a permutation p-value and a cluster bootstrap.
//!
//! Ranks are averaged over ties. The p-value permutes one variable against the other (all orders
//! up to eight values, drawn above), because the usual t approximation is not one at n = 8. Values
//! within a cluster move together in the bootstrap; a draw in which a variable is constant has no
//! correlation and is counted.

use serde::Serialize;

use crate::bootstrap::Units;
use crate::error::{StatsError, require_finite};
use crate::philox::{Philox, Stream};
use crate::quantile::{mean, quantiles};

/// Up to this many values, every order is visited.
const ALL_ORDERS: usize = 8;

/// An interval of a correlation over bootstrap draws.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct CorrelationInterval {
    /// The two ends.
    pub ends: [f64; 2],
    /// Draws without a correlation, left out of the quantiles.
    pub undefined_draws: usize,
}

/// Pearson's correlation.
pub fn pearson(x: &[f64], y: &[f64]) -> Result<f64, StatsError> {
    check(x, y)?;
    product_moment(x, y).ok_or_else(constant)
}

/// Spearman's correlation: Pearson's on average ranks.
pub fn spearman(x: &[f64], y: &[f64]) -> Result<f64, StatsError> {
    check(x, y)?;
    product_moment(&ranks(x), &ranks(y)).ok_or_else(constant)
}

/// Ranks from 1, ties averaged.
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0.0;
    for tied in order.chunk_by(|&a, &b| values[a] == values[b]) {
        // The ranks before + 1 to before + count share their average.
        let count = tied.len() as f64;
        for &i in tied {
            ranks[i] = before + 0.5 * (count + 1.0);
        }
        before += count;
    }
    ranks
}

/// Two-sided permutation p-value of Spearman's correlation, and its Monte Carlo error if drawn.
pub fn spearman_p(
    x: &[f64],
    y: &[f64],
    draws: u64,
    seed: u64,
) -> Result<(f64, Option<f64>), StatsError> {
    let observed = spearman(x, y)?.abs() - 1e-12;
    let (x, mut y) = (ranks(x), ranks(y));
    let extreme = |y: &[f64]| product_moment(&x, y).is_some_and(|r| r.abs() >= observed);
    if x.len() <= ALL_ORDERS {
        let (mut count, mut total) = (0u64, 0u64);
        visit_orders(&mut y, &mut |order| {
            count += u64::from(extreme(order));
            total += 1;
        });
        return Ok((count as f64 / total as f64, None));
    }
    let stream = Philox::new(seed, Stream::Correlation);
    let mut shuffled = y.clone();
    let mut count = 0;
    for draw in 0..draws {
        shuffled.copy_from_slice(&y);
        stream.shuffle(draw, &mut shuffled);
        count += u64::from(extreme(&shuffled));
    }
    let p = (1 + count) as f64 / (1 + draws) as f64;
    Ok((p, Some((p * (1.0 - p) / draws.max(1) as f64).sqrt())))
}

/// The percentile interval of Spearman's correlation over whole units (sources or clusters in
/// strata).
pub fn spearman_interval(
    x: &[f64],
    y: &[f64],
    units: &Units,
    levels: [f64; 2],
    draws: usize,
    seed: u64,
) -> Result<CorrelationInterval, StatsError> {
    spearman(x, y)?;
    if let Some(&row) = units.members().iter().flatten().find(|&&row| row >= x.len()) {
        return Err(StatsError::Lengths { left: x.len(), right: row + 1 });
    }
    let mut results = Vec::with_capacity(draws);
    let (mut picked_x, mut picked_y) = (Vec::new(), Vec::new());
    units.resample(draws, seed, |_, picks| {
        picked_x.clear();
        picked_y.clear();
        for row in picks.iter().flat_map(|&unit| &units.members()[unit as usize]) {
            picked_x.push(x[*row]);
            picked_y.push(y[*row]);
        }
        results.extend(product_moment(&ranks(&picked_x), &ranks(&picked_y)));
    });
    let undefined_draws = draws - results.len();
    if results.is_empty() {
        return Err(constant());
    }
    let ends = quantiles(&mut results, &levels);
    Ok(CorrelationInterval { ends: [ends[0], ends[1]], undefined_draws })
}

fn check(x: &[f64], y: &[f64]) -> Result<(), StatsError> {
    if x.len() != y.len() {
        return Err(StatsError::Lengths { left: x.len(), right: y.len() });
    }
    require_finite("the correlation", x)?;
    require_finite("the correlation", y)?;
    if x.len() < 3 {
        return Err(StatsError::TooFewSources { found: x.len(), needed: 3 });
    }
    Ok(())
}

fn constant() -> StatsError {
    StatsError::Undefined { what: "the correlation", problem: "one variable does not vary".into() }
}

fn product_moment(x: &[f64], y: &[f64]) -> Option<f64> {
    let (center_x, center_y) = (mean(x), mean(y));
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for (a, b) in x.iter().zip(y) {
        let (a, b) = (a - center_x, b - center_y);
        xy += a * b;
        xx += a * a;
        yy += b * b;
    }
    let scale = xx.sqrt() * yy.sqrt();
    (scale > 0.0).then(|| (xy / scale).clamp(-1.0, 1.0))
}

/// Heap's algorithm, without recursion.
fn visit_orders(items: &mut [f64], visit: &mut impl FnMut(&[f64])) {
    let mut state = vec![0; items.len()];
    visit(items);
    let mut i = 1;
    while i < items.len() {
        if state[i] < i {
            items.swap(if i % 2 == 0 { 0 } else { state[i] }, i);
            visit(items);
            state[i] += 1;
            i = 1;
        } else {
            state[i] = 0;
            i += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_share_their_rank() {
        assert_eq!(ranks(&[10.0, 20.0, 10.0, 5.0]), [2.5, 4.0, 2.5, 1.0]);
    }

    #[test]
    fn a_monotone_relation_is_one() {
        let x = [1.0, 2.0, 3.0, 4.0, 5.0];
        let y = [1.0, 8.0, 27.0, 64.0, 125.0];
        assert!((spearman(&x, &y).unwrap() - 1.0).abs() < 1e-15);
        assert!(pearson(&x, &y).unwrap() < 1.0);
        // Two of 120 orders are as extreme.
        assert_eq!(spearman_p(&x, &y, 0, 0).unwrap(), (2.0 / 120.0, None));
    }

    #[test]
    fn constants_and_lengths_are_errors() {
        assert!(pearson(&[1.0; 4], &[1.0, 2.0, 3.0, 4.0]).is_err());
        assert!(spearman(&[1.0; 4], &[1.0; 3]).is_err());
        assert!(spearman(&[f64::NAN, 1.0, 2.0], &[1.0, 2.0, 3.0]).is_err());
    }

    #[test]
    fn clusters_of_copies_do_not_narrow_the_interval() {
        let stream = Philox::new(3, Stream::Simulation);
        let x: Vec<f64> = (0..12).map(|i| stream.uniform(0, i)).collect();
        let y: Vec<f64> = x.iter().zip(0..).map(|(v, i)| v + stream.uniform(1, i)).collect();
        let copies = |values: &[f64]| -> Vec<f64> { values.iter().flat_map(|v| [*v; 3]).collect() };
        let mut csv = String::from("source,cluster,a\n");
        for row in 0..36 {
            csv.push_str(
                &[format!("w{row:02}"), format!("s{:02}", row / 3), "1\n".into()].join(","),
            );
        }
        let table =
            crate::SourceTable::from_csv(csv.as_bytes(), &crate::Layout::default()).unwrap();
        let levels = [0.025, 0.975];
        let plain = spearman_interval(&x, &y, &Units::plain(12), levels, 4000, 1).unwrap();
        let clustered =
            spearman_interval(&copies(&x), &copies(&y), &Units::of(&table), levels, 4000, 1)
                .unwrap();
        // The same picks of the same points, three times over: the same correlations up to
        // rounding.
        for (a, b) in plain.ends.iter().zip(clustered.ends) {
            assert!((a - b).abs() < 1e-12, "{plain:?} {clustered:?}");
        }
        let naive = spearman_interval(&copies(&x), &copies(&y), &Units::plain(36), levels, 4000, 1);
        let width = |ends: [f64; 2]| ends[1] - ends[0];
        assert!(width(naive.unwrap().ends) < 0.8 * width(plain.ends));
    }

    #[test]
    fn three_points_have_a_correlation_and_two_have_none() {
        let three = [1.0, 2.0, 3.0];
        assert!((pearson(&three, &three).unwrap() - 1.0).abs() < 1e-15);
        for few in [0, 1, 2] {
            let x: Vec<f64> = (0..few).map(f64::from).collect();
            let error = pearson(&x, &x).unwrap_err();
            assert_eq!(error, StatsError::TooFewSources { found: x.len(), needed: 3 });
        }
    }

    #[test]
    fn drawn_orders_count_themselves_and_state_their_error() {
        let x: Vec<f64> = (0..=ALL_ORDERS).map(|i| i as f64).collect();
        assert_eq!(spearman_p(&x, &x, 99, 1).unwrap().0, 0.01, "no drawn order is as extreme");
        let y: Vec<f64> = x.iter().map(|v| (v * 5.0 + 2.0) % x.len() as f64).collect();
        let (p, error) = spearman_p(&x, &y, 99, 1).unwrap();
        assert!(0.05 < p && p <= 1.0, "{p}");
        assert_eq!(error, Some((p * (1.0 - p) / 99.0).sqrt()));
    }

    /// One draw in nine picks one of three points three times, and then nothing varies.
    #[test]
    fn draws_without_a_correlation_are_counted() {
        let (x, levels) = ([1.0, 2.0, 3.0], [0.025, 0.975]);
        let interval = spearman_interval(&x, &x, &Units::plain(3), levels, 2700, 1).unwrap();
        assert!((200..400).contains(&interval.undefined_draws), "{interval:?}");
        let beyond = spearman_interval(&x, &x, &Units::plain(5), levels, 10, 1).unwrap_err();
        assert_eq!(beyond, StatsError::Lengths { left: 3, right: 4 });
    }

    #[test]
    fn every_order_is_visited_once() {
        let mut seen = Vec::new();
        visit_orders(&mut [1.0, 2.0, 3.0, 4.0], &mut |order| seen.push(order.to_vec()));
        seen.sort_by(|a, b| a.partial_cmp(b).unwrap());
        seen.dedup();
        assert_eq!(seen.len(), 24);
    }
}
