//! Contrasts: small expressions over bracketed cells, evaluated per source.
//!
//! ```text
//! contrast = [ name "=" ] body [ ">" "0" | "<" "0" ]
//! body     = "mean" "(" sum ")" "/" "mean" "(" sum ")"      a ratio of source means
//!          | sum                                             the source mean of a quantity
//! sum      = product { ("+" | "-") product }
//! product  = factor { ("*" | "/") factor }
//! factor   = number | "[" cell "]" | "(" sum ")" | "-" factor
//!          | "slope" "(" sum [ "over" number { "," number } ] ")"
//! ```
//!
//! Cells are bracketed because the science's names hold signs (`SEG-2`, `F_SG@0.20`). The trailing
//! comparison is the predicted direction. Inside `slope`, a star stands for each numeric condition
//! in turn (`slope([F_SG@*] - [FF@*])`, or `slope([*])` over columns whose names are numbers), and
//! the value is the least-squares slope over those conditions.
//!
//! The parser is recursive descent with a stated depth limit: the grammar is ten lines, errors can
//! name the character, and no input can exhaust the stack. A parser generator would be larger than
//! what it replaces.

mod parse;

pub use crate::table::Evaluated;
pub use parse::{Body, Contrast, Direction, Expr};
