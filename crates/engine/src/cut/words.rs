//! A cut in plain words.

use std::fmt::Write as _;

use super::{Cut, MemoryCredit, StateCredit};

impl Cut {
    /// What it keeps and cuts, in a sentence or a few, whatever the length of a rollout.
    pub fn in_words(self) -> String {
        let state = match self.state {
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
        let memory = match self.memory {
            MemoryCredit::Full => {
                "Through memory it reaches everything that earlier steps stored.".to_owned()
            }
            MemoryCredit::Projected => {
                "What earlier steps stored is a constant: neither it nor the weights that project \
                 it (W_K, W_V) receive credit from later queries."
                    .to_owned()
            }
            MemoryCredit::Stored { segment: None } => {
                "What earlier steps stored receives no credit from later queries; the weights that \
                 project it (W_K, W_V) do."
                    .to_owned()
            }
            MemoryCredit::Stored { segment: Some(length) } => format!(
                "Memory is cut into segments of {length} steps: within a segment a query sends \
                 credit to what was stored; across a boundary only the weights that project it \
                 (W_K, W_V) receive credit, what was stored does not."
            ),
            MemoryCredit::Scaled { alpha } => format!(
                "What earlier steps stored receives {} of the credit from later queries; the \
                 weights that project it (W_K, W_V) receive all of it.",
                alpha.get()
            ),
            MemoryCredit::Shifted { length } => format!(
                "Memory is cut into segments of {length} steps whose first boundary is drawn for \
                 every update; within a segment a query sends credit to what was stored, across a \
                 boundary only the weights that project it (W_K, W_V) receive credit. Shown is one \
                 draw."
            ),
            MemoryCredit::Random { chance, unbiased } => format!(
                "Every boundary between two steps is cut with probability {}, drawn for every \
                 update: across a cut only the weights that project what was stored (W_K, W_V) \
                 receive credit.{} Shown is one draw.",
                chance.get(),
                if unbiased {
                    " What survives is divided by the probability that it does, so that the mean \
                     over updates is that of full credit."
                } else {
                    ""
                }
            ),
        };
        let mut text = format!("{state} {memory}");
        for (index, part) in self.parts.iter().enumerate() {
            let begin = if index == 0 { " Except:" } else { "," };
            let credit = part.credit;
            let fate = match credit {
                MemoryCredit::Full => format!("is kept ({credit})"),
                MemoryCredit::Projected => format!("is closed ({credit})"),
                MemoryCredit::Scaled { alpha } => {
                    format!("passes {} of its credit ({credit})", alpha.get())
                }
                _ => format!("has {credit}"),
            };
            let _ = write!(text, "{begin} `{}` {fate}", part.edge);
        }
        if !self.parts.is_empty() {
            text.push('.');
        }
        text
    }
}
