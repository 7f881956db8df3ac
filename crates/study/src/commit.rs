//! What a study commits to: freezing it, amending it, and refusing to run anything else under its name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use backcut_ledger::status::check_asks;
use backcut_ledger::{
    Amendment, Body, Contrast as Commitment, Frozen, Hash, Ledger, LedgerError, Reused, Utc,
    canonical_value,
};
use backcut_stats::philox::GENERATOR;
use backcut_stats::{Contrast, DRAWS, SEED};
use backcut_training::config::differences;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::StudyError;
use crate::plan::{Place, Plan};
use crate::record::Record;
use crate::store::{Recorded, Store, publish};
use crate::study::{Study, StudyFamily};
use crate::summary::Summary;
use crate::unit::{Definition, UnitId};

impl From<LedgerError> for StudyError {
    fn from(error: LedgerError) -> Self {
        let hint = match error {
            LedgerError::Io { path, error, .. } => return Self::Io { path, source: error },
            LedgerError::Broken { .. } => {
                "the ledger was changed after it was written: restore it from a copy"
            }
            LedgerError::Moved { .. } => "somebody else wrote to the ledger: try again",
            _ => "see `backcut study --help`",
        };
        Self::invalid(error, hint)
    }
}

/// Opens the ledger of a results folder.
pub fn ledger(store: &Store) -> Result<Ledger, StudyError> {
    Ok(Ledger::open(store.ledger())?)
}

/// What is kept of every study that ran in a folder.
#[derive(Serialize, Deserialize)]
struct Known {
    canonical: String,
    units: Vec<UnitId>,
}

/// Lets a study run in a folder: the first time it is written down, later it must be the same.
pub fn admit(study: &Study, plan: &Plan, store: &Store) -> Result<(), StudyError> {
    if is_new(study, store)? { note(study, plan, store) } else { Ok(()) }
}

