//! The kept states of a results folder: `--study DIR`, narrowed by `--of ARM@CONDITION` and
//! `--at UPDATE`.
//!
//! A unit's folder is named by a hash; what it was is read from the collected tables beside it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use backcut_evidence::tables::rows::UnitRow;
use backcut_evidence::tables::{Work, from_csv, names};
use backcut_study::{Store, UnitId};

use crate::exit::{Told as _, user};

/// A kept checkpoint with its name.
pub struct Kept {
    /// `arm@condition source update`, or the unit's id where no table names it.
    pub label: String,
    /// The file.
    pub path: PathBuf,
}

/// Kept checkpoints of a results folder, in the order of their names.
pub fn kept(folder: &Path, of: &[String], at: Option<u64>) -> Result<Vec<Kept>> {
    let names = unit_names(&folder.join("tables"));
    let mut states = Vec::new();
    let all = Store::new(folder).kept().told()?;
    for (unit, update, path) in all {
        let name = names.get(&unit);
        let is_wanted = of.is_empty() || name.is_some_and(|n| of.contains(&n.0));
        if !is_wanted || at.is_some_and(|at| at != update) {
            continue;
        }
        let label = match name {
            Some((cell, source)) => format!("{cell} {source} {update}"),
            None => format!("{} {update}", unit.short()),
        };
        states.push(Kept { label, path });
    }
    states.sort_by(|a, b| a.label.cmp(&b.label));
    if states.is_empty() {
        let known: Vec<String> = names.values().map(|n| n.0.clone()).collect();
        let mut known: Vec<&str> = known.iter().map(String::as_str).collect();
        known.sort_unstable();
        known.dedup();
        let hint = if known.is_empty() {
            "run and collect a study there, with `keep` in its arms".to_owned()
        } else {
            format!("collected there: {}", known.join(" "))
        };
        return Err(user(format!("{}: no kept state like that", folder.display()), hint));
    }
    Ok(states)
}

/// Cell and source of every training unit that some collected table names.
fn unit_names(tables: &Path) -> BTreeMap<UnitId, (String, String)> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(tables).into_iter().flatten().flatten() {
        let path = entry.path().join(names::UNITS).with_extension("csv");
        // A table that does not read names nothing; `backcut report` says what is wrong with it.
        let bytes = backcut_files::read(&path).unwrap_or_default();
        let rows: Vec<UnitRow> = from_csv(&bytes).unwrap_or_default();
        for row in rows.into_iter().filter(|row| row.what == Work::Train) {
            // A study's own name for a unit is better than a borrower's.
            if row.origin.is_empty() || !found.contains_key(&row.unit) {
                found.insert(row.unit, (format!("{}@{}", row.arm, row.condition), row.source));
            }
        }
    }
    found
}
