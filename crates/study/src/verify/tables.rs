//! Tables: against the records they were made of, or against each other where those are not handed on.

use std::collections::BTreeSet;
use std::path::Path;

use backcut_ledger::Hash;
use backcut_tables::names;
use backcut_tables::rows::{AnalysisRow, FreezeRow};
use serde_json::Value as Json;

use super::{Folder, Verified};
use crate::collect::{Files, Results};
use crate::commit::draw_sources;
use crate::error::StudyError;
use crate::plan::Plan;
use crate::read_back::read;
use crate::store::list;
use crate::study::Study;

/// Files that every study's tables have.
const ALWAYS: [&str; 6] =
    ["about.json", "analysis.csv", "curves.csv", "endpoints.csv", "provenance.csv", "units.csv"];
/// What one file of checksums is called.
const SUMS: &str = "SHA256SUMS";

/// Verifies a folder, if it is one of tables.
pub(super) fn verify(path: &Path, folder: &Folder, verified: &mut Verified) {
    let is_study = ALWAYS.iter().any(|name| path.join(name).is_file());
    if !is_study && !path.join(SUMS).exists() {
        return;
    }
    let listed = verify_sums(path, verified);
    if !is_study {
        return;
    }
    for name in ALWAYS.iter().filter(|name| !listed.contains(**name)) {
        let file = path.join(name);
        verified.problem(format!("{}: {SUMS} does not list it", file.display()));
    }
    if let Err(error) = verify_study(path, folder, &listed, verified) {
        verified.problem(error);
    }
}

/// The checksums of a folder's files, and that it holds no others; returns the names.
fn verify_sums(folder: &Path, verified: &mut Verified) -> BTreeSet<String> {
    let mut listed = BTreeSet::new();
    let path = folder.join(SUMS);
    let text = match backcut_files::read_text(&path) {
        Ok(text) => text,
        Err(error) => {
            verified.problem(format!("{}: {error}", path.display()));
            return listed;
        }
    };
    for line in text.lines() {
        let Some((sum, name)) = line.split_once("  ") else {
            verified.problem(format!("{}: a line that is no checksum", path.display()));
            continue;
        };
        let file = folder.join(name);
        verified.tables += 1;
        listed.insert(name.to_owned());
        match backcut_files::read(&file) {
            Ok(bytes) if Hash::of(&bytes).to_string() == sum => {}
            Ok(_) => {
                verified.problem(format!("{}: changed since it was collected", file.display()));
            }
            Err(error) => verified.problem(format!("{}: {error}", file.display())),
        }
    }
    let names = list(folder).unwrap_or_default();
    let is_odd = |name: &&String| {
        !listed.contains(*name) && *name != SUMS && folder.join(name.as_str()).is_file()
    };
    // What stands one level above the tables of several studies is verified by itself.
    let is_above = |name: &&String| ["ledger.jsonl", "freezes.csv"].contains(&name.as_str());
    for name in names.iter().filter(is_odd).filter(|name| !is_above(name)) {
        verified.problem(format!("{}: {SUMS} does not list it", folder.join(name).display()));
    }
    listed
}

fn verify_study(
    path: &Path,
    folder: &Folder,
    listed: &BTreeSet<String>,
    verified: &mut Verified,
) -> Result<(), StudyError> {
    let file = path.join("about.json");
    let text = backcut_files::read_text(&file).map_err(StudyError::io(&file))?;
    let about: Json = serde_json::from_str(&text).map_err(|e| StudyError::damaged(&file, e))?;
    let name = about["study"].as_str().unwrap_or_default();
    let Some(canonical) = folder.studies.get(name) else {
        let what =
            "no study of that name was frozen or noted here: its rows were not computed again";
        verified.note(format!("{}: {what}", path.display()));
        return Ok(());
    };
    let study = Study::from_canonical(canonical)?;
    let study = match folder.ledger {
        Some(ledger) => draw_sources(study, ledger),
        None => study,
    };
    if about["study file sha256"].as_str() != Some(&study.hash()) {
        let what =
            "made of another form of the study than the one that stands here: collect it again";
        verified.problem(format!("{}: {what}", file.display()));
        return Ok(());
    }
    let plan = Plan::new(&study);
    let has_records = plan.units.iter().any(|unit| folder.here.contains(&unit.id));
    let says_done = about["unit states"]["done"].as_u64().unwrap_or(0) > 0;
    if has_records || says_done && folder.store.root().join("units").exists() {
        let results = Results::read(&study, &plan, folder.store)?;
        against(path, folder, &results, &about, (listed, "the records"), verified)
    } else if folder.ledger.is_some() {
        let results = Results::from_tables(path, &study, &plan)?;
        against(path, folder, &results, &about, (listed, "the other tables"), verified)
    } else {
        Ok(())
    }
}

