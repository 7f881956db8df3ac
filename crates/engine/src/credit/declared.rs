//! The same rule for edges that no traced program has: a framework declares them by name.

use super::resolved::Parts;
use super::{BackwardError, Draw, Fate, MemoryEdges, Passage, StateEdges};
use crate::cut::{Cut, MemoryCredit, StateCredit};

/// Edges by name, each list in the order in which its credit is asked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Declared {
    /// What one step stores and others read: a cache's side, a register.
    pub memory: Vec<String>,
    /// Physical states, or parts of one.
    pub states: Vec<String>,
    /// Values that a cut may keep, scale or close wherever they stand.
    pub values: Vec<String>,
}

/// What a cut leaves of declared edges.
#[derive(Clone, PartialEq, Debug)]
pub struct DeclaredCredit {
    memory: Vec<MemoryEdges>,
    /// What passes each state edge.
    pub states: Vec<Passage>,
    /// What passes each value.
    pub values: Vec<f64>,
    /// How many state edges a path may pass; `None` for any number.
    pub most: Option<usize>,
}

impl Declared {
    /// For a rollout of so many steps. A cut that these edges cannot honour is an error that names
    /// the edge; one that is drawn for every update needs that update's draw.
    pub fn credit(
        &self,
        cut: Cut,
        draw: Option<Draw>,
        steps: usize,
    ) -> Result<DeclaredCredit, BackwardError> {
        if cut.state != StateCredit::Full && self.states.is_empty() {
            return Err(BackwardError::NoStateEdge { cut });
        }
        if cut.memory != MemoryCredit::Full && self.memory.is_empty() {
            return Err(BackwardError::NoMemoryEdge { cut });
        }
        if cut.is_drawn() && draw.is_none() {
            return Err(BackwardError::NotDrawn { cut });
        }
        let (mut parts, draw) = (Parts::new(cut), draw.unwrap_or_default());
        let memory = self
            .memory
            .iter()
            .map(|name| {
                let credit = parts.of(name)?.unwrap_or(cut.memory);
                Ok(MemoryEdges::new(credit, draw, 0..steps))
            })
            .collect::<Result<_, BackwardError>>()?;
        let states = self.states.iter().map(|name| parts.passage(name, 0..1));
        let states = states.collect::<Result<_, BackwardError>>()?;
        let values = self.values.iter().map(|name| Ok(parts.factor(name)?.unwrap_or(1.0)));
        let values = values.collect::<Result<_, BackwardError>>()?;
        parts.all_used()?;
        let most = StateEdges::new(cut.state, steps).most;
        Ok(DeclaredCredit { memory, states, values, most })
    }
}

impl DeclaredCredit {
    /// What is left of a memory edge from step `from` to step `to > from`.
    pub fn memory(&self, edge: usize, from: usize, to: usize) -> Fate {
        self.memory[edge].fate(from, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges() -> Declared {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Declared {
            memory: names(&["block0.keys", "block0.values", "h"]),
            states: names(&["body.position", "body.velocity"]),
            values: names(&["observation"]),
        }
    }

    #[test]
    fn parts_and_halves_reach_declared_edges() {
        let cut = "K4_SEG-2:keys=D:velocity=A0.5:position=F:observation=D".parse().unwrap();
        let credit = edges().credit(cut, None, 8).unwrap();
        let fates = |edge| [(0, 1), (1, 2)].map(|(from, to)| credit.memory(edge, from, to));
        assert_eq!(fates(0), [Fate::Dropped, Fate::Dropped]);
        assert_eq!(fates(1), [Fate::Kept, Fate::WeightsOnly]);
        assert_eq!(fates(2), [Fate::Kept, Fate::WeightsOnly]);
        let passed: Vec<_> = credit.states.iter().map(|p| (p.counts, p.factor)).collect();
        assert_eq!(passed, [(false, 1.0), (true, 0.5)]);
        assert_eq!((credit.values, credit.most), (vec![0.0], Some(3)));
    }

    #[test]
    fn what_declared_edges_cannot_honour_is_an_error() {
        let none = Declared::default();
        let refused = |edges: &Declared, cut: &str| {
            edges.credit(cut.parse().unwrap(), None, 4).unwrap_err().to_string()
        };
        assert!(refused(&none, "KF").contains("no state edge"));
        assert!(refused(&none, "F_SG").contains("no memory edge"));
        assert!(refused(&edges(), "RSEG-2").contains("none was drawn"));
        assert!(refused(&edges(), "FF:nobody=D").contains("block0.keys, block0.values, h, body"));
        assert!(refused(&edges(), "FF:velocity=SG").contains("no edge of memory"));
    }
}
