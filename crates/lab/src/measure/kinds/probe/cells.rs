//! Sums of products over sets of rows: all that a ridge fit and its score need.

use super::folds::{FOLDS, Folds};
use super::gather::Samples;

/// Sums over the rows of one or more cells. A row is the probe's inputs followed by its targets,
/// both shifted by the means over all rows, so that nothing large cancels later.
#[derive(Clone, Debug)]
pub(super) struct Sums {
    /// Columns of inputs and targets together.
    pub width: usize,
    /// Rows.
    pub count: f64,
    /// Sum of the columns.
    pub first: Vec<f64>,
    /// Sum of the products of two columns, lower triangle, row-major `width x width`.
    pub second: Vec<f64>,
    /// Smallest and largest value of each column: equal for a column that is constant here.
    pub range: Vec<(f64, f64)>,
}

impl Sums {
    pub fn new(width: usize) -> Self {
        Self {
            width,
            count: 0.0,
            first: vec![0.0; width],
            second: vec![0.0; width * width],
            range: vec![(f64::INFINITY, f64::NEG_INFINITY); width],
        }
    }

    fn add_row(&mut self, row: &[f64]) {
        self.count += 1.0;
        for (i, &value) in row.iter().enumerate() {
            self.first[i] += value;
            let (low, high) = self.range[i];
            self.range[i] = (low.min(value), high.max(value));
            let products = &mut self.second[i * self.width..][..=i];
            for (sum, &other) in products.iter_mut().zip(row) {
                *sum += value * other;
            }
        }
    }

    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        let add = |to: &mut [f64], from: &[f64]| {
            to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        };
        add(&mut self.first, &other.first);
        add(&mut self.second, &other.second);
        for (range, &(low, high)) in self.range.iter_mut().zip(&other.range) {
            *range = (range.0.min(low), range.1.max(high));
        }
    }

    /// Sum of the products of columns `i` and `j`.
    pub fn product(&self, i: usize, j: usize) -> f64 {
        self.second[i.max(j) * self.width + i.min(j)]
    }

    /// Sum of products of deviations from the mean.
    pub fn centred(&self, i: usize, j: usize) -> f64 {
        self.product(i, j) - self.first[i] * self.first[j] / self.count
    }

    pub fn is_constant(&self, i: usize) -> bool {
        self.range[i].0 >= self.range[i].1
    }
}

/// The sums of every (outer fold, inner fold), `[outer][inner]`.
pub(super) struct Cells(Vec<Sums>);

impl Cells {
    pub fn new(inputs: &Samples, targets: &Samples, folds: &Folds) -> Self {
        let width = inputs.width + targets.width;
        let rows = inputs.trajectories * inputs.steps;
        let shift: Vec<f64> = [inputs, targets].iter().flat_map(|s| means(s, rows)).collect();
        let mut cells = vec![Sums::new(width); FOLDS * FOLDS];
        let mut row = vec![0.0; width];
        for trajectory in 0..inputs.trajectories {
            let (outer, inner) = folds.of(trajectory);
            let cell = &mut cells[outer * FOLDS + inner];
            for step in 0..inputs.steps {
                let at = trajectory * inputs.steps + step;
                let x = &inputs.values[at * inputs.width..][..inputs.width];
                let y = &targets.values[at * targets.width..][..targets.width];
                for ((row, &value), shift) in row.iter_mut().zip(x.iter().chain(y)).zip(&shift) {
                    *row = f64::from(value) - shift;
                }
                cell.add_row(&row);
            }
        }
        Self(cells)
    }

    /// The sums over the cells that `is_in(outer, inner)` picks.
    pub fn sum(&self, is_in: impl Fn(usize, usize) -> bool) -> Sums {
        let mut sums = Sums::new(self.0[0].width);
        for (at, cell) in self.0.iter().enumerate() {
            if is_in(at / FOLDS, at % FOLDS) {
                sums.add(cell);
            }
        }
        sums
    }
}

fn means(samples: &Samples, rows: usize) -> Vec<f64> {
    let mut sums = vec![0.0; samples.width];
    for row in samples.values.chunks_exact(samples.width) {
        row.iter().zip(&mut sums).for_each(|(&value, sum)| *sum += f64::from(value));
    }
    sums.iter().map(|sum| sum / rows as f64).collect()
}
