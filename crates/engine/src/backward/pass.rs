//! One backward pass: the mirror of the instruction list, once per step.

use std::sync::Arc;

use backcut_kernels::Real;

use crate::backward::local::Backward;
use crate::backward::workspace::{NeighbourSums, Tokens, Workspace};
use crate::compile::graph::Flow;
use crate::compile::narrow::Turn;
use crate::compiled::compiled_here;
use crate::credit::BackwardError;
use crate::forward::local::At;
use crate::forward::model::Model;
use crate::forward::rollout::Rollout;
use crate::trace::Site;

/// What flows into a backward pass: the loss, and adjoints at taps.
#[derive(Clone, Debug)]
pub struct Seeds<R> {
    /// Weight of the loss: 1 for its gradient, 0 to leave it out.
    pub loss: R,
    /// Adjoints added at taps: name and `[step][row][column]`. To seed a state, tap its value.
    pub taps: Vec<(String, Vec<R>)>,
}

/// The same at sites.
pub(super) struct SiteSeeds<'a, R> {
    pub loss: R,
    pub taps: Vec<(Site, &'a [R])>,
}

impl<R: Real> Workspace<R> {
    /// The gradient of the rollout's loss under every requested cut.
    pub fn backward(
        &mut self,
        model: &Model<R>,
        rollout: &Rollout<R>,
    ) -> Result<(), BackwardError> {
        self.check(model, rollout)?;
        run(self, model, rollout, &[], false)
    }

    /// As [`Workspace::backward`], stopping at the first non-finite adjoint.
    pub fn backward_checked(
        &mut self,
        model: &Model<R>,
        rollout: &Rollout<R>,
    ) -> Result<(), BackwardError> {
        self.check(model, rollout)?;
        run(self, model, rollout, &[], true)
    }

    /// One backward per requested cut, each from its own seeds (see [`Workspace::for_seeds`]).
    pub fn backward_seeded(
        &mut self,
        model: &Model<R>,
        rollout: &Rollout<R>,
        seeds: &[Seeds<R>],
    ) -> Result<(), BackwardError> {
        self.check(model, rollout)?;
        if seeds.len() != self.plan.groups.len() || seeds.len() != self.plan.of_cut.len() {
            let (got, want) = (seeds.len(), self.plan.of_cut.len());
            return Err(BackwardError::Seeds(format!(
                "{got} seeds for {want} cuts in a workspace with {} lane groups",
                self.plan.groups.len()
            )));
        }
        let resolved = seeds
            .iter()
            .map(|s| {
                let taps = s.taps.iter().map(|(name, values)| {
                    let site = self.program.tap(name).ok_or_else(|| BackwardError::UnknownTap {
                        name: name.clone(),
                        known: self.program.tap_names().join(", "),
                    })?;
                    if !self.program.step.preset.contains(&site) {
                        return Err(BackwardError::Seeds(format!(
                            "`{name}` cannot be seeded: only taps that something learns can"
                        )));
                    }
                    let want = self.steps * self.rows * self.program.width(site);
                    if values.len() != want {
                        return Err(BackwardError::Seeds(format!(
                            "seed of `{name}` has {} values, not {want}",
                            values.len()
                        )));
                    }
                    Ok((site, values.as_slice()))
                });
                Ok(SiteSeeds { loss: s.loss, taps: taps.collect::<Result<_, _>>()? })
            })
            .collect::<Result<Vec<_>, BackwardError>>()?;
        run(self, model, rollout, &resolved, false)
    }

    /// As [`Workspace::backward_seeded`], at sites that are preset in every step.
    pub(crate) fn backward_local(
        &mut self,
        model: &Model<R>,
        rollout: &Rollout<R>,
        seeds: &[crate::backward::ages::Local<R>],
    ) -> Result<(), BackwardError> {
        self.check(model, rollout)?;
        let resolved: Vec<SiteSeeds<'_, R>> = seeds
            .iter()
            .map(|s| {
                let active = s.sites.iter().filter(|(site, _)| self.program.step.active[*site]);
                SiteSeeds { loss: s.loss, taps: active.map(|(site, v)| (*site, &v[..])).collect() }
            })
            .collect();
        run(self, model, rollout, &resolved, false)
    }

    fn check(&self, model: &Model<R>, rollout: &Rollout<R>) -> Result<(), BackwardError> {
        let same_program = Arc::ptr_eq(&self.program, rollout.program())
            && Arc::ptr_eq(&self.program, model.program());
        let shape = (self.rows, self.steps, self.prefix);
        if !same_program || shape != (rollout.rows(), rollout.steps(), rollout.spec.prefix) {
            return Err(BackwardError::WrongShape);
        }
        if rollout.spec.donor.is_some() {
            return Err(BackwardError::Donor);
        }
        if let Some(cut) = self.plan.undrawn {
            return Err(BackwardError::NotDrawn { cut });
        }
        if !rollout.rolled {
            return Err(BackwardError::NotRolled);
        }
        if rollout.stamp != model.stamp() {
            return Err(BackwardError::OtherParameters);
        }
        Ok(())
    }

