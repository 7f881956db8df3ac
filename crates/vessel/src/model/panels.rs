//! The fixed windows on which errors are reported.

use super::shape::{Shape, valid_starts};
use super::split::{Part, Split};
use crate::error::AisError;
use crate::tracks::Tracks;

/// Windows of each held-out segment.
const STARTS: usize = 4;

/// A window of a panel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PanelWindow {
    /// The segment's place in [`Tracks::segments`]: the cluster of the statistics.
    pub segment: usize,
    /// Where the window begins.
    pub start: usize,
}

/// A part's windows.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Panel {
    /// The windows, by segment and start.
    pub windows: Vec<PanelWindow>,
    /// Segments in which no window is valid.
    pub left_out: Vec<usize>,
}

/// The development and the evaluation panel: every held-out segment with four start times, evenly
/// spread over its valid ones from the first to the last (all of them, where there are fewer).
pub fn panels(tracks: &Tracks, split: &Split, shape: &Shape) -> Result<[Panel; 2], AisError> {
    shape.check()?;
    let panel = |part| {
        let mut panel = Panel::default();
        for segment in split.segments(part) {
            let valid = valid_starts(&tracks.segments()[segment], tracks.step_seconds(), shape);
            if valid.is_empty() {
                panel.left_out.push(segment);
            }
            let starts = spread(valid.len()).into_iter().map(|i| valid[i]);
            panel.windows.extend(starts.map(|start| PanelWindow { segment, start }));
        }
        panel
    };
    Ok([panel(Part::Development), panel(Part::Evaluation)])
}

/// Evenly spread places among n.
fn spread(n: usize) -> Vec<usize> {
    if n <= STARTS {
        return (0..n).collect();
    }
    (0..STARTS).map(|k| k * (n - 1) / (STARTS - 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_spread_from_the_first_to_the_last() {
        assert_eq!(spread(10), [0, 3, 6, 9]);
        assert_eq!(spread(5), [0, 1, 2, 4]);
        assert_eq!(spread(2), [0, 1]);
        assert!(spread(0).is_empty());
    }
}
