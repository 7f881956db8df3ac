//! What is measured, and that the states it needs are kept.

use backcut_lab::measure::Measurement;

use super::resolver::{Resolver, indices};
use crate::error::StudyError;
use crate::study::Measured;

impl Resolver<'_> {
    pub(super) fn measurements(&mut self) -> Result<Vec<Measured>, StudyError> {
        let mut measured = Vec::new();
        for table in &self.file.measurements {
            for name in &table.of {
                let arms = indices(&self.arms, |a| a.name == *name);
                if arms.is_empty() {
                    let hint = "measure an arm of this study, or a reused one";
                    return Err(StudyError::invalid(
                        format!("measurement of no arm `{name}`"),
                        hint,
                    ));
                }
                for arm in arms {
                    self.check_windows(&table.what, arm)?;
                    let updates = table.at.clone().unwrap_or_else(|| vec![self.arms[arm].updates]);
                    for update in updates {
                        let reference = self.reference(table.reference.as_deref(), arm)?;
                        if table.what.needs_reference() && reference.is_none() {
                            let hint = "add reference = \"ARM\"";
                            return Err(StudyError::invalid(
                                "a measurement on common inputs",
                                hint,
                            ));
                        }
                        self.must_keep(arm, update)?;
                        measured.push(Measured {
                            arm,
                            update,
                            what: table.what.clone(),
                            reference,
                        });
                    }
                }
            }
        }
        Ok(measured)
    }

    /// A mask that hides nothing measures the evaluation error, which is known where the arm is.
    fn check_windows(&self, what: &Measurement, arm: usize) -> Result<(), StudyError> {
        let Measurement::Masking { windows } = what else { return Ok(()) };
        let Some(choice) = self.arms[arm].systems.values().next() else { return Ok(()) };
        let steps = self.build(choice)?.system().steps();
        match windows.iter().find(|window| **window >= steps) {
            Some(window) => Err(StudyError::invalid(
                format!("masking with a window of {window}, where rollouts have {steps} steps"),
                "choose a window that hides something",
            )),
            None => Ok(()),
        }
    }

    pub(super) fn reference(
        &mut self,
        name: Option<&str>,
        arm: usize,
    ) -> Result<Option<(usize, u64)>, StudyError> {
        let Some(name) = name else { return Ok(None) };
        let grid = self.arms[arm].grid;
        let found = self.arms.iter().position(|a| a.name == name && a.grid == grid);
        let found = found.ok_or_else(|| {
            StudyError::invalid(format!("reference = {name:?}"), "name an arm of the same sources")
        })?;
        let missing =
            self.arms[arm].conditions.iter().find(|c| !self.arms[found].conditions.contains(c));
        if let Some(&condition) = missing {
            let (label, _) = &self.grids[grid].conditions[condition];
            return Err(StudyError::invalid(
                format!("reference = {name:?} does not run under condition `{label}`"),
                format!("`{}` does, and is measured there", self.arms[arm].name),
            ));
        }
        let update = self.arms[found].updates;
        self.must_keep(found, update)?;
        Ok(Some((found, update)))
    }

    pub(super) fn must_keep(&mut self, arm: usize, update: u64) -> Result<(), StudyError> {
        let arm = &mut self.arms[arm];
        let start = arm.from.map_or(0, |(_, at)| at);
        if !(start + 1..=arm.updates).contains(&update) {
            let what = format!("measurement of `{}` at update {update}", arm.name);
            let hint = format!("the arm has updates {} to {}", start + 1, arm.updates);
            return Err(StudyError::invalid(what, hint));
        }
        arm.keep.insert(update);
        Ok(())
    }
}
