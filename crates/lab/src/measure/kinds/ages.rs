//! Contributions to a gradient by age: the time between a loss and the action that answers for it.
//!
//! Bins double in length, with age 0 (the loss an action's own step pays) and age 1 apart; a rest
//! shorter than its predecessor joins it, so 288 steps have nine bins and 32 have six. Under a cut
//! that lets credit pass through memory ages are not defined, and the engine's error says so.

use std::ops::Range;

use backcut_engine::{Cut, gradient_by_age};
use backcut_kernels::{Real, optim, reduce};

use crate::measure::error::MeasureError;
use crate::measure::finding::Finding;
use crate::measure::groups::ALL;
use crate::measure::rig::Rig;

/// The bins of a rollout of `steps` predicted steps.
pub fn age_bins(steps: usize) -> Vec<Range<usize>> {
    let mut bins: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    while start < steps {
        let length = start.max(1);
        if start + length > steps && start > 1 {
            if let Some(last) = bins.last_mut() {
                last.end = steps;
            }
            break;
        }
        let end = (start + length).min(steps);
        bins.push(start..end);
        start = end;
    }
    bins
}

/// A bin as findings name it: `age 3`, `age 4-7`.
pub fn age_name(bin: &Range<usize>) -> String {
    match bin.len() {
        0 | 1 => format!("age {}", bin.start),
        _ => format!("age {}-{}", bin.start, bin.end - 1),
    }
}

/// Splits the gradient of `cut` by age, at the batch that the rig has rolled.
pub fn ages<R: Real>(rig: &Rig<R>, cut: Cut) -> Result<Vec<Finding>, MeasureError> {
    let rollout = rig.rollout();
    let bins = age_bins(rollout.steps() - rollout.spec().prefix);
    let parts = gradient_by_age(rig.model(), rollout, cut, &bins)?;
    let norms: Vec<f64> = parts.iter().map(|part| optim::global_norm(part)).collect();
    let lengths: f64 = norms.iter().sum();
    let mut findings = Vec::new();
    let mut sum = vec![R::ZERO; parts.first().map_or(0, Vec::len)];
    let mut reach = 0.0;
    for ((bin, part), norm) in bins.iter().zip(&parts).zip(&norms) {
        sum.iter_mut().zip(part).for_each(|(s, p)| *s += *p);
        reach = optim::global_norm(&sum);
        let name = age_name(bin);
        findings.push(Finding::new("age.norm", cut, &name, *norm));
        findings.push(Finding::new("age.reach", cut, &name, reach));
    }
    findings.push(if lengths > 0.0 {
        Finding::new("age.cancellation", cut, ALL, 1.0 - reach / lengths)
    } else {
        Finding::undefined("age.cancellation", cut, ALL, "every contribution is zero")
    });
    if let Some(index) = rig.find(cut) {
        let whole = rig.gradient(index);
        let rest = reduce::distance_squared(&sum, whole).sqrt();
        findings.push(if rig.norm(index) > 0.0 {
            Finding::new("age.rest", cut, ALL, rest / rig.norm(index))
        } else {
            Finding::undefined("age.rest", cut, ALL, "the gradient is zero")
        });
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_cover_every_age_once() {
        for steps in 1..400 {
            let bins = age_bins(steps);
            let ages: Vec<usize> = bins.iter().cloned().flatten().collect();
            assert_eq!(ages, (0..steps).collect::<Vec<_>>(), "{steps} steps");
        }
    }

    #[test]
    fn bins_double_and_the_rest_joins_the_last() {
        assert_eq!(age_bins(32).len(), 6);
        assert_eq!(age_bins(288).len(), 9);
        let names: Vec<String> = age_bins(13).iter().map(age_name).collect();
        assert_eq!(names, ["age 0", "age 1", "age 2-3", "age 4-12"]);
    }
}
