//! What computing a unit needs besides its definition.

use backcut_systems::Catalogue;

/// Systems by name. They are no part of a result's identity: a system is named by its settings and
/// data.
#[derive(Clone, Copy, Debug)]
pub struct Tools<'a> {
    /// Systems by name.
    pub catalogue: &'a Catalogue,
}

impl<'a> Tools<'a> {
    /// These systems.
    pub fn new(catalogue: &'a Catalogue) -> Self {
        Self { catalogue }
    }
}
