//! Tables: against the records they were made of, or against each other where those are not handed
//! on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use backcut_files::{Hash, target_of};

use backcut_evidence::ledger::{Ledger, Status};
use backcut_evidence::tables::folder::{FORMER, observations};
use backcut_evidence::tables::rows::{AnalysisRow, FreezeRow, Observation};
use backcut_evidence::tables::{from_csv, names};
use serde_json::Value as Json;

use super::{Folder, Verified};
use crate::collect::Files;
use crate::error::StudyError;
use crate::freezes::{Beside, freezes};
use crate::plan::Plan;
use crate::results::{RAN_AGAIN, Results};
use crate::store::{Store, list, read_table as read};
use crate::study::{Study, draw_sources};

/// Files that every study's tables have.
const ALWAYS: [&str; 5] =
    ["about.json", "analysis.csv", OBSERVATIONS, "provenance.csv", "units.csv"];
/// Every number of a study. The version before had other tables for them.
const OBSERVATIONS: &str = "observations.csv";
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
    let former = is_former(&listed);
    let needed = ALWAYS.iter().filter(|name| !(former && **name == OBSERVATIONS));
    for name in needed.filter(|name| !listed.contains(**name)) {
        let file = path.join(name);
        verified.problem(format!("{}: {SUMS} does not list it", file.display()));
    }
    if let Err(error) = verify_study(path, folder, &listed, verified) {
        verified.problem(error);
    }
}

/// Whether the tables are those of the version before.
fn is_former(listed: &BTreeSet<String>) -> bool {
    !listed.contains(OBSERVATIONS) && listed.iter().any(|name| is_former_table(name))
}

fn is_former_table(name: &str) -> bool {
    let name = name.split_once('.').map_or(name, |(name, _)| name);
    FORMER.contains(&name)
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
    let is_odd =
        |name: &&String| !listed.contains(*name) && *name != SUMS && target_of(name).is_none();
    // What stands one level above the tables of several studies is verified by itself.
    let is_above = |name: &&String| {
        ["ledger.jsonl", "freezes.csv"].contains(&name.as_str()) || folder.join(name).is_dir()
    };
    let is_above = |name: &&String| is_above(name) && !folder.join("about.json").exists();
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
    let is_called = |path: &Path| path.file_name().is_some_and(|called| called == name);
    if !path.canonicalize().is_ok_and(|path| is_called(&path)) {
        let what = format!("it tells of study {name}, in a folder of another name");
        verified.problem(format!("{}: {what}", file.display()));
    }
    let Some((canonical, words)) = folder.studies.get(name) else {
        claim_nothing(path, folder, verified)?;
        let what =
            "no study of that name was frozen or noted here: its rows were not computed again";
        verified.note(format!("{}: {what}", path.display()));
        return Ok(());
    };
    let mut study = Study::from_canonical(canonical)?;
    study.error = words.clone().unwrap_or(study.error);
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
        against(path, folder, &results, &about, (listed, RECORDS), verified)
    } else if folder.ledger.is_some() {
        let results = Results::from_tables(path, &study, &plan)?;
        against(path, folder, &results, &about, (listed, "the other tables"), verified)
    } else {
        claim_nothing(path, folder, verified)
    }
}

/// Tables that nothing here freezes may describe, and no more: whoever made them could write any
/// status.
fn claim_nothing(path: &Path, folder: &Folder, verified: &mut Verified) -> Result<(), StudyError> {
    let rows: Vec<AnalysisRow> = read(path, names::ANALYSIS)?;
    if let Some(row) = rows.iter().find(|row| row.status.status > Status::Descriptive) {
        let why = match folder.ledger {
            Some(_) => "was never frozen",
            None => "no ledger is here that could grant it: hand it on with the tables",
        };
        let what = format!("{}: it says {}, and {why}", row.contrast, row.status);
        verified.problem(format!("{}: {what}", path.join("analysis.csv").display()));
    }
    Ok(())
}

