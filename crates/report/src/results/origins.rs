//! Cells that a study takes over from another: its table of units names the study that they were made for.

use super::{Results, SourceValues};

impl Results {
    /// The sources of a cell in the tables of the study that its units were made for.
    pub(super) fn reused_cell(
        &self,
        study: &str,
        arm: &str,
        condition: &str,
    ) -> Option<&SourceValues> {
        let units = &self.study(study)?.units;
        let is_reused =
            |u: &&super::Unit| u.arm == arm && u.condition == condition && !u.origin.is_empty();
        let origin = self.study(&units.iter().find(is_reused)?.origin)?;
        let made_as = condition.rsplit_once('/').map_or(condition, |(_, own)| own);
        origin.own(arm, made_as)
    }
}
