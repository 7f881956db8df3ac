//! Ridge regression from sums of products, and the nested choice of its strength.

use super::cells::{Cells, Sums};
use super::folds::{FOLDS, Folds};
use super::gather::Samples;
use crate::measure::error::MeasureError;

/// The strengths to choose from. With standardised inputs and about 6,500 rows the first is all but
/// least squares, and the last shrinks a typical direction by an eighth and weak ones to nothing.
pub const STRENGTHS: [f64; 8] = [1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3];

/// What a probe reads.
#[derive(Clone, PartialEq, Debug)]
pub struct Score {
    /// Mean over outer folds of the held-out R^2, itself the mean over target columns.
    pub r2: f64,
    /// The held-out R^2 of each outer fold.
    pub folds: [f64; FOLDS],
    /// The strength chosen in each outer fold.
    pub strengths: [f64; FOLDS],
}

/// The nested procedure from one tap to another; the inner error says why R^2 is undefined.
pub fn score(
    inputs: &Samples,
    targets: &Samples,
    folds: &Folds,
) -> Result<Result<Score, String>, MeasureError> {
    let shape = |s: &Samples| (s.trajectories, s.steps);
    let whole = |s: &Samples| s.values.len() == s.trajectories * s.steps * s.width && s.width > 0;
    if shape(inputs) != shape(targets) || folds.len() != inputs.trajectories {
        let what = "inputs, targets and folds of a probe belong to different panels";
        return Err(MeasureError::Unfit(what.to_owned()));
    }
    if !whole(inputs) || !whole(targets) {
        return Err(MeasureError::Unfit("a probe's samples are incomplete".to_owned()));
    }
    let cells = Cells::new(inputs, targets, folds);
    let columns = inputs.width;
    let (mut r2, mut strengths) = ([0.0; FOLDS], [0.0; FOLDS]);
    for held_out in 0..FOLDS {
        let mut inner = [0.0; STRENGTHS.len()];
        for fold in 0..FOLDS {
            let fit_on = cells.sum(|o, i| o != held_out && i != fold);
            let score_on = cells.sum(|o, i| o != held_out && i == fold);
            let ridge = Ridge::new(&fit_on, columns);
            for (sum, &strength) in inner.iter_mut().zip(&STRENGTHS) {
                match r_squared(&ridge.fit(strength), &score_on, columns) {
                    Ok(r2) => *sum += r2,
                    Err(why) => return Ok(Err(why)),
                }
            }
        }
        // The first of equals: the weakest.
        let best = (1..STRENGTHS.len()).fold(0, |b, i| if inner[i] > inner[b] { i } else { b });
        strengths[held_out] = STRENGTHS[best];
        let fit_on = cells.sum(|o, _| o != held_out);
        let score_on = cells.sum(|o, _| o == held_out);
        let fitted = Ridge::new(&fit_on, columns).fit(STRENGTHS[best]);
        match r_squared(&fitted, &score_on, columns) {
            Ok(value) => r2[held_out] = value,
            Err(why) => return Ok(Err(why)),
        }
    }
    let mean = r2.iter().sum::<f64>() / FOLDS as f64;
    Ok(Ok(Score { r2: mean, folds: r2, strengths }))
}

/// Weights of the inputs as they are (shifted, not standardised) and an intercept, for every
/// target.
struct Fitted {
    /// `[target][column]`
    weights: Vec<Vec<f64>>,
    intercepts: Vec<f64>,
}

/// The standardised problem of one training set.
struct Ridge<'a> {
    sums: &'a Sums,
    columns: usize,
    /// Columns that vary, with their standard deviation.
    kept: Vec<(usize, f64)>,
    /// Sums of products of the standardised kept columns, `kept x kept`.
    gram: Vec<f64>,
}

