//! Running a rollout: the instruction list, once per step. There is no cut in sight.

use std::sync::Arc;

use backcut_kernels::Real;

use crate::compile::narrow::Turn;
use crate::compiled::compiled_here;
use crate::fault::{Fault, Phase};
use crate::forward::local::{At, Forward};
use crate::forward::model::Model;
use crate::forward::rollout::Rollout;
use crate::trace::Site;

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
    pub fn roll(&self, rollout: &mut Rollout<R>) -> Result<f64, RollError> {
        roll(self, rollout, false)
    }

    /// Rolls while checking every value; for finding where a non-finite number begins.
    pub fn roll_checked(&self, rollout: &mut Rollout<R>) -> Result<f64, RollError> {
        roll(self, rollout, true)
    }

    fn roll_here(&self, rollout: &mut Rollout<R>, is_checked: bool) -> Result<f64, RollError> {
        if !Arc::ptr_eq(self.program(), rollout.program()) {
            return Err(RollError::WrongProgram);
        }
        rollout.rolled = false;
        if is_checked {
            self.run::<true>(rollout)?;
        } else {
            self.run::<false>(rollout)?;
        }
        for bound in &self.program().bounds {
            check_bound(bound, rollout)?;
        }
        let loss: f64 = rollout.row_loss.iter().sum();
        if !is_checked && !loss.is_finite() {
            // Determinism makes the replay free of surprises: the same bits, now watched.
            self.run::<true>(rollout)?;
        }
        rollout.rolled = true;
        rollout.stamp = self.stamp();
        Ok(loss)
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
        let is_given = |site: Site| program.step.nodes[site].op.is_given();
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
                let op = &program.step.nodes[site].op;
                op.forward(Forward { model: self, rollout, at: At::step(site, t) });
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

    fn run_condition(&self, rollout: &mut Rollout<R>) {
        let program = self.program();
        let (graph, tokens) = (&program.condition, program.tokens);
        for (site, node) in graph.nodes.iter().enumerate() {
            node.op.forward(Forward { model: self, rollout, at: At::condition(site) });
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

compiled_here!(
    roll<R>(model: &Model<R>, rollout: &mut Rollout<R>, is_checked: bool) -> Result<f64, RollError>,
    Model::roll_here
);

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
    bound: &crate::trace::Bound,
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
