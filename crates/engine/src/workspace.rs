//! Storage for backward passes, allocated once per shape and set of cuts.

use std::sync::Arc;

use backcut_kernels::Real;
use backcut_kernels::attention::Shape;

use crate::backward::BackwardError;
use crate::cut::Cut;
use crate::lanes::Plan;
use crate::local::Adjoints;
use crate::program::{LinearSite, Program};
use crate::rollout::Rollout;
use crate::trace::Site;

/// Steps whose adjoints wait for one weight product. Measured on one quadrotor update: 4 costs 2%
/// more than 16, and 32 gains nothing.
pub const DEFAULT_CHUNK: usize = 16;

/// Adjoints of stored keys and values that wait for their own step, for one cache and lane.
#[derive(Clone, Debug)]
pub(crate) struct Waiting<R> {
    pub near_slots: usize,
    pub far_slots: usize,
    pub near_keys: Vec<R>,
    pub near_values: Vec<R>,
    pub far_keys: Vec<R>,
    pub far_values: Vec<R>,
}

impl<R: Real> Waiting<R> {
    fn new(shape: Shape, near_slots: usize, far_slots: usize) -> Self {
        let per_slot = shape.slot_len();
        let zeros = |slots: usize| vec![R::ZERO; slots * per_slot];
        Self {
            near_slots,
            far_slots,
            near_keys: zeros(near_slots),
            near_values: zeros(near_slots),
            far_keys: zeros(far_slots),
            far_values: zeros(far_slots),
        }
    }

    pub fn clear_near(&mut self) {
        self.near_keys.fill(R::ZERO);
        self.near_values.fill(R::ZERO);
    }

    pub fn clear(&mut self) {
        self.clear_near();
        self.far_keys.fill(R::ZERO);
        self.far_values.fill(R::ZERO);
    }

    fn bytes(&self) -> usize {
        (self.near_keys.len() + self.far_keys.len()) * 2 * size_of::<R>()
    }
}

/// Output adjoints of a linear site, waiting for the weight product of their chunk.
#[derive(Clone, Debug)]
pub(crate) struct Ring<R> {
    /// One `[chunk][row][column]` buffer per variant that collects here.
    pub of_variant: Vec<Option<Vec<R>>>,
    /// For a shared parameter: weight and bias gradients aside, per variant.
    pub aside: Vec<Option<Vec<R>>>,
}

/// Adjoints kept for the caller: `[group][step][row][column]`.
#[derive(Clone, Debug)]
pub(crate) struct Tapped<R> {
    pub site: Site,
    pub data: Vec<R>,
}

/// Everything a backward pass writes. Make it once, use it for every update.
#[derive(Clone, Debug)]
pub struct Workspace<R> {
    pub(crate) program: Arc<Program>,
    pub(crate) rows: usize,
    pub(crate) steps: usize,
    pub(crate) prefix: usize,
    pub(crate) chunk: usize,
    pub(crate) plan: Plan,
    pub(crate) adjoints: Adjoints<R>,
    pub(crate) condition_adjoints: Adjoints<R>,
    /// `[cache][lane]`
    pub(crate) waiting: Vec<Vec<Waiting<R>>>,
    /// `[cross][lane]`: adjoints of condition keys and values.
    pub(crate) crosses: Vec<Vec<Waiting<R>>>,
    /// `[set]`: the same for attention inside the condition, reused by every lane.
    pub(crate) sets: Vec<Waiting<R>>,
    pub(crate) rings: Vec<Ring<R>>,
    pub(crate) condition_rings: Vec<Ring<R>>,
    /// What the next step hands back: `[state or register][lane][row][column]`.
    pub(crate) handed_states: Vec<Vec<R>>,
    pub(crate) handed_registers: Vec<Vec<R>>,
    /// Scores and the query's own key and value adjoints.
    pub(crate) scratch: Vec<R>,
    pub(crate) own: Vec<R>,
    /// Parameters whose gradient differs between variants of one group.
    pub(crate) split: Vec<bool>,
    pub(crate) totals: Vec<Vec<R>>,
    pub(crate) taps: Vec<Tapped<R>>,
}

impl<R: Real> Workspace<R> {
    /// Storage for differentiating `rollout` (or any other of its shape) under `cuts`.
    pub fn new(rollout: &Rollout<R>, cuts: &[Cut]) -> Result<Self, BackwardError> {
        Self::with(rollout, cuts, DEFAULT_CHUNK, true)
    }

    /// The same with a chosen chunk length; it changes speed, never bits.
    pub fn with_chunk(
        rollout: &Rollout<R>,
        cuts: &[Cut],
        chunk: usize,
    ) -> Result<Self, BackwardError> {
        Self::with(rollout, cuts, chunk, true)
    }

    /// One lane per entry of `cuts`, never shared: each will have seeds of its own.
    pub fn for_seeds(rollout: &Rollout<R>, cuts: &[Cut]) -> Result<Self, BackwardError> {
        Self::with(rollout, cuts, DEFAULT_CHUNK, false)
    }

