//! Words for people: numbers, counts, wrapped lines, hints, and text made harmless.
//!
//! **Does**: writes numbers with the digits that matter ([`mod@format`]), breaks lines
//! ([`wrapped`]), finds the name that was meant ([`nearest`]), and makes any string harmless in the
//! document that will hold it ([`escape`]).
//!
//! **Refuses**: to know what a number means, and to print anything.
//!
//! **One design decision.** It stands below every other crate and knows none of them, so that a
//! terminal, a page and an error message round, wrap and escape in the same way because they call
//! the same function.
//!
//! ```
//! use backcut_text::{counted, format, nearest, wrapped};
//!
//! assert_eq!(format::estimate(42.912, Some([39.2, 46.61])), "42.91 [39.20, 46.61]");
//! assert_eq!(counted(1200, "unit"), "1,200 units");
//! assert_eq!(nearest("updats", ["cut", "updates"]), Some("updates"));
//! assert_eq!(wrapped("one two three", 8, 2), "one two\n  three\n");
//! ```

pub mod escape;
pub mod format;
mod words;

pub use words::{COLUMNS, Hinted, capital, counted, nearest, shortened, thousands, wrapped};
