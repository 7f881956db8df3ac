//! From a traced step to a program: where values and adjoints lie, what is fused, what runs in columns.

pub(crate) mod graph;
pub(crate) mod layout;
pub(crate) mod linears;
pub(crate) mod narrow;
pub(crate) mod program;
