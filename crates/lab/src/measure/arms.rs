//! Gradients under some arms against the first one's, and what an optimizer makes of them.
//!
//! Arms are the cuts of a rig, or gradients made elsewhere, in a file or in memory: one comparison
//! serves all of them. Vectors are asked for a tile at a time, in order ([`Source`]), so a file of
//! any size needs the memory of a few buffers. A clip needs the norm of the whole gradient before
//! the first update can be formed, so with an optimizer the vectors are read twice; a third time
//! where medians of more numbers are wanted than are kept ([`crate::measure::median`]).

use std::ops::Range;

use crate::training::Stretch;
use backcut_kernels::Real;
use backcut_kernels::optim::history;
use backcut_kernels::reduce::widen;

use crate::measure::comparison::{Comparison, Plan, Question};
use crate::measure::finding::{Finding, Of};
use crate::measure::geometry::{Geometry, part_names};
use crate::measure::groups::{ALL, Group, pooled, whole_ranges};
use crate::measure::layers::{At, Layer, Step};
use crate::measure::median::{KEPT, Medians};
use crate::measure::source::{OutsideError, Source, Vector};
use crate::measure::update_scales::Yardstick;
use crate::measure::update_signs::{Scale, Signs, TILE, Tile};

/// Kinds of groups that are pooled over blocks for the difference of two placements.
const POOLED: [&str; 2] = ["w_k", "w_v"];
/// Weights that are read at a time where nothing but scales is looked at.
const STRETCH: usize = 4096;

/// What is compared.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub question: &'a Question,
    pub groups: &'a [Group],
    pub plan: &'a Plan,
}

