//! Which cells a contrast names without using them.

use super::SourceTable;
use crate::contrast::{Contrast, Direction};

/// A cell that moves a contrast less than this share of what the weightiest cell does has no
/// influence.
const SHARE: f64 = 0.01;

impl Contrast {
    /// Those of `cells` (stars resolved) whose values hardly matter to it: `X` in
    /// `[A] - [B] + 0*[X]` or in `[A] - [B] + ([X] - [X])`.
    ///
    /// Found by trying: every cell of a made-up table is moved by one percent, and what moves the
    /// contrast less than a hundredth of what the weightiest does is idle. A contrast that cannot
    /// be computed on ordinary positive numbers has no idle cell.
    pub fn idle_cells(&self, cells: &[String]) -> Vec<String> {
        let Some(moves) = self.movements(cells) else { return Vec::new() };
        let most = moves.iter().fold(0.0, |most: f64, moved| most.max(moved.abs()));
        let is_idle = |moved: &f64| moved.abs() < SHARE * most;
        cells.iter().zip(&moves).filter(|(_, m)| is_idle(m)).map(|(c, _)| c.clone()).collect()
    }

    /// Whether two predictions over the same cells can hardly both come true: what moves one up
    /// moves the other down, cell by cell. The directions are those that are predicted.
    pub fn is_opposed(
        &self,
        direction: Direction,
        other: &Self,
        other_direction: Direction,
        cells: &[String],
    ) -> bool {
        let (Some(ours), Some(theirs)) = (self.movements(cells), other.movements(cells)) else {
            return false;
        };
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let sign = if direction == other_direction { 1.0 } else { -1.0 };
        let norms = (dot(&ours, &ours) * dot(&theirs, &theirs)).sqrt();
        norms > 0.0 && sign * dot(&ours, &theirs) < -0.99 * norms
    }

    /// How far the contrast moves with each cell, over made-up sources; none if it cannot be
    /// computed.
    fn movements(&self, cells: &[String]) -> Option<Vec<f64>> {
        let value = |moved: usize, factor: f64| {
            let table = made_up(cells, moved, factor)?;
            let found = self.evaluate(&table).ok()?;
            let below = found.denominators.unwrap_or_else(|| vec![1.0; found.values.len()]);
            let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
            Some(mean(&found.values) / mean(&below)).filter(|value| value.is_finite())
        };
        (0..cells.len()).map(|moved| Some(value(moved, 1.01)? - value(moved, 1.0)?)).collect()
    }
}

/// Three sources whose cells lie between 1 and 2, each at another place.
fn made_up(cells: &[String], moved: usize, factor: f64) -> Option<SourceTable> {
    let value = |source: usize, cell: usize| {
        let place = 0.618_034 * (cell + 1) as f64 + 0.381_9 * (source * cells.len()) as f64;
        let value = 1.0 + place.fract();
        if cell == moved { factor * value } else { value }
    };
    let rows = (0..3).flat_map(|source| {
        cells
            .iter()
            .enumerate()
            .map(move |(cell, name)| (source.to_string(), name.as_str(), value(source, cell)))
    });
    SourceTable::from_values(rows).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn idle(text: &str, cells: &[&str]) -> Vec<String> {
        let cells: Vec<String> = cells.iter().map(|cell| (*cell).to_owned()).collect();
        Contrast::parse(text).unwrap().idle_cells(&cells)
    }

    #[test]
    fn a_cell_that_does_not_count_is_found_however_it_is_hidden() {
        let cells = ["A@x", "B@x", "X@x"];
        for text in [
            "[A@x] - [B@x] + 0*[X@x] > 0",
            "[A@x] - [B@x] + [X@x] - [X@x] > 0",
            "[A@x] - [B@x] + 0.001*[X@x] > 0",
            "([A@x] - [B@x]) * ([X@x] / [X@x]) > 0",
            "mean([A@x] - [B@x] + 0*[X@x]) / mean([B@x]) > 0",
        ] {
            assert_eq!(idle(text, &cells), ["X@x"], "{text}");
        }
        assert_eq!(idle("[A@x] - [B@x] + 0.5*[X@x] > 0", &cells), [""; 0]);
        assert_eq!(idle("([A@x] - [B@x]) / [X@x] < 0", &cells), [""; 0]);
    }

    #[test]
    fn a_slope_uses_its_outer_conditions() {
        let cells = ["A@0.1", "A@0.2", "A@0.3"];
        assert_eq!(idle("slope([A@*]) > 0", &cells), ["A@0.2"]);
    }

    #[test]
    fn what_cannot_be_computed_has_no_idle_cell() {
        assert_eq!(idle("[A@x] / 0 > 0", &["A@x"]), [""; 0]);
    }

    #[test]
    fn opposite_predictions_are_found_however_they_are_written() {
        use Direction::{Negative, Positive};
        let cells = ["A@x".to_owned(), "B@x".to_owned()];
        let opposed = |one: &str, d: Direction, other: &str, e: Direction| {
            let parse = |text: &str| Contrast::parse(text).unwrap();
            parse(one).is_opposed(d, &parse(other), e, &cells)
        };
        let cost = "[A@x] - [B@x]";
        assert!(opposed(cost, Positive, cost, Negative));
        assert!(opposed(cost, Positive, "[B@x] - [A@x]", Positive));
        assert!(opposed(cost, Positive, "2*[B@x] - 2*[A@x]", Positive));
        assert!(!opposed(cost, Positive, cost, Positive));
        assert!(!opposed(cost, Positive, "[B@x] - [A@x]", Negative));
        assert!(!opposed(cost, Positive, "[A@x] + [B@x]", Negative), "another question");
    }
}
