//! Cells that a study takes over from another: its table of units names the study that they were
//! made for.

use backcut_evidence::tables::rows::UnitRow;

use super::{Results, SourceValues, canonical_condition};

impl Results {
    /// The sources of a cell in the tables of the study that its units were made for.
    pub(super) fn reused_cell(
        &self,
        study: &str,
        arm: &str,
        condition: &str,
    ) -> Option<&SourceValues> {
        let units = &self.study(study)?.units;
        let is_reused = |u: &&UnitRow| {
            !u.origin.is_empty() && u.arm == arm && canonical_condition(&u.condition) == condition
        };
        let origin = self.study(&units.iter().find(is_reused)?.origin)?;
        let made_as = condition.rsplit_once('/').map_or(condition, |(_, own)| own);
        origin.own(arm, made_as)
    }
}
