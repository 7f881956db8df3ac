//! What computing a unit needs besides its definition.

use backcut_engine::{Cpu, Executor};
use backcut_systems::Catalogue;

/// Systems by name, and something that runs programs. Neither is part of a result's identity: a system
/// is named by its settings and data, and every executor gives the same bits.
#[derive(Clone, Copy, Debug)]
pub struct Tools<'a> {
    /// Systems by name.
    pub catalogue: &'a Catalogue,
    /// What runs their programs.
    pub executor: &'a dyn Executor<f32>,
}

impl<'a> Tools<'a> {
    /// These systems on this machine's processor.
    pub fn new(catalogue: &'a Catalogue) -> Self {
        Self { catalogue, executor: Cpu::detect() }
    }
}