/// Whose results tables are held to, where they are there.
const RECORDS: &str = "the records";

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
    // Where only some findings were handed on, what rests on the others cannot be told.
    let is_narrowed = !parts.is_empty() && whose != RECORDS;
    if is_narrowed {
        let what = "narrowed to some parts: what rests on other findings was not computed again";
        verified.note(format!("{}: {what}", path.display()));
    }
    let first_form = folder.ledger.is_some_and(|ledger| {
        let name = &results.study.name;
        ledger
            .latest_entry(name)
            .is_some_and(|entry| entry.version == backcut_evidence::ledger::OLDEST)
    });
    let tables = results.tables(folder.store, &parts)?;
    let again = results.about(folder.store, &parts)?;
    let same = |key: &str| match key {
        "unit states" => settled(&about[key]) == settled(&again[key]),
        key => about[key] == again[key],
    };
    // Words for the error stand where the study was noted, and nowhere in what was frozen.
    let is_noted =
        folder.studies.get(&results.study.name).is_some_and(|(_, words)| words.is_some());
    let words: &[&str] = if is_noted { &["error", "unit"] } else { &[] };
    let reported: &[&str] = if whose == RECORDS { &["programs"] } else { &[] };
    let head = about["ledger head"].as_str().and_then(|head| head.parse::<Hash>().ok());
    let is_there = |head: Hash| {
        head == Hash::ZERO || folder.ledger.is_some_and(|ledger| ledger.contains(head))
    };
    if !head.is_some_and(is_there) {
        let what = format!("{}: its ledger head is not in the ledger", path.display());
        verified.problem(what);
    }
    let keys = [
        "study",
        "core seconds",
        "title",
        "numerics",
        "units",
        "updates",
        "unit states",
        "frozen at",
        "frozen by entry",
        RAN_AGAIN,
    ];
    for key in keys.iter().chain(words).chain(reported).copied() {
        if !same(key) {
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
            let here = from_csv(bytes).map_err(StudyError::bug)?;
            verify_rows(&file, &there, &here, is_narrowed.then_some(results), first_form, verified);
            continue;
        }
        if name.starts_with(names::OBSERVATIONS) && (is_narrowed || is_former(listed)) {
            let there = observations(path)?.unwrap_or_default();
            let here = tables.observations.iter();
            let is_told = |row: &&Observation| !is_narrowed || row.is_error();
            if !there.iter().filter(is_told).eq(here.filter(is_told)) {
                let what = format!("its numbers are not what {whose} give: collect it again");
                verified.problem(format!("{}: {what}", path.display()));
            }
            continue;
        }
        let there = backcut_files::read(&file).map_err(StudyError::io(&file))?;
        let is_same = match name.as_str() {
            // Its words may have changed since, but it must be the table that the CSV is.
            "analysis.parquet" => there == as_parquet(path)?,
            name if name.ends_with(".parquet") => there == *bytes,
            _ => unsettled(&there) == unsettled(bytes),
        };
        if !is_same {
            let line = first_difference(&there, bytes);
            let what = format!("line {line} is not what {whose} give: collect it again");
            verified.problem(format!("{}: {what}", file.display()));
        }
    }
    let is_known =
        |name: &&String| files.contains_key(*name) || is_former(listed) && is_former_table(name);
    for name in listed.iter().filter(|name| !is_known(name)) {
        verified.problem(format!("{}: the study has no such table", path.join(name).display()));
    }
    Ok(())
}

/// Units by state, those that are not done yet together: a unit that was running when the tables
/// were made may have stopped since.
fn settled(states: &Json) -> [u64; 4] {
    let count = |state: &str| states[state].as_u64().unwrap_or(0);
    let open = count("running") + count("interrupted") + count("pending");
    [count("done"), count("failed"), count("blocked"), open]
}

/// A table with those states told as one.
fn unsettled(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.replace(",running,", ",pending,").replace(",interrupted,", ",pending,")
}

/// The analysis of a folder as the Parquet file that belongs to its CSV.
#[cfg(feature = "parquet")]
fn as_parquet(path: &Path) -> Result<Vec<u8>, StudyError> {
    let rows: Vec<AnalysisRow> = read(path, names::ANALYSIS)?;
    backcut_evidence::tables::to_parquet(names::ANALYSIS, &rows).map_err(StudyError::bug)
}

#[cfg(not(feature = "parquet"))]
fn as_parquet(path: &Path) -> Result<Vec<u8>, StudyError> {
    let path = path.join("analysis.parquet");
    backcut_files::read(&path).map_err(StudyError::io(&path))
}

