//! What a study commits to: freezing it, amending it, and refusing to run anything else under its
//! name.

use std::collections::BTreeSet;
use std::fs;

use backcut_evidence::ledger::status::{can_grant, check_asks};
use backcut_evidence::ledger::{
    Amendment, Body, Contrast as Commitment, Draw, Frozen, Ledger, NotStamped, Reused, Sample,
    Status,
};
use backcut_files::{Hash, Utc, canonical_value};
use backcut_lab::training::config::differences;
use backcut_stats::philox::GENERATOR;
use backcut_stats::{DRAWS, SEED};
use serde_json::{Value, json};

use crate::error::StudyError;
use crate::memory::{Memory, commitments};
use crate::note::{Note, note};
use crate::plan::Plan;
use crate::store::Store;
pub use crate::store::ledger;
pub use crate::study::draw_sources;
use crate::study::{Grid, Study};
use crate::summary::Summary;
use crate::trajectory::Known;

/// A study as it stands in a folder, planned: with its sources, if they are drawn there.
pub fn in_folder(study: Study, store: &Store) -> Result<(Study, Plan), StudyError> {
    let is_open = study.grids.iter().any(Grid::is_open);
    let study = if is_open { draw_sources(study, &ledger(store)?) } else { study };
    let plan = Plan::new(&study);
    Ok((study, plan))
}

/// Refuses to compute on sources that are not drawn yet.
fn must_be_drawn<'a>(
    grids: impl IntoIterator<Item = &'a Grid>,
    ledger: &Ledger,
) -> Result<(), StudyError> {
    for drawn in grids.into_iter().filter(|g| g.is_open()).filter_map(|g| g.drawn.as_ref()) {
        if ledger.drawn(&drawn.study, drawn.draw).is_some() {
            continue;
        }
        let what = "its sources are drawn when it is frozen, and it is not frozen here";
        let hint = "freeze it first (`backcut study freeze`)";
        return Err(StudyError::invalid(format!("study {}: {what}", drawn.study), hint));
    }
    Ok(())
}

/// Lets a study run in a folder: the first time it is written down, later it must be the same.
pub fn admit(study: &Study, plan: &Plan, store: &Store) -> Result<(), StudyError> {
    if is_new(study, store)? { note(study, plan, store) } else { Ok(()) }
}

/// Whether [`admit`] would write the study down; an error if it would turn the study away. Whoever
/// reads results under a study's name asks this first: a file that differs has none.
pub fn is_new(study: &Study, store: &Store) -> Result<bool, StudyError> {
    let ledger = ledger(store)?;
    must_be_drawn(&study.grids, &ledger)?;
    let frozen = latest(&ledger, &study.name);
    if let Some(frozen) = frozen {
        same(study, &frozen.canonical, "frozen", "amend it (`backcut study amend --reason ...`)")?;
    }
    let path = store.study(&study.name);
    if !path.exists() {
        return Ok(true);
    }
    let known = Note::read(&path)?.canonical;
    // The ledger decides; a kill between an amendment and its note leaves an old note.
    if frozen.is_some() && known != study.canonical {
        return Ok(true);
    }
    same(study, &known, "run", "give it another name, or another --out")?;
    Ok(false)
}

fn same(study: &Study, there: &str, what: &str, hint: &str) -> Result<(), StudyError> {
    if there == study.canonical {
        return Ok(());
    }
    let theirs: Value = serde_json::from_str(there).unwrap_or_default();
    let mut lines = differences(&study.value(), &theirs);
    let more = lines.len().saturating_sub(12);
    lines.truncate(12);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    let is_code = |line: &String| line.contains("program.") || line.contains("behaviours.");
    let hint = if !lines.is_empty() && lines.iter().all(is_code) {
        "its system's code does something else since: give the study another name, or another --out"
    } else {
        hint
    };
    let lines = lines.join("\n  ");
    Err(StudyError::invalid(
        format!("study {} differs from what was {what} here:\n  {lines}", study.name),
        hint,
    ))
}

/// The latest entry of a study.
pub fn latest<'a>(ledger: &'a Ledger, study: &str) -> Option<&'a Frozen> {
    ledger.latest_entry(study).and_then(|entry| entry.frozen())
}

