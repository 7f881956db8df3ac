//! Gradients against the second moment's scale: rho, the scaled cosine, and how much of a step is a sign.

use backcut_kernels::Real;
use backcut_kernels::optim::history::{self, Direction};
use backcut_kernels::optim::{self, AdamW};
use backcut_kernels::reduce::add_in_sequence;
use backcut_measure::{ALL, Group};

use crate::compare::{Finding, Subject};
use crate::optimizer::Optimizer;

const NO_HISTORY: &str = "no second moment before update 1";
const NO_SCALE: &str = "this optimizer has no second moment";
/// The share of the limit of `|mhat| / sqrt(vhat)` from which a weight counts as saturated.
const SATURATED: f64 = 0.9;
const TILE: usize = 128;

/// The clipping factors, and whatever the optimizer's memory allows to say.
pub(crate) fn scales<R: Real>(
    subject: &Subject<'_, R>,
    optimizer: &Optimizer,
    factors: &[f64],
) -> Vec<Finding> {
    let mut found = Vec::new();
    let adam = optimizer.adam();
    let root = adam.filter(|_| subject.step > 0).map(|adam| root(subject, &adam));
    if let Some(root) = &root {
        let values = parts(&subject.groups).map(|part| median(root, &part.ranges));
        let names = parts(&subject.groups).map(|part| part.name);
        found.extend(names.zip(values).map(|(part, v)| Finding::new("moment.scale", "", &part, v)));
    }
    for (i, arm) in subject.arms.iter().enumerate() {
        let mut clip = Finding::new("clip.factor", arm, ALL, factors[i]);
        if factors[i] >= 1.0 {
            "not clipped".clone_into(&mut clip.note);
        }
        found.push(clip);
        match (&adam, &root) {
            (Some(adam), Some(root)) => {
                found.extend(ratios(subject, adam, root, i, factors[i]));
                found.extend(scaled_cosines(subject, adam, root, i));
            }
            (adam, _) => {
                let why = if adam.is_some() { NO_HISTORY } else { NO_SCALE };
                let undefined = |name| Finding::or(name, arm, ALL, None, why);
                found.extend(["rho.median", "rho.above-one", "moment.cosine"].map(undefined));
            }
        }
        // A decay that is added to the gradient makes another direction than the gradient's.
        if let Some(adam) =
            adam.filter(|a| matches!(optimizer, Optimizer::Adamw { .. }) || a.decay == 0.0)
        {
            found.extend(directions(subject, &adam, i, factors[i], "applied"));
            if factors[i] < 1.0 {
                found.extend(directions(subject, &adam, i, 1.0, "unclipped"));
            }
        }
    }
    found
}

/// All groups and, last, the whole.
fn parts(groups: &[Group]) -> impl Iterator<Item = Group> {
    let whole = groups.iter().map(Group::len).sum();
    groups.iter().cloned().chain([Group::whole(whole)])
}

fn unbias(beta: f64, step: u64) -> f64 {
    1.0 / (1.0 - optim::power(beta, step))
}

fn root<R: Real>(subject: &Subject<'_, R>, adam: &AdamW) -> Vec<f32> {
    let mut root = vec![0.0; subject.moments[1].len()];
    history::root(unbias(adam.beta2, subject.step) as f32, subject.moments[1], &mut root);
    root
}

/// A median is a value of the list or the mean of two: how it is found changes no bit.
fn median(values: &[f32], ranges: &[std::ops::Range<usize>]) -> f64 {
    let mut list: Vec<f32> =
        ranges.iter().flat_map(|r| values[r.clone()].iter().copied()).collect();
    let (count, middle) = (list.len(), list.len() / 2);
    let (lower, &mut high, _) = list.select_nth_unstable_by(middle, f32::total_cmp);
    match lower.iter().copied().reduce(f32::max).filter(|_| count.is_multiple_of(2)) {
        Some(low) => f64::midpoint(f64::from(low), f64::from(high)),
        None => f64::from(high),
    }
}

fn ratios<R: Real>(
    subject: &Subject<'_, R>,
    adam: &AdamW,
    root: &[f32],
    arm: usize,
    factor: f64,
) -> Vec<Finding> {
    let name = &subject.arms[arm];
    let mut ratio = vec![0.0; root.len()];
    let mut found = Vec::new();
    let mut report = |part: &Group, above: u32, ratio: &[f32]| {
        found.push(Finding::new("rho.median", name, &part.name, median(ratio, &part.ranges)));
        let share = f64::from(above) / part.len() as f64;
        found.push(Finding::new("rho.above-one", name, &part.name, share));
    };
    let mut all = 0;
    for group in &subject.groups {
        let mut above = 0;
        for range in group.ranges.iter().cloned() {
            let (g, root) = (&subject.gradients[arm][range.clone()], &root[range.clone()]);
            above += history::ratio(factor as f32, adam.eps as f32, g, root, &mut ratio[range]);
        }
        report(group, above, &ratio);
        all += above;
    }
    report(&Group::whole(root.len()), all, &ratio);
    found
}

