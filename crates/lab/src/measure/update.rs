//! The update layer: what the optimizer makes of the cuts' gradients at a complete state.
//!
//! Differences between cuts are followed from the raw gradient through the clip of its global norm to
//! the update that is really applied. A single step says what a cut would do *at the moment of switching*:
//! the moments were built under the cut that trained the state.

use crate::training::{Optimizer, State};
use backcut_engine::Cut;
use backcut_kernels::Real;

use crate::measure::comparison::{Comparison, PLACEMENTS};
use crate::measure::finding::Finding;
use crate::measure::geometry::Geometry;
use crate::measure::gradient::windows;
use crate::measure::groups::{ALL, Group, whole_ranges};
use crate::measure::layers::{FOUR, Layer};
use crate::measure::measurement::MeasureError;
use crate::measure::rig::Rig;
use crate::measure::subject::Subject;
use crate::measure::summary::summarise;
use crate::measure::update_scales::{History, added_ratios};
use crate::measure::update_signs::Signs;

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
        lists.push(updates_of_gradients(rig, subject.state, subject.optimizer, options.scales)?);
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
    let mut history = scales.then(|| History::new(state, optimizer, rig.take_space()));
    let steps = rig.steps(optimizer, state)?;
    if let Some(history) = &mut history {
        findings.extend(history.report(rig.groups()));
    }
    let signs = history.as_ref().map(|history| Signs::new(rig, history, &steps, state));
    for (index, &cut) in rig.cuts().iter().enumerate() {
        let factor = steps.factor(index);
        let mut finding = Finding::new("clip.factor", cut, ALL, factor);
        if !optimizer.clip.is_on() {
            "this optimizer has no clip".clone_into(&mut finding.note);
        } else if factor >= 1.0 {
            "not clipped".clone_into(&mut finding.note);
        }
        findings.push(finding);
        if let Some((history, signs)) = history.as_mut().zip(signs.as_ref()) {
            findings.extend(history.ratios(rig.groups(), cut, rig.gradient(index), factor));
            findings.extend(signs.scaled_cosines(index));
            findings.extend(signs.directions(index, Layer::Applied));
            findings.extend(signs.directions(index, Layer::Unclipped));
        }
    }
    let applied_sums = steps.compare(Layer::Applied);
    let raw = layer(rig, Layer::Raw, rig.compared_gradients());
    let applied = layer(rig, Layer::Applied, &applied_sums);
    let (clipped, unclipped) = if steps.is_clipped() {
        let other = |which: Layer| layer(rig, which, &steps.compare(which));
        (other(Layer::Clipped), other(Layer::Unclipped))
    } else {
        (
            renamed(&raw, Layer::Raw, Layer::Clipped),
            renamed(&applied, Layer::Applied, Layer::Unclipped),
        )
    };
    findings.extend([raw, clipped, applied, unclipped].into_iter().flatten());
    findings.extend(relative_sizes(rig, &applied_sums));
    if let Some(history) = &mut history {
        for (kept, dropped) in PLACEMENTS {
            if let (Some(kept), Some(dropped)) = (rig.find(kept), rig.find(dropped)) {
                findings.extend(added_ratios(history, rig, steps.factor(kept), (kept, dropped)));
            }
        }
    }
    if let Some(history) = history {
        rig.keep_space(history.into_space());
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

fn layer<R: Real>(rig: &Rig<R>, layer: Layer, sums: &Comparison) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, cut) in rig.cuts().iter().enumerate() {
        let name = cut.to_string();
        let mut report = |part: &str, geometry: &Geometry| {
            findings.extend(geometry.report(layer.name(), &name, part, Cut::FF));
        };
        if layer == Layer::Applied {
            let compared = sums.groups(index, 0);
            rig.groups().iter().zip(&compared).for_each(|(group, g)| report(&group.name, g));
        }
        report(ALL, &sums.whole(index, 0));
    }
    findings.extend(effects(rig, layer, sums));
    for (kept, dropped) in PLACEMENTS {
        if let (Some(a), Some(b)) = (rig.find(kept), rig.find(dropped)) {
            let pair = format!("{kept} - {dropped}");
            findings.extend(placement(rig.groups(), layer, &pair, dropped, sums, (a, b)));
        }
    }
    findings
}

