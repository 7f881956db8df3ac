//! What the engine must know of an instruction: one trait, and the enum of all that implement it.

use backcut_kernels::Real;

use super::columns::InColumns;
use super::local::{Backward, Forward};
use crate::oracle::{Columns, Row};
use crate::trace::{ParamId, Site, Var};

/// A bounded, smooth use of an instruction, given a value near one and that value's hyperbolic tangent: how
/// random programs draw it.
pub(crate) type Drift = for<'t> fn(x: Var<'t>, bounded: Var<'t>) -> Var<'t>;

/// An instruction. How it is written down (its method on [`Var`] or [`Trace`](crate::Trace), with the rule for
/// its width) stands beside its implementation.
pub(crate) trait Operation {
    /// What users see in messages.
    const NAME: &str;

    /// How random programs draw it, unless they contain it anyway.
    const DRIFT: Option<Drift> = None;

    /// The name of this one; functions go by their own.
    fn name(&self) -> &'static str {
        Self::NAME
    }

    /// Operands within the same graph, in the order in which they receive adjoints. They lie before it.
    fn operands(&self) -> Vec<Site>;

    /// Operands in the condition graph.
    fn condition_operands(&self) -> Vec<Site> {
        Vec::new()
    }

    /// The parameters it reads.
    fn parameters(&self) -> Vec<ParamId> {
        Vec::new()
    }

    /// Numbers that belong to it; kernels find them in the working precision.
    fn constants(&self) -> Vec<f64> {
        Vec::new()
    }

    /// Sites (`own` is its own) whose values its derivative reads. Nobody else keeps them for it.
    fn derivative_reads(&self, own: Site) -> Vec<Site>;

    /// Numbers per row that it saves for its derivative in the forward.
    fn saved_per_row(&self, _width: usize) -> usize {
        0
    }

    /// Computes its value.
    fn forward<R: Real>(&self, now: Forward<'_, R>);

    /// Sends its adjoint to its operands and parameters, in every lane. (Weights of linear sites are
    /// collected apart, once per chunk of steps.)
    fn backward<R: Real>(&self, now: Backward<'_, R>);

    /// Its form for narrow values, if it has one.
    fn columns(&self) -> Option<&dyn InColumns> {
        None
    }

    /// The same on the oracle's tape, with standard functions. What reads beyond its own row and step has none: that
    /// is the interpreter's business, which stops at any other without.
    fn oracle<'t>(&self, _row: &Row<'_, 't>) -> Option<Columns<'t>> {
        None
    }
}

/// Defines [`Op`](super::Op) as the enum of the given instructions, each a type of the same name in the named module.
macro_rules! operations {
    ($($module:ident::$name:ident),* $(,)?) => {
        $(pub(crate) use $module::$name;)*

        /// One instruction. Operands are earlier sites of the same graph unless said otherwise.
        #[derive(Clone, PartialEq, Debug)]
        #[expect(missing_docs, reason = "every variant is a documented type of the same name")]
        pub enum Op { $($name($name),)* }

        $(impl From<$name> for Op {
            fn from(op: $name) -> Self {
                Self::$name(op)
            }
        })*

        impl Op {
            /// What users see in messages.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$name(op) => op.name(),)* }
            }

            /// Operands within the same graph, in the order in which they receive adjoints.
            pub fn operands(&self) -> Vec<Site> {
                match self { $(Self::$name(op) => op.operands(),)* }
            }

            /// Operands in the condition graph.
            pub fn condition_operands(&self) -> Vec<Site> {
                match self { $(Self::$name(op) => op.condition_operands(),)* }
            }

            /// The parameters it reads.
            pub fn parameters(&self) -> Vec<ParamId> {
                match self { $(Self::$name(op) => op.parameters(),)* }
            }

            pub(crate) fn constants(&self) -> Vec<f64> {
                match self { $(Self::$name(op) => op.constants(),)* }
            }

            pub(crate) fn derivative_reads(&self, own: Site) -> Vec<Site> {
                match self { $(Self::$name(op) => op.derivative_reads(own),)* }
            }

            pub(crate) fn saved_per_row(&self, width: usize) -> usize {
                match self { $(Self::$name(op) => op.saved_per_row(width),)* }
            }

            #[inline]
            pub(crate) fn forward<R: Real>(&self, now: Forward<'_, R>) {
                match self { $(Self::$name(op) => op.forward(now),)* }
            }

            #[inline]
            pub(crate) fn backward<R: Real>(&self, now: Backward<'_, R>) {
                match self { $(Self::$name(op) => op.backward(now),)* }
            }

            pub(crate) fn columns(&self) -> Option<&dyn InColumns> {
                match self { $(Self::$name(op) => op.columns(),)* }
            }

            pub(crate) fn oracle<'t>(&self, row: &Row<'_, 't>) -> Option<Columns<'t>> {
                match self { $(Self::$name(op) => op.oracle(row),)* }
            }

            /// How many names there are: of kinds, where the two kinds of functions go by those of their functions.
            #[cfg(test)]
            pub(crate) fn names() -> usize {
                let kinds = [$(stringify!($name)),*].len();
                kinds - 2 + Function::ALL.len() + Arithmetic::ALL.len()
            }

            /// How random programs draw instructions.
            pub(crate) fn drifts() -> Vec<Drift> {
                DRIFTS.iter().copied().chain([$($name::DRIFT),*].into_iter().flatten()).collect()
            }
        }
    };
}
pub(super) use operations;
