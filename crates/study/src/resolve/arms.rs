//! The file's own arms: where they start, how far they go, what they keep.

use std::collections::BTreeMap;
use std::sync::Arc;

use backcut_engine::{BackwardError, Cut, CutError};
use backcut_lab::training::config::{MAX_UPDATES, evaluation_points};
use backcut_systems::{Built, Placed, Stream, SystemChoice, change};
use backcut_text::nearest;
use serde_json::{Map, Value};

use super::grid::{check_label, one_seed};
use super::resolver::{Resolver, indices, invalid};
use crate::error::StudyError;
use crate::file::{ArmTable, SharedTable};
use crate::study::{Arm, Grid, Shared};

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
        self.add_everywhere(name, table, own).map_err(|e| e.within(&format!("arm `{name}`")))
    }

    /// An arm on the file's own grid, or on the grid of every arm of the name it branches from.
    fn add_everywhere(
        &mut self,
        name: &str,
        table: &ArmTable,
        own: Option<usize>,
    ) -> Result<(), StudyError> {
        let targets: Vec<(usize, Option<usize>)> = match (&table.from, own) {
            (Some(from), _) => {
                let parents = self.parents(from)?.into_iter();
                parents.map(|p| (self.arms[p].grid, Some(p))).collect()
            }
            (None, _) if table.at.is_some() => {
                return invalid("`at` without `from`", "name the arm it branches from");
            }
            (None, Some(own)) => vec![(own, None)],
            // The sources of a reused study are taken over.
            (None, None) if self.grids.len() == 1 && self.program.is_none() => {
                self.check_taken_over(&self.grids[0])?;
                vec![(0, None)]
            }
            (None, None) => {
                return invalid("it has no sources", "add [sources], or `from` a reused arm");
            }
        };
        for (grid, parent) in targets {
            if self.arms.iter().any(|a| a.name == name && a.grid == grid) {
                return invalid("two arms of this name", "rename one");
            }
            let arm = self.arm(name, table, grid, parent)?;
            if let Some((parent, start)) = arm.from {
                self.arms[parent].keep.insert(start);
            }
            self.arms.push(arm);
        }
        Ok(())
    }

    /// That a system of the file's own is the one of sources that are taken over, whose conditions
    /// say what runs.
    fn check_taken_over(&self, grid: &Grid) -> Result<(), StudyError> {
        let Some(system) = &self.file.system else { return Ok(()) };
        for (label, theirs) in &grid.conditions {
            let ours = theirs.changed(&system.settings);
            let is_other = system.name.as_ref().is_some_and(|name| *name != theirs.name);
            if is_other || self.build(&ours)?.choice != *theirs {
                let what = format!("[system] is not that of the reused sources under `{label}`");
                return invalid(what, "leave it out: the sources' conditions say what runs");
            }
        }
        Ok(())
    }

    fn parents(&self, from: &str) -> Result<Vec<usize>, StudyError> {
        let found = indices(&self.arms, |a| a.name == from);
        if found.is_empty() {
            let known = self.arms.iter().map(|a| a.name.as_str());
            let hint = nearest(from, known).map_or_else(
                || "an arm branches from one that stands above it, or is reused".to_owned(),
                |k| format!("did you mean `{k}`?"),
            );
            return invalid(format!("there is no arm `{from}` to branch from"), hint);
        }
        Ok(found)
    }

    fn arm(
        &self,
        name: &str,
        table: &ArmTable,
        grid: usize,
        parent: Option<usize>,
    ) -> Result<Arm, StudyError> {
        let parent = parent.map(|p| (p, &self.arms[p]));
        let from = match parent {
            None => None,
            Some((index, parent)) => {
                if parent.program.is_some() {
                    let what =
                        format!("it branches from `{}`, which a command computes", parent.name);
                    return invalid(
                        what,
                        "a program keeps no states that another arm could start from",
                    );
                }
                let start = table.at.unwrap_or(parent.updates);
                if !(1..=parent.updates).contains(&start) {
                    let (name, last) = (&parent.name, parent.updates);
                    let what = format!("at = {start}, but `{name}` has updates 1 to {last}");
                    return invalid(what, "branch at an update that exists");
                }
                Some((index, start))
            }
        };
        let all = match parent {
            Some((_, parent)) => parent.conditions.clone(),
            None => (0..self.grids[grid].conditions.len()).collect(),
        };
        let conditions = self.chosen_conditions(table, grid, all)?;
        if let Some(program) = &self.program {
            return self.commanded(name, table, grid, conditions, program);
        }
        let cut = table.cut.as_deref().ok_or_else(|| {
            StudyError::invalid("missing field `cut`", "say which edges it keeps: cut = \"FF\"")
        })?;
        let settings = overrides(table, parent.map(|(_, parent)| &parent.settings))?;
        let built = self.built(grid, &conditions, &settings)?;
        let shared = self.shared(table, grid, &conditions, &built)?;
        let first = built.values().next();
        let start = from.map_or(0, |(_, start)| start);
        let updates = match (table.updates, first) {
            (Some(updates), _) => updates,
            (None, Some(built)) => start.saturating_add(built.updates),
            (None, None) => return invalid("no updates", "say how many it has"),
        };
        if updates <= start || updates > MAX_UPDATES {
            return invalid(
                format!("updates = {updates}, starting after update {start}"),
                "updates count from initialization, at most 10,000,000",
            );
        }
        let inherited = match (parent, first) {
            (Some((_, parent)), Some(built)) if self.phase(grid, parent)? == built.phase => {
                parent.optimizer.clone()
            }
            (_, Some(built)) => built.optimizer.clone().ending_with(updates - start),
            (_, None) => return invalid("no optimizer", "add [system]"),
        };
        let optimizer = table.optimizer.over(self.file.optimizer.over(inherited)?)?;
        for built in built.values() {
            Placed::new(&optimizer, built.system().program().layout())
                .map_err(|what| StudyError::invalid(what, "correct the group's pattern"))?;
        }
        Ok(Arm {
            name: name.to_owned(),
            grid,
            cut: plain_cut(cut, &built)?,
            from,
            updates,
            stream: stream(table)?,
            evaluations: self.evaluations(table, start, updates)?,
            optimizer,
            keep: table.keep.iter().copied().collect(),
            systems: built.iter().map(|(&c, built)| (c, built.choice.clone())).collect(),
            settings,
            conditions,
            origin: None,
            program: None,
            shared,
        })
    }

    /// The seed and the system of an arm that all sources and conditions have in common.
    fn shared(
        &self,
        table: &ArmTable,
        grid: usize,
        conditions: &[usize],
        built: &BTreeMap<usize, Arc<Built>>,
    ) -> Result<Option<Shared>, StudyError> {
        let Some(SharedTable { seed, condition }) = &table.shared else { return Ok(None) };
        let label = |c: usize| self.grids[grid].conditions[c].0.as_str();
        if table.from.is_some() {
            return invalid("it is shared and branches", "share the arm that it branches from");
        }
        if table.stream.is_some() {
            return invalid("it is shared and has a stream", "its seed is its own: choose another");
        }
        let found = match condition {
            Some(wanted) => conditions.iter().find(|&&c| label(c) == wanted),
            None => conditions.first().filter(|_| conditions.len() == 1),
        };
        let Some(system) = found.and_then(|condition| built.get(condition)) else {
            let known: Vec<&str> = conditions.iter().map(|&c| label(c)).collect();
            let hint = format!("add `condition = ...` to `shared`: {}", known.join(", "));
            return invalid("it is shared, but under which condition?", hint);
        };
        one_seed(*seed)?;
        Ok(Some(Shared { seed: *seed, system: system.choice.clone() }))
    }

    /// The system under every condition, with the arm's own settings.
    fn built(
        &self,
        grid: usize,
        conditions: &[usize],
        settings: &Map<String, Value>,
    ) -> Result<BTreeMap<usize, Arc<Built>>, StudyError> {
        let mut systems = BTreeMap::new();
        for &condition in conditions {
            let choice = self.grids[grid].conditions[condition].1.changed(settings);
            systems.insert(condition, self.build(&choice)?);
        }
        Ok(systems)
    }

    fn phase(&self, grid: usize, arm: &Arm) -> Result<String, StudyError> {
        let mut built = self.built(grid, &arm.conditions, &arm.settings)?;
        Ok(built.pop_first().map_or_else(String::new, |(_, built)| built.phase.clone()))
    }

    pub(super) fn build(&self, choice: &SystemChoice) -> Result<Arc<Built>, StudyError> {
        self.catalogue.build(choice).map_err(StudyError::from_hinted)
    }

    pub(super) fn evaluations(
        &self,
        table: &ArmTable,
        start: u64,
        updates: u64,
    ) -> Result<Vec<u64>, StudyError> {
        let every = self.file.evaluate_every.unwrap_or(EVALUATE_EVERY);
        if every == 0 {
            return invalid("evaluate_every = 0".to_owned(), "count updates from 1");
        }
        let chosen = table.evaluate.clone();
        let evaluations = chosen.unwrap_or_else(|| evaluation_points(start, updates, every));
        let inside = |u: &u64| (start + 1..=updates).contains(u);
        if !evaluations.iter().all(inside) || !evaluations.is_sorted_by(|a, b| a < b) {
            let hint = "list updates of this arm once each, in order";
            return invalid(format!("evaluate = {evaluations:?}"), hint);
        }
        if !table.keep.iter().all(inside) {
            return invalid(format!("keep = {:?}", table.keep), "list updates of this arm");
        }
        Ok(evaluations)
    }

    fn chosen_conditions(
        &self,
        table: &ArmTable,
        grid: usize,
        all: Vec<usize>,
    ) -> Result<Vec<usize>, StudyError> {
        let Some(wanted) = &table.conditions else { return Ok(all) };
        let labels: Vec<&str> = all.iter().map(|&i| &*self.grids[grid].conditions[i].0).collect();
        let at = |w: &String| {
            labels.iter().position(|l| l == w).map(|i| all[i]).ok_or_else(|| {
                let what = format!("no condition `{w}` where it runs");
                StudyError::invalid(what, format!("conditions there: {}", labels.join(", ")))
            })
        };
        let chosen = wanted.iter().map(at).collect::<Result<Vec<usize>, StudyError>>()?;
        let mut once = chosen.clone();
        once.sort_unstable();
        once.dedup();
        if once.len() < chosen.len() || once.is_empty() {
            return invalid(format!("conditions = {wanted:?}"), "list each condition once");
        }
        Ok(chosen)
    }
}

