//! Differentiating a recorded rollout under cuts: the mirror of the instruction list, once per step.
//!
//! Three places decide what a cut keeps, and nothing else does:
//! [`Workspace::receive_handed`] and [`Workspace::hand_back`] for state and register edges,
//! [`Workspace::attention`] for the split into near and far slots, and
//! [`Workspace::collect_linear`] for what a memory projection's weights receive.

use std::sync::Arc;

use backcut_kernels::attention::{Credit, Leave, Own, Reads, Slots, attend_adjoint, leave_slot};
use backcut_kernels::elementwise as ew;
use backcut_kernels::product::{bias_gradient, weight_gradient};
use backcut_kernels::{Isa, Real, norm};

use crate::cut::Cut;
use crate::fault::{Fault, Phase};
use crate::forward::MemoryReads;
use crate::graph::Flow;
use crate::lanes::{Group, Weights};
use crate::local;
use crate::model::Model;
use crate::program::{LinearSite, Program, Side};
use crate::roll::position;
use crate::rollout::Rollout;
use crate::trace::{Op, Site};
use crate::workspace::{Ring, Waiting, Workspace};

/// Why a backward cannot run.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum BackwardError {
    /// Nothing physical to cut.
    #[error("cut {cut} limits physical credit, but the program has no state edge")]
    NoStateEdge {
        /// The cut.
        cut: Cut,
    },
    /// Nothing stored to cut.
    #[error("cut {cut} cuts memory, but the program has no memory edge (no cache, no register)")]
    NoMemoryEdge {
        /// The cut.
        cut: Cut,
    },
    /// No weights between the stored representation and the attention.
    #[error(
        "cut {cut} cannot be honoured at {edge}: it is made by `{made_by}`, not by a linear projection that could keep the credit"
    )]
    NoProjection {
        /// The cut.
        cut: Cut,
        /// The edge.
        edge: String,
        /// The instruction that makes the key or value.
        made_by: &'static str,
    },
    /// The forward read another rollout's memory.
    #[error("the rollout reads a donor's memory: its derivative belongs to no policy's loss")]
    Donor,
    /// Rolled by nobody, or inputs changed since.
    #[error("the rollout was not rolled since its inputs were written")]
    NotRolled,
    /// The parameters changed after the rollout.
    #[error("the model's parameters changed since it rolled this rollout")]
    OtherParameters,
    /// Another program, row count, number of steps or prefix.
    #[error("the workspace was made for another program or shape")]
    WrongShape,
    /// Unknown name.
    #[error("`{name}` is no tap, state, register or input; known: {known}")]
    UnknownTap {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// Nothing that learns reaches the site, so no adjoint is computed there.
    #[error("`{0}` depends on nothing that learns: no adjoint is computed there")]
    NoAdjoint(String),
    /// Wrong number of seeds, or of values in one.
    #[error("{0}")]
    Seeds(String),
    /// A decomposition that is not defined.
    #[error(
        "age bins are not defined under {cut}: it lets credit pass through memory, where the age of a path and its number of state edges differ"
    )]
    AgesNeedDetachedMemory {
        /// The cut.
        cut: Cut,
    },
    /// A NaN or infinity, traced to where it first appeared.
    #[error("{0}")]
    NonFinite(Fault),
}

impl BackwardError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoStateEdge { .. } => {
                "use F for the physical half, or carry a state in the trace"
            }
            Self::NoMemoryEdge { .. } => "use F for the memory half (FF, KF), or store something",
            Self::NoProjection { .. } => {
                "make keys and values with trace.linear, or use a cut that detaches them whole (FD)"
            }
            Self::Donor => "roll without a donor to differentiate",
            Self::NotRolled => "call roll_into first",
            Self::OtherParameters => "roll again with these parameters, then differentiate",
            Self::WrongShape => "make a workspace from a rollout of this shape",
            Self::UnknownTap { .. } => "name a tap in the trace with trace.tap(name, value)",
            Self::NoAdjoint(_) => {
                "keep the adjoints of a state, a register or a tap that a parameter reaches"
            }
            Self::Seeds(_) => {
                "give one set of seeds per cut, [step][row][column] values per tap; tap a state's value to seed it"
            }
            Self::AgesNeedDetachedMemory { .. } => "use FD, F_SG, KD or K_SG",
            Self::NonFinite(_) => "export the inputs to look at the step that is named",
        }
    }
}

/// What flows into a backward pass: the loss, and adjoints at taps.
#[derive(Clone, Debug)]
pub struct Seeds<R> {
    /// Weight of the loss: 1 for its gradient, 0 to leave it out.
    pub loss: R,
    /// Adjoints added at taps: name and `[step][row][column]`. To seed a state, tap its value.
    pub taps: Vec<(String, Vec<R>)>,
}