impl Asked<'_> {
    fn reference(&self) -> &str {
        &self.question.arms[0]
    }

    /// Lengths and directions of the gradients, whole and by group.
    pub fn gradients(&self, raw: &Comparison) -> Vec<Finding> {
        let arms = &self.question.arms;
        let mut findings = Vec::new();
        let alone = (0..arms.len()).map(|arm| (arm, 0, self.question.of(arm)));
        let against =
            |&(a, b): &(usize, usize)| (a, b, Of::Against(arms[a].clone(), arms[b].clone()));
        for (arm, reference, of) in alone.chain(self.question.retained.iter().map(against)) {
            let mut compared = raw.groups(arm, reference);
            let mut whole = Geometry::sum(&compared);
            // The global norm is one sum in the layout's order: the number that training logs and
            // clips by.
            (whole.square, whole.reference) = (raw.square(arm), raw.square(reference));
            compared.push(whole);
            for (part, geometry) in part_names(self.groups).zip(compared) {
                findings.extend(geometry.report("gradient", &of, part, &arms[reference]));
            }
        }
        findings
    }

    /// Lengths relative to the reference's: effects of one arm in place of another, and an
    /// interaction.
    pub fn effects(&self, layer: Layer, sums: &Comparison) -> Vec<Finding> {
        let full = sums.square(0);
        let relative = |(name, of, term): &(&str, Of, Option<_>)| {
            let quantity = [layer.name(), ".", name].concat();
            let share = term.filter(|_| full > 0.0).map(|term| (sums.sum(term) / full).sqrt());
            Finding::or(quantity, of, ALL, share, || match term {
                None => "needs FF, FD, KF and KD among the cuts".to_owned(),
                Some(_) => format!("{}'s vector is zero here", self.reference()),
            })
        };
        self.question.effects.iter().map(relative).collect()
    }

    /// The layers of the update, and gradients against the optimizer's memory where `medians` are
    /// given.
    pub fn updates<R: Real>(
        &self,
        step: &Step,
        raw: &Comparison,
        medians: Option<&mut Medians>,
        source: &mut dyn Source<R>,
    ) -> Result<Vec<Finding>, OutsideError> {
        let factors = (0..self.question.arms.len()).map(|arm| step.clip.factor(raw.norm(arm)));
        let pass = Pass { asked: *self, step, factors: factors.collect() };
        let mut scales = medians.map(|medians| Scales::new(&pass, raw, medians));
        let is_clipped = pass.factors.iter().any(|factor| *factor < 1.0);
        let formed: &[Layer] = if is_clipped {
            &[Layer::Applied, Layer::Clipped, Layer::Unclipped]
        } else {
            &[Layer::Applied]
        };
        let sums = pass.run(formed, &mut scales, source)?;
        let mut findings = Vec::new();
        if let Some(scales) = &mut scales {
            findings.extend(scales.report(self.groups));
        }
        for (arm, &factor) in pass.factors.iter().enumerate() {
            let mut finding = Finding::new("clip.factor", self.question.of(arm), ALL, factor);
            if !step.clip.is_on() {
                "this optimizer has no clip".clone_into(&mut finding.note);
            } else if factor >= 1.0 {
                "not clipped".clone_into(&mut finding.note);
            }
            findings.push(finding);
            if let Some(scales) = &mut scales {
                findings.extend(scales.rho(self, arm));
                findings.extend(scales.signs.scaled_cosines(arm));
                findings.extend(scales.signs.directions(arm, Layer::Applied));
                findings.extend(scales.signs.directions(arm, Layer::Unclipped));
            }
        }
        let raw_layer = self.layer(Layer::Raw, raw);
        let applied = self.layer(Layer::Applied, &sums[0]);
        let (clipped, unclipped) = match sums.as_slice() {
            [_, clipped, unclipped] => {
                (self.layer(Layer::Clipped, clipped), self.layer(Layer::Unclipped, unclipped))
            }
            _ => (
                renamed(&raw_layer, Layer::Raw, Layer::Clipped),
                renamed(&applied, Layer::Applied, Layer::Unclipped),
            ),
        };
        findings.extend([raw_layer, clipped, applied, unclipped].into_iter().flatten());
        findings.extend(self.relative_sizes(raw, &sums[0]));
        if let Some(scales) = &mut scales {
            findings.extend(scales.added(self, raw));
        }
        Ok(findings)
    }

    fn layer(&self, layer: Layer, sums: &Comparison) -> Vec<Finding> {
        let mut findings = Vec::new();
        for arm in 0..self.question.arms.len() {
            let of = self.question.of(arm);
            let mut report = |part: &str, geometry: &Geometry| {
                findings.extend(geometry.report(layer.name(), &of, part, self.reference()));
            };
            if layer == Layer::Applied {
                let compared = sums.groups(arm, 0);
                self.groups.iter().zip(&compared).for_each(|(group, g)| report(&group.name, g));
            }
            report(ALL, &sums.whole(arm, 0));
        }
        findings.extend(self.effects(layer, sums));
        for &pair in &self.question.placements {
            findings.extend(self.placement(layer, sums, pair));
        }
        findings
    }

    /// How far two placements of the memory cut lie apart, and where.
    fn placement(&self, layer: Layer, sums: &Comparison, pair: (usize, usize)) -> Vec<Finding> {
        let quantity = |name: &str| [layer.name(), ".", name].concat();
        let (a, b) = pair;
        let of = self.question.difference(pair);
        let apart = |part: &str, distance: f64, reference: f64| {
            let length = (reference > 0.0).then(|| (distance / reference).sqrt());
            let why = || format!("{}'s vector is zero here", self.question.arms[b]);
            Finding::or(quantity("placement"), &of, part, length, why)
        };
        let (distances, references) = (sums.distances(a, b), sums.squares(b));
        let kept = self.groups.iter().zip(distances).filter(|(group, _)| !group.is_apart);
        let total = kept.fold(0.0, |total, (_, distance)| total + distance);
        let mut findings = Vec::with_capacity(2 * self.groups.len() + 1);
        for (i, group) in self.groups.iter().enumerate() {
            findings.push(apart(&group.name, distances[i], references[i]));
            let share = (!group.is_apart && total > 0.0).then(|| distances[i] / total);
            findings.push(Finding::or(
                quantity("placement-share"),
                &of,
                &group.name,
                share,
                || {
                    let is_apart = "set apart: no output sees these parameters";
                    let why = "the two placements agree in every bit";
                    if group.is_apart { is_apart } else { why }.to_owned()
                },
            ));
        }
        findings.push(apart(ALL, total, sums.square(b)));
        findings
    }

    /// `r_U = |U| / |g|` and `d_U = |U_a - U_ref| / |U_ref|`.
    fn relative_sizes(&self, raw: &Comparison, applied: &Comparison) -> Vec<Finding> {
        let sizes = |arm: usize| {
            let (of, update) = (self.question.of(arm), applied.whole(arm, 0));
            let norm = raw.square(arm).sqrt();
            let length = (norm > 0.0).then(|| update.square.sqrt() / norm);
            let why = || format!("{}'s update is zero", self.reference());
            [
                Finding::or("r_U", &of, ALL, length, || "the gradient is zero".to_owned()),
                Finding::or("d_U", &of, ALL, update.difference(), why),
            ]
        };
        (0..self.question.arms.len()).flat_map(sizes).collect()
    }
}

