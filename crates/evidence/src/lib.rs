//! What a study has to show, for whoever reads it without running anything.
//!
//! **Does**: the tables, one type per row ([`tables`]), and the ledger, by which a row may claim
//! what it claims ([`ledger`]).
//!
//! **Refuses**: to link a model. Whoever doubts a result, draws it or computes its statistics again
//! needs this crate, the statistics and nothing that trains.
//!
//! **One design decision.** A row's status is written in a table and decided by the ledger; the two
//! are one crate, and `study`, which runs things, is another: what makes a claim and what checks it
//! share the rule and not the program.

pub mod ledger;
pub mod tables;
