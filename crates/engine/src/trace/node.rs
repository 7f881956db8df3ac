//! Where the instructions of a traced step stand, and what is known by name.

use std::ops::Range;

/// Index of an instruction (and of its value) in its graph.
pub type Site = usize;

/// Index of a parameter in the program's [`Layout`](crate::Layout).
pub type ParamId = usize;

/// Which graph a value belongs to: the repeated step, or the condition computed once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Repeated at every step.
    Step,
    /// Computed once per rollout, for each token of the condition.
    Condition,
}

/// An input or carried value, by name.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Named {
    pub name: String,
    pub site: Site,
}

/// A state or register: read at the start of a step, handed on at its end.
#[derive(Clone, PartialEq, Debug)]
pub struct Carried {
    /// Its name.
    pub name: String,
    /// The site that reads it.
    pub read: Site,
    /// The site whose value the next step reads.
    pub next: Site,
    /// Columns.
    pub width: usize,
    /// Names of its columns, if it has some: all of them, in order.
    pub parts: Vec<(String, Range<usize>)>,
}

/// A range that a site's values must not leave.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Bound {
    pub name: String,
    pub site: Site,
    pub limit: f64,
}