/// The cut of an arm; single edges by their whole names, so that one cut has one id however it is
/// written.
fn plain_cut(text: &str, built: &BTreeMap<usize, Arc<Built>>) -> Result<Cut, StudyError> {
    let cut: Cut = text.parse().map_err(StudyError::from_hinted::<CutError>)?;
    if cut.parts.is_empty() {
        return Ok(cut);
    }
    let mut plain: Option<Cut> = None;
    for built in built.values() {
        let (program, steps) = (built.system().program(), built.system().steps());
        let here =
            program.plain_cut(cut, steps).map_err(StudyError::from_hinted::<BackwardError>)?;
        match plain {
            Some(other) if other != here => {
                return invalid(
                    format!("{cut} is {other} under one condition and {here} under another"),
                    "write one arm for each",
                );
            }
            _ => plain = Some(here),
        }
    }
    Ok(plain.unwrap_or(cut))
}

/// The settings of its system that an arm changes; a branch has its start's where it says nothing.
fn overrides(
    table: &ArmTable,
    inherited: Option<&Map<String, Value>>,
) -> Result<Map<String, Value>, StudyError> {
    let mut settings = inherited.cloned().unwrap_or_default();
    change(&mut settings, &table.settings);
    if let Some(window) = table.window {
        if table.settings.contains_key("window") {
            return invalid("its window twice", "write it once");
        }
        settings.insert("window".to_owned(), window.into());
    }
    Ok(settings)
}

fn stream(table: &ArmTable) -> Result<Stream, StudyError> {
    match table.stream.as_deref() {
        None | Some("a") => Ok(Stream::A),
        Some("b") => Ok(Stream::B),
        Some(other) => invalid(format!("stream {other:?}"), "streams are a and b"),
    }
}