/// A layer that equals another because nothing was clipped.
fn renamed(findings: &[Finding], from: Layer, to: Layer) -> Vec<Finding> {
    let rename = |f: &Finding| Finding {
        quantity: f.quantity.replacen(from.name(), to.name(), 1),
        note: if f.note.is_empty() {
            format!("no cut is clipped here: the {} layer", from.name())
        } else {
            f.note.clone()
        },
        ..f.clone()
    };
    findings.iter().map(rename).collect()
}

/// The group of every range that a pass asks for, in order.
struct Owners<'a> {
    pieces: Vec<(&'a Range<usize>, usize)>,
    at: usize,
}

impl<'a> Owners<'a> {
    fn new(plan: &'a Plan) -> Self {
        Self { pieces: plan.pieces().collect(), at: 0 }
    }

    fn of(&mut self, range: &Range<usize>) -> usize {
        while self.pieces[self.at].0.end < range.end {
            self.at += 1;
        }
        self.pieces[self.at].1
    }
}

/// The gradients of a source against each other.
pub(crate) fn compare_raw<R: Real>(
    plan: &Plan,
    source: &mut dyn Source<R>,
) -> Result<Comparison, OutsideError> {
    let (mut values, mut failed) = (Vec::new(), None);
    let compared = plan.compare_raw(&mut |arm, range, tile| {
        values.resize(range.len(), R::ZERO);
        if failed.is_none() {
            failed = source.read(Vector::Gradient(arm), range, &mut values).err();
        }
        if failed.is_some() { tile.fill(0.0) } else { widen(&values, tile) }
    });
    failed.map_or(Ok(compared), Err)
}

/// The pass that forms the layers of the update.
struct Pass<'a> {
    asked: Asked<'a>,
    step: &'a Step,
    /// What the clip leaves of every arm's gradient.
    factors: Vec<f64>,
}

/// One stretch of every vector.
struct Space<R> {
    rules: Vec<Stretch>,
    parameters: Vec<R>,
    first: Vec<R>,
    second: Vec<R>,
    gradients: Vec<Vec<R>>,
    root: Vec<f32>,
    vector: Vec<R>,
}

impl<R: Real> Space<R> {
    fn at(&self, step: &Step) -> At<'_, R> {
        let Self { rules, parameters, first, second, .. } = self;
        At { rules, step: step.before + 1, parameters, first, second }
    }
}

