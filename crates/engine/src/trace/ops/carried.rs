//! What the previous step handed over: physical states and memory registers. What flows back along
//! these edges is for `backward/edges.rs`, under a cut.

use super::Operation;

/// The physical state handed over by the previous step.
#[derive(Clone, PartialEq, Debug)]
pub struct State(pub usize);

/// The memory register handed over by the previous step.
#[derive(Clone, PartialEq, Debug)]
pub struct Register(pub usize);

impl Operation for State {
    const NAME: &str = "state";
}

impl Operation for Register {
    const NAME: &str = "register";
}
