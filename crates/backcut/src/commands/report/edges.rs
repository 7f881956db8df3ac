//! The edges of a short rollout, from the engine to the design drawing.

use backcut_engine::edges::{Edge, EdgeList, Fate, Through};
use backcut_engine::{Cut, MemoryReads};
use backcut_paper::{DesignEdge, DesignEdges, EdgeKind, EdgeLife};

use crate::common::parse_cut;
use crate::exit::Told as _;
use crate::shape::Shape;

/// The four graphs, the other placement, and two segment lengths.
const CUTS: [(&str, &str); 8] = [
    ("FF", "full states, full memory"),
    ("FD", "full states, stored keys and values constant"),
    ("KF", "one-step states, full memory"),
    ("KD", "one-step states, stored keys and values constant"),
    ("F_SG", "only the projections learn from stored values"),
    ("K_SG", "the same under one-step states"),
    ("SEG-2", "full inside segments of two steps"),
    ("SEG-4", "full inside segments of four steps"),
];

const STEPS: usize = 8;

/// Edges of a rollout of eight steps under each cut.
pub fn design() -> anyhow::Result<Vec<DesignEdges>> {
    let program = Shape { steps: STEPS, layers: 1, width: 8, heads: 1 }.program()?;
    let mut design = Vec::new();
    for (name, meaning) in CUTS {
        let cut: Cut = parse_cut(name)?;
        let list = EdgeList::new(&program, STEPS, 0, &MemoryReads::All, cut).told()?;
        let edges = list.edges().iter().map(design_edge).collect();
        design.push(DesignEdges { cut: name.into(), meaning: meaning.into(), steps: STEPS, edges });
    }
    Ok(design)
}

fn design_edge(edge: &Edge) -> DesignEdge {
    let (kind, layer) = match edge.through {
        Through::State => (EdgeKind::State, 0),
        Through::Register | Through::Cache | Through::Keys | Through::Values => {
            (EdgeKind::Memory, edge.index)
        }
    };
    let life = match edge.fate {
        Fate::Kept | Fate::Scaled(_) => EdgeLife::Lives,
        Fate::WeightsOnly => EdgeLife::WeightsOnly,
        Fate::Dropped => EdgeLife::Cut,
    };
    DesignEdge { from: edge.from, to: edge.to, layer, kind, life }
}
