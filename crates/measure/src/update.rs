//! The update layer: what the optimizer makes of the cuts' gradients at a complete state.
//!
//! Differences between cuts are followed from the raw gradient through the clip of its global norm to
//! the update that is really applied. A single step says what a cut would do *at the moment of switching*:
//! the moments were built under the cut that trained the state.

use backcut_engine::Cut;
use backcut_kernels::Real;
use backcut_training::{Optimizer, State};

use crate::finding::Finding;
use crate::geometry::{Geometry, compare, part_names};
use crate::gradient::windows;
use crate::groups::{ALL, Group};
use crate::layers::{FOUR, Layer, interaction_squared};
use crate::measurement::MeasureError;
use crate::rig::Rig;
use crate::subject::Subject;
use crate::summary::summarise;
use crate::update_scales::{History, added_ratios};

/// How much of the update layer to measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UpdateOptions {
    /// Batches: the next one and those after it, each applied to the same state.
    pub windows: usize,
    /// Gradients against the second moment's scale: rho, sign cosine, saturation. They cost several
    /// medians over all weights per cut.
    pub scales: bool,
}

impl Default for UpdateOptions {
    fn default() -> Self {
        Self { windows: 1, scales: true }
    }
}

/// Pairs that differ in the placement of the memory cut alone.
const PLACEMENTS: [(Cut, Cut); 2] = [(Cut::F_SG, Cut::FD), (Cut::K_SG, Cut::KD)];

/// Measures the update layer at a subject.
pub fn update(
    rig: &mut Rig<f32>,
    subject: &Subject,
    options: &UpdateOptions,
) -> Result<Vec<Finding>, MeasureError> {
    rig.set(&subject.state.params)?;
    let mut lists = Vec::with_capacity(options.windows.max(1));
    for key in windows(subject.key, options.windows) {
        rig.differentiate(key)?;
        lists.push(updates_of_gradients(rig, subject.state, &subject.optimizer, options.scales)?);
    }
    Ok(summarise(&lists, "windows"))
}

