//! Writing one step with ordinary Rust code.
//!
//! A [`Trace`] hands out [`Var`]s; arithmetic on them records instructions. A mistake (a width that
//! does not fit, a name used twice) does not panic and needs no `?` at every line: the first one is
//! kept, with the line of *your* code that made it, and [`Trace::compile`] returns it.
//!
//! ```
//! use backcut_engine::Trace;
//!
//! let t = Trace::new();
//! let position = t.state("position", 1);
//! let target = t.input("target", 1);
//! let action = t.linear("policy", t.concat(&[position, target]), 1).tanh();
//! let next = position + action * 0.1;
//! t.next("position", next);
//! t.loss((next - target).square());
//! let program = t.compile()?;
//! assert_eq!(program.layout().len(), 3);
//! # Ok::<(), backcut_engine::TraceError>(())
//! ```

mod declare;
mod edges;
mod error;
mod layout;
mod node;
pub mod ops;

use std::cell::RefCell;
use std::panic::Location;

pub use error::TraceError;
pub use layout::{Init, Layout, Parameter};
pub(crate) use node::{Bound, Named};
pub use node::{Carried, ParamId, Scope, Site};
use ops::Op;

/// An instruction with what is known about its value.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// The instruction.
    pub op: Op,
    /// Columns of its value.
    pub width: usize,
    /// What users see: its name if it has one, and where it was written.
    pub label: String,
}

#[derive(Default)]
pub(crate) struct Inner {
    pub step: Vec<Node>,
    pub condition: Vec<Node>,
    pub tokens: usize,
    pub layout: Layout,
    /// Names whose parameters several calls may read.
    pub shared: Vec<String>,
    pub inputs: Vec<Named>,
    pub condition_inputs: Vec<Named>,
    pub states: Vec<Carried>,
    pub registers: Vec<Carried>,
    pub caches: Vec<Named>,
    pub taps: Vec<Named>,
    pub bounds: Vec<Bound>,
    pub points: Vec<Named>,
    pub loss: Option<Site>,
    pub error: Option<TraceError>,
}

impl Inner {
    fn nodes(&self, scope: Scope) -> &Vec<Node> {
        match scope {
            Scope::Step => &self.step,
            Scope::Condition => &self.condition,
        }
    }
}

/// Records one step.
#[derive(Default)]
pub struct Trace {
    pub(crate) inner: RefCell<Inner>,
}

impl Trace {
    /// An empty trace.
    pub fn new() -> Self {
        Self::default()
    }

    #[track_caller]
    pub(crate) fn fail(&self, what: String, hint: impl Into<String>) {
        let place = Location::caller();
        let mut inner = self.inner.borrow_mut();
        if inner.error.is_none() {
            // Only the file's name: the path before it belongs to one machine.
            let file = place.file().rsplit(['/', '\\']).next().unwrap_or_default();
            let place = format!("{file}:{}", place.line());
            inner.error = Some(TraceError::new(what, &place, &hint.into()));
        }
    }

