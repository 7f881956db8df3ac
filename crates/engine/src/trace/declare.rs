//! What a step reads from outside and hands on: inputs, states, registers, caches, taps, bounds,
//! the loss.

use super::{Bound, Carried, Named, Scope, Trace, Var};
use crate::trace::ops::{Input, Op, Register, State};

impl Trace {
    /// Values supplied from outside at every step.
    #[track_caller]
    pub fn input(&self, name: &str, width: usize) -> Var<'_> {
        self.check_width("input", name, width);
        let taken = self.is_taken(name);
        self.check_new("input", name, taken);
        let index = self.inner.borrow().inputs.len();
        let var = self.push(Scope::Step, Input(index), width, name);
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
        let var = self.push(Scope::Condition, Input(index), width, name);
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
        let op: Op = if state { State(index).into() } else { Register(index).into() };
        let var = self.push(Scope::Step, op, width, name);
        let (read, next, parts) = (var.site(), usize::MAX, Vec::new());
        let carried = Carried { name: name.to_owned(), read, next, width, parts };
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
        self.check_own(name, &[value]);
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
}
