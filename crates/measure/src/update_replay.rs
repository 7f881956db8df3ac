//! Whether this state and this code still make the update that the log recorded, bit by bit.

use backcut_engine::Cut;
use backcut_kernels::hash;

use crate::measurement::MeasureError;
use crate::rig::Rig;
use crate::subject::Subject;

/// The fingerprint of the parameters after the update that follows a subject's state under `cut`, as the
/// log of a run records it. The rig must hold the cut.
pub fn replayed_hash(rig: &mut Rig<f32>, subject: &Subject, cut: Cut) -> Result<u64, MeasureError> {
    let Some(index) = rig.find(cut) else {
        return Err(MeasureError::Unfit(format!("the rig was not made for {cut}")));
    };
    rig.check_state(subject.state)?;
    rig.set(&subject.state.params)?;
    rig.differentiate(subject.key)?;
    rig.form(index, &subject.optimizer, subject.state);
    Ok(hash::hash_values(rig.model().isa(), 0, rig.theta_after()))
}