/// Every table must be what the results give, and the ledger grants.
fn against(
    path: &Path,
    folder: &Folder,
    results: &Results,
    about: &Json,
    (listed, whose): (&BTreeSet<String>, &str),
    verified: &mut Verified,
) -> Result<(), StudyError> {
    let parts = about["measurement parts"].as_array().cloned().unwrap_or_default();
    let parts: Vec<String> = parts.iter().filter_map(|p| p.as_str().map(str::to_owned)).collect();
    let tables = results.tables(folder.store, &parts)?;
    let again = results.about(folder.store, &parts)?;
    for key in ["study", "title", "numerics", "units", "updates", "unit states", "frozen by entry"]
    {
        if about[key] != again[key] {
            let (file, now) = (path.join("about.json"), &again[key]);
            let what = format!("{key} is {} there, {now} by {whose}", about[key]);
            verified.problem(format!("{}: {what}", file.display()));
        }
    }
    let with_parquet = listed.iter().any(|name| name.ends_with(".parquet"));
    let files = Files::new(&tables, &again, with_parquet)?.files;
    for (name, bytes) in files.iter().filter(|(name, _)| *name != "about.json") {
        let file = path.join(name);
        if name == "analysis.csv" {
            let there: Vec<AnalysisRow> = read(path, names::ANALYSIS)?;
            verify_rows(&file, &there, &tables.analysis, verified);
            continue;
        }
        let there = backcut_files::read(&file).map_err(StudyError::io(&file))?;
        // A word in an analysis may have changed since; what is the same row is told by the CSV.
        if there != *bytes && name != "analysis.parquet" {
            let line = first_difference(&there, bytes);
            let what = format!("line {line} is not what {whose} give: collect it again");
            verified.problem(format!("{}: {what}", file.display()));
        }
    }
    for name in listed.iter().filter(|name| !files.contains_key(*name)) {
        verified.problem(format!("{}: the study has no such table", path.join(name).display()));
    }
    Ok(())
}

fn first_difference(there: &[u8], here: &[u8]) -> usize {
    let lines =
        |bytes: &'_ [u8]| bytes.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
    let (there, here) = (lines(there), lines(here));
    1 + there.iter().zip(&here).take_while(|(a, b)| a == b).count()
}

/// The rows of an analysis against the same rows, computed again.
fn verify_rows(file: &Path, there: &[AnalysisRow], here: &[AnalysisRow], verified: &mut Verified) {
    let file = file.display();
    if there.len() != here.len() {
        let what = format!("{} rows, where the study has {}", there.len(), here.len());
        return verified.problem(format!("{file}: {what}"));
    }
    let mut reworded = 0;
    for (there, here) in there.iter().zip(here) {
        verified.rows += 1;
        let place = format!("{file}: {}: {}", there.family, there.contrast);
        if there.status.status != here.status.status {
            verified.problem(format!(
                "{place}: it says {}, and the ledger grants {}: {}",
                there.status, here.status, here.why
            ));
        } else if there.status != here.status {
            verified.note(format!("{place}: `{}` is `{}` by now", there.status, here.status));
        } else {
            reworded += usize::from(there.why != here.why);
        }
        let (status, why) = (here.status.clone(), here.why.clone());
        if (AnalysisRow { status, why, ..there.clone() }) != *here {
            verified.problem(format!("{place}: not what the results give"));
        }
    }
    if reworded > 0 {
        verified
            .note(format!("{file}: the reasons of {reworded} rows are worded otherwise by now"));
    }
}

/// The list of freezes beside the tables must have every freeze of the ledger.
pub(super) fn verify_freezes(above: &Path, verified: &mut Verified) {
    let path = above.join(format!("{}.csv", names::FREEZES));
    if !path.exists() {
        return;
    }
    match read::<FreezeRow>(above, names::FREEZES) {
        Ok(rows) => {
            let key = |row: &FreezeRow| (row.entry, row.study.clone(), row.predictions);
            let there: Vec<_> = rows.iter().map(key).collect();
            let here: Vec<_> = verified.freezes.iter().map(key).take(there.len()).collect();
            if there != here || there.len() > verified.freezes.len() {
                verified.problem(format!("{}: not what the ledger froze", path.display()));
            }
        }
        Err(error) => verified.problem(error),
    }
}
