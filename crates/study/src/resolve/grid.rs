//! Sources and conditions of the file's own.

use std::collections::BTreeSet;

use backcut_evidence::ledger::NotStamped;
use backcut_systems::{SystemChoice, change};
use serde_json::{Map, Value};

use super::program::COMMAND;
use super::resolver::Resolver;
use crate::error::StudyError;
use crate::file::Sources;
use crate::study::{Drawn, Grid};

impl Resolver<'_> {
    /// The grid of the file's own sources and conditions.
    pub(super) fn own_grid(&mut self) -> Result<Option<usize>, StudyError> {
        let Some(sources) = &self.file.sources else { return Ok(None) };
        let system = self.file.system.as_ref().ok_or_else(|| {
            StudyError::invalid("sources without a system", "add [system] with its name")
        })?;
        let mut conditions = Vec::new();
        let none = Map::new();
        let listed: Vec<(String, &Map<String, Value>)> = if self.file.conditions.is_empty() {
            vec![("default".to_owned(), &none)]
        } else {
            self.file.conditions.iter().map(|(k, v)| (k.clone(), v)).collect()
        };
        for (label, changes) in listed {
            check_label("condition", &label)?;
            let mut settings = system.settings.clone();
            change(&mut settings, changes);
            if self.program.is_some() {
                conditions.push((label, SystemChoice::new(COMMAND, settings)));
                continue;
            }
            let name = system.name.as_deref().ok_or_else(|| {
                let what = "[system] has neither a name nor a command";
                StudyError::invalid(what, "add `name = \"quadrotor\"`, or `command = [...]`")
            })?;
            let choice = SystemChoice::new(name, settings);
            let built =
                self.build(&choice).map_err(|e| e.within(&format!("condition `{label}`")))?;
            self.file.optimizer.over(built.optimizer.clone())?; // said once, not once per arm
            conditions.push((label, built.choice.clone()));
        }
        for (i, (label, choice)) in conditions.iter().enumerate() {
            // What a program is told is compared arm by arm.
            if self.program.is_none()
                && let Some((twin, _)) = conditions[..i].iter().find(|(_, other)| other == choice)
            {
                let what = format!("conditions `{twin}` and `{label}` are the same settings");
                let hint = "a comparison would count twice: leave one out, or change what differs";
                return Err(StudyError::invalid(what, hint));
            }
        }
        self.grids.push(match drawn(sources, &self.file.name)? {
            Some(drawn) => Grid::open(drawn, conditions),
            None => Grid { sources: seeds(sources)?, drawn: None, conditions },
        });
        Ok(Some(0))
    }
}

pub(super) fn check_label(what: &str, label: &str) -> Result<(), StudyError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.+ ".contains(c);
    if label.is_empty() || label.len() > 64 || !label.chars().all(is_plain) {
        let hint = "use letters, digits and - _ . +";
        return Err(StudyError::invalid(format!("{what} label {label:?}"), hint));
    }
    Ok(())
}

/// More sources than this are a slip of the keyboard.
const MAX_SOURCES: u64 = 1_000_000;

/// What the study draws, if it does.
fn drawn(sources: &Sources, study: &str) -> Result<Option<Drawn>, StudyError> {
    let Some(draw) = sources.draw else { return Ok(None) };
    if sources.first.is_some() || sources.count.is_some() || sources.seeds.is_some() {
        let what = "sources: drawn and written";
        return Err(StudyError::invalid(what, "write `draw` alone, or seeds alone"));
    }
    if !(1..=MAX_SOURCES).contains(&draw) {
        return Err(StudyError::invalid(format!("sources: draw = {draw}"), "1 to 1,000,000"));
    }
    Ok(Some(Drawn { draw, stamped: NotStamped, study: study.to_owned() }))
}

pub(super) fn seeds(sources: &Sources) -> Result<Vec<u64>, StudyError> {
    let hint = "write `first` and `count`, or `seeds`, or `draw`";
    let seeds: Vec<u64> = match (sources.first, sources.count, &sources.seeds) {
        (Some(first), Some(count), None) if count <= MAX_SOURCES => {
            match first.checked_add(count) {
                Some(end) => (first..end).collect(),
                None => return Err(StudyError::invalid("sources: seeds overflow", hint)),
            }
        }
        (Some(_), Some(count), None) => {
            return Err(StudyError::invalid(
                format!("sources: count = {count}"),
                "at most 1,000,000",
            ));
        }
        (None, None, Some(seeds)) => seeds.clone(),
        _ => return Err(StudyError::invalid("sources are not clear", hint)),
    };
    if seeds.is_empty() {
        return Err(StudyError::invalid("sources: no seed", hint));
    }
    let mut known = BTreeSet::new();
    if let Some(seed) = seeds.iter().find(|seed| !known.insert(**seed)) {
        return Err(StudyError::invalid(
            format!("sources: seed {seed} twice"),
            "list each seed once",
        ));
    }
    seeds.iter().try_for_each(|seed| one_seed(*seed))?;
    Ok(seeds)
}

/// Streams add 10^9 to a seed, and JSON numbers are exact up to 2^53.
pub(super) fn one_seed(seed: u64) -> Result<(), StudyError> {
    if seed > (1 << 53) - 2_000_000_000 {
        return Err(StudyError::invalid(format!("sources: seed {seed}"), "use seeds below 2^52"));
    }
    Ok(())
}