/// The update layer for the gradients that a rig holds.
pub fn updates_of_gradients<R: Real>(
    rig: &mut Rig<R>,
    state: &State<R>,
    optimizer: &Optimizer,
    scales: bool,
) -> Result<Vec<Finding>, MeasureError> {
    rig.check_state(state)?;
    let mut findings = Vec::new();
    let mut history = scales.then(|| History::new(state, optimizer, rig.groups()));
    if let Some(history) = &history {
        findings.extend(history.report());
    }
    for index in 0..rig.cuts().len() {
        let cut = rig.cuts()[index];
        let factor = rig.form(index, optimizer, state);
        let mut finding = Finding::new("clip.factor", cut, ALL, factor);
        if factor >= 1.0 {
            "not clipped".clone_into(&mut finding.note);
        }
        findings.push(finding);
        if let Some(history) = &mut history {
            let (gradient, after) = (rig.gradient(index), rig.moments_after());
            findings.extend(history.compare(cut, gradient, factor, rig.gradient(0)));
            findings.extend(history.directions("applied", cut, gradient, after));
        }
        if factor < 1.0 {
            rig.form_unclipped(index, optimizer, state);
            if let Some(history) = &mut history {
                let (gradient, after) = (rig.gradient(index), rig.moments_after());
                findings.extend(history.directions("unclipped", cut, gradient, after));
            }
        }
    }
    let is_clipped = (0..rig.cuts().len()).any(|i| rig.factor(i) < 1.0);
    let raw = layer(rig, Layer::Raw);
    let applied = layer(rig, Layer::Applied);
    let (clipped, unclipped) = if is_clipped {
        (layer(rig, Layer::Clipped), layer(rig, Layer::Unclipped))
    } else {
        (
            renamed(&raw, Layer::Raw, Layer::Clipped),
            renamed(&applied, Layer::Applied, Layer::Unclipped),
        )
    };
    findings.extend([raw, clipped, applied, unclipped].into_iter().flatten());
    findings.extend(relative_sizes(rig));
    if let Some(history) = &mut history {
        for (kept, dropped) in PLACEMENTS {
            if let (Some(kept), Some(dropped)) = (rig.find(kept), rig.find(dropped)) {
                findings.extend(added_ratios(history, rig, kept, dropped));
            }
        }
    }
    Ok(findings)
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

fn layer<R: Real>(rig: &mut Rig<R>, layer: Layer) -> Vec<Finding> {
    let mut findings = Vec::new();
    let isa = rig.model().isa();
    let whole = [Group::whole(rig.model().values().len())];
    let by_group = if layer == Layer::Applied { rig.groups() } else { &[] };
    for (index, cut) in rig.cuts().iter().enumerate() {
        let (x, full) = (rig.vector(layer, index), rig.vector(layer, 0));
        let name = cut.to_string();
        for group in by_group.iter().chain(&whole) {
            let geometry = Geometry::of(isa, group, x, full);
            findings.extend(geometry.report(layer.name(), &name, &group.name, Cut::FF));
        }
    }
    let full = Geometry::of(isa, &whole[0], rig.vector(layer, 0), rig.vector(layer, 0)).square;
    findings.extend(effects(rig, layer, full));
    for (kept, dropped) in PLACEMENTS {
        if let (Some(a), Some(b)) = (rig.find(kept), rig.find(dropped)) {
            let compared = compare(isa, rig.groups(), rig.vector(layer, a), rig.vector(layer, b));
            findings.extend(placement(rig.groups(), layer, (kept, dropped), &compared));
        }
    }
    findings
}

/// Memory effects under full and one-step credit, and the interaction, relative to `|x_FF|`.
fn effects<R: Real>(rig: &mut Rig<R>, layer: Layer, full: f64) -> Vec<Finding> {
    let quantity = |name: &str| format!("{}.{name}", layer.name());
    let relative = |name: &str, cut: &str, square: Option<f64>| match square {
        None => {
            let why = "needs FF, FD, KF and KD among the cuts";
            Finding::undefined(&quantity(name), cut, ALL, why)
        }
        Some(_) if full == 0.0 => {
            Finding::undefined(&quantity(name), cut, ALL, "FF's vector is zero here")
        }
        Some(square) => Finding::new(&quantity(name), cut, ALL, (square / full).sqrt()),
    };
    let isa = rig.model().isa();
    let [full_memory, full_detached, short_memory, short_detached] = FOUR.map(|c| rig.find(c));
    let distance = |rig: &Rig<R>, a: Option<usize>, b: Option<usize>| {
        let (a, b) = (rig.vector(layer, a?), rig.vector(layer, b?));
        Some(backcut_kernels::reduce::distance_squared(isa, a, b))
    };
    let of_full = distance(rig, full_memory, full_detached);
    let of_short = distance(rig, short_memory, short_detached);
    let four = [full_memory, full_detached, short_memory, short_detached];
    let interaction = if let [Some(ff), Some(fd), Some(kf), Some(kd)] = four {
        let mut scratch = rig.take_scratch();
        let x = [ff, fd, kf, kd].map(|i| rig.vector(layer, i));
        let square = interaction_squared(isa, x, &mut scratch);
        rig.return_scratch(scratch);
        Some(square)
    } else {
        None
    };
    vec![
        relative("memory-effect", "FF - FD", of_full),
        relative("memory-effect", "KF - KD", of_short),
        relative("interaction", "FF - FD - KF + KD", interaction),
    ]
}

/// How far two placements of the memory cut lie apart, and where.
fn placement(
    groups: &[Group],
    layer: Layer,
    (kept, dropped): (Cut, Cut),
    compared: &[Geometry],
) -> Vec<Finding> {
    let pair = format!("{kept} - {dropped}");
    let quantity = |name: &str| format!("{}.{name}", layer.name());
    let total = compared.last().map_or(0.0, |whole| whole.distance);
    let mut findings = Vec::new();
    for (part, geometry) in part_names(groups).zip(compared) {
        let name = quantity("placement");
        findings.push(if let Some(value) = geometry.difference() {
            Finding::new(&name, &pair, part, value)
        } else {
            let why = format!("{dropped}'s vector is zero here");
            Finding::undefined(&name, &pair, part, &why)
        });
        let name = quantity("placement-share");
        if part == ALL {
            continue;
        }
        findings.push(if total > 0.0 {
            Finding::new(&name, &pair, part, geometry.distance / total)
        } else {
            Finding::undefined(&name, &pair, part, "the two placements agree in every bit")
        });
    }
    findings
}

/// `r_U = |U| / |g|` and `d_U = |U_a - U_FF| / |U_FF|`.
fn relative_sizes<R: Real>(rig: &Rig<R>) -> Vec<Finding> {
    let isa = rig.model().isa();
    let norm = |x: &[R]| backcut_kernels::optim::global_norm(isa, x);
    let full = rig.vector(Layer::Applied, 0);
    let full_square = backcut_kernels::reduce::norm_squared(isa, full);
    let mut findings = Vec::new();
    for (index, cut) in rig.cuts().iter().enumerate() {
        let applied = rig.vector(Layer::Applied, index);
        findings.push(if rig.norm(index) > 0.0 {
            Finding::new("r_U", cut, ALL, norm(applied) / rig.norm(index))
        } else {
            Finding::undefined("r_U", cut, ALL, "the gradient is zero")
        });
        let distance = backcut_kernels::reduce::distance_squared(isa, applied, full);
        findings.push(if full_square > 0.0 {
            Finding::new("d_U", cut, ALL, (distance / full_square).sqrt())
        } else {
            Finding::undefined("d_U", cut, ALL, "FF's update is zero")
        });
    }
    findings
}