impl<'a> Ridge<'a> {
    fn new(sums: &'a Sums, columns: usize) -> Self {
        let varies = |&i: &usize| !sums.is_constant(i) && sums.centred(i, i) > 0.0;
        let scale = |i: usize| (i, (sums.centred(i, i) / sums.count).sqrt());
        let kept: Vec<(usize, f64)> = (0..columns).filter(varies).map(scale).collect();
        let mut gram = Vec::with_capacity(kept.len() * kept.len());
        for &(i, si) in &kept {
            gram.extend(kept.iter().map(|&(j, sj)| sums.centred(i, j) / (si * sj)));
        }
        Self { sums, columns, kept, gram }
    }

    fn fit(&self, strength: f64) -> Fitted {
        let Self { sums, columns, kept, gram } = self;
        let n = kept.len();
        let mut factor = gram.clone();
        (0..n).for_each(|i| factor[i * n + i] += strength);
        cholesky(&mut factor, n);
        let mean = |i: usize| sums.first[i] / sums.count;
        let mut fitted = Fitted { weights: Vec::new(), intercepts: Vec::new() };
        for target in *columns..sums.width {
            let mut w: Vec<f64> =
                kept.iter().map(|&(i, scale)| sums.centred(i, target) / scale).collect();
            solve(&factor, n, &mut w);
            let mut weights = vec![0.0; *columns];
            for (&(i, scale), w) in kept.iter().zip(&w) {
                weights[i] = w / scale;
            }
            let at_mean: f64 = weights.iter().enumerate().map(|(i, w)| w * mean(i)).sum();
            fitted.intercepts.push(mean(target) - at_mean);
            fitted.weights.push(weights);
        }
        fitted
    }
}

/// R^2 on other rows, averaged over targets.
fn r_squared(fitted: &Fitted, rows: &Sums, columns: usize) -> Result<f64, String> {
    let mut total = 0.0;
    for (at, (w, &c)) in fitted.weights.iter().zip(&fitted.intercepts).enumerate() {
        let target = columns + at;
        let spread = rows.centred(target, target);
        if rows.is_constant(target) || spread <= 0.0 {
            return Err(format!("target column {at} does not vary in a fold: no R^2"));
        }
        // sum (y - w.x - c)^2, from the sums of products.
        let mut error = rows.product(target, target) - 2.0 * c * rows.first[target];
        error += rows.count * c * c;
        for (i, wi) in w.iter().enumerate().filter(|(_, wi)| **wi != 0.0) {
            let row = &rows.second[i * rows.width..][..i];
            let below: f64 = row.iter().zip(w).map(|(product, wj)| product * wj).sum();
            let quadratic = 2.0 * below + rows.product(i, i) * wi;
            error += wi * (quadratic + 2.0 * c * rows.first[i] - 2.0 * rows.product(i, target));
        }
        total += 1.0 - error / spread;
    }
    Ok(total / fitted.weights.len() as f64)
}

/// Factors a symmetric positive definite matrix in place; the lower triangle holds the factor.
fn cholesky(a: &mut [f64], n: usize) {
    for i in 0..n {
        let (above, row) = a.split_at_mut(i * n);
        for j in 0..i {
            let other = &above[j * n..][..=j];
            let dot: f64 = row[..j].iter().zip(other).map(|(x, y)| x * y).sum();
            row[j] = (row[j] - dot) / other[j];
        }
        let dot: f64 = row[..i].iter().map(|x| x * x).sum();
        // The strength keeps the diagonal away from zero; rounding must not undo that.
        row[i] = (row[i] - dot).max(f64::MIN_POSITIVE).sqrt();
    }
}

/// Solves with the factor, in place.
fn solve(factor: &[f64], n: usize, b: &mut [f64]) {
    for i in 0..n {
        let row = &factor[i * n..][..=i];
        let dot: f64 = row[..i].iter().zip(&*b).map(|(l, x)| l * x).sum();
        b[i] = (b[i] - dot) / row[i];
    }
    for i in (0..n).rev() {
        let dot: f64 = (i + 1..n).map(|j| factor[j * n + i] * b[j]).sum();
        b[i] = (b[i] - dot) / factor[i * n + i];
    }
}
