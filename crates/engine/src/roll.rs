//! Running a rollout: the instruction list, once per step. There is no cut in sight.

use std::sync::Arc;

use backcut_kernels::Real;
use backcut_kernels::attention::{Reads, attend};

use crate::fault::{Fault, Phase};
use crate::local;
use crate::model::Model;
use crate::narrow::Turn;
use crate::program::Carried;
use crate::rollout::Rollout;
use crate::trace::{Op, Site};

/// Why a rollout has no usable result.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum RollError {
    /// A NaN or infinity, traced to where it first appeared.
    #[error("{0}")]
    NonFinite(Fault),
    /// A declared bound was left.
    #[error("`{name}` left its range: trajectory {row}, step {step}: |{value}| >= {limit}")]
    OutOfBounds {
        /// The bound's name.
        name: String,
        /// Trajectory.
        row: usize,
        /// Step.
        step: usize,
        /// Value found.
        value: f64,
        /// The limit.
        limit: f64,
    },
    /// Model and rollout belong to different programs.
    #[error("the rollout belongs to another program than the model")]
    WrongProgram,
}

impl<R: Real> Model<R> {
    /// Rolls the batch whose inputs `rollout` holds; returns the loss.
    pub(crate) fn roll_into(&self, rollout: &mut Rollout<R>) -> Result<f64, RollError> {
        if !Arc::ptr_eq(self.program(), rollout.program()) {
            return Err(RollError::WrongProgram);
        }
        rollout.rolled = false;
        self.run::<false>(rollout)?;
        for bound in &self.program().bounds {
            check_bound(bound, rollout)?;
        }
        let loss: f64 = rollout.row_loss.iter().sum();
        if !loss.is_finite() {
            // Determinism makes the replay free of surprises: the same bits, now watched.
            self.run::<true>(rollout)?;
        }
        rollout.rolled = true;
        rollout.stamp = self.stamp();
        Ok(loss)
    }

    /// Rolls while checking every value; for finding where a non-finite number begins.
    pub(crate) fn roll_checked(&self, rollout: &mut Rollout<R>) -> Result<f64, RollError> {
        if !Arc::ptr_eq(self.program(), rollout.program()) {
            return Err(RollError::WrongProgram);
        }
        rollout.rolled = false;
        self.run::<true>(rollout)?;
        for bound in &self.program().bounds {
            check_bound(bound, rollout)?;
        }
        rollout.rolled = true;
        rollout.stamp = self.stamp();
        Ok(rollout.row_loss.iter().sum())
    }

    fn run<const CHECKED: bool>(&self, rollout: &mut Rollout<R>) -> Result<(), RollError> {
        let program = self.program();
        self.run_condition(rollout);
        if CHECKED {
            check_condition(rollout)?;
        }
        rollout.row_loss.fill(0.0);
        // What is watched runs one by one, to the same bits.
        rollout.columns.used = !CHECKED;
        let narrow = &rollout.narrow.clone();
        let turns = if rollout.columns.used { &narrow.turns } else { &program.turns };
        let is_given =
            |site: Site| matches!(program.step.nodes[site].op, Op::Input(_) | Op::Constant(_));
        for t in 0..rollout.steps() {
            // Nothing computes these, and a run of narrow sites may read them before their turn.
            rollout.feed(t, is_given);
            for &turn in turns {
                let site = match turn {
                    Turn::Site(site) => site,
                    Turn::Run(index) => {
                        self.run_columns(rollout, &narrow.runs[index], t);
                        continue;
                    }
                };
                self.instruction(rollout, site, t);
                rollout.feed(t, |fed| fed == site);
                if CHECKED {
                    let node = &program.step.nodes[site];
                    Fault::find(Phase::Forward, node, t, rollout.value(site, t))
                        .map_or(Ok(()), |fault| Err(RollError::NonFinite(fault)))?;
                }
            }
            if rollout.columns.used {
                rollout.columns.keep(narrow, t);
            }
            if let Some(loss) = program.loss.filter(|_| t >= rollout.spec.prefix) {
                let range = rollout.step.frame.range(loss, t);
                for (sum, value) in rollout.row_loss.iter_mut().zip(&rollout.step.values[range]) {
                    *sum += value.to_f64();
                }
            }
        }
        Ok(())
    }

