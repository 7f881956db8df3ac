//! The file's own arms: where they start, how far they go, what they keep.

use backcut_engine::Cut;
use backcut_systems::Stream;
use backcut_training::config::{MAX_UPDATES, evaluation_points};

use super::grid::check_label;
use super::resolver::{Resolver, indices};
use crate::error::{StudyError, nearest};
use crate::file::ArmTable;
use crate::study::Arm;

/// Updates between evaluations where a file does not say.
pub const EVALUATE_EVERY: u64 = 200;

impl Resolver<'_> {
    pub(super) fn add_arm(
        &mut self,
        name: &str,
        table: &ArmTable,
        own: Option<usize>,
    ) -> Result<(), StudyError> {
        check_label("arm", name)?;
        let invalid = |what: String, hint: &str| {
            Err(StudyError::invalid(format!("arm `{name}`: {what}"), hint))
        };
        let parents: Vec<usize> = match &table.from {
            None => vec![],
            Some(from) => {
                let found = indices(&self.arms, |a| a.name == *from);
                if found.is_empty() {
                    let known = self.arms.iter().map(|a| a.name.as_str());
                    let hint = nearest(from, known).map_or_else(
                        || "an arm branches from one that stands above it, or is reused".to_owned(),
                        |k| format!("did you mean `{k}`?"),
                    );
                    return invalid(format!("there is no arm `{from}` to branch from"), &hint);
                }
                found
            }
        };
        if table.from.is_none() && own.is_none() {
            return invalid("it has no sources".into(), "add [sources], or `from` a reused arm");
        }
        if table.from.is_none() && table.at.is_some() {
            return invalid("`at` without `from`".into(), "name the arm it branches from");
        }
        if table.window.is_some() && table.from.is_some() {
            return invalid("a window with `from`".into(), "a branch has its start's window");
        }
        let cut: Cut = table.cut.parse().map_err(|e: backcut_engine::CutError| {
            StudyError::invalid(format!("arm `{name}`: {e}"), e.hint())
        })?;
        let stream = match table.stream.as_deref() {
            None | Some("a") => Stream::A,
            Some("b") => Stream::B,
            Some(other) => return invalid(format!("stream {other:?}"), "streams are a and b"),
        };
        let clash =
            |grid: usize, arms: &[Arm]| arms.iter().any(|a| a.name == name && a.grid == grid);
        let targets: Vec<(usize, Option<usize>)> = if parents.is_empty() {
            vec![(own.unwrap_or(0), None)]
        } else {
            parents.iter().map(|&p| (self.arms[p].grid, Some(p))).collect()
        };
        for (grid, parent) in targets {
            if clash(grid, &self.arms) {
                return invalid("two arms of this name".into(), "rename one");
            }
            let start = match parent {
                None => 0,
                Some(p) => table.at.unwrap_or(self.arms[p].updates),
            };
            if let Some(p) = parent
                && !(1..=self.arms[p].updates).contains(&start)
            {
                let last = self.arms[p].updates;
                return invalid(
                    format!("at = {start}, but `{}` has updates 1 to {last}", self.arms[p].name),
                    "branch at an update that exists",
                );
            }
            if table.updates <= start || table.updates > MAX_UPDATES {
                return invalid(
                    format!("updates = {}, starting after update {start}", table.updates),
                    "updates count from initialization, at most 10,000,000",
                );
            }
            let every = self.file.evaluate_every.unwrap_or(EVALUATE_EVERY);
            let evaluations = table
                .evaluate
                .clone()
                .unwrap_or_else(|| evaluation_points(start, table.updates, every));
            let inside = |u: &u64| (start + 1..=table.updates).contains(u);
            if !evaluations.iter().all(inside) || !evaluations.is_sorted_by(|a, b| a < b) {
                return invalid(
                    format!("evaluate = {evaluations:?}"),
                    "list updates of this arm once each, in order",
                );
            }
            if !table.keep.iter().all(inside) {
                return invalid(format!("keep = {:?}", table.keep), "list updates of this arm");
            }
            let all = match parent {
                Some(p) => self.arms[p].conditions.clone(),
                None => (0..self.grids[grid].conditions.len()).collect(),
            };
            let conditions = self.chosen_conditions(name, table, grid, all)?;
            let optimizer = match (parent, self.optimizer) {
                (Some(p), _) => self.tuned(self.arms[p].optimizer)?,
                (None, Some(optimizer)) => optimizer,
                (None, None) => return invalid("no optimizer".into(), "add [system]"),
            };
            if let Some(p) = parent {
                self.arms[p].keep.insert(start);
            }
            self.arms.push(Arm {
                name: name.to_owned(),
                grid,
                conditions,
                cut,
                window: table.window.or(parent.and_then(|p| self.arms[p].window)),
                from: parent.map(|p| (p, start)),
                updates: table.updates,
                stream,
                evaluations,
                optimizer,
                keep: table.keep.iter().copied().collect(),
                origin: None,
            });
        }
        Ok(())
    }

    pub(super) fn chosen_conditions(
        &self,
        name: &str,
        table: &ArmTable,
        grid: usize,
        all: Vec<usize>,
    ) -> Result<Vec<usize>, StudyError> {
        let Some(wanted) = &table.conditions else { return Ok(all) };
        let labels: Vec<&str> = all.iter().map(|&i| &*self.grids[grid].conditions[i].0).collect();
        let at = |w: &String| {
            labels.iter().position(|l| l == w).map(|i| all[i]).ok_or_else(|| {
                let what = format!("arm `{name}`: no condition `{w}` where it runs");
                StudyError::invalid(what, format!("conditions there: {}", labels.join(", ")))
            })
        };
        let chosen = wanted.iter().map(at).collect::<Result<Vec<usize>, StudyError>>()?;
        let mut once = chosen.clone();
        once.sort_unstable();
        once.dedup();
        if once.len() < chosen.len() || once.is_empty() {
            let what = format!("arm `{name}`: conditions = {wanted:?}");
            return Err(StudyError::invalid(what, "list each condition once"));
        }
        Ok(chosen)
    }
}