impl Pass<'_> {
    fn space<R: Real>(&self) -> Space<R> {
        Space {
            rules: Vec::new(),
            parameters: Vec::new(),
            first: Vec::new(),
            second: Vec::new(),
            gradients: vec![Vec::new(); self.factors.len()],
            root: Vec::new(),
            vector: Vec::new(),
        }
    }

    /// Reads a stretch of every vector.
    fn read<R: Real>(
        &self,
        source: &mut dyn Source<R>,
        range: &Range<usize>,
        space: &mut Space<R>,
    ) -> Result<(), OutsideError> {
        let [has_first, has_second] = self.step.has;
        let mut fill = |vector, is_there: bool, values: &mut Vec<R>| {
            values.clear();
            values.resize(range.len(), R::ZERO);
            if is_there { source.read(vector, range.clone(), values) } else { Ok(()) }
        };
        fill(Vector::Parameters, true, &mut space.parameters)?;
        fill(Vector::First, has_first, &mut space.first)?;
        fill(Vector::Second, has_second, &mut space.second)?;
        for (arm, values) in space.gradients.iter_mut().enumerate() {
            fill(Vector::Gradient(arm), true, values)?;
        }
        self.step.rules_in(range, &mut space.rules);
        Ok(())
    }

    /// The layers `formed` of every arm against each other. Vectors are formed where they are
    /// looked at: written out, those of six cuts would push everything else out of the second
    /// cache.
    fn run<R: Real>(
        &self,
        formed: &[Layer],
        scales: &mut Option<Scales>,
        source: &mut dyn Source<R>,
    ) -> Result<Vec<Comparison>, OutsideError> {
        let (plan, arms) = (self.asked.plan, self.factors.len());
        let (mut space, mut failed, mut owners) = (self.space::<R>(), None, Owners::new(plan));
        let sums = plan.compare_layers(formed.len(), &mut |vector, range, tile| {
            if vector == 0 && failed.is_none() {
                failed = self.read(source, &range, &mut space).err();
                if let (Some(scales), None) = (scales.as_mut(), &failed) {
                    scales.take(self, owners.of(&range), &range, &mut space);
                }
            }
            if failed.is_some() {
                tile.fill(0.0);
                return;
            }
            let mut made = std::mem::take(&mut space.vector);
            made.resize(range.len(), R::ZERO);
            let (layer, arm) = (formed[vector / arms], vector % arms);
            let at = space.at(self.step);
            at.form(layer, self.factors[arm], &space.gradients[arm], &mut made);
            widen(&made, tile);
            space.vector = made;
        });
        if let Some(error) = failed {
            return Err(error);
        }
        if let Some(ratios) = scales.as_mut().and_then(|scales| scales.ratios.as_mut().ok())
            && ratios.medians.look_again()
        {
            for (piece, group) in plan.pieces() {
                for start in piece.clone().step_by(STRETCH) {
                    let range = start..piece.end.min(start + STRETCH);
                    self.read(source, &range, &mut space)?;
                    ratios.take(self, group, &range, &mut space);
                }
            }
        }
        Ok(sums)
    }
}

/// Gradients against the moments: sums, and medians where there is a scale.
struct Scales<'m> {
    signs: Signs,
    ratios: Result<Ratios<'m>, &'static str>,
}

/// Gradients over the scale.
struct Ratios<'m> {
    yardstick: Yardstick,
    /// The series are the scale, rho of every arm, and what every placement adds. The parts are the
    /// groups, the whole and the pools.
    medians: &'m mut Medians,
    /// How many of rho lie above one, by arm and group.
    above: Vec<Vec<u64>>,
    added: Vec<Added>,
}

/// What a placement that keeps the projections' credit adds.
struct Added {
    pair: (usize, usize),
    /// The groups that a median is asked of.
    is_wanted: Vec<bool>,
}