fn first_difference(there: &[u8], here: &[u8]) -> usize {
    let lines =
        |bytes: &'_ [u8]| bytes.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
    let (there, here) = (lines(there), lines(here));
    1 + there.iter().zip(&here).take_while(|(a, b)| a == b).count()
}

/// The rows of an analysis against the same rows, computed again. Of `narrowed` results only rows
/// of errors can be told; entries of the first form were told in other words.
fn verify_rows(
    file: &Path,
    there: &[AnalysisRow],
    here: &[AnalysisRow],
    narrowed: Option<&Results>,
    first_form: bool,
    verified: &mut Verified,
) {
    let file = file.display();
    if there.len() != here.len() {
        let what = format!("{} rows, where the study has {}", there.len(), here.len());
        return verified.problem(format!("{file}: {what}"));
    }
    let mut reworded = 0;
    let is_told = |row: &&AnalysisRow| {
        let families = narrowed.map(|results| results.study.families.iter());
        families
            .is_none_or(|mut f| f.any(|f| f.table.name == row.family && f.table.quantity.is_none()))
    };
    for (there, here) in there.iter().zip(here).filter(|(row, _)| is_told(row)) {
        verified.rows += 1;
        let place = format!("{file}: {}: {}", there.family, there.contrast);
        let is_less = there.status == here.status.status.into();
        if there.status != here.status && !(first_form && is_less) {
            verified.problem(format!(
                "{place}: it says {}, and the ledger grants {}: {}",
                there.status, here.status, here.why
            ));
        } else if there.status != here.status {
            verified.note(format!("{place}: `{}` is `{}` by now", there.status, here.status));
        } else if there.why != here.why && first_form {
            reworded += 1;
        } else if there.why != here.why {
            verified.problem(format!("{place}: the ledger gives another reason: {}", here.why));
        }
        let (status, why) = (here.status.clone(), here.why.clone());
        // The status that each states decides whether it has a verdict; a stated one was compared
        // above.
        let there = AnalysisRow { status, why, ..there.clone() }.told_like(there);
        if there != here.clone().told_like(&there) {
            verified.problem(format!("{place}: not what the results give"));
        }
    }
    if reworded > 0 {
        verified
            .note(format!("{file}: the reasons of {reworded} rows are worded otherwise by now"));
    }
}

/// The list of freezes beside the tables must be that of the ledger beside it. What became of each
/// may have changed since.
pub(super) fn verify_freezes(above: &Path, folder: &Store, verified: &mut Verified) {
    let path = above.join(format!("{}.csv", names::FREEZES));
    if !path.exists() {
        if above.join("ledger.jsonl").exists() && above.join("ledger.jsonl") != folder.ledger() {
            verified.note(format!("{}: it is missing: collect a study again", path.display()));
        }
        return;
    }
    let mut compare = || -> Result<bool, StudyError> {
        let there: Vec<FreezeRow> = read(above, names::FREEZES)?;
        let beside = Ledger::open(above.join("ledger.jsonl"))?;
        let planned = BTreeMap::new();
        let here = freezes(&beside, &Beside { recorded: None, tables: above, planned: &planned });
        let but_fate = |row: &FreezeRow| FreezeRow { fate: String::new(), ..row.clone() };
        // What was collected stays so; what was not may have been run since. A collection that was
        // killed leaves the list of the one before.
        let is_told = |(there, here): (&FreezeRow, &FreezeRow)| {
            here.fate != "collected" || there.fate.starts_with("collected")
        };
        if there.len() < here.len() || !there.iter().zip(&here).all(is_told) {
            let what = "it does not tell all that is here: collect a study again";
            verified.note(format!("{}: {what}", path.display()));
        }
        let here = here.iter().take(if there.len() < here.len() { 0 } else { here.len() });
        let there = there.iter().take(here.len());
        Ok(there.map(but_fate).eq(here.map(but_fate)))
    };
    match compare() {
        Ok(true) => {}
        Ok(false) => verified.problem(format!("{}: not what the ledger froze", path.display())),
        Err(error) => verified.problem(error),
    }
}
