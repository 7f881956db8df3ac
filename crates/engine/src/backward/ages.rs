//! State Jacobians and the decomposition of a gradient by age.
//!
//! The *age* of a contribution is the time between a loss and the action through which it reaches
//! the parameters. With memory detached, a loss at step `t` reaches step `j` only along the chain
//! of states, so the adjoint it leaves on `s_{j+1}` is `A_{j+1}^T ... A_{t-1}^T g_t`, where `A_i`
//! is the closed loop's Jacobian `ds_{i+1}/ds_i` and `g_t = dl_t/ds_t`. That makes the
//! decomposition cheap and exact: take the `A_i` once (one lane per state entry, state edges cut),
//! form each bin's state adjoints by small products, then run one local backward with one lane per
//! bin.

use std::ops::Range;

use backcut_kernels::Real;

use crate::backward::workspace::Workspace;
use crate::credit::BackwardError;
use crate::cut::{Cut, MemoryCredit, StateCredit};
use crate::forward::model::Model;
use crate::forward::rollout::Rollout;

const LOCAL: Cut = Cut::KD;

/// Closed-loop Jacobians `A_t = ds_{t+1}/ds_t` with memory detached, for every row and step.
#[derive(Clone, Debug)]
pub struct StateJacobians<R> {
    /// Entries of all states together, in the program's order.
    pub dim: usize,
    rows: usize,
    /// `[step][row][output][input]`
    data: Vec<R>,
    /// `g_t = dl_t/ds_t`, `[step][row][input]`
    loss: Vec<R>,
}

impl<R: Real> StateJacobians<R> {
    /// All of a rollout, from one backward: one lane per state entry.
    pub fn new(model: &Model<R>, rollout: &Rollout<R>) -> Result<Self, BackwardError> {
        let program = rollout.program().clone();
        let memory = if program.has_memory() { LOCAL.memory } else { MemoryCredit::Full };
        let local = Cut { memory, ..LOCAL };
        let states = program.states();
        let dim: usize = states.iter().map(|s| s.width).sum();
        let (rows, steps) = (rollout.rows(), rollout.steps());
        let entries = states.iter().flat_map(|s| (0..s.width).map(move |column| (s, column)));
        // One more lane carries the loss of each step.
        let mut workspace = Workspace::for_seeds(rollout, &vec![local; dim + 1])?;
        for state in states {
            if program.step.active[state.read] {
                workspace.keep_adjoints(&state.name)?;
            }
        }
        let mut seeds: Vec<Local<R>> = entries
            .map(|(state, column)| {
                let mut values = vec![R::ZERO; steps * rows * state.width];
                values.iter_mut().skip(column).step_by(state.width).for_each(|v| *v = R::ONE);
                Local { loss: R::ZERO, sites: vec![(state.next, values)] }
            })
            .collect();
        seeds.push(Local { loss: R::ONE, sites: Vec::new() });
        workspace.backward_local(model, rollout, &seeds)?;
        let mut data = vec![R::ZERO; steps * rows * dim * dim];
        let mut loss = vec![R::ZERO; steps * rows * dim];
        let mut first = 0;
        for state in states {
            for t in rollout.spec.prefix..steps {
                // A state fed from outside passes nothing on.
                if rollout.is_fixed(state.read, t) {
                    continue;
                }
                for lane in 0..=dim {
                    let Some(adjoint) = workspace.adjoint(&state.name, lane, t) else { continue };
                    for (row, adjoint) in adjoint.chunks_exact(state.width).enumerate() {
                        let at = t * rows + row;
                        let target = if lane < dim {
                            &mut data[(at * dim + lane) * dim + first..]
                        } else {
                            &mut loss[at * dim + first..]
                        };
                        target[..state.width].copy_from_slice(adjoint);
                    }
                }
            }
            first += state.width;
        }
        Ok(Self { dim, rows, data, loss })
    }

    /// `A_t` of one row, row-major: `ds_{t+1}[i]/ds_t[k]` at `i * dim + k`.
    pub fn at(&self, t: usize, row: usize) -> &[R] {
        let len = self.dim * self.dim;
        &self.data[(t * self.rows + row) * len..][..len]
    }

