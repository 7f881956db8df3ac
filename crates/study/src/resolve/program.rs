//! A program in place of a system: that it can run, what identifies it, and that nothing is asked
//! of it which it would not be told.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use backcut_engine::Cut;
use backcut_lab::training::config::MAX_UPDATES;
use backcut_systems::{Optimizer, Stream, SystemChoice, change};
use serde_json::Value;

use super::resolver::{Resolver, invalid};
use crate::error::StudyError;
use crate::file::{ArmTable, OptimizerTable, SystemTable};
use crate::program::{Program, Replay, Surroundings, hash_file};
use crate::study::{Arm, ErrorWords};

/// What the system of a program is called.
pub(super) const COMMAND: &str = "command";
/// The longest limit: a year.
const LONGEST: f64 = 366.0 * 86400.0;

/// What stands where an arm of a program has nothing to say.
pub(super) fn meaningless() -> (Cut, Stream, Optimizer) {
    (Cut::FF, Stream::A, Optimizer::default())
}

impl Resolver<'_> {
    /// The program that `[system]` names.
    pub(super) fn own_program(&self) -> Result<Option<Arc<Program>>, StudyError> {
        let Some(system) = &self.file.system else { return Ok(None) };
        let Some(command) = &system.command else {
            return only_commands_have(system).map(|()| None);
        };
        if system.name.is_some() {
            return invalid("[system] has a name and a command", "write one of them");
        }
        let is_word = |word: &String| !word.contains('\0');
        let has_program = command.first().is_some_and(|program| !program.is_empty());
        if !has_program || !command.iter().all(is_word) {
            let hint = "write `command = [\"python3\", \"train.py\"]`";
            return invalid(format!("[system] command = {command:?}"), hint);
        }
        let timeout = system.timeout;
        if timeout.is_some_and(|limit| !(limit > 0.0 && limit <= LONGEST)) {
            return invalid(format!("[system] timeout = {timeout:?}"), "seconds, up to a year");
        }
        let replay = system.replay.unwrap_or_default();
        if matches!(replay, Replay::Tolerance(t) if !(t > 0.0 && t < 1.0)) {
            return invalid("[system] replay: tolerance", "between 0 and 1, as 1e-6");
        }
        if self.file.optimizer != OptimizerTable::default() {
            return invalid("[optimizer] with a command", "tell the program in `settings`");
        }
        let folder = self.program_folder()?;
        let files = declared(command, &system.files, &folder)?;
        let surroundings = Some(Surroundings { folder, timeout });
        Ok(Some(Arc::new(Program { command: command.clone(), files, replay, surroundings })))
    }

    /// The study's folder.
    fn program_folder(&self) -> Result<PathBuf, StudyError> {
        let folder = match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        std::path::absolute(folder).map_err(StudyError::io(folder))
    }

    /// An arm that the program computes.
    pub(super) fn commanded(
        &self,
        name: &str,
        table: &ArmTable,
        grid: usize,
        conditions: Vec<usize>,
        program: &Arc<Program>,
    ) -> Result<Arm, StudyError> {
        let told = [
            ("cut", table.cut.is_some()),
            ("window", table.window.is_some()),
            ("stream", table.stream.is_some()),
            ("optimizer", table.optimizer != OptimizerTable::default()),
            ("from", table.from.is_some()),
            ("shared", table.shared.is_some()),
            ("keep", !table.keep.is_empty()),
        ];
        if let Some((key, _)) = told.iter().find(|(_, is_there)| *is_there) {
            let what = format!("`{key}`, which a command would not be told");
            return invalid(what, "tell the program in `settings`");
        }
        let updates = table.updates.unwrap_or(1);
        if !(1..=MAX_UPDATES).contains(&updates) {
            return invalid(format!("updates = {updates}"), "1 to 10,000,000");
        }
        let evaluations = if table.evaluate.is_some() || self.file.evaluate_every.is_some() {
            self.evaluations(table, 0, updates)?
        } else {
            vec![updates]
        };
        let mut systems = BTreeMap::new();
        for &condition in &conditions {
            let (label, choice) = &self.grids[grid].conditions[condition];
            let mut settings = choice.settings.as_object().cloned().unwrap_or_default();
            change(&mut settings, &table.settings);
            let choice = SystemChoice::new(COMMAND, settings);
            if let Some(twin) = self.twin(grid, &choice.settings, updates) {
                let what = format!("under `{label}` it has the same settings as {twin}");
                let hint = "say in `settings` what the program should do otherwise";
                return invalid(what, hint);
            }
            systems.insert(condition, choice);
        }
        if let Some(twins) = doubled(&systems) {
            let label = |c: &usize| &self.grids[grid].conditions[*c].0;
            let what =
                format!("the same settings under `{}` and `{}`", label(&twins.0), label(&twins.1));
            return invalid(what, "conditions differ by what the program is told");
        }
        let (cut, stream, optimizer) = meaningless();
        Ok(Arm {
            name: name.to_owned(),
            grid,
            conditions,
            cut,
            settings: table.settings.clone(),
            systems,
            from: None,
            updates,
            stream,
            evaluations,
            optimizer,
            program: Some(Arc::clone(program)),
            shared: None,
            keep: std::collections::BTreeSet::new(),
            origin: None,
        })
    }

    /// A cell of another arm of the program with these settings and this budget.
    fn twin(&self, grid: usize, settings: &Value, updates: u64) -> Option<String> {
        let is_own = |arm: &&Arm| {
            arm.grid == grid
                && arm.updates == updates
                && arm.origin.is_none()
                && arm.program.is_some()
        };
        self.arms.iter().filter(is_own).find_map(|arm| {
            let (condition, _) = arm.systems.iter().find(|(_, s)| s.settings == *settings)?;
            Some(format!("`{}@{}`", arm.name, self.grids[grid].conditions[*condition].0))
        })
    }

    /// What only trained arms can be asked for.
    pub(super) fn check_programs(&self) -> Result<(), StudyError> {
        let is_program =
            |name: &String| self.arms.iter().any(|a| a.name == *name && a.program.is_some());
        for table in &self.file.measurements {
            if let Some(name) = table.of.iter().find(|name| is_program(name)) {
                let what = format!("a measurement of `{name}`, which a command computes");
                return invalid(what, "let the program answer with `findings`");
            }
        }
        Ok(())
    }

    /// What the program's value is.
    pub(super) fn words_of_program(&self) -> ErrorWords {
        let system = self.file.system.as_ref();
        let name = system.and_then(|s| s.error.clone()).unwrap_or_else(|| "value".to_owned());
        ErrorWords { name, unit: system.and_then(|s| s.unit.clone()).unwrap_or_default() }
    }
}