impl<'m> Scales<'m> {
    fn new(pass: &Pass, raw: &Comparison, medians: &'m mut Medians) -> Self {
        let Asked { question, groups, .. } = pass.asked;
        let arms = question.arms.len();
        let yardstick = Yardstick::new(&pass.step.rule, pass.step.before);
        let scale = Scale {
            rule: &pass.step.rule,
            step: pass.step.before,
            missing: yardstick.err(),
            is_decay_coupled: pass.step.is_decay_coupled(),
        };
        let eps = pass.step.rule.scale(1).map_or(0.0, |scale| scale.eps);
        let names = (0..arms).map(|arm| question.of(arm)).collect();
        let signs = Signs::open(groups, names, &scale, eps, &pass.factors);
        let ratios = yardstick.map(|yardstick| {
            let is_asked = !question.placements.is_empty();
            let pools = POOLED.iter().filter(|_| is_asked).filter_map(|kind| pooled(groups, kind));
            let pools: Vec<Group> = pools.collect();
            let mut parts: Vec<Vec<Range<usize>>> =
                groups.iter().map(|group| group.ranges.clone()).collect();
            let len = parts.iter().flatten().map(|range| range.end).max().unwrap_or(0);
            let all = whole_ranges(groups).unwrap_or_else(|| Group::whole(len).ranges);
            parts.push(all);
            parts.extend(pools.iter().map(|pool| pool.ranges.clone()));
            let of_group = groups.iter().enumerate().map(|(i, group)| {
                let whole = (!group.is_apart).then_some(groups.len());
                let pool = pools.iter().position(|pool| pool.name == group.kind());
                let pool = pool.map(|at| groups.len() + 1 + at);
                [i].into_iter().chain(whole).chain(pool).collect()
            });
            let of_group = of_group.collect();
            medians.begin(parts, of_group, 1 + arms + question.placements.len(), KEPT);
            let added =
                question.placements.iter().map(|&pair| Added::new(groups, &pools, raw, pair));
            let added = added.collect();
            let above = vec![vec![0; groups.len()]; arms];
            Ratios { yardstick, medians, above, added }
        });
        Self { signs, ratios }
    }

    /// Takes in a stretch of a group.
    fn take<R: Real>(
        &mut self,
        pass: &Pass,
        group: usize,
        range: &Range<usize>,
        space: &mut Space<R>,
    ) {
        if let Ok(ratios) = &mut self.ratios {
            let above = ratios.take(pass, group, range, space);
            for (sums, above) in ratios.above.iter_mut().zip(above) {
                sums[group] += u64::from(above);
            }
        }
        let state = space.at(pass.step);
        for start in (0..range.len()).step_by(TILE) {
            let at = start..range.len().min(start + TILE);
            let root = self.ratios.is_ok().then(|| &space.root[at.clone()]);
            let (first, second) = (&space.first[at.clone()], &space.second[at.clone()]);
            let gradient = |arm: usize| &space.gradients[arm][at.clone()];
            let seen = |arm: usize, factor: f64, seen: &mut [R]| {
                state.seen(factor, &space.gradients[arm], &at, seen);
            };
            self.signs.take(group, &Tile { root, first, second }, &gradient, &seen);
        }
    }

    /// Medians of the scale itself; no arm plays a part.
    fn report(&mut self, groups: &[Group]) -> Vec<Finding> {
        const NAME: &str = "moment.scale";
        let ratios = &mut self.ratios;
        let scale = |(i, part): (usize, &str)| match ratios {
            Ok(ratios) => Finding::new(NAME, "", part, ratios.medians.of(0, i)),
            Err(why) => Finding::undefined(NAME, "", part, why),
        };
        part_names(groups).enumerate().map(scale).collect()
    }

    /// rho of one arm's gradient: medians, and shares above one.
    fn rho(&mut self, asked: &Asked, arm: usize) -> Vec<Finding> {
        const NAMES: [&str; 2] = ["rho.median", "rho.above-one"];
        let (of, groups) = (asked.question.of(arm), asked.groups);
        let ratios = match &mut self.ratios {
            Ok(ratios) => ratios,
            Err(why) => {
                let parts = |name| part_names(groups).map(move |part| (name, part));
                let undefined = |(name, part)| Finding::undefined(name, &of, part, why);
                return NAMES.into_iter().flat_map(parts).map(undefined).collect();
            }
        };
        let mut findings = Vec::with_capacity(2 * groups.len() + 2);
        let kept = |of: &dyn Fn(usize) -> u64| -> u64 {
            (0..groups.len()).filter(|group| !groups[*group].is_apart).map(of).sum()
        };
        let len = |group: usize| groups[group].len() as u64;
        let above = &ratios.above[arm];
        for (i, part) in part_names(groups).enumerate() {
            let (above, count) = if i < groups.len() {
                (above[i], len(i))
            } else {
                (kept(&|group| above[group]), kept(&len))
            };
            findings.push(Finding::new(NAMES[0], &of, part, ratios.medians.of(1 + arm, i)));
            findings.push(Finding::new(NAMES[1], &of, part, above as f64 / count as f64));
        }
        findings
    }