struct Resolved<'a, R> {
    loss: R,
    taps: Vec<(Site, &'a [R])>,
}

impl<R: Real> Workspace<R> {
    /// The gradient of the rollout's loss under every requested cut.
    pub fn backward(
        &mut self,
        model: &Model<R>,
        rollout: &Rollout<R>,
    ) -> Result<(), BackwardError> {
        self.check(model, rollout)?;
        self.run::<false>(model, rollout, &[])
    }

    /// As [`Workspace::backward`], stopping at the first non-finite adjoint.
    pub fn backward_checked(
        &mut self,
        model: &Model<R>,
        rollout: &Rollout<R>,
    ) -> Result<(), BackwardError> {
        self.check(model, rollout)?;
        self.run::<true>(model, rollout, &[])
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
                Ok(Resolved { loss: s.loss, taps: taps.collect::<Result<_, _>>()? })
            })
            .collect::<Result<Vec<_>, BackwardError>>()?;
        self.run::<false>(model, rollout, &resolved)
    }

    /// As [`Workspace::backward_seeded`], at sites that are preset in every step.
    pub(crate) fn backward_local(
        &mut self,
        model: &Model<R>,
        rollout: &Rollout<R>,
        seeds: &[crate::ages::Local<R>],
    ) -> Result<(), BackwardError> {
        self.check(model, rollout)?;
        let resolved: Vec<Resolved<R>> = seeds
            .iter()
            .map(|s| {
                let active = s.sites.iter().filter(|(site, _)| self.program.step.active[*site]);
                Resolved { loss: s.loss, taps: active.map(|(site, v)| (*site, &v[..])).collect() }
            })
            .collect();
        self.run::<false>(model, rollout, &resolved)
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
        if !rollout.rolled {
            return Err(BackwardError::NotRolled);
        }
        if rollout.stamp != model.stamp() {
            return Err(BackwardError::OtherParameters);
        }
        Ok(())
    }

    fn run<const CHECKED: bool>(
        &mut self,
        model: &Model<R>,
        rollout: &Rollout<R>,
        seeds: &[Resolved<R>],
    ) -> Result<(), BackwardError> {
        self.clear();
        let program = self.program.clone();
        let graph = &program.step;
        for t in (self.prefix..self.steps).rev() {
            self.receive_handed(t, seeds);
            let mut linear = program.linears.len();
            for site in (0..graph.nodes.len()).rev() {
                let is_linear = linear > 0 && program.linears[linear - 1].site == site;
                if is_linear {
                    linear -= 1;
                }
                if !graph.active[site] {
                    continue;
                }
                self.collect_near(model.isa(), rollout, site, t);
                if CHECKED {
                    self.check_adjoint(site, t)?;
                }
                self.keep_tap(site, t);
                if rollout.is_fixed(site, t) {
                    if is_linear {
                        self.silence(linear, t);
                    }
                    self.zero_operands(site);
                    let block = self.adjoints.block(site);
                    self.adjoints.data[block].fill(R::ZERO);
                    continue;
                }
                if is_linear {
                    self.collect_linear(model.isa(), rollout, &program.linears[linear], linear, t);
                }
                self.instruction(&program, model, rollout, site, t);
            }
            self.hand_back(rollout, t);
            for (lane, group) in self
                .plan
                .groups
                .iter()
                .flat_map(|g| (g.first_lane..g.first_lane + g.lanes).map(move |lane| (lane, g)))
            {
                if t == group.segment_start(self.prefix, t) {
                    for waiting in &mut self.waiting {
                        waiting[lane].clear_near();
                    }
                }
            }
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
        self.waiting.iter_mut().chain(&mut self.crosses).flatten().for_each(Waiting::clear);
        self.handed_states
            .iter_mut()
            .chain(&mut self.handed_registers)
            .for_each(|h| h.fill(R::ZERO));
        for ring in self.rings.iter_mut().chain(&mut self.condition_rings) {
            ring.aside.iter_mut().flatten().for_each(|aside| aside.fill(R::ZERO));
        }
        let condition = &self.program.condition;
        for &site in &condition.preset {
            let block = self.condition_adjoints.block(site);
            self.condition_adjoints.data[block].fill(R::ZERO);
        }
        self.taps.iter_mut().for_each(|tap| tap.data.fill(R::ZERO));
    }

    /// Sets the adjoints that reach step `t` from outside it: handed back by step `t + 1`, the loss,
    /// and seeds.
    fn receive_handed(&mut self, t: usize, seeds: &[Resolved<R>]) {
        let program = &self.program;
        let graph = &program.step;
        let adjoints = &mut self.adjoints;
        for &site in &graph.preset {
            let block = adjoints.block(site);
            adjoints.data[block].fill(R::ZERO);
        }
        let handed = program.states().iter().zip(&self.handed_states);
        for (carried, handed) in
            handed.chain(program.registers().iter().zip(&self.handed_registers))
        {
            if graph.active[carried.next] {
                let block = adjoints.block(carried.next);
                for (adjoint, &handed) in adjoints.data[block].iter_mut().zip(handed) {
                    *adjoint += handed;
                }
            }
        }
        for (index, group) in self.plan.groups.iter().enumerate() {
            let lane = group.first_lane;
            let seeds = seeds.get(index);
            if let Some(loss) = program.loss.filter(|&site| graph.active[site]) {
                let weight = seeds.map_or(R::ONE, |s| s.loss);
                let range = adjoints.range(loss, lane);
                adjoints.data[range].iter_mut().for_each(|a| *a += weight);
            }
            for (site, values) in seeds.iter().flat_map(|s| &s.taps) {
                let range = adjoints.range(*site, lane);
                let from = &values[t * range.len()..][..range.len()];
                for (adjoint, &seed) in adjoints.data[range].iter_mut().zip(from) {
                    *adjoint += seed;
                }
            }
        }
    }

    /// What step `t` hands back to step `t - 1` along state and register edges.
    fn hand_back(&mut self, rollout: &Rollout<R>, t: usize) {
        let program = &self.program;
        let graph = &program.step;
        let alive = |read: Site| graph.active[read] && !rollout.is_fixed(read, t);
        for (carried, handed) in program.states().iter().zip(&mut self.handed_states) {
            handed.fill(R::ZERO);
            if !alive(carried.read) {
                continue;
            }
            let len = carried.width * self.rows;
            for group in &self.plan.groups {
                // A state edge moves a path from lane i to lane i + 1; the last lane's is dropped.
                let (moves, count) = group.state_edges().map_or((0, 1), |edges| (1, edges));
                for i in 0..count {
                    let from = self.adjoints.range(carried.read, group.first_lane + i);
                    let to = (group.first_lane + i + moves) * len;
                    handed[to..to + len].copy_from_slice(&self.adjoints.data[from]);
                }
            }
        }
        for (carried, handed) in program.registers().iter().zip(&mut self.handed_registers) {
            handed.fill(R::ZERO);
            if !alive(carried.read) {
                continue;
            }
            let len = carried.width * self.rows;
            for group in &self.plan.groups {
                let inside = t > self.prefix && group.is_near(self.prefix, t - 1, t);
                if !inside && group.alpha == 0.0 {
                    continue;
                }
                let factor = if inside { R::ONE } else { R::from_f64(group.alpha) };
                for lane in group.first_lane..group.first_lane + group.lanes {
                    let from = self.adjoints.range(carried.read, lane);
                    let to = &mut handed[lane * len..][..len];
                    for (to, &from) in to.iter_mut().zip(&self.adjoints.data[from]) {
                        *to = factor * from;
                    }
                }
            }
        }
    }

    /// Adds to a key's or value's adjoint what later queries of its own segment gave it.
    fn collect_near(&mut self, isa: Isa, rollout: &Rollout<R>, site: Site, t: usize) {
        let program = &self.program;
        let width = program.step.width(site);
        for &(index, side) in &program.feeds[site] {
            let shape = rollout.caches[index].shape;
            for group in &self.plan.groups {
                if !later_reads(rollout, group, t, true) {
                    continue;
                }
                let slot = t - group.segment_start(self.prefix, t);
                for lane in group.first_lane..group.first_lane + group.lanes {
                    let waiting = &self.waiting[index][lane];
                    let from = match side {
                        Side::Key => &waiting.near_keys,
                        Side::Value => &waiting.near_values,
                    };
                    let range = self.adjoints.range(site, lane);
                    let target = &mut self.adjoints.data[range];
                    let len = shape.slot_len();
                    leave_slot(isa, shape, width, Leave::Add, &from[slot * len..][..len], target);
                }
            }
        }
    }

    /// Puts a linear site's output adjoint where the weight product of the chunk will find it.
    fn collect_linear(
        &mut self,
        isa: Isa,
        rollout: &Rollout<R>,
        linear: &LinearSite,
        index: usize,
        t: usize,
    ) {
        let len = linear.n_out * self.rows;
        let slot = (t - self.prefix) % self.chunk * len;
        let plan = &self.plan;
        for (variant, ring) in self.rings[index].of_variant.iter_mut().enumerate() {
            let Some(ring) = ring else { continue };
            let ring = &mut ring[slot..slot + len];
            let described = plan.variants[variant];
            let group = &plan.groups[described.group];
            let register_edge = linear.role.register.is_some_and(|register| {
                let read = self.program.registers[register].read;
                t > self.prefix && !rollout.is_fixed(read, t)
            });
            if register_edge && described.weights == Weights::Drop {
                ring.fill(R::ZERO);
                continue;
            }
            let keep_far = described.weights == Weights::Keep
                && !linear.role.projections.is_empty()
                && later_reads(rollout, group, t, false);
            for (i, lane) in (group.first_lane..group.first_lane + group.lanes).enumerate() {
                let from = &self.adjoints.data[self.adjoints.range(linear.site, lane)];
                if keep_far {
                    // own and near first, then far: one order for every cut and number of lanes.
                    let full = &mut self.own[..len];
                    full.copy_from_slice(from);
                    for &(cache, side) in &linear.role.projections {
                        let waiting = &self.waiting[cache][lane];
                        let far = match side {
                            Side::Key => &waiting.far_keys,
                            Side::Value => &waiting.far_values,
                        };
                        let shape = rollout.caches[cache].shape;
                        let position = t - self.prefix;
                        let far = &far[position * shape.slot_len()..][..shape.slot_len()];
                        leave_slot(isa, shape, linear.n_out, Leave::Add, far, full);
                    }
                    fill(ring, full, i > 0);
                } else {
                    fill(ring, from, i > 0);
                }
            }
        }
        // What the stored representation receives across segment boundaries.
        for group in plan.groups.iter().filter(|g| g.alpha > 0.0) {
            if linear.role.projections.is_empty() || !later_reads(rollout, group, t, false) {
                continue;
            }
            let alpha = R::from_f64(group.alpha);
            for lane in group.first_lane..group.first_lane + group.lanes {
                for &(cache, side) in &linear.role.projections {
                    let waiting = &self.waiting[cache][lane];
                    let far = match side {
                        Side::Key => &waiting.far_keys,
                        Side::Value => &waiting.far_values,
                    };
                    let shape = rollout.caches[cache].shape;
                    let range = self.adjoints.range(linear.site, lane);
                    let target = &mut self.adjoints.data[range];
                    let position = t - self.prefix;
                    let far = &far[position * shape.slot_len()..][..shape.slot_len()];
                    leave_slot(isa, shape, linear.n_out, Leave::Scaled(alpha), far, target);
                }
            }
        }
    }

    /// A linear site whose value was overridden: its weights receive nothing at this step.
    fn silence(&mut self, index: usize, t: usize) {
        let len = self.program.linears[index].n_out * self.rows;
        let slot = (t - self.prefix) % self.chunk * len;
        for ring in self.rings[index].of_variant.iter_mut().flatten() {
            ring[slot..slot + len].fill(R::ZERO);
        }
    }

    /// A site that sends nothing back must still start its operands' sums.
    fn zero_operands(&mut self, site: Site) {
        let graph = &self.program.step;
        for (operand, flow) in graph.operands[site].iter().zip(&graph.flows[site]) {
            if *flow == Flow::Store {
                let block = self.adjoints.block(*operand);
                self.adjoints.data[block].fill(R::ZERO);
            }
        }
    }

    fn instruction(
        &mut self,
        program: &Program,
        model: &Model<R>,
        rollout: &Rollout<R>,
        site: Site,
        t: usize,
    ) {
        let graph = &program.step;
        match graph.nodes[site].op {
            Op::Attend { q, key, value, cache, .. } => {
                self.attention(model, rollout, site, [q, key, value], cache, t);
            }
            Op::Cross { q, .. } => {
                let index = position(&program.crosses, site);
                let attended = &rollout.crosses[index];
                let record = &rollout.step;
                let (width, len) = (graph.width(site), graph.width(site) * self.rows);
                let reads = Reads { lo: 0, hi: program.tokens, hidden: None };
                let flow = graph.flows[site][0];
                let start = self.adjoints.block(q).start;
                let (before, own) = self.adjoints.split(site);
                for (lane, dout) in own.chunks_exact(len).enumerate() {
                    let waiting = &mut self.crosses[index][lane];
                    let mut credit = Credit {
                        own: None,
                        near: Some(Slots {
                            start: 0,
                            end: program.tokens,
                            keys: &mut waiting.near_keys,
                            values: &mut waiting.near_values,
                        }),
                        far: None,
                    };
                    let dq = if flow == Flow::None {
                        &mut self.own[..len]
                    } else {
                        &mut before[start + lane * len..][..len]
                    };
                    attend_adjoint(
                        model.isa(),
                        attended.shape,
                        reads,
                        width,
                        &record.values[record.frame.range(q, t)],
                        &attended.cache,
                        attended.probabilities_at(t),
                        dout,
                        dq,
                        flow.adds(),
                        &mut credit,
                        &mut self.scratch,
                    );
                }
            }
            Op::Recall(source) => {
                let condition = &program.condition;
                if condition.active[source] {
                    let from = &self.adjoints.data[self.adjoints.block(site)];
                    let block = self.condition_adjoints.block(source);
                    ew::add(model.isa(), from, &mut self.condition_adjoints.data[block]);
                }
            }
            Op::LayerNorm { x, gain, bias } => {
                let frame = &rollout.step.frame;
                let x = &rollout.step.values[frame.range(x, t)];
                let saved = &rollout.step.saved[frame.saved(site, t)];
                self.norm_gradient(model, site, x, saved, gain, bias, false);
                self.local(model, rollout, site, t);
            }
            Op::StepRow(table) => {
                let width = graph.width(site);
                let offset = program.layout().parameters()[table].offset + t * width;
                for (index, variant) in self.plan.variants.iter().enumerate() {
                    if variant.leader != index && !self.split[table] {
                        continue;
                    }
                    let group = &self.plan.groups[variant.group];
                    let target = &mut self.totals[index][offset..offset + width];
                    for lane in group.first_lane..group.first_lane + group.lanes {
                        let dy = &self.adjoints.data[self.adjoints.range(site, lane)];
                        bias_gradient(model.isa(), 1, self.rows, width, dy, target);
                    }
                }
            }
            _ => self.local(model, rollout, site, t),
        }
    }

    fn local(&mut self, model: &Model<R>, rollout: &Rollout<R>, site: Site, t: usize) {
        let graph = &self.program.step;
        let constants = &model.step_constants;
        local::adjoint(model, graph, constants, &rollout.step, &mut self.adjoints, site, t);
    }

    fn norm_gradient(
        &mut self,
        model: &Model<R>,
        site: Site,
        x: &[R],
        saved: &[R],
        gain: usize,
        bias: usize,
        in_condition: bool,
    ) {
        let (graph, adjoints) = if in_condition {
            (&self.program.condition, &self.condition_adjoints)
        } else {
            (&self.program.step, &self.adjoints)
        };
        let parameters = self.program.layout().parameters();
        let width = graph.width(site);
        for (index, variant) in self.plan.variants.iter().enumerate() {
            if variant.leader != index && !self.split[gain] && !self.split[bias] {
                continue;
            }
            let group = &self.plan.groups[variant.group];
            let total = &mut self.totals[index];
            let (low, high) = (gain.min(bias), gain.max(bias));
            let (head, tail) = total.split_at_mut(parameters[high].offset);
            let first = &mut head[parameters[low].range()];
            let second = &mut tail[..parameters[high].len()];
            let (dgain, dbias) = if gain < bias { (first, second) } else { (second, first) };
            for lane in group.first_lane..group.first_lane + group.lanes {
                let dy = &adjoints.data[adjoints.range(site, lane)];
                norm::layer_norm_gradient(model.isa(), width, x, saved, dy, dgain, dbias);
            }
        }
    }

    /// Causal attention: own position, near slots (same segment), far slots (earlier segments).
    fn attention(
        &mut self,
        model: &Model<R>,
        rollout: &Rollout<R>,
        site: Site,
        [q, key, value]: [Site; 3],
        cache: usize,
        t: usize,
    ) {
        let graph = &self.program.step;
        let attended = &rollout.caches[cache];
        let record = &rollout.step;
        let (width, len) = (graph.width(site), graph.width(site) * self.rows);
        let reads = rollout.spec.reads_at(t);
        let flows = &graph.flows[site];
        let starts = [q, key, value].map(|s| self.adjoints.block(s).start);
        let lanes = self.plan.lanes;
        let query = &record.values[record.frame.range(q, t)];
        let (before, own) = self.adjoints.split(site);
        let (own_key, own_value) = self.own.split_at_mut(len);
        for lane in 0..lanes {
            let group = self.plan.group_of(lane);
            let boundary = group.segment_start(self.prefix, t);
            let waiting = &mut self.waiting[cache][lane];
            let near = (waiting.near_slots > 0).then_some(Slots {
                start: boundary,
                end: t,
                keys: &mut waiting.near_keys,
                values: &mut waiting.near_values,
            });
            let far = (waiting.far_slots > 0).then_some(Slots {
                start: self.prefix,
                end: boundary,
                keys: &mut waiting.far_keys,
                values: &mut waiting.far_values,
            });
            let own_position = Own { position: t, key: own_key, value: &mut own_value[..len] };
            let mut credit = Credit { own: Some(own_position), near, far };
            let dout = &own[lane * len..][..len];
            // A query that does not learn keeps its adjoint in its own, unread place.
            let dq = &mut before[starts[0] + lane * len..][..len];
            attend_adjoint(
                model.isa(),
                attended.shape,
                reads,
                width,
                query,
                &attended.cache,
                attended.probabilities_at(t),
                dout,
                dq,
                flows[0].adds(),
                &mut credit,
                &mut self.scratch,
            );
            for (start, flow, from) in
                [(starts[1], flows[1], &*own_key), (starts[2], flows[2], &own_value[..len])]
            {
                if flow != Flow::None {
                    fill(&mut before[start + lane * len..][..len], from, flow.adds());
                }
            }
        }
    }

    /// One weight product per linear site for the chunk of steps that begins at `t`.
    fn flush(&mut self, model: &Model<R>, rollout: &Rollout<R>, t: usize) {
        let program = &self.program;
        let blocks = self.chunk.min(self.steps - t);
        for (linear, ring) in program.linears.iter().zip(&mut self.rings) {
            if !program.step.active[linear.site] {
                continue;
            }
            let start = rollout.step.frame.at(linear.x, t);
            let x = &rollout.step.values[start..][..blocks * self.rows * linear.n_in];
            let totals = &mut self.totals;
            weight_product(model, linear, ring, totals, blocks, self.rows, x);
        }
    }

    fn run_condition(&mut self, model: &Model<R>, rollout: &Rollout<R>) {
        let program = self.program.clone();
        let (graph, tokens) = (&program.condition, program.tokens);
        if graph.nodes.is_empty() {
            return;
        }
        for (index, cross) in program.crosses.iter().enumerate() {
            let shape = rollout.crosses[index].shape;
            let width = cross.heads * cross.dim;
            for (lane, waiting) in self.crosses[index].iter().enumerate() {
                for (site, from) in
                    [(cross.key, &waiting.near_keys), (cross.value, &waiting.near_values)]
                {
                    if !graph.active[site] {
                        continue;
                    }
                    let range = self.condition_adjoints.range(site, lane);
                    let target = &mut self.condition_adjoints.data[range];
                    for token in 0..tokens {
                        let target = &mut target[token * width..];
                        let slot = &from[token * shape.slot_len()..][..shape.slot_len()];
                        leave_slot(model.isa(), shape, tokens * width, Leave::Add, slot, target);
                    }
                }
            }
        }
        let mut linear = program.condition_linears.len();
        for site in (0..graph.nodes.len()).rev() {
            let is_linear = linear > 0 && program.condition_linears[linear - 1].site == site;
            if is_linear {
                linear -= 1;
            }
            if !graph.active[site] {
                continue;
            }
            if is_linear {
                self.condition_weights(model, rollout, linear);
            }
            match graph.nodes[site].op {
                Op::SetAttend { q, key, value, .. } => {
                    self.set_attention(model, rollout, site, [q, key, value]);
                }
                Op::LayerNorm { x, gain, bias } => {
                    let frame = &rollout.condition.frame;
                    let x = &rollout.condition.values[frame.range(x, 0)];
                    let saved = &rollout.condition.saved[frame.saved(site, 0)];
                    self.norm_gradient(model, site, x, saved, gain, bias, true);
                    self.local_condition(model, rollout, site);
                }
                _ => self.local_condition(model, rollout, site),
            }
        }
    }

    fn local_condition(&mut self, model: &Model<R>, rollout: &Rollout<R>, site: Site) {
        let constants = &model.condition_constants;
        local::adjoint(
            model,
            &self.program.condition,
            constants,
            &rollout.condition,
            &mut self.condition_adjoints,
            site,
            0,
        );
    }

    fn condition_weights(&mut self, model: &Model<R>, rollout: &Rollout<R>, index: usize) {
        let program = &self.program;
        let linear = &program.condition_linears[index];
        let rows = rollout.condition.frame.rows;
        let ring = &mut self.condition_rings[index];
        for (variant, ring) in ring.of_variant.iter_mut().enumerate() {
            let Some(ring) = ring else { continue };
            let group = &self.plan.groups[self.plan.variants[variant].group];
            for (i, lane) in (group.first_lane..group.first_lane + group.lanes).enumerate() {
                let range = self.condition_adjoints.range(linear.site, lane);
                fill(ring, &self.condition_adjoints.data[range], i > 0);
            }
        }
        let x = &rollout.condition.values[rollout.condition.frame.range(linear.x, 0)];
        weight_product(model, linear, ring, &mut self.totals, 1, rows, x);
    }

    fn set_attention(
        &mut self,
        model: &Model<R>,
        rollout: &Rollout<R>,
        site: Site,
        [q, key, value]: [Site; 3],
    ) {
        let program = &self.program;
        let (graph, tokens) = (&program.condition, program.tokens);
        let index = position(&program.sets, site);
        let attended = &rollout.sets[index];
        let record = &rollout.condition;
        let width = graph.width(site);
        let len = width * record.frame.rows;
        let reads = Reads { lo: 0, hi: tokens, hidden: None };
        let flows = &graph.flows[site];
        let starts = [q, key, value].map(|s| self.condition_adjoints.block(s).start);
        let waiting = &mut self.sets[index];
        let (before, own) = self.condition_adjoints.split(site);
        let query = &record.values[record.frame.range(q, 0)];
        for (lane, dout) in own.chunks_exact(len).enumerate() {
            waiting.clear();
            for token in 0..tokens {
                let at = token * width;
                let mut credit = Credit {
                    own: None,
                    near: Some(Slots {
                        start: 0,
                        end: tokens,
                        keys: &mut waiting.near_keys,
                        values: &mut waiting.near_values,
                    }),
                    far: None,
                };
                let dq = &mut before[starts[0] + lane * len..][..len];
                attend_adjoint(
                    model.isa(),
                    attended.shape,
                    reads,
                    tokens * width,
                    &query[at..],
                    &attended.cache,
                    attended.probabilities_at(token),
                    &dout[at..],
                    &mut dq[at..],
                    flows[0].adds(),
                    &mut credit,
                    &mut self.scratch,
                );
            }
            for (start, flow, from) in [
                (starts[1], flows[1], &waiting.near_keys),
                (starts[2], flows[2], &waiting.near_values),
            ] {
                if flow == Flow::None {
                    continue;
                }
                let target = &mut before[start + lane * len..][..len];
                if !flow.adds() {
                    target.fill(R::ZERO);
                }
                for token in 0..tokens {
                    let target = &mut target[token * width..];
                    let shape = attended.shape;
                    let slot = &from[token * shape.slot_len()..][..shape.slot_len()];
                    leave_slot(model.isa(), shape, tokens * width, Leave::Add, slot, target);
                }
            }
        }
    }

    /// Adds what was accumulated aside, and gives variants what they share with their leader.
    fn finish(&mut self) {
        let program = &self.program;
        let parameters = program.layout().parameters();
        let linears = program.linears.iter().chain(&program.condition_linears);
        for (linear, ring) in linears.zip(self.rings.iter().chain(&self.condition_rings)) {
            for (variant, aside) in ring.aside.iter().enumerate() {
                let Some(aside) = aside else { continue };
                let (weight, bias) = aside.split_at(linear.n_in * linear.n_out);
                let total = &mut self.totals[variant];
                add(&mut total[parameters[linear.weight].range()], weight);
                if let Some(id) = linear.bias {
                    add(&mut total[parameters[id].range()], bias);
                }
            }
        }
        for (index, variant) in self.plan.variants.iter().enumerate() {
            if variant.leader == index {
                continue;
            }
            let (head, tail) = self.totals.split_at_mut(index);
            let (from, to) = (&head[variant.leader], &mut tail[0]);
            for (parameter, _) in parameters.iter().zip(&self.split).filter(|(_, split)| !**split) {
                to[parameter.range()].copy_from_slice(&from[parameter.range()]);
            }
        }
    }

    fn keep_tap(&mut self, site: Site, t: usize) {
        let graph = &self.program.step;
        for tap in self.taps.iter_mut().filter(|tap| tap.site == site) {
            let len = graph.width(site) * self.rows;
            for (index, group) in self.plan.groups.iter().enumerate() {
                let to = &mut tap.data[(index * self.steps + t) * len..][..len];
                for lane in group.first_lane..group.first_lane + group.lanes {
                    add(to, &self.adjoints.data[self.adjoints.range(site, lane)]);
                }
            }
        }
    }

    fn check_adjoint(&self, site: Site, t: usize) -> Result<(), BackwardError> {
        let graph = &self.program.step;
        let node = &graph.nodes[site];
        for lane in 0..self.plan.lanes {
            let values = &self.adjoints.data[self.adjoints.range(site, lane)];
            if let Some(mut fault) = Fault::find(Phase::Backward, node, t, values) {
                fault.edge = Some(self.arriving_edge(site, t, lane));
                return Err(BackwardError::NonFinite(fault));
            }
            for &(cache, side) in &self.program.feeds[site] {
                let waiting = &self.waiting[cache][lane];
                let far = match side {
                    Side::Key => &waiting.far_keys,
                    Side::Value => &waiting.far_values,
                };
                let len = far.len() / waiting.far_slots.max(1);
                let slot = far.get((t - self.prefix) * len..).and_then(|far| far.get(..len));
                if slot.is_some_and(|slot| slot.iter().any(|v| !v.is_finite())) {
                    let name = &self.program.caches[cache].name;
                    let edge = format!("memory edge `{name}` from later segments to step {t}");
                    return Err(BackwardError::NonFinite(Fault {
                        phase: Phase::Backward,
                        instruction: format!("{} `{}`", node.op.name(), node.label),
                        step: t,
                        row: 0,
                        column: 0,
                        value: f64::NAN,
                        edge: Some(edge),
                    }));
                }
            }
        }
        Ok(())
    }

    /// The kind of edge that brought a bad adjoint to `site`: from a later step, or within the step.
    fn arriving_edge(&self, site: Site, t: usize, lane: usize) -> String {
        let program = &self.program;
        let bad = |values: &[R]| values.iter().any(|v| !v.is_finite());
        let handed = program.states().iter().zip(&self.handed_states).map(|h| (h, "state"));
        let stored = program.registers().iter().zip(&self.handed_registers).map(|h| (h, "memory"));
        for ((carried, values), kind) in handed.chain(stored) {
            let len = carried.width * self.rows;
            if carried.next == site && bad(&values[lane * len..][..len]) {
                return format!("{kind} edge `{}` from step {} to step {t}", carried.name, t + 1);
            }
        }
        for (cache, waiting) in program.caches.iter().zip(&self.waiting) {
            let waiting = &waiting[lane];
            let is_bad = (site == cache.key && bad(&waiting.near_keys))
                || (site == cache.value && bad(&waiting.near_values));
            if is_bad {
                return format!("memory edge `{}` from later steps to step {t}", cache.name);
            }
        }
        let readers = program.nodes().iter().enumerate().skip(site + 1);
        let reader = readers.filter(|(_, n)| n.op.operands().contains(&site)).find(|(r, _)| {
            let range = self.adjoints.range(*r, lane);
            program.step.active[*r] && !self.adjoints.data[range].iter().all(|v| *v == R::ZERO)
        });
        match reader {
            Some((_, node)) => {
                format!("the edge from {} `{}` of the same step", node.op.name(), node.label)
            }
            None => "a seed or the loss".to_owned(),
        }
    }
}