    /// `dl_t/ds_t` of one row: what the step's own loss says of the state it started from.
    pub fn loss_at(&self, t: usize, row: usize) -> &[R] {
        &self.loss[(t * self.rows + row) * self.dim..][..self.dim]
    }
}

/// Seeds at sites rather than at named taps.
pub(crate) struct Local<R> {
    pub loss: R,
    pub sites: Vec<(usize, Vec<R>)>,
}

/// The gradient of `cut`, split into contributions whose age lies in each bin. Age 0 is the loss
/// that an action's own step pays. Bins may not overlap; together they need not cover every age.
///
/// Only for cuts that detach memory: otherwise a path's age and its number of state edges differ.
pub fn gradient_by_age<R: Real>(
    model: &Model<R>,
    rollout: &Rollout<R>,
    cut: Cut,
    bins: &[Range<usize>],
) -> Result<Vec<Vec<R>>, BackwardError> {
    let program = rollout.program().clone();
    if (program.has_memory() && !cut.is_detached()) || !cut.parts.is_empty() {
        return Err(BackwardError::AgesNeedDetachedMemory { cut });
    }
    for (i, bin) in bins.iter().enumerate() {
        if bins[..i].iter().any(|other| other.start < bin.end && bin.start < other.end) {
            return Err(BackwardError::Seeds("age bins overlap".to_owned()));
        }
    }
    let jacobians = StateJacobians::new(model, rollout)?;
    let (rows, steps, dim) = (rollout.rows(), rollout.steps(), jacobians.dim);
    let prefix = rollout.spec.prefix;
    let reach = match cut.state {
        StateCredit::Full => steps,
        StateCredit::Steps(k) => k.get() as usize,
    };
    // adjoint[bin][step][row][entry] on s_{step+1}
    let mut adjoints = vec![vec![R::ZERO; steps * rows * dim]; bins.len()];
    let mut chain = vec![R::ZERO; dim];
    let mut carried = vec![R::ZERO; dim];
    for row in 0..rows {
        for t in prefix + 1..steps {
            chain.copy_from_slice(jacobians.loss_at(t, row));
            for j in (prefix..t).rev() {
                let age = t - j;
                if age >= reach {
                    break;
                }
                if let Some(bin) = bins.iter().position(|bin| bin.contains(&age)) {
                    let target = &mut adjoints[bin][(j * rows + row) * dim..][..dim];
                    target.iter_mut().zip(&chain).for_each(|(a, &c)| *a += c);
                }
                transposed_product(jacobians.at(j, row), &chain, &mut carried);
                std::mem::swap(&mut chain, &mut carried);
            }
        }
    }
    let local = Cut { state: LOCAL.state, ..cut };
    let mut workspace = Workspace::for_seeds(rollout, &vec![local; bins.len()])?;
    let seeds: Vec<Local<R>> = bins
        .iter()
        .zip(&adjoints)
        .map(|(bin, adjoint)| {
            let mut first = 0;
            let sites = program.states().iter().map(|state| {
                let columns = first..first + state.width;
                first += state.width;
                let rows = adjoint.chunks_exact(dim).flat_map(|row| row[columns.clone()].to_vec());
                (state.next, rows.collect())
            });
            let loss = if bin.contains(&0) { R::ONE } else { R::ZERO };
            Local { loss, sites: sites.collect() }
        })
        .collect();
    workspace.backward_local(model, rollout, &seeds)?;
    Ok((0..bins.len()).map(|bin| workspace.gradient(bin).to_vec()).collect())
}

/// `out = A^T x`
fn transposed_product<R: Real>(a: &[R], x: &[R], out: &mut [R]) {
    let dim = x.len();
    out.fill(R::ZERO);
    for (i, &x) in x.iter().enumerate() {
        for (out, &a) in out.iter_mut().zip(&a[i * dim..][..dim]) {
            *out = a.mul_add(x, *out);
        }
    }
}