    /// What placements that keep the projections' credit add, against the scale: the median of
    /// `|kappa (g_kept - g_dropped)| / (sqrt(vhat) + eps)`, per group and pooled over blocks.
    fn added(&mut self, asked: &Asked, raw: &Comparison) -> Vec<Finding> {
        const NAME: &str = "added.ratio";
        let Asked { question, groups, .. } = *asked;
        let arms = question.arms.len();
        let mut findings = Vec::new();
        for (i, &pair) in question.placements.iter().enumerate() {
            let of = question.difference(pair);
            let (a, b) = pair;
            let mut report = |part: &str, distance: f64, median: &dyn Fn(&mut Ratios) -> f64| {
                findings.push(match &mut self.ratios {
                    _ if distance == 0.0 => {
                        Finding::undefined(NAME, &of, part, "the two agree in every bit here")
                    }
                    Ok(ratios) => Finding::new(NAME, &of, part, median(ratios)),
                    Err(why) => Finding::undefined(NAME, &of, part, why),
                });
            };
            for (at, (group, distance)) in groups.iter().zip(raw.distances(a, b)).enumerate() {
                report(&group.name, *distance, &|ratios| ratios.medians.of(1 + arms + i, at));
            }
            let pools = POOLED.iter().filter_map(|kind| pooled(groups, kind)).enumerate();
            for (at, pool) in pools {
                let distance = pooled_distance(groups, &pool, raw.distances(a, b));
                let at = groups.len() + 1 + at;
                report(&pool.name, distance, &|ratios| ratios.medians.of(1 + arms + i, at));
            }
        }
        findings
    }
}

fn pooled_distance(groups: &[Group], pool: &Group, distances: &[f64]) -> f64 {
    let of_kind = groups.iter().zip(distances).filter(|(group, _)| group.kind() == pool.name);
    of_kind.map(|(_, distance)| distance).sum()
}

impl Added {
    fn new(groups: &[Group], pools: &[Group], raw: &Comparison, pair: (usize, usize)) -> Self {
        let distances = raw.distances(pair.0, pair.1);
        let of_pools: Vec<f64> =
            pools.iter().map(|pool| pooled_distance(groups, pool, distances)).collect();
        let is_wanted = groups.iter().zip(distances).map(|(group, distance)| {
            let pool = pools.iter().position(|pool| pool.name == group.kind());
            *distance != 0.0 || pool.is_some_and(|at| of_pools[at] != 0.0)
        });
        Self { pair, is_wanted: is_wanted.collect() }
    }
}

impl Ratios<'_> {
    /// Takes in a stretch of a group; returns how many of every arm's rho lie above one.
    fn take<R: Real>(
        &mut self,
        pass: &Pass,
        group: usize,
        range: &Range<usize>,
        space: &mut Space<R>,
    ) -> Vec<u32> {
        let Self { yardstick, medians, added, .. } = self;
        yardstick.root(&space.second, &mut space.root);
        let (root, eps) = (&space.root, yardstick.eps());
        medians.put(0, group, range, |to| to.copy_from_slice(root));
        let mut counts = vec![0; pass.factors.len()];
        for (arm, (gradient, factor)) in space.gradients.iter().zip(&pass.factors).enumerate() {
            medians.put(1 + arm, group, range, |to| {
                counts[arm] = history::ratio(*factor as f32, eps, gradient, root, to);
            });
        }
        for (i, added) in added.iter().enumerate().filter(|(_, added)| added.is_wanted[group]) {
            let (kept, dropped) = added.pair;
            let (a, b) = (&space.gradients[kept], &space.gradients[dropped]);
            medians.put(1 + pass.factors.len() + i, group, range, |to| {
                history::ratio_of_difference(pass.factors[kept], eps, a, b, root, to);
            });
        }
        counts
    }
}