    fn run_here(
        &mut self,
        model: &Model<R>,
        rollout: &Rollout<R>,
        seeds: &[SiteSeeds<'_, R>],
        is_checked: bool,
    ) -> Result<(), BackwardError> {
        if is_checked {
            self.run::<true>(model, rollout, seeds)
        } else {
            self.run::<false>(model, rollout, seeds)
        }
    }

    fn run<const CHECKED: bool>(
        &mut self,
        model: &Model<R>,
        rollout: &Rollout<R>,
        seeds: &[SiteSeeds<'_, R>],
    ) -> Result<(), BackwardError> {
        self.clear();
        let program = self.program.clone();
        let turns = if rollout.columns.used { &rollout.narrow.turns } else { &program.turns };
        for t in (self.prefix..self.steps).rev() {
            self.adjoints.turn((t - self.prefix) % self.chunk);
            self.receive_handed(t, seeds);
            for &turn in turns.iter().rev() {
                let site = match turn {
                    Turn::Site(site) if program.step.active[site] => site,
                    Turn::Site(_) => continue,
                    Turn::Run(index) => {
                        self.run_columns::<CHECKED>(
                            model,
                            rollout,
                            &rollout.narrow.runs[index],
                            t,
                        )?;
                        continue;
                    }
                };
                let linear = program.linear_at[site];
                if !program.feeds[site].is_empty() {
                    self.collect_near(model.isa(), rollout, site, t);
                }
                if CHECKED {
                    self.check_adjoint(model.isa(), rollout, site, t)?;
                }
                if !self.taps.is_empty() {
                    self.keep_tap(site, t);
                }
                if rollout.is_fixed(site, t) {
                    self.silence(site, linear, t);
                    continue;
                }
                if program.is_point[site] {
                    self.scale_point(site);
                }
                if let Some(linear) = linear {
                    self.collect_linear(model.isa(), rollout, &program.linears[linear], linear, t);
                }
                let (op, at) = (&program.step.nodes[site].op, At::step(site, t));
                op.backward(Backward { workspace: self, model, rollout, at });
            }
            self.hand_back(rollout, t);
            if (t - self.prefix).is_multiple_of(self.chunk) {
                self.flush(model, rollout, t);
            }
        }
        self.run_condition(model, rollout);
        self.finish();
        Ok(())
    }

    fn clear(&mut self) {
        self.totals.iter_mut().for_each(|total| total.fill(R::ZERO));
        self.neighbour_sums.iter_mut().flatten().flatten().for_each(NeighbourSums::forget);
        self.crosses.iter_mut().flatten().for_each(Tokens::clear);
        self.handed_states
            .iter_mut()
            .chain(&mut self.handed_registers)
            .for_each(|h| h.fill(R::ZERO));
        for collected in self.collected.iter_mut().chain(&mut self.condition_collected) {
            collected.aside.iter_mut().flatten().for_each(|aside| aside.fill(R::ZERO));
        }
        let condition = &self.program.condition;
        for &site in &condition.preset {
            let block = self.condition_adjoints.block(site);
            self.condition_adjoints.data[block].fill(R::ZERO);
        }
        self.taps.iter_mut().for_each(|tap| tap.data.fill(R::ZERO));
    }

    /// A site whose value was fed from outside: its weights and operands receive nothing.
    fn silence(&mut self, site: Site, linear: Option<usize>, t: usize) {
        if let Some(linear) = linear {
            self.silence_weights(linear, t);
        }
        let graph = &self.program.step;
        // Operands' sums must still start.
        for (operand, flow) in graph.operands[site].iter().zip(&graph.flows[site]) {
            if *flow == Flow::Store {
                let block = self.adjoints.block(*operand);
                self.adjoints.data[block].fill(R::ZERO);
            }
        }
        let block = self.adjoints.block(site);
        self.adjoints.data[block].fill(R::ZERO);
    }

    /// What a declared edge lets through, lane by lane.
    fn scale_point(&mut self, site: Site) {
        let points = self.program.points.iter().enumerate().filter(|(_, point)| point.site == site);
        for (point, _) in points {
            for group in &self.plan.groups {
                let factor = group.resolved.points[point];
                if factor == 1.0 {
                    continue;
                }
                for lane in group.lanes() {
                    let range = self.adjoints.range(site, lane);
                    let adjoint = &mut self.adjoints.data[range];
                    if factor == 0.0 {
                        adjoint.fill(R::ZERO);
                    } else {
                        let factor = R::from_f64(factor);
                        for adjoint in adjoint.iter_mut() {
                            *adjoint = factor * *adjoint;
                        }
                    }
                }
            }
        }
    }

    pub(super) fn keep_tap(&mut self, site: Site, t: usize) {
        let graph = &self.program.step;
        for tap in self.taps.iter_mut().filter(|tap| tap.site == site) {
            let len = graph.width(site) * self.rows;
            for (index, group) in self.plan.groups.iter().enumerate() {
                let to = &mut tap.data[(index * self.steps + t) * len..][..len];
                for lane in group.lanes() {
                    add(to, &self.adjoints.data[self.adjoints.range(site, lane)]);
                }
            }
        }
    }
}

compiled_here!(
    run<R>(
        workspace: &mut Workspace<R>,
        model: &Model<R>,
        rollout: &Rollout<R>,
        seeds: &[SiteSeeds<'_, R>],
        is_checked: bool
    ) -> Result<(), BackwardError>,
    Workspace::run_here
);

pub(super) fn fill<R: Real>(target: &mut [R], from: &[R], add_to: bool) {
    if add_to {
        add(target, from);
    } else {
        target.copy_from_slice(from);
    }
}

pub(super) fn add<R: Real>(target: &mut [R], from: &[R]) {
    for (target, &from) in target.iter_mut().zip(from) {
        *target += from;
    }
}
