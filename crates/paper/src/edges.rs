//! The edges of a short rollout, from the engine to the design drawing.

use backcut_engine::edges::{Edge, EdgeList, Fate, Through};
use backcut_engine::{Cut, MemoryReads};
use backcut_systems::System;
use backcut_systems::policy::Policy;
use backcut_systems::quadrotor::QuadrotorConfig;

/// What an edge runs through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EdgeKind {
    /// The physical state.
    State,
    /// The memory.
    Memory,
}

/// What a cut leaves of an edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EdgeLife {
    /// Credit passes.
    Lives,
    /// Credit reaches the projections' weights, not what was stored.
    WeightsOnly,
    /// No credit passes.
    Cut,
}

/// One edge between two steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DesignEdge {
    /// The earlier step.
    pub from: usize,
    /// The later step.
    pub to: usize,
    /// The layer of a memory edge.
    pub layer: usize,
    /// What it runs through.
    pub kind: EdgeKind,
    /// What the cut leaves.
    pub life: EdgeLife,
}

/// The edges of a short rollout under one cut.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DesignEdges {
    /// The cut's name.
    pub cut: String,
    /// What it means, in a few words.
    pub meaning: String,
    /// Steps of the rollout.
    pub steps: usize,
    /// Its edges.
    pub edges: Vec<DesignEdge>,
}

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
    let policy = Policy { steps: STEPS, layers: 1, width: 8, heads: 1, ..Policy::small() };
    let system = QuadrotorConfig { policy, ..QuadrotorConfig::default() }.check()?;
    let program = System::<f32>::program(&system);
    let mut design = Vec::new();
    for (name, meaning) in CUTS {
        let cut: Cut = name.parse()?;
        let list = EdgeList::new(program, STEPS, 0, &MemoryReads::All, cut)?;
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