/// Freezes a study at a time; returns the new head.
pub fn freeze(study: &Study, plan: &Plan, store: &Store, utc: Utc) -> Result<Hash, StudyError> {
    fs::create_dir_all(store.root()).map_err(StudyError::io(store.root()))?;
    let mut ledger = ledger(store)?;
    if let Some(frozen) = latest(&ledger, &study.name) {
        same(study, &frozen.canonical, "frozen", "amend it (`backcut study amend --reason ...`)")?;
        return Err(StudyError::invalid(
            format!("study {} is frozen already, exactly like this", study.name),
            "run it (`backcut study run`)",
        ));
    }
    let frozen = propose(study, plan, store, &ledger)?;
    let head = ledger.append(utc, Body::Freeze(frozen))?;
    note_drawn(study, plan, store, &ledger)?;
    Ok(head)
}

/// Writes down a study that was frozen a moment ago, with the sources that the entry drew.
fn note_drawn(
    study: &Study,
    plan: &Plan,
    store: &Store,
    ledger: &Ledger,
) -> Result<(), StudyError> {
    if study.draw().is_none() {
        return note(study, plan, store);
    }
    let study = draw_sources(study.clone(), ledger);
    note(&study, &Plan::new(&study), store)
}

/// Amends a frozen study, with a reason; returns the new head.
pub fn amend(
    study: &Study,
    plan: &Plan,
    store: &Store,
    utc: Utc,
    reason: &str,
) -> Result<Hash, StudyError> {
    let mut ledger = ledger(store)?;
    let Some(entry) = ledger.latest_entry(&study.name) else {
        return Err(StudyError::invalid(
            format!("study {} was never frozen here", study.name),
            "freeze it (`backcut study freeze`)",
        ));
    };
    if entry.frozen().is_some_and(|f| f.canonical == study.canonical) {
        return Err(StudyError::invalid(
            format!("study {} has not changed since it was frozen", study.name),
            "nothing to amend",
        ));
    }
    let amends = entry.hash;
    let frozen = propose(study, plan, store, &ledger)?;
    let reason = reason.to_owned();
    let head = ledger.append(utc, Body::Amend(Amendment { amends, reason, frozen }))?;
    note_drawn(study, plan, store, &ledger)?;
    Ok(head)
}

/// What would be frozen now. Refuses a study that asks for more than it could be granted.
fn propose(
    study: &Study,
    plan: &Plan,
    store: &Store,
    ledger: &Ledger,
) -> Result<Frozen, StudyError> {
    let is_foreign = |grid: &&Grid| grid.drawn.as_ref().is_some_and(|d| d.study != study.name);
    must_be_drawn(study.grids.iter().filter(is_foreign), ledger)?;
    let found = store.scan()?;
    let mut frozen = Frozen::new(&*study.name, &*study.canonical, analysis_inputs(study));
    let is_reused = reused(study, plan);
    for (unit, is_reused) in plan.units.iter().zip(&is_reused) {
        match found.get(&unit.id) {
            Some(recorded) if *is_reused => {
                let content = Summary::load(store, &unit.id, *recorded)?.content;
                frozen.reused.push(Reused { unit: unit.id, content });
            }
            _ => frozen.new.push(unit.id),
        }
    }
    let known = Known::of(study, plan, store)?;
    (frozen.existing, frozen.known) = (known.existing, known.known);
    frozen.known.retain(|unit| frozen.reused.iter().all(|reused| reused.unit != *unit));
    frozen.draw = study.draw().map(|d| Draw { sources: d.draw, stamped: NotStamped });
    let all = |study: &Study, plan: &Plan| -> Vec<Commitment> {
        study.families.iter().flat_map(|family| commitments(study, plan, family)).collect()
    };
    frozen.contrasts = all(study, plan);
    let memory = Memory::new(ledger);
    check_asks(ledger, &frozen, &|entry, contrast| memory.recall(entry, contrast)).map_err(
        |error| {
            let hint = "ask for less, or use sources that nothing was computed on";
            StudyError::invalid(error, hint)
        },
    )?;
    refuse_older(&frozen, ledger, &memory, |unit| found.contains_key(unit))?;
    if frozen.draw.is_some() {
        // The entry's hash decides the sources, so the entry can only name stand-ins.
        let study = study.undrawn();
        let plan = Plan::new(&study);
        frozen.contrasts = all(&study, &plan);
        frozen.new = plan.units.iter().map(|unit| unit.id).collect();
        frozen.reused.clear();
    }
    Ok(frozen)
}

