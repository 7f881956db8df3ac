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

mod op;
mod var;

use std::borrow::Cow;
use std::cell::RefCell;
use std::panic::Location;

use backcut_text::Hinted;

pub use op::{Node, Op, ParamId, Site};
pub use var::Var;

use crate::layout::{Init, Layout};
use crate::program::{self, Bound, Carried, Program};

/// Which graph a value belongs to: the repeated step, or the condition computed once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Repeated at every step.
    Step,
    /// Computed once per rollout, for each token of the condition.
    Condition,
}

/// A mistake in a trace: what, where in your code, and a hint.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{what} (at {place})")]
pub struct TraceError {
    what: String,
    place: String,
    hint: String,
}

impl Hinted for TraceError {
    fn hint(&self) -> Cow<'_, str> {
        self.hint.as_str().into()
    }
}

/// An input or carried value, by name.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Named {
    pub name: String,
    pub site: Site,
}

#[derive(Default)]
pub(crate) struct Inner {
    pub step: Vec<Node>,
    pub condition: Vec<Node>,
    pub tokens: usize,
    pub layout: Layout,
    pub inputs: Vec<Named>,
    pub condition_inputs: Vec<Named>,
    pub states: Vec<Carried>,
    pub registers: Vec<Carried>,
    pub caches: Vec<Named>,
    pub taps: Vec<Named>,
    pub bounds: Vec<Bound>,
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
    inner: RefCell<Inner>,
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
            inner.error = Some(TraceError { what, place, hint: hint.into() });
        }
    }

    pub(crate) fn push(&self, scope: Scope, op: Op, width: usize, label: &str) -> Var<'_> {
        let mut inner = self.inner.borrow_mut();
        let nodes = match scope {
            Scope::Step => &mut inner.step,
            Scope::Condition => &mut inner.condition,
        };
        nodes.push(Node { op, width, label: label.to_owned() });
        Var::new(self, scope, nodes.len() - 1)
    }

    pub(crate) fn width_of(&self, scope: Scope, site: Site) -> usize {
        self.inner.borrow().nodes(scope)[site].width
    }

    #[track_caller]
    fn check_width(&self, what: &str, name: &str, width: usize) {
        if width == 0 {
            self.fail(format!("{what} `{name}` has no columns"), "give it a width of 1 or more");
        }
    }

    #[track_caller]
    fn check_new(&self, what: &str, name: &str, taken: bool) {
        if taken {
            self.fail(format!("{what} `{name}` is declared twice"), "choose another name");
        }
    }

    /// Whether an input, state, register or tap has the name: from outside they are asked for alike.
    fn is_taken(&self, name: &str) -> bool {
        let inner = self.inner.borrow();
        let carried = inner.states.iter().chain(&inner.registers).map(|c| &c.name);
        let named = inner.inputs.iter().chain(&inner.taps).map(|n| &n.name);
        carried.chain(named).any(|taken| taken == name)
    }

    /// Values supplied from outside at every step.
    #[track_caller]
    pub fn input(&self, name: &str, width: usize) -> Var<'_> {
        self.check_width("input", name, width);
        let taken = self.is_taken(name);
        self.check_new("input", name, taken);
        let index = self.inner.borrow().inputs.len();
        let var = self.push(Scope::Step, Op::Input(index), width, name);
        self.inner.borrow_mut().inputs.push(Named { name: name.to_owned(), site: var.site() });
        var
    }

    /// Values of the condition: `tokens` of them per row, supplied once per rollout. Arithmetic on
    /// the result stays in the condition; steps read it by [`Trace::cross`] or [`Trace::recall`].
    #[track_caller]
    pub fn condition_input(&self, name: &str, tokens: usize, width: usize) -> Var<'_> {
        self.check_width("condition input", name, width);
        let taken = self.inner.borrow().condition_inputs.iter().any(|i| i.name == name);
        self.check_new("condition input", name, taken);
        let before = self.inner.borrow().tokens;
        if tokens == 0 || (before != 0 && before != tokens) {
            self.fail(
                format!("condition input `{name}` has {tokens} tokens"),
                "all condition inputs of a program have the same number of tokens, at least 1",
            );
        }
        self.inner.borrow_mut().tokens = tokens;
        let index = self.inner.borrow().condition_inputs.len();
        let var = self.push(Scope::Condition, Op::Input(index), width, name);
        let named = Named { name: name.to_owned(), site: var.site() };
        self.inner.borrow_mut().condition_inputs.push(named);
        var
    }

    /// The physical state at the start of the step; [`Trace::next`] says what it becomes.
    #[track_caller]
    pub fn state(&self, name: &str, width: usize) -> Var<'_> {
        self.carried(name, width, true)
    }

    /// A memory register at the start of the step; [`Trace::next`] says what is stored.
    #[track_caller]
    pub fn register(&self, name: &str, width: usize) -> Var<'_> {
        self.carried(name, width, false)
    }

    #[track_caller]
    fn carried(&self, name: &str, width: usize, state: bool) -> Var<'_> {
        self.check_width("state or register", name, width);
        let taken = self.is_taken(name);
        self.check_new("state or register", name, taken);
        let index = {
            let inner = self.inner.borrow();
            if state { inner.states.len() } else { inner.registers.len() }
        };
        let op = if state { Op::State(index) } else { Op::Register(index) };
        let var = self.push(Scope::Step, op, width, name);
        let carried = Carried { name: name.to_owned(), read: var.site(), next: usize::MAX, width };
        let mut inner = self.inner.borrow_mut();
        if state {
            inner.states.push(carried);
        } else {
            inner.registers.push(carried);
        }
        drop(inner);
        var
    }

    /// What the state or register `name` is at the start of the next step.
    #[track_caller]
    pub fn next(&self, name: &str, value: Var<'_>) {
        let mut problem = None;
        {
            let mut inner = self.inner.borrow_mut();
            let inner = &mut *inner;
            let width = inner.step.get(value.site()).map_or(0, |n| n.width);
            match inner.states.iter_mut().chain(&mut inner.registers).find(|c| c.name == name) {
                None => problem = Some(format!("`{name}` is neither a state nor a register")),
                Some(c) if c.next != usize::MAX => {
                    problem = Some(format!("`{name}` is handed on twice"));
                }
                Some(c) if c.width != width => {
                    problem = Some(format!(
                        "`{name}` has {} columns and is handed on with {width}",
                        c.width
                    ));
                }
                Some(c) => c.next = value.site(),
            }
        }
        if let Some(what) = problem {
            self.fail(what, "call next once per state or register, with a value of its width");
        } else if value.scope() != Scope::Step {
            self.fail(format!("`{name}` is handed on from the condition"), "use a step's value");
        }
    }

    /// The same number in `width` columns.
    pub fn constant(&self, value: f64, width: usize) -> Var<'_> {
        self.push(Scope::Step, Op::Constant(value), width, "constant")
    }

    #[track_caller]
    fn parameter(&self, name: &str, rows: usize, cols: usize, init: Init) -> ParamId {
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
            return id;
        }
        self.inner.borrow_mut().layout.push(name, rows, cols, init)
    }

    /// `x W + b` with PyTorch's default initialisation: uniform within `1 / sqrt(inputs)`.
    #[track_caller]
    pub fn linear<'t>(&'t self, name: &str, x: Var<'t>, width: usize) -> Var<'t> {
        let bound = 1.0 / (x.width() as f64).sqrt();
        self.linear_with(name, x, width, Init::Uniform { bound }, Some(Init::Uniform { bound }))
    }

    /// `x W + b` with chosen initial values; no bias if `bias` is `None`.
    #[track_caller]
    pub fn linear_with<'t>(
        &'t self,
        name: &str,
        x: Var<'t>,
        width: usize,
        weight: Init,
        bias: Option<Init>,
    ) -> Var<'t> {
        self.check_width("linear", name, width);
        let weight = self.parameter(&format!("{name}.weight"), x.width(), width, weight);
        let bias = bias.map(|init| self.parameter(&format!("{name}.bias"), 1, width, init));
        self.push(x.scope(), Op::Linear { x: x.site(), weight, bias }, width, name)
    }

    /// Layer norm with gain and bias.
    #[track_caller]
    pub fn layer_norm<'t>(&'t self, name: &str, x: Var<'t>) -> Var<'t> {
        let width = x.width();
        let gain = self.parameter(&format!("{name}.gain"), 1, width, Init::Ones);
        let bias = self.parameter(&format!("{name}.bias"), 1, width, Init::Zeros);
        self.push(x.scope(), Op::LayerNorm { x: x.site(), gain, bias }, width, name)
    }

    /// Row `t` of a learned table, at step `t`: a learned position.
    #[track_caller]
    pub fn step_row(&self, name: &str, steps: usize, width: usize, init: Init) -> Var<'_> {
        self.check_width("step row", name, width);
        if steps == 0 {
            self.fail(format!("table `{name}` has no rows"), "give it one row per step");
        }
        let table = self.parameter(name, steps, width, init);
        self.push(Scope::Step, Op::StepRow(table), width, name)
    }

    #[track_caller]
    fn check_heads(&self, name: &str, q: Var<'_>, key: Var<'_>, value: Var<'_>, heads: usize) {
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
        let op = Op::Attend { q: q.site(), key: key.site(), value: value.site(), cache, heads };
        let var = self.push(Scope::Step, op, width, name);
        self.inner.borrow_mut().caches.push(Named { name: name.to_owned(), site: var.site() });
        var
    }

    /// Reads the condition's tokens; `key` and `value` belong to the condition.
    #[track_caller]
    pub fn cross<'t>(
        &'t self,
        name: &str,
        q: Var<'t>,
        key: Var<'t>,
        value: Var<'t>,
        heads: usize,
    ) -> Var<'t> {
        self.check_heads(name, q, key, value, heads);
        self.check_scope(name, &[q], Scope::Step);
        self.check_scope(name, &[key, value], Scope::Condition);
        let heads = heads.max(1);
        let op = Op::Cross { q: q.site(), key: key.site(), value: value.site(), heads };
        self.push(Scope::Step, op, q.width(), name)
    }

    /// Attention among the tokens of the condition.
    #[track_caller]
    pub fn attend_set<'t>(
        &'t self,
        name: &str,
        q: Var<'t>,
        key: Var<'t>,
        value: Var<'t>,
        heads: usize,
    ) -> Var<'t> {
        self.check_heads(name, q, key, value, heads);
        self.check_scope(name, &[q, key, value], Scope::Condition);
        let heads = heads.max(1);
        let op = Op::SetAttend { q: q.site(), key: key.site(), value: value.site(), heads };
        self.push(Scope::Condition, op, q.width(), name)
    }

    /// A one-token condition value, read by the step as it is.
    #[track_caller]
    pub fn recall<'t>(&'t self, source: Var<'t>) -> Var<'t> {
        self.check_scope("recall", &[source], Scope::Condition);
        if self.inner.borrow().tokens != 1 {
            self.fail(
                "recall of a condition with several tokens".into(),
                "use cross-attention, or a condition of one token",
            );
        }
        self.push(Scope::Step, Op::Recall(source.site()), source.width(), "recall")
    }

    #[track_caller]
    fn check_scope(&self, name: &str, vars: &[Var<'_>], scope: Scope) {
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
        self.push(scope, Op::Concat(parts.iter().map(|v| v.site()).collect()), width, "concat")
    }

    /// Names a value, so that it can be read, seeded or overridden from outside.
    #[track_caller]
    pub fn tap<'t>(&'t self, name: &str, value: Var<'t>) -> Var<'t> {
        self.check_scope(name, &[value], Scope::Step);
        let taken = self.is_taken(name);
        self.check_new("tap", name, taken);
        let named = Named { name: name.to_owned(), site: value.site() };
        self.inner.borrow_mut().taps.push(named);
        value
    }

    /// Declares that every column of `value` stays strictly inside `-limit..limit`: a rollout that
    /// leaves it fails with the trajectory and the step, it is never clipped.
    #[track_caller]
    pub fn bound(&self, name: &str, value: Var<'_>, limit: f64) {
        self.check_scope(name, &[value], Scope::Step);
        let bound = Bound { name: name.to_owned(), site: value.site(), limit };
        self.inner.borrow_mut().bounds.push(bound);
    }

    /// The loss of this step, one column; the rollout's loss is its sum over steps and rows.
    #[track_caller]
    pub fn loss(&self, value: Var<'_>) {
        self.check_scope("loss", &[value], Scope::Step);
        if value.width() != 1 {
            self.fail(
                format!("the loss has {} columns", value.width()),
                "reduce it to one column, for example with sum() or weighted_square()",
            );
        }
        if self.inner.borrow().loss.is_some() {
            self.fail("the loss is given twice".into(), "add the terms and give their sum");
        }
        self.inner.borrow_mut().loss = Some(value.site());
    }

    /// Checks and compiles the step.
    pub fn compile(self) -> Result<Program, TraceError> {
        program::compile(self.inner.into_inner())
    }
}

impl TraceError {
    pub(crate) fn new(what: String, place: &str, hint: &str) -> Self {
        Self { what, place: place.to_owned(), hint: hint.to_owned() }
    }
}
