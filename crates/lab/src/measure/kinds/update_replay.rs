//! Whether this state and this code still make the update that the log recorded, bit by bit.

use crate::training::{State, step_in_place};
use backcut_engine::Cut;
use backcut_kernels::hash;

use crate::measure::error::MeasureError;
use crate::measure::layers::stretches;
use crate::measure::rig::Rig;
use crate::measure::subject::Subject;

/// The fingerprint of the parameters after the update that follows a subject's state under `cut`,
/// as the log of a run records it. The rig must hold the cut.
pub fn replayed_hash(rig: &mut Rig<f32>, subject: &Subject, cut: Cut) -> Result<u64, MeasureError> {
    let Some(index) = rig.find(cut) else {
        return Err(MeasureError::Unfit(format!("the rig was not made for {cut}")));
    };
    rig.check_state(subject.state)?;
    rig.set(&subject.state.params)?;
    rig.differentiate(subject.key)?;
    let State { params, moments, .. } = subject.state;
    let (mut theta, mut moments) = (params.clone(), moments.clone());
    let rules = stretches(subject.optimizer, rig.layout(), subject.state)?;
    let factor = subject.optimizer.clip.factor(rig.norm(index)) as f32;
    step_in_place(&rules, factor, &mut theta, &mut moments, rig.gradient(index));
    Ok(hash::hash_values(0, &theta))
}