    pub(crate) fn push(
        &self,
        scope: Scope,
        op: impl Into<Op>,
        width: usize,
        label: &str,
    ) -> Var<'_> {
        let mut inner = self.inner.borrow_mut();
        let nodes = match scope {
            Scope::Step => &mut inner.step,
            Scope::Condition => &mut inner.condition,
        };
        nodes.push(Node { op: op.into(), width, label: label.to_owned() });
        Var::new(self, scope, nodes.len() - 1)
    }

    pub(crate) fn width_of(&self, scope: Scope, site: Site) -> usize {
        self.inner.borrow().nodes(scope)[site].width
    }

    #[track_caller]
    pub(crate) fn check_width(&self, what: &str, name: &str, width: usize) {
        if width == 0 {
            self.fail(format!("{what} `{name}` has no columns"), "give it a width of 1 or more");
        }
    }

    #[track_caller]
    pub(crate) fn check_new(&self, what: &str, name: &str, taken: bool) {
        if taken {
            self.fail(format!("{what} `{name}` is declared twice"), "choose another name");
        }
    }

    /// Whether an input, state, register or tap has the name: from outside they are asked for
    /// alike.
    fn is_taken(&self, name: &str) -> bool {
        let inner = self.inner.borrow();
        let carried = inner.states.iter().chain(&inner.registers).map(|c| &c.name);
        let named = inner.inputs.iter().chain(&inner.taps).chain(&inner.points).map(|n| &n.name);
        carried.chain(named).any(|taken| taken == name)
    }

    /// Lets several calls read the weights of one name. Without it a name that comes up again is a
    /// mistake: two heads would be one.
    pub fn share(&self, name: &str) {
        self.inner.borrow_mut().shared.push(name.to_owned());
    }

    #[track_caller]
    pub(crate) fn parameter(&self, name: &str, rows: usize, cols: usize, init: Init) -> ParamId {
        let found = self.inner.borrow().layout.find(name);
        if let Some(id) = found {
            let (r, c) = {
                let inner = self.inner.borrow();
                let p = &inner.layout.parameters()[id];
                (p.rows, p.cols)
            };
            if (r, c) != (rows, cols) {
                self.fail(
                    format!("parameter `{name}` is {r} x {c} and used as {rows} x {cols}"),
                    "shared parameters need the same shape; or choose another name",
                );
            }
            let is_of = |shared: &String| {
                name.strip_prefix(&**shared)
                    .is_some_and(|part| part.is_empty() || part.starts_with('.'))
            };
            if !self.inner.borrow().shared.iter().any(is_of) {
                let owner = name.rsplit_once('.').map_or(name, |(owner, _)| owner);
                self.fail(
                    format!("two calls read the parameter `{name}`"),
                    format!("give one of them another name, or say trace.share({owner:?}) before"),
                );
            }
            return id;
        }
        self.inner.borrow_mut().layout.push(name, rows, cols, init)
    }

    /// A value of another trace stands for another instruction there: nothing it could mean here is
    /// what was written. Either trace refuses to compile then.
    #[track_caller]
    pub(crate) fn check_own(&self, name: &str, vars: &[Var<'_>]) {
        for other in vars.iter().map(|v| v.trace()).filter(|other| !std::ptr::eq(*other, self)) {
            for trace in [self, other] {
                trace.fail(
                    format!("`{name}` mixes values of two traces"),
                    "trace a step with one Trace; what two programs share are numbers",
                );
            }
        }
    }

    #[track_caller]
    pub(crate) fn check_scope(&self, name: &str, vars: &[Var<'_>], scope: Scope) {
        self.check_own(name, vars);
        if vars.iter().any(|v| v.scope() != scope) {
            let (is, should) = match scope {
                Scope::Step => ("the condition", "a step"),
                Scope::Condition => ("a step", "the condition"),
            };
            self.fail(
                format!("`{name}` uses a value of {is} where one of {should} is needed"),
                "steps read the condition by cross-attention or recall",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use backcut_text::Hinted as _;

    use super::*;

    #[test]
    fn weights_are_shared_by_those_who_say_so() {
        let twice = |shared: &[&str]| {
            let t = Trace::new();
            for name in shared {
                t.share(name);
            }
            let x = t.state("x", 2);
            let [one, other] = [x, x.square()].map(|x| t.linear("head", x, 2));
            t.next("x", t.layer_norm("head.norm", one + other));
            t.loss(x.sum());
            t.compile().map(|program| program.layout().parameters().len())
        };
        assert_eq!(twice(&["head"]), Ok(4));
        for other in [&[][..], &["hea"], &["head.norm"]] {
            let error = twice(other).unwrap_err();
            let want = "two calls read the parameter `head.weight` (at trace.rs:";
            assert!(error.to_string().starts_with(want), "{error}");
            assert!(error.hint().contains("trace.share(\"head\")"), "{}", error.hint());
        }
    }

    type Mistake = for<'t> fn(&'t Trace, Var<'t>, Var<'t>);

    /// What both traces say of a mistake that involves them.
    fn said(mistake: Mistake) -> [String; 2] {
        let (ours, theirs) = (Trace::new(), Trace::new());
        for trace in [&ours, &theirs] {
            let x = trace.state("x", 2);
            trace.next("x", x);
            trace.loss(x.square().sum());
        }
        let far = (0..9).fold(theirs.input("far", 2), |far, _| far.square());
        mistake(&ours, ours.input("near", 2), far);
        [ours, theirs].map(|trace| trace.compile().err().map_or(String::new(), |e| e.to_string()))
    }

    #[test]
    fn values_of_two_traces_do_not_mix() {
        let mistakes: [(&str, Mistake); 10] = [
            ("add", |_, near, far| _ = near + far),
            ("mul", |_, near, far| _ = far * near),
            ("sub", |_, near, far| _ = near.sum() - far),
            ("sub_tiled", |_, near, far| _ = near.sub_tiled(far)),
            ("concat", |t, near, far| _ = t.concat(&[near, far])),
            ("policy", |t, _, far| _ = t.linear("policy", far, 1)),
            ("norm", |t, _, far| _ = t.layer_norm("norm", far)),
            ("tapped", |t, _, far| _ = t.tap("tapped", far)),
            ("bounded", |t, _, far| t.bound("bounded", far, 1.0)),
            ("x", |t, _, far| t.next("x", far)),
        ];
        for (name, mistake) in mistakes {
            let errors = said(mistake);
            let want = format!("`{name}` mixes values of two traces (at trace.rs:");
            assert!(errors.iter().all(|error| error.starts_with(&want)), "{name}: {errors:?}");
        }
        let none = said(|_, near, far| _ = (near + near, far + far));
        assert_eq!(none, ["", ""]);
    }
}

/// A value of the step, whose methods stand with the instructions they record ([`ops`]): one row
/// per trajectory, [`Var::width`] columns.
#[derive(Clone, Copy)]
pub struct Var<'t> {
    trace: &'t Trace,
    scope: Scope,
    site: Site,
}

impl<'t> Var<'t> {
    fn new(trace: &'t Trace, scope: Scope, site: Site) -> Self {
        Self { trace, scope, site }
    }

    pub(crate) fn trace(self) -> &'t Trace {
        self.trace
    }

    pub(crate) fn site(self) -> Site {
        self.site
    }

    pub(crate) fn scope(self) -> Scope {
        self.scope
    }

    /// Columns.
    pub fn width(self) -> usize {
        self.trace.width_of(self.scope, self.site)
    }

    /// Records an instruction in this value's graph, under its own name.
    pub(crate) fn push(self, op: impl Into<Op>, width: usize) -> Self {
        let op = op.into();
        let label = op.name();
        self.trace.push(self.scope, op, width, label)
    }
}
