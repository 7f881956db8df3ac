//! Causal attention over a cache: appends this step's key and value, then reads all of it.
//!
//! Backward, a query's turn yields its own adjoint and its own position's. What earlier positions
//! receive is theirs to collect, under a cut (`backward/memory.rs`).

use super::Operation;
use crate::trace::{Named, Scope, Site, Trace, Var};

/// Appends `key` and `value` to a cache, then reads all of it with `q`.
#[derive(Clone, PartialEq, Debug)]
pub struct Attend {
    pub q: Site,
    pub key: Site,
    pub value: Site,
    pub cache: usize,
    pub heads: usize,
}

impl Trace {
    /// Causal attention: appends this step's key and value to the cache `name` and reads all of it.
    #[track_caller]
    pub fn attend<'t>(
        &'t self,
        name: &str,
        q: Var<'t>,
        key: Var<'t>,
        value: Var<'t>,
        heads: usize,
    ) -> Var<'t> {
        self.check_heads(name, q, key, value, heads);
        self.check_scope(name, &[q, key, value], Scope::Step);
        let taken = self.inner.borrow().caches.iter().any(|c| c.name == name);
        self.check_new("cache", name, taken);
        let cache = self.inner.borrow().caches.len();
        let (width, heads) = (q.width(), heads.max(1));
        let op = Attend { q: q.site(), key: key.site(), value: value.site(), cache, heads };
        let var = self.push(Scope::Step, op, width, name);
        self.inner.borrow_mut().caches.push(Named { name: name.to_owned(), site: var.site() });
        var
    }

    #[track_caller]
    pub(super) fn check_heads(
        &self,
        name: &str,
        q: Var<'_>,
        key: Var<'_>,
        value: Var<'_>,
        heads: usize,
    ) {
        let (wq, wk, wv) = (q.width(), key.width(), value.width());
        if wq != wk || wq != wv {
            self.fail(
                format!(
                    "attention `{name}`: query, key and value have {wq}, {wk} and {wv} columns"
                ),
                "project all three to the same width",
            );
        } else if heads == 0 || wq % heads != 0 {
            self.fail(
                format!("attention `{name}`: {heads} heads do not divide {wq} columns"),
                "choose a width that is a multiple of the number of heads",
            );
        }
    }
}

impl Operation for Attend {
    const NAME: &str = "attention";

    fn operands(&self) -> Vec<Site> {
        vec![self.q, self.key, self.value]
    }
}