    fn with(
        rollout: &Rollout<R>,
        cuts: &[Cut],
        chunk: usize,
        share: bool,
    ) -> Result<Self, BackwardError> {
        let program = rollout.program().clone();
        let (rows, steps, prefix) = (rollout.rows(), rollout.steps(), rollout.spec.prefix);
        let plan = Plan::new(&program, steps - prefix, cuts, share)?;
        let chunk = chunk.clamp(1, steps - prefix);
        let lanes = plan.lanes;
        let predicted = steps - prefix;
        let waiting = rollout
            .caches
            .iter()
            .map(|attended| {
                let of_lane = |lane: usize| {
                    let group = plan.group_of(lane);
                    let (near, far) = (group.near_slots(predicted), group.far_slots(predicted));
                    Waiting::new(attended.shape, near, far)
                };
                (0..lanes).map(of_lane).collect()
            })
            .collect();
        let tokens = program.tokens();
        let crosses = rollout
            .crosses
            .iter()
            .map(|a| (0..lanes).map(|_| Waiting::new(a.shape, tokens, 0)).collect())
            .collect();
        let sets = rollout.sets.iter().map(|a| Waiting::new(a.shape, tokens, 0)).collect();
        let mut split = vec![false; program.layout().parameters().len()];
        for linear in program.linears.iter().filter(|l| l.role.is_memory()) {
            split[linear.weight] = true;
            if let Some(bias) = linear.bias {
                split[bias] = true;
            }
        }
        let rings = |linears: &[LinearSite], per_slot: usize| -> Vec<Ring<R>> {
            linears.iter().map(|l| Ring::new(l, &plan, &split, per_slot)).collect()
        };
        let widest = |shapes: &mut dyn Iterator<Item = Shape>| {
            shapes
                .map(|s| (s.scratch_len(), s.rows * s.heads * s.dim))
                .fold((0, 0), |(scratch, own), (a, b)| (scratch.max(a), own.max(b)))
        };
        let attended = rollout.caches.iter().chain(&rollout.crosses).chain(&rollout.sets);
        let (scratch, own) = widest(&mut attended.map(|a| a.shape));
        let handed = |list: &[crate::program::Carried]| -> Vec<Vec<R>> {
            list.iter().map(|c| vec![R::ZERO; c.width * rows * lanes]).collect()
        };
        Ok(Self {
            rings: rings(&program.linears, chunk * rows),
            condition_rings: rings(&program.condition_linears, rows * tokens),
            adjoints: Adjoints::new(&program.step, rows, lanes),
            condition_adjoints: Adjoints::new(&program.condition, rows * tokens, lanes),
            waiting,
            crosses,
            sets,
            handed_states: handed(program.states()),
            handed_registers: handed(program.registers()),
            scratch: vec![R::ZERO; scratch],
            own: vec![R::ZERO; 2 * own],
            totals: plan.variants.iter().map(|_| vec![R::ZERO; program.layout().len()]).collect(),
            split,
            taps: Vec::new(),
            plan,
            program,
            rows,
            steps,
            prefix,
            chunk,
        })
    }

    /// Keeps the adjoints of a tap, state or register for [`Workspace::adjoint`].
    ///
    /// A register's adjoint is what its readers send it. `FD` drops credit at the linear sites that
    /// read the register, so there it holds more than the cut lets through.
    pub fn keep_adjoints(&mut self, name: &str) -> Result<(), BackwardError> {
        let site = self.program.tap(name).ok_or_else(|| BackwardError::UnknownTap {
            name: name.to_owned(),
            known: self.program.tap_names().join(", "),
        })?;
        if !self.program.step.active[site] {
            return Err(BackwardError::NoAdjoint(name.to_owned()));
        }
        if !self.taps.iter().any(|t| t.site == site) {
            let len = self.plan.groups.len() * self.steps * self.rows * self.program.width(site);
            self.taps.push(Tapped { site, data: vec![R::ZERO; len] });
        }
        Ok(())
    }

    /// The adjoint `[row][column]` of a kept tap at step `t`, for the `cut`-th requested cut.
    pub fn adjoint(&self, name: &str, cut: usize, t: usize) -> Option<&[R]> {
        let site = self.program.tap(name)?;
        let tapped = self.taps.iter().find(|tap| tap.site == site)?;
        let group = self.plan.variants[*self.plan.of_cut.get(cut)?].group;
        let len = self.rows * self.program.width(site);
        tapped.data.get((group * self.steps + t) * len..)?.get(..len)
    }

    /// The gradient of the `cut`-th requested cut, flat, in the layout's order.
    pub fn gradient(&self, cut: usize) -> &[R] {
        &self.totals[self.plan.of_cut[cut]]
    }

    /// Heap bytes of all numbers it holds; plans and places are bookkeeping and not counted.
    pub fn bytes(&self) -> usize {
        let reals = |v: &Vec<R>| v.capacity() * size_of::<R>();
        let rings = self.rings.iter().chain(&self.condition_rings);
        let waiting = self.waiting.iter().chain(&self.crosses).flatten().chain(&self.sets);
        self.adjoints.bytes()
            + self.condition_adjoints.bytes()
            + waiting.map(Waiting::bytes).sum::<usize>()
            + rings
                .flat_map(|r| r.of_variant.iter().chain(&r.aside))
                .flatten()
                .map(reals)
                .sum::<usize>()
            + self.handed_states.iter().chain(&self.handed_registers).map(reals).sum::<usize>()
            + reals(&self.scratch)
            + reals(&self.own)
            + self.totals.iter().map(reals).sum::<usize>()
            + self.taps.iter().map(|t| reals(&t.data)).sum::<usize>()
    }
}

impl<R: Real> Ring<R> {
    fn new(linear: &LinearSite, plan: &Plan, split: &[bool], per_column: usize) -> Self {
        let is_split = split[linear.weight] || linear.bias.is_some_and(|b| split[b]);
        let serves = |index: usize| is_split || plan.variants[index].leader == index;
        let buffer = |len: usize| {
            let of = |index: usize| serves(index).then(|| vec![R::ZERO; len]);
            (0..plan.variants.len()).map(of).collect()
        };
        let aside = if linear.shared {
            let bias = if linear.bias.is_some() { linear.n_out } else { 0 };
            buffer(linear.n_in * linear.n_out + bias)
        } else {
            Vec::new()
        };
        Self { of_variant: buffer(per_column * linear.n_out), aside }
    }
}
