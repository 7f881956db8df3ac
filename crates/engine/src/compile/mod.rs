//! From a traced step to a program: where values and adjoints lie, what is fused, what runs in
//! columns.

mod columns;
pub(crate) mod graph;
pub(crate) mod linears;
pub(crate) mod listing;
pub(crate) mod narrow;
pub(crate) mod program;
