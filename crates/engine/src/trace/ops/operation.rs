//! What the engine must know of an instruction: one trait, and the enum of all that implement it.

use crate::trace::{ParamId, Site, Var};

/// A bounded, smooth use of an instruction, given a value near one and that value's hyperbolic
/// tangent: how random programs draw it.
pub type Drift = for<'t> fn(x: Var<'t>, bounded: Var<'t>) -> Var<'t>;

/// An instruction. How it is written down (its method on [`Var`] or [`Trace`](crate::Trace), with
/// the rule for its width) stands beside its implementation.
pub(crate) trait Operation {
    /// What users see in messages.
    const NAME: &str;

    /// How random programs draw it, unless they contain it anyway.
    const DRIFT: Option<Drift> = None;

    /// The name of this one; functions go by their own.
    fn name(&self) -> &'static str {
        Self::NAME
    }

    /// Operands within the same graph, in the order in which they receive adjoints. They lie before
    /// it.
    fn operands(&self) -> Vec<Site> {
        Vec::new()
    }

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
    fn derivative_reads(&self, _own: Site) -> Vec<Site> {
        Vec::new()
    }

    /// Numbers per row that it saves for its derivative in the forward.
    fn saved_per_row(&self, _width: usize) -> usize {
        0
    }
}

/// Defines [`Op`](super::Op) as the enum of the given instructions, each a type of the same name in
/// the named module.
macro_rules! operations {
    ($($module:ident::$name:ident),* $(,)?) => {
        $(pub use $module::$name;)*

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

            /// Every name that [`Op::name`] gives: of kinds and, in the place of the two kinds of
            /// functions, of the functions.
            pub fn names() -> Vec<&'static str> {
                let kinds = [$($name::NAME),*].into_iter();
                kinds
                    .filter(|kind| ![Unary::NAME, Binary::NAME].contains(kind))
                    .chain(Function::ALL.iter().map(|function| function.name()))
                    .chain(Arithmetic::ALL.iter().map(|function| function.name()))
                    .collect()
            }

            /// How random programs draw instructions.
            pub fn drifts() -> Vec<Drift> {
                DRIFTS.iter().copied().chain([$($name::DRIFT),*].into_iter().flatten()).collect()
            }
        }
    };
}
pub(super) use operations;
