//! The two scores at one state.

use crate::training::{Optimizer, State, Stretch, clip, update as made};
use backcut_engine::{Cut, Model, Rollout, Workspace};
use backcut_kernels::{Real, reduce};
use backcut_systems::{BatchKey, Stream, System};

use crate::measure::error::MeasureError;
use crate::measure::finding::Finding;
use crate::measure::groups::ALL;
use crate::measure::layers::stretches;
use crate::measure::subject::Subject;

/// What one graph's next step predicts, relative to FF's.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LocalScore {
    /// The graph.
    pub cut: Cut,
    /// `S_G`, from raw gradients.
    pub gradient: f64,
    /// `S_U`, from applied updates.
    pub update: f64,
}

/// Scores of `cuts` at a state: `next` is the batch of the update that would follow, `diagnostic`
/// the batch whose loss is predicted. The clip by the global norm is part of the update, not of the
/// gradient.
pub fn local_scores<R: Real>(
    system: &dyn System<R>,
    state: &State<R>,
    optimizer: &Optimizer,
    next: BatchKey,
    diagnostic: BatchKey,
    cuts: &[Cut],
) -> Result<Vec<LocalScore>, MeasureError> {
    let program = system.program();
    let model = Model::new(program, state.params.clone())?;
    let mut rollout = Rollout::new(program, system.batch_rows(), system.steps(), system.spec())?;
    let mut all = vec![Cut::FF];
    all.extend_from_slice(cuts);
    let mut workspace = Workspace::new(&rollout, &all)?;
    let mut differentiate = |key: BatchKey| -> Result<Vec<Vec<R>>, MeasureError> {
        system.fill_batch(key, &mut rollout)?;
        let roll = |source| MeasureError::Roll { update: key.update + 1, source };
        model.roll(&mut rollout).map_err(roll)?;
        workspace.draw(key.draw());
        workspace.backward(&model, &rollout)?;
        Ok((0..all.len()).map(|cut| workspace.gradient(cut).to_vec()).collect())
    };
    let r = wide(&differentiate(diagnostic)?[0]);
    let gradients = differentiate(next)?;
    let rules = stretches(optimizer, program.layout(), state)?;
    let update = |gradient: &Vec<R>| {
        let (clipped, _) = clip(gradient, optimizer.clip);
        made(&rules, &state.params, &state.moments, &clipped).0
    };
    let updates: Vec<Vec<R>> = gradients.iter().map(update).collect();
    let apart = |a: &[R], ff: &[R]| -> Vec<f64> {
        wide(a).iter().zip(wide(ff)).map(|(a, ff)| a - ff).collect()
    };
    // Every parameter at its own rate.
    let descent = |a: &[R], ff: &[R]| {
        let difference = apart(a, ff);
        let part = |Stretch { range, rule }: &Stretch| {
            -rule.rate() * reduce::dot(&r[range.clone()], &difference[range.clone()])
        };
        rules.iter().map(part).reduce(|a, b| a + b).unwrap_or(0.0)
    };
    let score = |(i, &cut): (usize, &Cut)| LocalScore {
        cut,
        gradient: descent(&gradients[i + 1], &gradients[0]),
        update: reduce::dot(&r, &apart(&updates[i + 1], &updates[0])),
    };
    Ok(cuts.iter().enumerate().map(score).collect())
}

/// Scores of graphs at a subject, as findings. The batch whose loss is predicted is the one that
/// the other stream would draw next: the same sampler, other windows.
pub fn scores(subject: &Subject, cuts: &[Cut]) -> Result<Vec<Finding>, MeasureError> {
    let Subject { system, state, optimizer, key } = *subject;
    let stream = match key.stream {
        Stream::A => Stream::B,
        Stream::B => Stream::A,
    };
    let other = BatchKey { stream, ..key };
    let found = local_scores(system, state, optimizer, key, other, cuts)?;
    let each = found.into_iter().flat_map(|score| {
        let LocalScore { cut, gradient, update } = score;
        [Finding::new("S_G", cut, ALL, gradient), Finding::new("S_U", cut, ALL, update)]
    });
    Ok(each.collect())
}

fn wide<R: Real>(values: &[R]) -> Vec<f64> {
    values.iter().map(|v| v.to_f64()).collect()
}
