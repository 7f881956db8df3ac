//! The passes over the vectors, and what they find.

use std::ops::Range;

use backcut_kernels::Real;
use backcut_kernels::optim::scale_into;
use backcut_kernels::reduce::widen;
use backcut_systems::Clip;

use super::described::{Described, Optimizing, OutsideError};
use super::rule::{Stretch, apply, keeps};
use super::scales::{Medians, Scales, Yardstick};
use super::{Source, Vector};
use crate::measure::comparison::{Comparison, Plan};
use crate::measure::finding::Finding;
use crate::measure::geometry::{Geometry, part_names};
use crate::measure::groups::{ALL, Group};
use crate::measure::layers::Layer;

/// What a comparison finds: the gradients against the first arm's, and, with an optimizer, the layers of the
/// update as [`crate::measure::update()`] has them.
pub fn compare<R: Real>(
    described: &Described,
    groups: &[Group],
    source: &mut dyn Source<R>,
) -> Result<Vec<Finding>, OutsideError> {
    described.check()?;
    let plan = Plan::of_arms(groups, described.arms.len(), described.factorial);
    let yardstick = described.optimizer.as_ref().and_then(Yardstick::new);
    let (raw, medians) = first_pass(&plan, groups, yardstick, source)?;
    let mut findings = geometry(described, groups, &raw);
    match &described.optimizer {
        None => findings.extend(effects(described, Layer::Raw, &raw)),
        Some(optimizer) => {
            let updates = Updates::new(described, groups, optimizer, &raw);
            findings.extend(updates.findings(&plan, &raw, medians, source)?);
        }
    }
    Ok(findings)
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

/// The first pass: the gradients against each other, and a look at rho before it is known what is clipped.
fn first_pass<R: Real>(
    plan: &Plan,
    groups: &[Group],
    yardstick: Option<Yardstick>,
    source: &mut dyn Source<R>,
) -> Result<(Comparison, Option<Medians>), OutsideError> {
    let (mut owners, mut group) = (Owners::new(plan), 0);
    let (mut values, mut root, mut rho) = (Vec::new(), Vec::new(), Vec::new());
    let mut medians = yardstick.map(|_| Medians::new(groups, plan.vectors()));
    let mut failed = None;
    let compared = plan.compare(&mut |arm, range, tile| {
        values.resize(range.len(), R::ZERO);
        if let (0, Some(yardstick), None) = (arm, yardstick, &failed) {
            group = owners.of(&range);
            failed = source.read(Vector::Second, range.clone(), &mut values).err();
            yardstick.root(&values, &mut root);
        }
        if failed.is_none() {
            failed = source.read(Vector::Gradient(arm), range.clone(), &mut values).err();
        }
        if failed.is_some() {
            tile.fill(0.0);
            return;
        }
        if let (Some(yardstick), Some(medians)) = (yardstick, &mut medians) {
            yardstick.rho(1.0, &values, &root, &mut rho);
            medians.take(arm, group, range.end, &rho);
        }
        widen(&values, tile);
    });
    failed.map_or(Ok((compared, medians)), Err)
}

/// Lengths and directions of the gradients, whole and by group.
pub(crate) fn geometry(described: &Described, groups: &[Group], raw: &Comparison) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, arm) in described.arms.iter().enumerate() {
        let mut compared = raw.groups(index, 0);
        let mut whole = Geometry::sum(&compared);
        // The global norm is one sum in the parameters' order: the number that is clipped by.
        (whole.square, whole.reference) = (raw.square(index), raw.square(0));
        compared.push(whole);
        for (part, geometry) in part_names(groups).zip(compared) {
            findings.extend(geometry.report("gradient", arm, part, &described.arms[0]));
        }
    }
    findings
}

/// The two effects and the interaction of four arms, relative to the first arm's length.
fn effects(described: &Described, layer: Layer, sums: &Comparison) -> Vec<Finding> {
    let Some(four @ [a, b, c, d]) = described.factorial else { return Vec::new() };
    let name = |i: usize| described.arms[i].as_str();
    let relative = |quantity: &str, cut: String, square: f64| {
        let quantity = format!("{}.{quantity}", layer.name());
        let full = sums.square(0);
        if full > 0.0 {
            Finding::new(quantity, cut, ALL, (square / full).sqrt())
        } else {
            let why = format!("{}'s vector is zero here", described.arms[0]);
            Finding::undefined(quantity, cut, ALL, &why)
        }
    };
    let interaction = format!("{} - {} - {} + {}", name(a), name(b), name(c), name(d));
    vec![
        relative("effect", format!("{} - {}", name(a), name(b)), sums.distance(a, b)),
        relative("effect", format!("{} - {}", name(c), name(d)), sums.distance(c, d)),
        relative("interaction", interaction, sums.cross(four)),
    ]
}

