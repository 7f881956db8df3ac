//! Local diagnostics: does what one update promises say which graph learns better?
//!
//! At one state, with `r` the FF gradient of a diagnostic batch's loss, `g_a` the raw gradient and
//! `U_a` the applied update of graph `a` on the next training batch:
//!
//! ```text
//! S_G(a) = -eta r.(g_a - g_FF)        S_U(a) = r.(U_a - U_FF)
//! ```
//!
//! **Sign.** `r.U` is the first-order change of the diagnostic loss by an update `U`, and `-eta g`
//! is the update of plain gradient descent. So both scores predict *how much higher the loss will
//! be after graph `a`'s update than after FF's*: negative favours `a`, FF scores 0, and ascending
//! scores are a predicted ordering of the graphs by their error, best first.
//!
//! A score is judged by how often it orders two graphs as persistent training does, beside fixed
//! orderings that look at nothing, and beside how often a second future orders them alike: no score
//! can agree with labels that do not agree with themselves.

mod scores;

pub use scores::{LocalScore, local_scores, scores};

use crate::measure::define::{Definition, define};

/// What its quantities are.
pub const DEFINITIONS: &[Definition] = &[
    define(
        "analytic",
        "S_G",
        "-eta r.(g_a - g_FF): predicted excess loss after graph a's gradient step; r is the FF \
         gradient of a diagnostic batch's loss, eta the learning rate",
    ),
    define(
        "analytic",
        "S_U",
        "r.(U_a - U_FF): the same with the updates that the optimizer applies",
    ),
    define(
        "analytic",
        "agreement",
        "share of graph pairs that two orderings order alike, exact ties one half; interval over \
         whole sources",
    ),
];
