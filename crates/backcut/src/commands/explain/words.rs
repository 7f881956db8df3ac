//! A cut in plain words.

use std::fmt::Write as _;

use backcut_engine::edges::EdgeList;
use backcut_engine::{Cut, MemoryCredit, Part, StateCredit};

/// Lines of text end before this column.
const WIDTH: usize = 78;

/// What a cut keeps and cuts, as a paragraph, with what it equals at this length.
pub fn meaning(edges: &EdgeList<'_>, steps: usize, window: Option<usize>) -> String {
    let cut = edges.cut();
    let mut text = format!("{cut}: {}", sentence(edges));
    if let MemoryCredit::Stored { segment: Some(length) } = cut.memory {
        let twin = match length.get() as usize {
            1 => Some(MemoryCredit::Stored { segment: None }),
            length if length >= steps => Some(MemoryCredit::Full),
            _ => None,
        };
        if let Some(memory) = twin {
            let twin = Cut { memory, ..cut };
            let _ = write!(text, " In {steps} steps this is {twin}, bit by bit.");
        }
    }
    if let Some(window) = window {
        let _ = write!(
            text,
            " The forward itself reads only the last {window} positions: what it does not read is \
             no edge under any cut."
        );
    }
    wrap(&text, 0)
}

/// The same as one sentence or a few, independent of the length.
pub fn sentence(edges: &EdgeList<'_>) -> String {
    let cut = edges.cut();
    let state = match cut.state {
        StateCredit::Full => {
            "Through physical states a loss reaches every earlier step.".to_owned()
        }
        StateCredit::Steps(k) if k.get() == 1 => {
            "A loss reaches the action of its own step; every state edge is cut.".to_owned()
        }
        StateCredit::Steps(k) => {
            let edges = k.get() - 1;
            let plural = if edges == 1 { "" } else { "s" };
            format!("Any path from a loss passes at most {edges} state edge{plural}.")
        }
    };
    let memory = match cut.memory {
        MemoryCredit::Full => {
            "Through memory it reaches everything that earlier steps stored.".to_owned()
        }
        MemoryCredit::Projected => {
            "What earlier steps stored is a constant: neither it nor the weights that project it \
             (W_K, W_V) receive credit from later queries."
                .to_owned()
        }
        MemoryCredit::Stored { segment: None } => {
            "What earlier steps stored receives no credit from later queries; the weights that \
             project it (W_K, W_V) do."
                .to_owned()
        }
        MemoryCredit::Stored { segment: Some(length) } => format!(
            "Memory is cut into segments of {length} steps: within a segment a query sends credit \
             to what was stored; across a boundary only the weights that project it (W_K, W_V) \
             receive credit, what was stored does not."
        ),
        MemoryCredit::Scaled { alpha } => format!(
            "What earlier steps stored receives {} of the credit from later queries; the weights \
             that project it (W_K, W_V) receive all of it.",
            alpha.get()
        ),
        MemoryCredit::Shifted { length } => format!(
            "Memory is cut into segments of {length} steps whose first boundary is drawn for every \
             update; within a segment a query sends credit to what was stored, across a boundary \
             only the weights that project it (W_K, W_V) receive credit. Drawn here: one update."
        ),
        MemoryCredit::Random { chance, unbiased } => format!(
            "Every boundary between two steps is cut with probability {}, drawn for every update: \
             across a cut only the weights that project what was stored (W_K, W_V) receive credit.{} \
             Drawn here: one update.",
            chance.get(),
            if unbiased {
                " What survives is divided by the probability that it does, so that the mean over \
                 updates is that of full credit."
            } else {
                ""
            }
        ),
    };
    let mut text = format!("{state} {memory}");
    if !cut.parts.is_empty() {
        let part = |part: &Part| format!("`{}` has {}", part.edge, part.credit);
        let parts: Vec<String> = cut.parts.iter().map(part).collect();
        let _ = write!(text, " But {}.", parts.join(", "));
    }
    for (name, factor) in edges.closed_points() {
        let passes = if factor == 0.0 { "nothing".to_owned() } else { factor.to_string() };
        let _ = write!(text, " Of the credit that reaches `{name}`, {passes} passes.");
    }
    text
}

/// Breaks text into lines, each after `indent` spaces.
pub fn wrap(text: &str, indent: usize) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    backcut_text::wrapped(&format!("{:indent$}{words}", ""), WIDTH, indent)
}