/// Keys of `[system]` that a built system would ignore.
fn only_commands_have(system: &SystemTable) -> Result<(), StudyError> {
    let told = [
        ("files", !system.files.is_empty()),
        ("timeout", system.timeout.is_some()),
        ("replay", system.replay.is_some()),
        ("error", system.error.is_some()),
        ("unit", system.unit.is_some()),
    ];
    match told.iter().find(|(_, is_there)| *is_there) {
        Some((key, _)) => {
            invalid(format!("[system] `{key}` without a command"), "add `command = [...]`")
        }
        None => Ok(()),
    }
}

/// Two conditions with equal settings.
fn doubled(systems: &BTreeMap<usize, SystemChoice>) -> Option<(usize, usize)> {
    systems.iter().enumerate().find_map(|(at, (a, one))| {
        let (b, _) =
            systems.iter().skip(at + 1).find(|(_, other)| one.settings == other.settings)?;
        Some((*a, *b))
    })
}

/// The script that an interpreter is to run, where that is plain.
fn script(command: &[String]) -> Option<&str> {
    let [program, script, ..] = command else { return None };
    let name = Path::new(program).file_name()?.to_str()?;
    let interpreters = ["python", "python3", "sh", "bash", "julia", "Rscript", "node", "perl"];
    (interpreters.contains(&name) && !script.starts_with('-')).then_some(script)
}

/// The declared files with their hashes: those that are listed, and those among the command's
/// words.
fn declared(
    command: &[String],
    listed: &[String],
    folder: &Path,
) -> Result<BTreeMap<String, String>, StudyError> {
    let mut files = BTreeMap::new();
    for name in listed {
        let path = Path::new(name);
        let is_plain =
            path.components().all(|c| matches!(c, Component::Normal(_) | Component::ParentDir));
        if name.is_empty() || !is_plain {
            let what = format!("[system] files: {name:?}");
            return invalid(
                what,
                "paths are relative to the study file: its copies must find them too",
            );
        }
        let hash = hash_file(folder, name).map_err(|e| e.within("[system] files"))?;
        if files.insert(name.clone(), hash).is_some() {
            return invalid(format!("[system] files: {name:?} twice"), "list each file once");
        }
    }
    if let Some(script) = script(command).filter(|script| !folder.join(script).is_file()) {
        let what = format!("[system] command: there is no file {script:?} in {}", folder.display());
        return invalid(what, "paths are relative to the study file");
    }
    for word in command {
        let is_relative = Path::new(word).is_relative() && !word.is_empty();
        if is_relative && folder.join(word).is_file() && !files.contains_key(word) {
            files.insert(word.clone(), hash_file(folder, word)?);
        }
    }
    Ok(files)
}
