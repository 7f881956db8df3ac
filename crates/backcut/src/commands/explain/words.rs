//! A cut in plain words.

use std::fmt::Write as _;

use backcut_engine::{Cut, MemoryCredit};

use crate::look::columns;

/// Lines of text end this far before the terminal's edge.
const MARGIN: usize = 2;

/// What a cut keeps and cuts, as a paragraph, with what it equals at this length.
pub fn meaning(cut: Cut, steps: usize, window: Option<usize>) -> String {
    let mut text = format!("{cut}: {}", cut.in_words());
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

/// Breaks text into lines, each after `indent` spaces.
pub fn wrap(text: &str, indent: usize) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    backcut_text::wrapped(&format!("{:indent$}{words}", ""), columns() - MARGIN, indent)
}
