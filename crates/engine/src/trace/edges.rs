//! Declares what a cut may name: values whose credit it may close or scale, and parts of a state.

use super::{Named, Scope, Var};
use crate::trace::ops::Op;

impl Var<'_> {
    /// The same value, under a name that a cut may close (`FF:observation=D`) or scale
    /// (`FF:observation=A0.5`): what readers send back to it passes as the cut says. Under any
    /// other cut nothing changes, and the forward never does.
    #[track_caller]
    pub fn edge(self, name: &str) -> Self {
        let trace = self.trace();
        trace.check_scope(name, &[self], Scope::Step);
        let taken = trace.is_taken(name);
        trace.check_new("edge", name, taken);
        let named = Named { name: name.to_owned(), site: self.site() };
        trace.inner.borrow_mut().points.push(named);
        self
    }

    /// A state in named parts of these widths, which must cover it: each is a slice, and an edge of
    /// its own to cuts (`FF:velocity=D`).
    ///
    /// ```
    /// # let t = backcut_engine::Trace::new();
    /// let [position, velocity] = t.state("body", 4).parts([("position", 2), ("velocity", 2)]);
    /// # assert_eq!(position.width() + velocity.width(), 4);
    /// ```
    #[track_caller]
    pub fn parts<const N: usize>(self, parts: [(&str, usize); N]) -> [Self; N] {
        let trace = self.trace();
        let op = trace.inner.borrow().step.get(self.site()).map(|node| node.op.clone());
        let slices = self.split(parts.map(|(_, width)| width));
        let Some(Op::State(state)) = op.filter(|_| self.scope() == Scope::Step) else {
            trace.fail(
                format!("parts {:?} of a value that is no state", parts.map(|(name, _)| name)),
                "a state has parts; of any other value take slices, and name them with edge()",
            );
            return slices;
        };
        for (index, (name, _)) in parts.iter().enumerate() {
            let twice = parts[..index].iter().any(|(other, _)| other == name);
            trace.check_new("part", name, twice);
        }
        let mut first = 0;
        let named = parts.map(|(name, width)| {
            first += width;
            (name.to_owned(), first - width..first)
        });
        trace.inner.borrow_mut().states[state.0].parts = named.to_vec();
        slices
    }
}
