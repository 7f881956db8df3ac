//! Gradients of several arms against the first one's, and what an optimizer makes of them.
//!
//! The quantities, their order of summation and their notes are those of `backcut measure gradient` and
//! `backcut measure update`, with free names in place of cuts. [`findings`] is all that the rest of this
//! crate knows of it.

use backcut_kernels::reduce::{Term, survey, widen};
use backcut_kernels::{Real, optim, reduce};
use backcut_measure::{ALL, Geometry, Group, group_of, groups_of};
use backcut_training::clip_factor;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

use crate::optimizer::{Optimizer, Space};
use crate::scales::scales;
use crate::{internal, wrong};

/// What is compared. Vectors are flat, tensors one after the other.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    tensors: Vec<Tensor>,
    arms: Vec<String>,
    optimizer: Option<Optimizer>,
    /// The clip of the global norm.
    clip: Option<f64>,
    /// Updates that the optimizer has made.
    step: u64,
    /// Four arms in the order of the interaction's signs: a - b - c + d.
    factorial: Option<[usize; 4]>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tensor {
    name: String,
    len: usize,
    group: Option<String>,
}

/// One number: the row of a tidy table.
#[derive(Serialize)]
pub(crate) struct Finding {
    pub quantity: String,
    pub arm: String,
    pub part: String,
    pub value: Option<f64>,
    pub note: String,
}

impl Finding {
    pub fn new(quantity: impl Into<String>, arm: &str, part: &str, value: f64) -> Self {
        Self::or(quantity, arm, part, Some(value), "")
    }

    pub fn or(
        quantity: impl Into<String>,
        arm: &str,
        part: &str,
        value: Option<f64>,
        why: &str,
    ) -> Self {
        let note = if value.is_none() { why.to_owned() } else { String::new() };
        Self { quantity: quantity.into(), arm: arm.into(), part: part.into(), value, note }
    }
}

/// Everything at one state.
pub(crate) struct Subject<'a, R> {
    pub groups: Vec<Group>,
    pub arms: Vec<String>,
    pub params: &'a [R],
    pub gradients: Vec<&'a [R]>,
    pub moments: Vec<&'a [R]>,
    pub step: u64,
}

type Flat<'py, R> = PyReadonlyArray1<'py, R>;

/// Compares vectors in single precision.
#[pyfunction]
pub fn compare_f32(
    py: Python<'_>,
    params: Option<Flat<'_, f32>>,
    gradients: Vec<Flat<'_, f32>>,
    moments: Vec<Flat<'_, f32>>,
    request: &str,
) -> PyResult<String> {
    let slices = |list| slices::<f32>(list);
    run(py, params.as_ref().map(Flat::as_slice), &slices(&gradients)?, &slices(&moments)?, request)
}

/// Compares vectors in double precision.
#[pyfunction]
pub fn compare_f64(
    py: Python<'_>,
    params: Option<Flat<'_, f64>>,
    gradients: Vec<Flat<'_, f64>>,
    moments: Vec<Flat<'_, f64>>,
    request: &str,
) -> PyResult<String> {
    let slices = |list| slices::<f64>(list);
    run(py, params.as_ref().map(Flat::as_slice), &slices(&gradients)?, &slices(&moments)?, request)
}