/// What the optimizer makes of the gradients.
pub(super) struct Updates<'a> {
    pub(super) described: &'a Described,
    pub(super) groups: &'a [Group],
    pub(super) optimizer: &'a Optimizing,
    pub(super) factors: Vec<f64>,
    pub(super) yardstick: Option<Yardstick>,
}

/// One stretch of every vector.
pub(super) struct Space<R> {
    pub(super) parameters: Vec<R>,
    pub(super) first: Vec<R>,
    pub(super) second: Vec<R>,
    pub(super) gradients: Vec<Vec<R>>,
    pub(super) root: Vec<f32>,
    pub(super) rho: Vec<f32>,
    pub(super) seen: Vec<R>,
    pub(super) update: Vec<R>,
}

impl<'a> Updates<'a> {
    fn new(
        described: &'a Described,
        groups: &'a [Group],
        optimizer: &'a Optimizing,
        raw: &Comparison,
    ) -> Self {
        let norm = |arm: usize| raw.square(arm).sqrt();
        let factor = |arm: usize| Clip::Norm(optimizer.clip).factor(norm(arm));
        let factors = (0..described.arms.len()).map(factor).collect();
        let yardstick = Yardstick::new(optimizer);
        Self { described, groups, optimizer, factors, yardstick }
    }

    fn is_clipped(&self) -> bool {
        self.factors.iter().any(|factor| *factor < 1.0)
    }

    fn space<R: Real>(&self) -> Space<R> {
        Space {
            parameters: Vec::new(),
            first: Vec::new(),
            second: Vec::new(),
            gradients: vec![Vec::new(); self.described.arms.len()],
            root: Vec::new(),
            rho: Vec::new(),
            seen: Vec::new(),
            update: Vec::new(),
        }
    }

    /// Reads a stretch of every vector that plays a part.
    fn read<R: Real>(
        &self,
        source: &mut dyn Source<R>,
        range: &Range<usize>,
        space: &mut Space<R>,
    ) -> Result<(), OutsideError> {
        let [first, second] = keeps(&self.optimizer.rule);
        let has = |keeps: bool| keeps && self.optimizer.step > 0;
        let mut fill = |vector, is_there: bool, values: &mut Vec<R>| {
            values.clear();
            values.resize(range.len(), R::ZERO);
            if is_there { source.read(vector, range.clone(), values) } else { Ok(()) }
        };
        fill(Vector::Parameters, true, &mut space.parameters)?;
        fill(Vector::First, has(first), &mut space.first)?;
        fill(Vector::Second, has(second), &mut space.second)?;
        for (arm, values) in space.gradients.iter_mut().enumerate() {
            fill(Vector::Gradient(arm), true, values)?;
        }
        space.root.clear();
        if let Some(yardstick) = self.yardstick {
            yardstick.root(&space.second, &mut space.root);
        }
        Ok(())
    }

    /// Writes an arm's vector at a layer into `update`.
    fn form<R: Real>(&self, layer: Layer, arm: usize, space: &mut Space<R>) {
        let Space { parameters, first, second, gradients, seen, update, .. } = space;
        let gradient = &gradients[arm];
        update.clear();
        update.resize(gradient.len(), R::ZERO);
        let factor = match layer {
            Layer::Unclipped => 1.0,
            Layer::Raw | Layer::Clipped | Layer::Applied => self.factors[arm],
        };
        match layer {
            Layer::Clipped if factor < 1.0 => {
                scale_into(R::from_f64(factor), gradient, update);
            }
            Layer::Raw | Layer::Clipped => update.copy_from_slice(gradient),
            Layer::Applied | Layer::Unclipped => {
                let of = Stretch { parameters, first, second, gradient };
                let step = self.optimizer.step + 1;
                apply(&self.optimizer.rule, step, R::from_f64(factor), &of, seen, update);
            }
        }
    }

