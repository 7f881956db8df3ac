//! What the previous step handed over: physical states and memory registers. What flows back along these edges
//! is for `backward/edges.rs`, under a cut.

use backcut_kernels::Real;

use super::{Backward, Forward, Operation};
use crate::compile::program::Carried;
use crate::forward::rollout::{Record, Rollout};
use crate::forward::spec::Donor;
use crate::trace::Site;

/// The physical state handed over by the previous step.
#[derive(Clone, PartialEq, Debug)]
pub struct State(pub(crate) usize);

/// The memory register handed over by the previous step.
#[derive(Clone, PartialEq, Debug)]
pub struct Register(pub(crate) usize);

impl Operation for State {
    const NAME: &str = "state";

    fn operands(&self) -> Vec<Site> {
        Vec::new()
    }

    fn derivative_reads(&self, _own: Site) -> Vec<Site> {
        Vec::new()
    }

    fn forward<R: Real>(&self, now: Forward<'_, R>) {
        let Rollout { step, initial_states, .. } = now.rollout;
        let carried = &now.model.program().states()[self.0];
        carry(step, carried, now.at.t, &initial_states[self.0], None);
    }

    fn backward<R: Real>(&self, _now: Backward<'_, R>) {}
}

impl Operation for Register {
    const NAME: &str = "register";

    fn operands(&self) -> Vec<Site> {
        Vec::new()
    }

    fn derivative_reads(&self, _own: Site) -> Vec<Site> {
        Vec::new()
    }

    fn forward<R: Real>(&self, now: Forward<'_, R>) {
        let Rollout { step, spec, initial_registers, .. } = now.rollout;
        let carried = &now.model.program().registers()[self.0];
        let donor = spec.donor.as_ref().filter(|donor| donor.gives(&carried.name));
        carry(step, carried, now.at.t, &initial_registers[self.0], donor);
    }

    fn backward<R: Real>(&self, _now: Backward<'_, R>) {}
}

/// The first value, or what the previous step handed on (a donor's, if there is one).
fn carry<R: Real>(
    step: &mut Record<R>,
    carried: &Carried,
    t: usize,
    first: &[R],
    donor: Option<&Donor<R>>,
) {
    let to = step.frame.range(carried.read, t);
    if t == 0 {
        step.values[to].copy_from_slice(first);
    } else if let Some(donor) = donor {
        let width = carried.width;
        let from = donor.rollout.value(carried.next, t - 1);
        for (to, &row) in step.values[to].chunks_exact_mut(width).zip(&donor.rows) {
            to.copy_from_slice(&from[row * width..][..width]);
        }
    } else {
        step.values.copy_within(step.frame.range(carried.next, t - 1), to.start);
    }
}
