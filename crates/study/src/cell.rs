//! Cells: an arm under a condition, as contrasts and tables name it (`arm@condition`).

use std::fmt;

use crate::plan::Place;
use crate::study::{Arm, Grid, Study};

/// An arm under a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cell<'a> {
    /// The arm's name.
    pub arm: &'a str,
    /// The condition's label.
    pub condition: &'a str,
}

impl fmt::Display for Cell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.arm, self.condition)
    }
}

impl Cell<'_> {
    /// Whether it is called so.
    pub fn is_called(&self, name: &str) -> bool {
        self.condition_in(name) == Some(self.condition)
    }

    /// Whether a contrast that names such a cell uses it: by its name, or with a star for the
    /// condition.
    pub fn is_meant_by(&self, name: &str) -> bool {
        self.condition_in(name).is_some_and(|c| c == self.condition || c == "*")
    }

    fn condition_in<'n>(&self, name: &'n str) -> Option<&'n str> {
        name.strip_prefix(self.arm)?.strip_prefix('@')
    }
}

impl Arm {
    /// Its cells on its grid.
    pub fn cells<'a>(&'a self, grid: &'a Grid) -> impl Iterator<Item = Cell<'a>> {
        let cell = |&c: &usize| Cell { arm: &self.name, condition: &grid.conditions[c].0 };
        self.conditions.iter().map(cell)
    }
}

impl Study {
    /// The cell of a place, and its source.
    pub fn cell(&self, place: &Place) -> (Cell<'_>, u64) {
        let arm = &self.arms[place.arm as usize];
        let grid = &self.grids[arm.grid];
        let condition = &grid.conditions[place.condition as usize].0;
        (Cell { arm: &arm.name, condition }, grid.sources[place.source as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_meant_by_its_name_or_a_star() {
        let cell = Cell { arm: "F_SG", condition: "c2/0.20" };
        assert_eq!(cell.to_string(), "F_SG@c2/0.20");
        assert!(cell.is_called("F_SG@c2/0.20") && cell.is_meant_by("F_SG@c2/0.20"));
        assert!(cell.is_meant_by("F_SG@*") && !cell.is_called("F_SG@*"));
        for other in ["F_SG", "F_SG@", "F_SG@c2", "F_SG_cont@*", "F@*", "*@c2/0.20", "*"] {
            assert!(!cell.is_meant_by(other), "{other}");
        }
    }
}