/// Sums pairs of terms through every group in plain sequence; `terms` also counts two things.
fn sum_groups(
    groups: &[Group],
    mut terms: impl FnMut(std::ops::Range<usize>, &mut [[f64; 2]]) -> [u32; 2],
) -> Vec<([f64; 2], [u32; 2])> {
    let mut space = [[0.0; 2]; TILE];
    let of_group = |group: &Group| {
        let (mut sums, mut counts) = ([[0.0; 2]], [0; 2]);
        for range in &group.ranges {
            for start in range.clone().step_by(TILE) {
                let tile = start..range.end.min(start + TILE);
                let row = &mut space[..tile.len()];
                let [a, b] = terms(tile, row);
                counts = [counts[0] + a, counts[1] + b];
                add_in_sequence(&[row], &mut sums);
            }
        }
        (sums[0], counts)
    };
    groups.iter().map(of_group).collect()
}

/// The moment-scaled cosine with the first arm's gradient.
fn scaled_cosines<R: Real>(
    subject: &Subject<'_, R>,
    adam: &AdamW,
    root: &[f32],
    arm: usize,
) -> Vec<Finding> {
    let (mut weight, mut full) = ([0.0; TILE], [0.0; TILE]);
    let mut sums_of = |arm: usize| {
        sum_groups(&subject.groups, |tile, terms| {
            let reference = &subject.gradients[0][tile.clone()];
            let n = tile.len();
            history::weights(
                adam.eps as f32,
                &root[tile.clone()],
                reference,
                &mut weight[..n],
                &mut full,
            );
            history::scaled_terms(&subject.gradients[arm][tile], &weight, &full, terms);
            [0; 2]
        })
    };
    let (own, reference) = (sums_of(arm), sums_of(0));
    let pairs = own.iter().zip(&reference);
    let mut sums: Vec<[f64; 3]> =
        pairs.map(|((own, _), (full, _))| [own[0], full[0], own[1]]).collect();
    sums.push(sums.iter().fold([0.0; 3], |a, b| [a[0] + b[0], a[1] + b[1], a[2] + b[2]]));
    let report = |(part, [own, other, dot]): (Group, [f64; 3])| {
        let lengths = own.sqrt() * other.sqrt();
        let value = (lengths > 0.0).then(|| (dot / lengths).clamp(-1.0, 1.0));
        let arm = &subject.arms[arm];
        Finding::or("moment.cosine", arm, &part.name, value, "a gradient is zero")
    };
    parts(&subject.groups).zip(sums).map(report).collect()
}

/// How much the direction after the step is the sign of the gradient.
fn directions<R: Real>(
    subject: &Subject<'_, R>,
    adam: &AdamW,
    arm: usize,
    factor: f64,
    layer: &str,
) -> Vec<Finding> {
    let AdamW { beta1, beta2, eps, .. } = *adam;
    let step = subject.step + 1;
    let (unbias1, unbias2) = (unbias(beta1, step), unbias(beta2, step));
    let limit = (1.0 - beta1) * unbias1 / ((1.0 - beta2) * unbias2).sqrt();
    let direction = Direction {
        keep1: beta1 as f32,
        new1: ((1.0 - beta1) * factor) as f32,
        keep2: beta2 as f32,
        new2: ((1.0 - beta2) * factor * factor) as f32,
        unbias1: unbias1 as f32,
        unbias2: unbias2 as f32,
        eps: eps as f32,
        threshold: (SATURATED * limit) as f32,
    };
    let (first, second) = (subject.moments[0], subject.moments[1]);
    let mut sums = sum_groups(&subject.groups, |tile, terms| {
        let gradient = &subject.gradients[arm][tile.clone()];
        history::sign_terms(direction, gradient, &first[tile.clone()], &second[tile], terms)
    });
    let whole = sums.iter().fold(([0.0; 2], [0; 2]), |(a, n), (b, m)| {
        ([a[0] + b[0], a[1] + b[1]], [n[0] + m[0], n[1] + m[1]])
    });
    sums.push(whole);
    let name = &subject.arms[arm];
    let report = |(part, ([dot, square], [nonzero, saturated])): (Group, ([f64; 2], [u32; 2]))| {
        let lengths = square.sqrt() * f64::from(nonzero).sqrt();
        let cosine = (lengths > 0.0).then(|| (dot / lengths).clamp(-1.0, 1.0));
        let why = "the gradient or the direction is zero";
        let share = f64::from(saturated) / part.len().max(1) as f64;
        [
            Finding::or([layer, ".sign-cosine"].concat(), name, &part.name, cosine, why),
            Finding::new([layer, ".saturated"].concat(), name, &part.name, share),
        ]
    };
    parts(&subject.groups).zip(sums).flat_map(report).collect()
}
