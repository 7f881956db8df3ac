//! Columns side by side.

use super::Operation;
use crate::trace::{Scope, Site, Trace, Var};

/// Columns side by side.
#[derive(Clone, PartialEq, Debug)]
pub struct Concat(pub Vec<Site>);

impl Trace {
    /// Columns side by side.
    #[track_caller]
    pub fn concat<'t>(&'t self, parts: &[Var<'t>]) -> Var<'t> {
        let scope = parts.first().map_or(Scope::Step, |v| v.scope());
        if parts.is_empty() {
            self.fail("concat of nothing".into(), "give it at least one value");
            return self.constant(0.0, 1);
        }
        self.check_scope("concat", parts, scope);
        let width = parts.iter().map(|v| v.width()).sum();
        let parts = parts.iter().map(|v| v.site()).collect();
        self.push(scope, Concat(parts), width, "concat")
    }
}

impl Operation for Concat {
    const NAME: &str = "concat";

    fn operands(&self) -> Vec<Site> {
        self.0.clone()
    }
}
