//! Which trajectories are held out when.

use backcut_kernels::random::Stream;

use crate::measure::error::MeasureError;

/// Outer folds, and inner folds within each outer training set.
pub const FOLDS: usize = 5;

/// An outer and an inner fold for every trajectory.
///
/// One inner fold per trajectory serves all outer training sets: the inner fold `i` of outer
/// training set `o` is the trajectories with inner fold `i` outside outer fold `o`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Folds {
    outer: Vec<usize>,
    inner: Vec<usize>,
}

impl Folds {
    /// The folds of a panel of `trajectories`: shuffled once, from a stream of their own, then
    /// dealt out.
    pub fn fixed(trajectories: usize) -> Result<Self, MeasureError> {
        let order = Stream::new(0, "measure/probe folds").at(0, 0).permutation(trajectories);
        let (mut outer, mut inner) = (vec![0; trajectories], vec![0; trajectories]);
        for (place, &trajectory) in order.iter().enumerate() {
            outer[trajectory] = place % FOLDS;
            inner[trajectory] = place / FOLDS % FOLDS;
        }
        Self::new(outer, inner)
    }

    /// Chosen folds, numbered below [`FOLDS`]; every pair of an outer and an inner one must hold a
    /// trajectory.
    pub fn new(outer: Vec<usize>, inner: Vec<usize>) -> Result<Self, MeasureError> {
        let mut filled = [[false; FOLDS]; FOLDS];
        for (&outer, &inner) in outer.iter().zip(&inner) {
            if let Some(cell) = filled.get_mut(outer).and_then(|row| row.get_mut(inner)) {
                *cell = true;
            }
        }
        if outer.len() != inner.len() || filled.as_flattened().contains(&false) {
            return Err(MeasureError::Unfit(format!(
                "{} trajectories are too few for {FOLDS} x {FOLDS} folds",
                outer.len()
            )));
        }
        Ok(Self { outer, inner })
    }

    /// Trajectories.
    pub fn len(&self) -> usize {
        self.outer.len()
    }

    /// Never: folds hold trajectories.
    pub fn is_empty(&self) -> bool {
        self.outer.is_empty()
    }

    /// Outer and inner fold of a trajectory.
    pub fn of(&self, trajectory: usize) -> (usize, usize) {
        (self.outer[trajectory], self.inner[trajectory])
    }
}