/// Refuses a study whose own units are there already, from a run that knew nothing of it: a table
/// would take back what was granted here.
fn refuse_older(
    proposed: &Frozen,
    ledger: &Ledger,
    memory: &Memory,
    is_there: impl Fn(&Hash) -> bool,
) -> Result<(), StudyError> {
    let new: BTreeSet<&Hash> = proposed.new.iter().filter(|unit| is_there(unit)).collect();
    let recall = |entry: &_, contrast: &_| memory.recall(entry, contrast);
    for contrast in proposed.contrasts.iter().filter(|c| c.asks > Some(Status::Descriptive)) {
        let granted = can_grant(ledger, proposed, contrast, &recall);
        let units = contrast.sample.iter().flat_map(Sample::set);
        let older = units.filter(|unit| new.contains(unit)).count();
        // What an earlier entry grants, its own results may well be there for.
        if granted.entry.is_none() && granted.status > Status::Descriptive && older > 0 {
            let what = format!(
                "contrast `{}` asks to be {}, but {} of its results ran before it was frozen",
                contrast.name, granted.status, older
            );
            let hint = "take them over from their study with [[reuse]], or ask for less";
            return Err(StudyError::invalid(what, hint));
        }
    }
    Ok(())
}

/// Which units are taken over from other studies. One that stands in several places is listed once;
/// a reused arm makes it a reused one.
fn reused(study: &Study, plan: &Plan) -> Vec<bool> {
    let mut is_reused = vec![false; plan.units.len()];
    for place in &plan.places {
        let has_origin = study.arms[place.arm as usize].origin.is_some();
        is_reused[place.unit as usize] |= place.measured.is_none() && has_origin;
    }
    is_reused
}

/// The hash of everything that an analysis reads besides results.
fn analysis_inputs(study: &Study) -> Hash {
    let inputs = json!({
        "families": study.families.iter().map(|f| &f.table).collect::<Vec<_>>(),
        "comparisons": study.comparisons,
        "draws": DRAWS, "seed": SEED, "generator": GENERATOR,
    });
    Hash::of(canonical_value(&inputs).as_bytes())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use backcut_systems::Catalogue;

    use super::*;

    /// Canonical JSON, draws, contrasts and units: what decided then decides now, byte for byte.
    #[test]
    fn what_was_published_would_be_frozen_again() {
        let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results");
        let ledger = Ledger::open(results.join("ledger.jsonl")).unwrap();
        let mut seen = 0;
        for frozen in ledger.entries().iter().filter_map(|entry| entry.frozen()) {
            let file = format!("../../studies/{}.toml", frozen.study);
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
            if !path.exists() {
                // A study of data that are not part of the project is known by its canonical form
                // alone. Its own draw is open in its entry; what it reuses was drawn before.
                let study = Study::from_canonical(&frozen.canonical).unwrap();
                let is_open = study.draw().is_some();
                let study = if is_open { study } else { draw_sources(study, &ledger) };
                let units: BTreeSet<Hash> = Plan::new(&study).units.iter().map(|u| u.id).collect();
                let listed = frozen.new.iter().chain(frozen.reused.iter().map(|r| &r.unit));
                assert_eq!(units, listed.copied().collect(), "{}", study.name);
                continue;
            }
            let study = Study::load(&path, &Catalogue::builtin()).unwrap();
            assert_eq!(study.canonical, frozen.canonical);
            assert_eq!(analysis_inputs(&study), frozen.analysis, "{}", study.name);
            let plan = Plan::new(&study);
            let commitments = |family| commitments(&study, &plan, family);
            let mut contrasts: Vec<_> = study.families.iter().flat_map(commitments).collect();
            assert!(
                contrasts.iter().all(|c| c.sample.as_ref().is_some_and(|s| !s.set().is_empty()))
            );
            for contrast in &mut contrasts {
                contrast.sample = None; // the form of that time had none
                contrast.shared_by = None;
                contrast.idle.clear();
            }
            contrasts.sort_by(|a, b| a.name.cmp(&b.name));
            let mut published = frozen.contrasts.clone();
            published.sort_by(|a, b| a.name.cmp(&b.name));
            assert_eq!(contrasts, published, "{}", study.name);
            let units: BTreeSet<Hash> = plan.units.iter().map(|unit| unit.id).collect();
            let listed = frozen.new.iter().chain(frozen.reused.iter().map(|r| &r.unit));
            assert_eq!(units, listed.copied().collect(), "{}", study.name);
            seen += 1;
        }
        assert!(seen > 8, "{seen} entries");
    }
}
