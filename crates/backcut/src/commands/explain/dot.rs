//! The edges between steps for Graphviz.

use std::fmt::Write as _;

use backcut_engine::edges::{EdgeList, Fate, Through};

/// One node per step; solid edges are kept, dashed ones reach weights only, dotted ones are cut.
/// Arrows point the way the forward runs; credit runs against them.
pub fn graph(edges: &EdgeList<'_>) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "digraph \"{}\" {{", edges.cut());
    let _ = writeln!(out, "  rankdir=LR; node [shape=circle];");
    let _ =
        writeln!(out, "  label=\"{}: solid kept, dashed weights only, dotted cut\";", edges.cut());
    for step in 0..edges.steps() {
        let _ = writeln!(out, "  {step};");
    }
    for edge in edges.edges() {
        let style = match edge.fate {
            Fate::Kept => "style=solid".to_owned(),
            Fate::WeightsOnly => "style=dashed, color=gray40".to_owned(),
            Fate::Scaled(alpha) => format!("style=bold, color=gray40, label=\"{alpha}\""),
            Fate::Dropped => "style=dotted, color=gray70".to_owned(),
        };
        let weight = match edge.through {
            Through::State => "weight=10, penwidth=2",
            Through::Register | Through::Cache | Through::Keys | Through::Values => {
                "constraint=false"
            }
        };
        let (from, to, name) = (edge.from, edge.to, edges.name(edge));
        let _ = writeln!(out, "  {from} -> {to} [tooltip=\"{name}\", {style}, {weight}];");
    }
    out.push_str("}\n");
    out
}
