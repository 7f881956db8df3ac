//! A function of two arguments of equal width, or of a wide first and a one-column second.

use super::{Arithmetic, Drift, Operation};
use crate::trace::{Site, Var};

/// A function of two arguments.
#[derive(Clone, PartialEq, Debug)]
pub struct Binary {
    pub function: Arithmetic,
    pub a: Site,
    pub b: Site,
}

impl Var<'_> {
    /// Applies a function of two arguments.
    #[track_caller]
    pub(crate) fn arithmetic(self, function: Arithmetic, other: Self) -> Self {
        self.trace().check_own(function.name(), &[other]);
        let (wa, wb) = (self.width(), other.width());
        if self.scope() != other.scope() {
            self.trace().fail(
                "arithmetic mixes a step with the condition".into(),
                "steps read the condition by cross-attention or recall",
            );
        }
        if wa != wb && wa != 1 && wb != 1 {
            self.trace().fail(
                format!("arithmetic on {wa} and {wb} columns"),
                "use equal widths, or one column that serves all",
            );
        }
        if wa == 1 && wb > 1 {
            return function.one_column_first(self, other);
        }
        self.push(Binary { function, a: self.site(), b: other.site() }, wa.max(wb))
    }
}

impl Operation for Binary {
    const NAME: &str = "arithmetic";

    // The four operators are part of every program.
    const DRIFT: Option<Drift> = Some(|x, bounded| bounded.min(x.cos()).max(bounded * 0.5 - 0.4));

    fn name(&self) -> &'static str {
        self.function.name()
    }

    fn operands(&self) -> Vec<Site> {
        vec![self.a, self.b]
    }

    fn derivative_reads(&self, own: Site) -> Vec<Site> {
        let reads = self.function.reads();
        let by_either = [
            (reads.iter().any(|r| r.a), self.a),
            (reads.iter().any(|r| r.b), self.b),
            (reads.iter().any(|r| r.y), own),
        ];
        by_either.into_iter().filter(|r| r.0).map(|r| r.1).collect()
    }
}
