//! Families of contrasts and comparisons: that they can be parsed, and name cells that exist.

use backcut_evidence::ledger::Status;
use backcut_stats::{Bound, Contrast, FamilyParams};
use backcut_text::{escape::plain, nearest};

use super::resolver::Resolver;
use crate::error::StudyError;
use crate::file::{FamilyTable, is_formula};
use crate::study::{Arm, Measured, StudyFamily};

/// Quantities that follow from the evaluation errors: known where those are, whoever measures them.
const ERRORS: [&str; 3] = ["panel.", "reference.", "windows.error"];

impl Resolver<'_> {
    pub(super) fn families(&self, measured: &[Measured]) -> Result<Vec<StudyFamily>, StudyError> {
        let mut families: Vec<StudyFamily> = Vec::new();
        for table in &self.file.families {
            let family = self.family(table, measured);
            let family = family.map_err(|e| e.within(&format!("family `{}`", table.name)))?;
            if families.iter().any(|f| f.table.name == table.name) {
                let what = format!("two families named `{}`", table.name);
                return Err(StudyError::invalid(what, "rename one"));
            }
            families.push(family);
        }
        Ok(families)
    }

    fn family(
        &self,
        table: &FamilyTable,
        measured: &[Measured],
    ) -> Result<StudyFamily, StudyError> {
        let family = parse(table)?;
        if is_formula(&table.name) || plain(&table.name) != table.name {
            let what = format!("a name {:?}, which a spreadsheet would run", table.name);
            return Err(StudyError::invalid(what, "begin it with a letter or a digit"));
        }
        let is_error = |quantity: &str| ERRORS.iter().any(|start| quantity.starts_with(start));
        if table.quantity.as_deref().is_some_and(is_error) {
            let what = "`quantity` is the evaluation error under another name";
            return Err(StudyError::invalid(
                what,
                "leave `quantity` out: errors are compared then",
            ));
        }
        for contrast in &family.params.contrasts {
            for cell in contrast.cells() {
                self.check_cell(cell)?;
                self.check_value(cell, table, measured)?;
            }
            let cells = contrast.cells();
            let is_meant = |arm: &&Arm| {
                let mut own = arm.cells(&self.grids[arm.grid]);
                own.any(|known| cells.iter().any(|cell| known.is_meant_by(cell)))
            };
            let mut meant = self.arms.iter().filter(is_meant);
            if meant.all(|arm| arm.shared.is_some() && self.grids[arm.grid].sources.len() > 1) {
                let what = format!(
                    "contrast `{}` compares arms that are trained once, for all sources",
                    contrast.name
                );
                let hint = "one result is no sample: compare arms that every source has its own of";
                return Err(StudyError::invalid(what, hint));
            }
        }
        Ok(family)
    }

    pub(super) fn check_cell(&self, cell: &str) -> Result<(), StudyError> {
        let cells = || self.arms.iter().flat_map(|arm| arm.cells(&self.grids[arm.grid]));
        if cells().any(|known| known.is_meant_by(cell)) {
            return Ok(());
        }
        let known: Vec<String> = cells().map(|known| known.to_string()).collect();
        let hint = nearest(cell, known.iter().map(String::as_str)).map_or_else(
            || "a cell is ARM@CONDITION of this study".to_owned(),
            |k| format!("did you mean [{k}]?"),
        );
        Err(StudyError::invalid(format!("there is no cell [{cell}]"), hint))
    }

    /// That a cell has the value that the family compares.
    fn check_value(
        &self,
        cell: &str,
        table: &FamilyTable,
        measured: &[Measured],
    ) -> Result<(), StudyError> {
        for (index, arm) in self.arms.iter().enumerate() {
            if !arm.cells(&self.grids[arm.grid]).any(|known| known.is_meant_by(cell)) {
                continue;
            }
            let at = table.at.unwrap_or(arm.updates);
            let (is_there, verb, updates): (bool, _, Vec<u64>) =
                if arm.program.is_some() && table.quantity.is_some() {
                    // A program says what it has found when it ends; only then one knows what.
                    (at == arm.updates, "done", vec![arm.updates])
                } else if table.quantity.is_some() {
                    let of = measured.iter().filter(|m| m.arm == index).map(|m| m.update);
                    (of.clone().any(|u| u == at), "measured", of.collect())
                } else {
                    let of = &arm.evaluations;
                    (of.contains(&at), "evaluated", of.clone())
                };
            if !is_there {
                let what = format!("`{}` is not {verb} at update {at}", arm.name);
                let hint = if updates.is_empty() {
                    "add it to [[measurements]]".to_owned()
                } else {
                    format!("it is {verb} at {updates:?}: choose with `at`")
                };
                return Err(StudyError::invalid(what, hint));
            }
        }
        Ok(())
    }

    pub(super) fn check_comparisons(&self) -> Result<(), StudyError> {
        for table in &self.file.comparisons {
            if !["permutation", "kolmogorov-smirnov"].contains(&table.kind.as_str()) {
                let what = format!("comparison `{}`: kind = {:?}", table.name, table.kind);
                let hint = "kinds: permutation, kolmogorov-smirnov";
                return Err(StudyError::invalid(what, hint));
            }
            self.check_cell(&table.left)?;
            self.check_cell(&table.right)?;
        }
        Ok(())
    }
}

/// A family as it is written, understood; whether its cells exist is another matter.
pub(super) fn parse(table: &FamilyTable) -> Result<StudyFamily, StudyError> {
    let mut contrasts = Vec::new();
    for text in &table.contrasts {
        let contrast = Contrast::parse(text).map_err(|error| {
            StudyError::invalid(
                format!("contrast {text:?}: {error}"),
                "write cells in brackets, as in \"[F_SG@0.20] - [FF@0.20]\"",
            )
        })?;
        if contrasts.iter().any(|c: &Contrast| c.name == contrast.name) {
            let what = format!("two contrasts named `{}`", contrast.name);
            return Err(StudyError::invalid(what, "write NAME = before one of them"));
        }
        contrasts.push(contrast);
    }
    let asks: Status = table.asks.parse().map_err(|_| {
        let hint = "statuses: confirmatory, prespecified, descriptive, post hoc";
        StudyError::invalid(format!("asks = {:?}", table.asks), hint)
    })?;
    let bound = table.bound.as_deref().map_or(Ok(Bound::TwoSided), |bound| {
        let what = format!("bound = {bound:?}");
        bound.parse().map_err(|_| StudyError::invalid(what, "bounds: two-sided, one-sided"))
    })?;
    let params = FamilyParams {
        size: table.size,
        alpha: table.alpha.unwrap_or(0.05),
        margin: table.margin,
        bound,
        ..FamilyParams::new(contrasts)
    };
    params
        .clone()
        .check()
        .map_err(|error| StudyError::invalid(error.to_string(), "correct the family's settings"))?;
    Ok(StudyFamily { table: table.clone(), params, asks })
}