/// Whether [`admit`] would write the study down; an error if it would turn the study away.
pub fn is_new(study: &Study, store: &Store) -> Result<bool, StudyError> {
    let ledger = ledger(store)?;
    let frozen = latest(&ledger, &study.name);
    if let Some(frozen) = frozen {
        same(study, &frozen.canonical, "frozen", "amend it (`backcut study amend --reason ...`)")?;
    }
    let path = store.study(&study.name);
    match backcut_files::read_text(&path) {
        Ok(text) => {
            let known: Known =
                serde_json::from_str(&text).map_err(|e| StudyError::damaged(&path, e))?;
            // The ledger decides; a kill between an amendment and its note leaves an old note.
            if frozen.is_some() && known.canonical != study.canonical {
                return Ok(true);
            }
            same(study, &known.canonical, "run", "give it another name, or another --out")?;
            Ok(false)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(StudyError::io(&path)(error)),
    }
}

fn note(study: &Study, plan: &Plan, store: &Store) -> Result<(), StudyError> {
    let units = plan.units.iter().map(|u| u.id).collect();
    let known = Known { canonical: study.canonical.clone(), units };
    let mut text = serde_json::to_string(&known).map_err(StudyError::bug)?;
    text.push('\n');
    publish(&store.study(&study.name), text.as_bytes())
}

/// The units of every study that ran in the folder, by name.
pub fn known(store: &Store) -> Result<BTreeMap<String, Vec<UnitId>>, StudyError> {
    Ok(noted(store)?.into_iter().map(|(name, (_, units))| (name, units)).collect())
}

/// The canonical form and the units of every study that ran in the folder, by name.
pub(crate) fn noted(store: &Store) -> Result<BTreeMap<String, (String, Vec<UnitId>)>, StudyError> {
    let folder = store.root().join("studies");
    let mut studies = BTreeMap::new();
    for file in crate::store::list(&folder)? {
        let Some(name) = file.strip_suffix(".json") else { continue };
        let path = folder.join(&file);
        let text = backcut_files::read_text(&path).map_err(StudyError::io(&path))?;
        let known: Known =
            serde_json::from_str(&text).map_err(|e| StudyError::damaged(&path, e))?;
        studies.insert(name.to_owned(), (known.canonical, known.units));
    }
    Ok(studies)
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
    note(study, plan, store)?;
    Ok(head)
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
    note(study, plan, store)?;
    Ok(head)
}

/// What would be frozen now. Refuses a study that asks for more than it could be granted.
fn propose(
    study: &Study,
    plan: &Plan,
    store: &Store,
    ledger: &Ledger,
) -> Result<Frozen, StudyError> {
    let found = store.scan()?;
    let mut frozen = Frozen::new(&*study.name, &*study.canonical, analysis_inputs(study));
    // A unit that stands in several places is listed once; a reused arm makes it a reused one.
    let mut is_reused = vec![false; plan.units.len()];
    for place in &plan.places {
        let has_origin = study.arms[place.arm as usize].origin.is_some();
        is_reused[place.unit as usize] |= place.measured.is_none() && has_origin;
    }
    for (unit, is_reused) in plan.units.iter().zip(is_reused) {
        match found.get(&unit.id) {
            Some(recorded) if is_reused => {
                let content = Summary::load(store, &unit.id, *recorded)?.content;
                frozen.reused.push(Reused { unit: unit.id, content });
            }
            _ => frozen.new.push(unit.id),
        }
    }
    frozen.existing = existing(study, store, &found)?;
    let mut needed = Vec::new();
    for family in &study.families {
        for (commitment, contrast) in commitments(family).into_iter().zip(&family.params.contrasts)
        {
            let units = units_of(study, plan, family, contrast);
            let units = units.iter().map(|u| plan.units[*u as usize].id);
            needed.push((commitment.name.clone(), units.collect::<Vec<Hash>>()));
            frozen.contrasts.push(commitment);
        }
    }
    let needed = |contrast: &Commitment| {
        let found = needed.iter().find(|(name, _)| *name == contrast.name);
        found.map_or_else(Vec::new, |(_, units)| units.clone())
    };
    check_asks(ledger, &frozen, needed).map_err(|error| {
        StudyError::invalid(error, "ask for less, or use sources that nothing was computed on")
    })?;
    Ok(frozen)
}

/// Results on this study's sources, whoever computed them.
fn existing(
    study: &Study,
    store: &Store,
    found: &std::collections::HashMap<UnitId, Recorded>,
) -> Result<Vec<Hash>, StudyError> {
    let seeds: BTreeSet<u64> = study.grids.iter().flat_map(|g| g.sources.iter().copied()).collect();
    let mut ids: Vec<(&UnitId, &Recorded)> = found.iter().collect();
    ids.sort_unstable_by_key(|(id, _)| **id);
    let mut existing = Vec::new();
    for (id, recorded) in ids {
        let is_ours = match Record::load(store, id, *recorded)?.definition {
            Definition::Train(run) => seeds.contains(&run.seed),
            Definition::Measure { .. } => false,
        };
        if is_ours {
            existing.push(*id);
        }
    }
    Ok(existing)
}

/// A family's contrasts as the ledger holds them. What decides a row besides its expression (margin,
/// bound, size, level, quantity) is part of the family's name there.
pub fn commitments(family: &StudyFamily) -> Vec<Commitment> {
    let table = &family.table;
    let settings = canonical_value(&json!({
        "size": table.size, "alpha": table.alpha, "bound": table.bound,
        "margin": table.margin, "quantity": table.quantity, "at": table.at,
    }));
    let commitment = |contrast: &Contrast| Commitment {
        name: format!("{}: {}", table.name, contrast.name),
        family: format!("{} {settings}", table.name),
        expression: contrast.text.clone(),
        direction: match (contrast.direction, table.margin) {
            (Some(direction), _) => Some(format!("{direction:?}").to_lowercase()),
            (None, Some(margin)) => Some(format!("below {margin}")),
            (None, None) => None,
        },
        asks: Some(family.asks),
    };
    family.params.contrasts.iter().map(commitment).collect()
}

/// Whether a place holds what a family compares: errors, or a quantity measured at its update.
pub(crate) fn is_of(family: &StudyFamily, study: &Study, place: &Place) -> bool {
    let at = family.table.at.unwrap_or(study.arms[place.arm as usize].updates);
    match place.measured {
        None => family.table.quantity.is_none(),
        Some(m) => family.table.quantity.is_some() && study.measured[m as usize].update == at,
    }
}

/// The units whose results a contrast uses, by index.
pub fn units_of(study: &Study, plan: &Plan, family: &StudyFamily, contrast: &Contrast) -> Vec<u32> {
    let cells = contrast.cells();
    let uses = |place: &Place| cells.iter().any(|name| study.cell(place).0.is_meant_by(name));
    let places = plan.places.iter().filter(|place| is_of(family, study, place) && uses(place));
    let mut units: Vec<u32> = places.map(|place| place.unit).collect();
    units.sort_unstable();
    units.dedup();
    units
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
            let study = Study::load(&path, &Catalogue::builtin()).unwrap();
            assert_eq!(study.canonical, frozen.canonical);
            assert_eq!(analysis_inputs(&study), frozen.analysis, "{}", study.name);
            let mut contrasts: Vec<_> = study.families.iter().flat_map(commitments).collect();
            contrasts.sort_by(|a, b| a.name.cmp(&b.name));
            let mut published = frozen.contrasts.clone();
            published.sort_by(|a, b| a.name.cmp(&b.name));
            assert_eq!(contrasts, published, "{}", study.name);
            let units = Plan::new(&study).units;
            let units: BTreeSet<Hash> = units.iter().map(|unit| unit.id).collect();
            let listed = frozen.new.iter().chain(frozen.reused.iter().map(|r| &r.unit));
            assert_eq!(units, listed.copied().collect(), "{}", study.name);
            seen += 1;
        }
        assert!(seen > 8, "{seen} entries");
    }
}
