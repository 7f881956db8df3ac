//! What people look at: drawings, tables for papers, and one page without a single request.
//!
//! **Does**: draws ([`draw`]), and makes figures, tables and a page of any study's tables
//! ([`report`]).
//!
//! **Refuses**: to compute a result, to grant a status, and to know a model: it reads tables.
//!
//! **One design decision.** The drawing kit is a part of what draws with it, and not a crate that
//! statistics or models could reach for: whoever computes hands numbers on and draws nothing.

pub mod draw;
pub mod report;