    fn findings<R: Real>(
        &self,
        plan: &Plan,
        raw: &Comparison,
        mut medians: Option<Medians>,
        source: &mut dyn Source<R>,
    ) -> Result<Vec<Finding>, OutsideError> {
        let layers: &[Layer] = if self.is_clipped() {
            &[Layer::Applied, Layer::Clipped, Layer::Unclipped]
        } else {
            &[Layer::Applied]
        };
        if let Some(medians) = &mut medians {
            medians.end_look(&self.factors);
        }
        let mut scales = Scales::new(self, medians);
        let sums = self.second_pass(plan, layers, &mut scales, source)?;
        if let Some(scales) = &mut scales {
            scales.finish(self, plan, source)?;
        }
        let mut findings = Vec::new();
        for (arm, name) in self.described.arms.iter().enumerate() {
            let factor = self.factors[arm];
            let mut finding = Finding::new("clip.factor", name, ALL, factor);
            if factor >= 1.0 {
                "not clipped".clone_into(&mut finding.note);
            }
            findings.push(finding);
            if let Some(scales) = &scales {
                findings.extend(scales.rho(self, arm));
                findings.extend(scales.signs.scaled_cosines(arm));
                findings.extend(scales.signs.directions(arm, Layer::Applied));
                findings.extend(scales.signs.directions(arm, Layer::Unclipped));
            }
        }
        findings.extend(self.layer(Layer::Raw, raw));
        for (layer, sums) in layers.iter().zip(&sums) {
            findings.extend(self.layer(*layer, sums));
        }
        findings.extend(self.relative_sizes(raw, &sums[0]));
        Ok(findings)
    }

    /// The second pass: the layers of the update, and gradients against the moments.
    fn second_pass<R: Real>(
        &self,
        plan: &Plan,
        layers: &[Layer],
        scales: &mut Option<Scales>,
        source: &mut dyn Source<R>,
    ) -> Result<Vec<Comparison>, OutsideError> {
        let arms = self.described.arms.len();
        let (mut space, mut failed, mut owners) = (self.space::<R>(), None, Owners::new(plan));
        let sums = plan.compare_layers(layers.len(), &mut |vector, range, tile| {
            if vector == 0 && failed.is_none() {
                failed = self.read(source, &range, &mut space).err();
                if let (Some(scales), None) = (scales.as_mut(), &failed) {
                    scales.take(self, owners.of(&range), range.end, &mut space);
                }
            }
            if failed.is_some() {
                tile.fill(0.0);
                return;
            }
            self.form(layers[vector / arms], vector % arms, &mut space);
            widen(&space.update, tile);
        });
        failed.map_or(Ok(sums), Err)
    }

    fn layer(&self, layer: Layer, sums: &Comparison) -> Vec<Finding> {
        let (arms, mut findings) = (&self.described.arms, Vec::new());
        for (index, arm) in arms.iter().enumerate() {
            let mut report = |part: &str, geometry: &Geometry| {
                findings.extend(geometry.report(layer.name(), arm, part, &arms[0]));
            };
            if layer == Layer::Applied {
                let compared = sums.groups(index, 0);
                self.groups.iter().zip(&compared).for_each(|(group, g)| report(&group.name, g));
            }
            report(ALL, &sums.whole(index, 0));
        }
        findings.extend(effects(self.described, layer, sums));
        findings
    }

    /// `r_U = |U| / |g|` and `d_U = |U_a - U_ref| / |U_ref|`.
    fn relative_sizes(&self, raw: &Comparison, applied: &Comparison) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (index, arm) in self.described.arms.iter().enumerate() {
            let (update, norm) = (applied.whole(index, 0), raw.square(index).sqrt());
            findings.push(if norm > 0.0 {
                Finding::new("r_U", arm, ALL, update.square.sqrt() / norm)
            } else {
                Finding::undefined("r_U", arm, ALL, "the gradient is zero")
            });
            findings.push(if let Some(difference) = update.difference() {
                Finding::new("d_U", arm, ALL, difference)
            } else {
                let why = format!("{}'s update is zero", self.described.arms[0]);
                Finding::undefined("d_U", arm, ALL, &why)
            });
        }
        findings
    }
}
