//! Attention mass on earlier positions, per layer and head.

use crate::finding::Finding;
use crate::measurement::MeasureError;
use crate::panel;
use crate::subject::Subject;

/// The mean over the panel of the probability that queries give to positions before their own.
///
/// The first predicted query of a rollout without a prefix has nothing before it and is left out. The last
/// finding of each layer averages its heads.
pub fn attention(subject: &Subject) -> Result<Vec<Finding>, MeasureError> {
    let (system, model) = (subject.system, panel::model(subject)?);
    let caches: Vec<String> = system.program().cache_names().map(str::to_owned).collect();
    if caches.is_empty() {
        return Err(MeasureError::Unfit("the program attends to no cache".to_owned()));
    }
    let spec = system.spec();
    let queries = spec.prefix.max(1)..system.steps();
    if queries.is_empty() {
        return Err(MeasureError::Unfit("a rollout of one step has no history".to_owned()));
    }
    // `[cache][head]`
    let mut mass: Vec<Vec<f64>> = vec![Vec::new(); caches.len()];
    panel::visit(subject, &model, &spec, |_, rollout| {
        for (cache, mass) in caches.iter().zip(&mut mass) {
            for t in queries.clone() {
                let Some((p, shape)) = rollout.probabilities(cache, t) else { continue };
                mass.resize(shape.heads, 0.0);
                for (head, mass) in mass.iter_mut().enumerate() {
                    for j in (0..t).filter(|&j| spec.reads.shows(t, j)) {
                        let from = j * shape.lanes() + shape.lane(0, head);
                        let rows = &p[from..from + rollout.rows()];
                        *mass += rows.iter().map(|&p| f64::from(p)).sum::<f64>();
                    }
                }
            }
        }
    })?;
    let count = (system.panel_rows() * queries.len()) as f64;
    let mut findings = Vec::new();
    for (cache, heads) in caches.iter().zip(&mass) {
        for (head, sum) in heads.iter().enumerate() {
            let part = format!("{cache}.head{head}");
            findings.push(Finding::new("attention.mass", "", part, sum / count));
        }
        let mean = heads.iter().sum::<f64>() / (count * heads.len() as f64);
        findings.push(Finding::new("attention.mass", "", cache, mean));
    }
    Ok(findings)
}