fn slices<'a, R: numpy::Element>(list: &'a [Flat<'_, R>]) -> PyResult<Vec<&'a [R]>> {
    list.iter().map(|array| array.as_slice().map_err(internal)).collect()
}

fn run<R: Real, E: std::fmt::Display>(
    py: Python<'_>,
    params: Option<Result<&[R], E>>,
    gradients: &[&[R]],
    moments: &[&[R]],
    request: &str,
) -> PyResult<String> {
    let request: Request = serde_json::from_str(request).map_err(internal)?;
    let params = params.transpose().map_err(internal)?.unwrap_or_default();
    let mut start = 0;
    let ranges = request.tensors.iter().map(|tensor| {
        start += tensor.len;
        let group = tensor.group.clone().unwrap_or_else(|| group_of(&tensor.name));
        (group, start - tensor.len..start)
    });
    let groups = groups_of(ranges);
    let length = start;
    let fits = |vector: &&[R]| vector.len() == length;
    let needed = request.optimizer.as_ref().map_or(0, Optimizer::moments);
    let is_whole = gradients.iter().all(fits)
        && moments.iter().all(fits)
        && moments.len() == needed
        && gradients.len() == request.arms.len()
        && (request.optimizer.is_none() || params.len() == length);
    if !is_whole || length == 0 || gradients.is_empty() {
        return Err(internal("vectors of one length, an arm for every gradient, all moments"));
    }
    let subject = Subject {
        groups,
        arms: request.arms,
        params,
        gradients: gradients.to_vec(),
        moments: moments.to_vec(),
        step: request.step,
    };
    let clip = request.clip;
    let found =
        py.detach(|| findings(&subject, request.optimizer.as_ref(), clip, request.factorial));
    serde_json::to_string(&found.map_err(|what| wrong(what, ""))?).map_err(internal)
}

/// All findings of a state.
fn findings<R: Real>(
    subject: &Subject<'_, R>,
    optimizer: Option<&Optimizer>,
    clip: Option<f64>,
    factorial: Option<[usize; 4]>,
) -> Result<Vec<Finding>, String> {
    let Subject { gradients, arms, .. } = subject;
    let raw = Sums::new(subject, factorial, &mut |i, range, tile| {
        widen(&gradients[i][range], tile);
    });
    let norms: Vec<f64> = (0..arms.len()).map(|i| raw.square(i).sqrt()).collect();
    if let Some(i) = norms.iter().position(|norm| !norm.is_finite()) {
        return Err(format!("the gradient of arm `{}` is not finite", arms[i]));
    }
    let mut found = Vec::new();
    for (i, arm) in arms.iter().enumerate() {
        // As `measure gradient`: the whole's product and distance are sums over groups, its norm is one sum.
        let mut parts = raw.groups(i);
        let mut whole = Geometry::sum(&parts);
        (whole.square, whole.reference) = (raw.square(i), raw.square(0));
        parts.push(whole);
        let names = subject.groups.iter().map(|group| group.name.as_str()).chain([ALL]);
        for (part, geometry) in names.zip(&parts) {
            report(&mut found, "gradient", arm, part, geometry, &arms[0]);
        }
    }
    interaction(&mut found, "gradient", arms, &raw, factorial);
    let Some(optimizer) = optimizer else { return Ok(found) };

    let threshold = clip.unwrap_or(f64::INFINITY);
    let factors: Vec<f64> = norms.iter().map(|norm| clip_factor(*norm, threshold)).collect();
    found.extend(scales(subject, optimizer, &factors));
    let mut space = Space::default();
    let mut update = |i: usize, factor: f64, range: std::ops::Range<usize>, tile: &mut [f64]| {
        widen(optimizer.update(subject, i, R::from_f64(factor), range, &mut space), tile);
    };
    let applied =
        Sums::new(subject, factorial, &mut |i, range, tile| update(i, factors[i], range, tile));
    layer(&mut found, subject, "raw", &raw, false, factorial);
    if factors.iter().any(|factor| *factor < 1.0) {
        let mut space = Vec::new();
        let clipped = Sums::new(subject, factorial, &mut |i, range, tile| {
            let gradient = &gradients[i][range];
            if factors[i] < 1.0 {
                space.resize(gradient.len(), R::ZERO);
                optim::scale_into(R::from_f64(factors[i]), gradient, &mut space);
                reduce::widen(&space, tile);
            } else {
                widen(gradient, tile);
            }
        });
        layer(&mut found, subject, "clipped", &clipped, false, factorial);
    }
    layer(&mut found, subject, "applied", &applied, true, factorial);
    if factors.iter().any(|factor| *factor < 1.0) {
        let unclipped =
            Sums::new(subject, factorial, &mut |i, range, tile| update(i, 1.0, range, tile));
        layer(&mut found, subject, "unclipped", &unclipped, false, factorial);
    }
    for (i, arm) in arms.iter().enumerate() {
        let whole = applied.whole(i);
        let per_gradient = (norms[i] > 0.0).then(|| whole.square.sqrt() / norms[i]);
        found.push(Finding::or("r_U", arm, ALL, per_gradient, "the gradient is zero"));
        let why = format!("{}'s update is zero", arms[0]);
        found.push(Finding::or("d_U", arm, ALL, whole.difference(), &why));
    }
    Ok(found)
}

fn layer<R: Real>(
    found: &mut Vec<Finding>,
    subject: &Subject<'_, R>,
    name: &str,
    sums: &Sums,
    by_group: bool,
    factorial: Option<[usize; 4]>,
) {
    for (i, arm) in subject.arms.iter().enumerate() {
        if by_group {
            for (group, geometry) in subject.groups.iter().zip(sums.groups(i)) {
                report(found, name, arm, &group.name, &geometry, &subject.arms[0]);
            }
        }
        report(found, name, arm, ALL, &sums.whole(i), &subject.arms[0]);
    }
    interaction(found, name, &subject.arms, sums, factorial);
}

fn report(
    found: &mut Vec<Finding>,
    layer: &str,
    arm: &str,
    part: &str,
    geometry: &Geometry,
    reference: &str,
) {
    let of_reference = format!("{reference}'s vector is zero here");
    let own = "its own vector is zero here";
    let of_cosine = if geometry.reference > 0.0 { own } else { &of_reference };
    let quantity = |name: &str| [layer, ".", name].concat();
    found.push(Finding::new(quantity("norm"), arm, part, geometry.square.sqrt()));
    found.push(Finding::or(quantity("ratio"), arm, part, geometry.ratio(), &of_reference));
    found.push(Finding::or(
        quantity("difference"),
        arm,
        part,
        geometry.difference(),
        &of_reference,
    ));
    found.push(Finding::or(quantity("cosine"), arm, part, geometry.cosine(), of_cosine));
}

fn interaction(
    found: &mut Vec<Finding>,
    layer: &str,
    arms: &[String],
    sums: &Sums,
    factorial: Option<[usize; 4]>,
) {
    let Some(four) = factorial else { return };
    let [a, b, c, d] = four.map(|i| arms[i].as_str());
    let full = sums.square(four[0]);
    let relative = (full > 0.0).then(|| (sums.cross / full).sqrt());
    let why = format!("{a}'s vector is zero here");
    let name = format!("{a} - {b} - {c} + {d}");
    found.push(Finding::or([layer, ".interaction"].concat(), &name, ALL, relative, &why));
}

/// The sums of one layer: squares, and every arm's product with the first and distance from it.
struct Sums {
    /// For every term, by group.
    groups: Vec<Vec<f64>>,
    whole: Vec<f64>,
    arms: usize,
    cross: f64,
}

impl Sums {
    fn new<'a, R: Real>(
        subject: &'a Subject<'_, R>,
        factorial: Option<[usize; 4]>,
        fill: &'a mut reduce::Fill<'a>,
    ) -> Self {
        let arms = subject.arms.len();
        let mut terms: Vec<Term> = (0..arms).map(Term::Square).collect();
        terms.extend((1..arms).flat_map(|i| [Term::Dot(0, i), Term::Distance(0, i)]));
        terms.extend(factorial.map(Term::Cross));
        let owned = |(owner, group): (usize, &'a Group)| {
            group.ranges.iter().map(move |range| (range.clone(), owner))
        };
        let mut pieces: Vec<_> = subject.groups.iter().enumerate().flat_map(owned).collect();
        pieces.sort_by_key(|(range, _)| range.start);
        let (pieces, owners): (Vec<_>, Vec<_>) = pieces.into_iter().unzip();
        let found = survey(arms, &terms, &pieces, fill);
        let mut groups = vec![vec![0.0; subject.groups.len()]; terms.len()];
        for (sums, owner) in found.pieces.iter().zip(&owners) {
            for (group, sum) in groups.iter_mut().zip(sums) {
                group[*owner] += sum;
            }
        }
        let cross = factorial.and_then(|_| found.whole.last().copied()).unwrap_or(0.0);
        Self { groups, whole: found.whole, arms, cross }
    }

    fn square(&self, arm: usize) -> f64 {
        self.whole[arm]
    }

    /// The places of an arm's product with the first and distance from it.
    fn pair(&self, arm: usize) -> (usize, usize) {
        let dot = self.arms + 2 * (arm - 1);
        (dot, dot + 1)
    }

    fn whole(&self, arm: usize) -> Geometry {
        self.geometry(arm, &|term| self.whole[term])
    }

    fn groups(&self, arm: usize) -> Vec<Geometry> {
        let count = self.groups[0].len();
        (0..count).map(|g| self.geometry(arm, &|term| self.groups[term][g])).collect()
    }

    fn geometry(&self, arm: usize, sum: &dyn Fn(usize) -> f64) -> Geometry {
        let (square, reference) = (sum(arm), sum(0));
        if arm == 0 {
            return Geometry { square, reference, dot: square, distance: 0.0 };
        }
        let (dot, distance) = self.pair(arm);
        Geometry { square, reference, dot: sum(dot), distance: sum(distance) }
    }
}