/// Whether some later query reads position `t`: in the same segment (`near`) or a later one.
fn later_reads<R: Real>(rollout: &Rollout<R>, group: &Group, t: usize, near: bool) -> bool {
    let prefix = rollout.spec.prefix;
    let end = (group.segment_start(prefix, t) + group.segment).min(rollout.steps());
    if rollout.spec.reads == MemoryReads::All {
        return if near { t + 1 < end } else { end < rollout.steps() };
    }
    let mut queries = if near { t + 1..end } else { end..rollout.steps() };
    queries.any(|query| rollout.spec.is_read(query, t))
}

fn fill<R: Real>(target: &mut [R], from: &[R], add_to: bool) {
    if add_to {
        add(target, from);
    } else {
        target.copy_from_slice(from);
    }
}

fn add<R: Real>(target: &mut [R], from: &[R]) {
    for (target, &from) in target.iter_mut().zip(from) {
        *target += from;
    }
}

fn weight_product<R: Real>(
    model: &Model<R>,
    linear: &LinearSite,
    ring: &mut Ring<R>,
    totals: &mut [Vec<R>],
    blocks: usize,
    rows: usize,
    x: &[R],
) {
    let parameters = model.program().layout().parameters();
    let isa = model.isa();
    let (n_in, n_out) = (linear.n_in, linear.n_out);
    for (variant, dy) in ring.of_variant.iter().enumerate() {
        let Some(dy) = dy else { continue };
        let dy = &dy[..blocks * rows * n_out];
        if let Some(Some(aside)) = ring.aside.get_mut(variant) {
            let (weight, bias) = aside.split_at_mut(n_in * n_out);
            weight_gradient(isa, blocks, rows, n_in, n_out, x, dy, weight);
            if linear.bias.is_some() {
                bias_gradient(isa, blocks, rows, n_out, dy, bias);
            }
        } else {
            let total = &mut totals[variant];
            let weight = &mut total[parameters[linear.weight].range()];
            weight_gradient(isa, blocks, rows, n_in, n_out, x, dy, weight);
            if let Some(id) = linear.bias {
                bias_gradient(isa, blocks, rows, n_out, dy, &mut total[parameters[id].range()]);
            }
        }
    }
}