    fn instruction(&self, rollout: &mut Rollout<R>, site: Site, t: usize) {
        let program = self.program();
        let graph = &program.step;
        match graph.nodes[site].op {
            Op::State(i) => carry(rollout, &program.states[i], t, Initial::State(i)),
            Op::Register(i) => carry(rollout, &program.registers[i], t, Initial::Register(i)),
            Op::Attend { q, key, value, cache, .. } => {
                let Rollout { step, caches, spec, .. } = rollout;
                let frame = &step.frame;
                let attended = &mut caches[cache];
                let shape = attended.shape;
                let width = graph.width(site);
                let (before, after) = step.values.split_at_mut(frame.at(site, t));
                let out = &mut after[..width * frame.rows];
                let of = |s: Site| &before[frame.range(s, t)];
                attended.cache.put(self.isa(), shape, t, width, of(key), of(value));
                let len = shape.probability_len();
                let p = &mut attended.probabilities[t * len..][..len];
                attend(
                    self.isa(),
                    shape,
                    spec.reads_at(t),
                    width,
                    of(q),
                    &mut attended.queries,
                    t,
                    &attended.cache,
                    p,
                    out,
                    &mut attended.scratch,
                );
                if let Some(donor) = &spec.donor {
                    let from = &donor.rollout.caches[cache];
                    attended.cache.graft(shape, &from.cache, from.shape, &donor.rows, t);
                }
            }
            Op::Cross { q, .. } => {
                let index = position(&program.crosses, site);
                let Rollout { step, crosses, .. } = rollout;
                let frame = &step.frame;
                let attended = &mut crosses[index];
                let shape = attended.shape;
                let width = graph.width(site);
                let (before, after) = step.values.split_at_mut(frame.at(site, t));
                let q = &before[frame.range(q, t)];
                let out = &mut after[..width * frame.rows];
                let len = shape.probability_len();
                let p = &mut attended.probabilities[t * len..][..len];
                let reads = Reads { lo: 0, hi: program.tokens, hidden: None };
                attend(
                    self.isa(),
                    shape,
                    reads,
                    width,
                    q,
                    &mut attended.queries,
                    t,
                    &attended.cache,
                    p,
                    out,
                    &mut attended.scratch,
                );
            }
            Op::Recall(source) => {
                let from = rollout.condition.frame.range(source, 0);
                let to = rollout.step.frame.range(site, t);
                rollout.step.values[to].copy_from_slice(&rollout.condition.values[from]);
            }
            _ => local::forward(self, graph, &self.step_constants, &mut rollout.step, site, t),
        }
    }

    fn run_condition(&self, rollout: &mut Rollout<R>) {
        let program = self.program();
        let (graph, tokens) = (&program.condition, program.tokens);
        let reads = Reads { lo: 0, hi: tokens, hidden: None };
        for site in 0..graph.nodes.len() {
            let Op::SetAttend { q, key, value, .. } = graph.nodes[site].op else {
                local::forward(
                    self,
                    graph,
                    &self.condition_constants,
                    &mut rollout.condition,
                    site,
                    0,
                );
                continue;
            };
            let attended = &mut rollout.sets[position(&program.sets, site)];
            let record = &mut rollout.condition;
            let (frame, shape, width) = (&record.frame, attended.shape, graph.width(site));
            let (before, out) = record.values.split_at_mut(frame.at(site, 0));
            let of = |s: Site| &before[frame.range(s, 0)];
            for token in 0..tokens {
                let at = token * width;
                let (key, value) = (&of(key)[at..], &of(value)[at..]);
                attended.cache.put(self.isa(), shape, token, tokens * width, key, value);
            }
            let len = shape.probability_len();
            for token in 0..tokens {
                let at = token * width;
                let p = &mut attended.probabilities[token * len..][..len];
                let (q, out) = (&of(q)[at..], &mut out[at..]);
                attend(
                    self.isa(),
                    shape,
                    reads,
                    tokens * width,
                    q,
                    &mut attended.queries,
                    token,
                    &attended.cache,
                    p,
                    out,
                    &mut attended.scratch,
                );
            }
        }
        for (cross, attended) in program.crosses.iter().zip(&mut rollout.crosses) {
            let record = &rollout.condition;
            let width = cross.heads * cross.dim;
            let of = |s: Site| &record.values[record.frame.range(s, 0)];
            for token in 0..tokens {
                let at = token * width;
                let (key, value) = (&of(cross.key)[at..], &of(cross.value)[at..]);
                attended.cache.put(self.isa(), attended.shape, token, tokens * width, key, value);
            }
        }
    }
}

pub(crate) fn position(sites: &[crate::program::TokenSite], site: Site) -> usize {
    sites.iter().position(|s| s.site == site).expect("every token attention is listed")
}

/// Reads a state or register: the initial value, or what the previous step handed on.
fn carry<R: Real>(rollout: &mut Rollout<R>, carried: &Carried, t: usize, initial: Initial) {
    let Rollout { step, spec, initial_states, initial_registers, .. } = rollout;
    let to = step.frame.range(carried.read, t);
    let (first, donor) = match initial {
        Initial::State(i) => (&initial_states[i], None),
        Initial::Register(i) => (&initial_registers[i], spec.donor.as_ref()),
    };
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

/// Which initial value a carried value starts from.
#[derive(Clone, Copy)]
enum Initial {
    State(usize),
    Register(usize),
}

/// The first bad value of the condition, which belongs to no step.
fn check_condition<R: Real>(rollout: &Rollout<R>) -> Result<(), RollError> {
    let program = rollout.program();
    let record = &rollout.condition;
    for (site, node) in program.condition.nodes.iter().enumerate() {
        let values = &record.values[record.frame.range(site, 0)];
        if let Some(mut fault) = Fault::find(Phase::Forward, node, 0, values) {
            fault.instruction = format!("condition's {}", fault.instruction);
            fault.row /= program.tokens;
            return Err(RollError::NonFinite(fault));
        }
    }
    Ok(())
}

fn check_bound<R: Real>(
    bound: &crate::program::Bound,
    rollout: &Rollout<R>,
) -> Result<(), RollError> {
    let width = rollout.program().width(bound.site);
    let values = rollout.values(bound.site);
    match values.iter().position(|v| v.to_f64().abs() >= bound.limit) {
        None => Ok(()),
        Some(at) => Err(RollError::OutOfBounds {
            name: bound.name.clone(),
            row: at / width % rollout.rows(),
            step: at / width / rollout.rows(),
            value: values[at].to_f64(),
            limit: bound.limit,
        }),
    }
}
