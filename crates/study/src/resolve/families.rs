//! Families of contrasts and comparisons: that they can be parsed, and name cells that exist.

use backcut_stats::{Bound, Contrast, FamilyParams, Status};

use super::resolver::Resolver;
use crate::error::{StudyError, nearest};
use crate::file::FamilyTable;
use crate::study::{Arm, Grid, Measured, StudyFamily};

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
        let mut contrasts = Vec::new();
        for text in &table.contrasts {
            let contrast = Contrast::parse(text).map_err(|error| {
                StudyError::invalid(
                    format!("contrast {text:?}: {error}"),
                    "write cells in brackets, as in \"[F_SG@0.20] - [FF@0.20]\"",
                )
            })?;
            for cell in contrast.cells() {
                self.check_cell(cell)?;
                self.check_value(cell, table, measured)?;
            }
            if contrasts.iter().any(|c: &Contrast| c.name == contrast.name) {
                let what = format!("two contrasts named `{}`", contrast.name);
                return Err(StudyError::invalid(what, "write NAME = before one of them"));
            }
            contrasts.push(contrast);
        }
        let asks = match table.asks.as_str() {
            "confirmatory" => Status::Confirmatory,
            "prespecified" => Status::Prespecified,
            "descriptive" => Status::Descriptive,
            "post hoc" => Status::PostHoc,
            other => {
                let hint = "statuses: confirmatory, prespecified, descriptive, post hoc";
                return Err(StudyError::invalid(format!("asks = {other:?}"), hint));
            }
        };
        let bound = match table.bound.as_deref() {
            None | Some("two-sided") => Bound::TwoSided,
            Some("one-sided") => Bound::OneSided,
            Some(other) => {
                let hint = "bounds: two-sided, one-sided";
                return Err(StudyError::invalid(format!("bound = {other:?}"), hint));
            }
        };
        let params = FamilyParams {
            size: table.size,
            alpha: table.alpha.unwrap_or(0.05),
            margin: table.margin,
            bound,
            ..FamilyParams::new(contrasts)
        };
        params.clone().check().map_err(|error| {
            StudyError::invalid(error.to_string(), "correct the family's settings")
        })?;
        Ok(StudyFamily { table: table.clone(), params, asks })
    }

    pub(super) fn check_cell(&self, cell: &str) -> Result<(), StudyError> {
        let known: Vec<String> = cells(&self.grids, &self.arms);
        let is_known = |c: &String| c == cell;
        let starred =
            cell.strip_suffix("@*").is_some_and(|arm| self.arms.iter().any(|a| a.name == arm));
        if starred || known.iter().any(is_known) {
            return Ok(());
        }
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
        let Some((name, condition)) = cell.split_once('@') else { return Ok(()) };
        let has_condition = |arm: &Arm| {
            let labels = &self.grids[arm.grid].conditions;
            condition == "*" || arm.conditions.iter().any(|&c| labels[c].0 == condition)
        };
        for (index, arm) in self.arms.iter().enumerate() {
            if arm.name != name || !has_condition(arm) {
                continue;
            }
            let at = table.at.unwrap_or(arm.updates);
            let (is_there, verb, updates): (bool, _, Vec<u64>) = if table.quantity.is_some() {
                let of = measured.iter().filter(|m| m.arm == index).map(|m| m.update);
                (of.clone().any(|u| u == at), "measured", of.collect())
            } else {
                let of = &arm.evaluations;
                (of.contains(&at), "evaluated", of.clone())
            };
            if !is_there {
                let what = format!("`{name}` is not {verb} at update {at}");
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

/// All cells `arm@condition`.
fn cells(grids: &[Grid], arms: &[Arm]) -> Vec<String> {
    let of = |a: &Arm| -> Vec<String> {
        let label = |&c: &usize| format!("{}@{}", a.name, grids[a.grid].conditions[c].0);
        a.conditions.iter().map(label).collect()
    };
    arms.iter().flat_map(of).collect()
}