/// Memory effects under full and one-step credit, and the interaction, relative to `|x_FF|`.
fn effects<R: Real>(rig: &Rig<R>, layer: Layer, sums: &Comparison) -> Vec<Finding> {
    let full = sums.square(0);
    let relative = |name: &str, cut: &str, square: Option<f64>| {
        let quantity = [layer.name(), ".", name].concat();
        match square {
            None => {
                let why = "needs FF, FD, KF and KD among the cuts";
                Finding::undefined(quantity, cut, ALL, why)
            }
            Some(_) if full == 0.0 => {
                Finding::undefined(quantity, cut, ALL, "FF's vector is zero here")
            }
            Some(square) => Finding::new(quantity, cut, ALL, (square / full).sqrt()),
        }
    };
    let four = FOUR.map(|cut| rig.find(cut));
    let [ff, fd, kf, kd] = four;
    let of_full = ff.zip(fd).map(|(a, b)| sums.distance(a, b));
    let of_short = kf.zip(kd).map(|(a, b)| sums.distance(a, b));
    let interaction = match four {
        [Some(ff), Some(fd), Some(kf), Some(kd)] => Some(sums.cross([ff, fd, kf, kd])),
        _ => None,
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
    pair: &str,
    dropped: Cut,
    sums: &Comparison,
    (a, b): (usize, usize),
) -> Vec<Finding> {
    let quantity = |name: &str| [layer.name(), ".", name].concat();
    let apart = |part: &str, distance: f64, reference: f64| {
        if reference > 0.0 {
            Finding::new(quantity("placement"), pair, part, (distance / reference).sqrt())
        } else {
            let why = format!("{dropped}'s vector is zero here");
            Finding::undefined(quantity("placement"), pair, part, &why)
        }
    };
    let (distances, references) = (sums.distances(a, b), sums.squares(b));
    let kept = groups.iter().zip(distances).filter(|(group, _)| !group.is_apart);
    let total = kept.fold(0.0, |total, (_, distance)| total + distance);
    let mut findings = Vec::with_capacity(2 * groups.len() + 1);
    for (i, group) in groups.iter().enumerate() {
        let part = group.name.as_str();
        findings.push(apart(part, distances[i], references[i]));
        let share = quantity("placement-share");
        findings.push(if group.is_apart {
            Finding::undefined(share, pair, part, "set apart: no output sees these parameters")
        } else if total > 0.0 {
            Finding::new(share, pair, part, distances[i] / total)
        } else {
            Finding::undefined(share, pair, part, "the two placements agree in every bit")
        });
    }
    findings.push(apart(ALL, total, sums.square(b)));
    findings
}

/// `r_U = |U| / |g|` and `d_U = |U_a - U_FF| / |U_FF|`.
fn relative_sizes<R: Real>(rig: &Rig<R>, applied: &Comparison) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, cut) in rig.cuts().iter().enumerate() {
        let update = applied.whole(index, 0);
        let norm = if whole_ranges(rig.groups()).is_some() {
            rig.compared_gradients().square(index).sqrt()
        } else {
            rig.norm(index)
        };
        findings.push(if norm > 0.0 {
            Finding::new("r_U", cut, ALL, update.square.sqrt() / norm)
        } else {
            Finding::undefined("r_U", cut, ALL, "the gradient is zero")
        });
        findings.push(match update.difference() {
            Some(difference) => Finding::new("d_U", cut, ALL, difference),
            None => Finding::undefined("d_U", cut, ALL, "FF's update is zero"),
        });
    }
    findings
}
