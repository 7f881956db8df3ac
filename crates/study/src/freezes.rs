//! Everything that a ledger froze, and what became of it: six tries are seen as six tries.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use backcut_files::Hash;

use backcut_evidence::ledger::{Body, Contrast as Commitment, Entry, Frozen, Ledger, Sample};
use backcut_evidence::tables::rows::FreezeRow;
use backcut_stats::{Contrast, Direction};

use crate::memory::Memory;

/// What is known of the results beside a ledger.
pub(crate) struct Beside<'a> {
    /// Units with a record; none where records are not handed on.
    pub(crate) recorded: Option<&'a BTreeSet<Hash>>,
    /// The folder that holds a folder of tables per study.
    pub(crate) tables: &'a Path,
    /// The planned units of studies, by name.
    pub(crate) planned: &'a BTreeMap<String, Vec<Hash>>,
}

/// One row per freeze and amendment, oldest first.
pub(crate) fn freezes(ledger: &Ledger, beside: &Beside) -> Vec<FreezeRow> {
    let memory = Memory::new(ledger);
    let predictions = predictions(ledger, &memory);
    let frozen = ledger.entries().iter().filter_map(|e| e.frozen().map(|f| (e, f)));
    let row = |(entry, frozen): (&Entry, &Frozen)| FreezeRow {
        entry: entry.index,
        utc: entry.utc.to_string(),
        study: frozen.study.clone(),
        kind: match entry.body {
            Body::Amend(_) => "amendment",
            Body::Freeze(_) => "freeze",
        }
        .to_owned(),
        predictions: frozen.contrasts.iter().filter(|c| c.direction.is_some()).count() as u64,
        units: frozen.units() as u64,
        sources: sources(ledger, entry, frozen),
        fate: fate(ledger, entry, frozen, beside),
        opposed: opposed(entry, &predictions),
    };
    frozen.map(row).collect()
}

/// How an entry's sources came to be.
fn sources(ledger: &Ledger, entry: &Entry, frozen: &Frozen) -> String {
    let Some(draw) = frozen.draw else { return "chosen".to_owned() };
    let first = ledger.entries_of(&frozen.study).find(|(_, f)| f.draw.is_some());
    let by = match first {
        Some((first, _)) if first.index != entry.index => format!("entry {}", first.index),
        _ => "it".to_owned(),
    };
    format!("{} drawn by {by}", draw.sources)
}

fn fate(ledger: &Ledger, entry: &Entry, frozen: &Frozen, beside: &Beside) -> String {
    let latest = ledger.latest_entry(&frozen.study).map_or(entry.index, |e| e.index);
    if latest != entry.index {
        let next = ledger.entries_of(&frozen.study).find(|(e, _)| e.index > entry.index);
        return format!("amended in entry {}", next.map_or(latest, |(e, _)| e.index));
    }
    let is_collected = beside.tables.join(&frozen.study).join("about.json").exists();
    let Some(recorded) = beside.recorded else {
        return if is_collected { "collected" } else { "no tables here" }.to_owned();
    };
    let planned = beside.planned.get(&frozen.study);
    let done = planned.map_or(0, |units| units.iter().filter(|id| recorded.contains(id)).count());
    match (is_collected, done) {
        (true, done) if done == frozen.units() => "collected".to_owned(),
        (true, done) => format!("collected, with {done} of {} records here", frozen.units()),
        (false, 0) => "never run".to_owned(),
        (false, done) => format!("{done} of {} units ran, never collected", frozen.units()),
    }
}

/// A prediction that stands, with what it is computed from.
struct Prediction<'a> {
    entry: &'a Entry,
    study: &'a str,
    commitment: &'a Commitment,
    sample: Sample,
    contrast: Contrast,
    direction: Direction,
}

/// Every prediction that was ever frozen: one that an amendment dropped was made all the same.
fn predictions<'a>(ledger: &'a Ledger, memory: &Memory) -> Vec<Prediction<'a>> {
    let mut predictions = Vec::new();
    for entry in ledger.entries() {
        let Some(frozen) = entry.frozen() else { continue };
        for commitment in &frozen.contrasts {
            let direction = match commitment.direction.as_deref() {
                Some("positive") => Direction::Positive,
                Some(_) => Direction::Negative, // `negative`, or `below` a margin
                None => continue,
            };
            let spelled = commitment.sample.clone().filter(|_| frozen.draw.is_none());
            let sample = spelled.or_else(|| memory.recall(entry, commitment)?.sample);
            let contrast = Contrast::parse(&commitment.expression).ok();
            if let (Some(sample), Some(contrast)) = (sample, contrast) {
                let study = frozen.study.as_str();
                predictions.push(Prediction {
                    entry,
                    study,
                    commitment,
                    sample,
                    contrast,
                    direction,
                });
            }
        }
    }
    predictions
}

/// Predictions elsewhere that say the opposite of one of this entry's on the very same results.
fn opposed(entry: &Entry, predictions: &[Prediction]) -> String {
    let ours = predictions.iter().filter(|p| p.entry.hash == entry.hash);
    let mut found = Vec::new();
    for one in ours {
        let (units, cells) = (influential(one), cells(&one.sample));
        for other in predictions {
            let is_another = other.entry.hash != entry.hash || other.commitment != one.commitment;
            if !is_another || influential(other) != units || !read_the_same(one, other) {
                continue;
            }
            let Some(theirs) = in_our_names(other, &one.sample) else { continue };
            if one.contrast.is_opposed(one.direction, &theirs, other.direction, &cells) {
                let Prediction { study, commitment, .. } = other;
                found
                    .push(format!("`{}` by `{}` of {study}", one.commitment.name, commitment.name));
            }
        }
    }
    found.join("; ")
}

/// Whether two predictions are about errors, or about the same measured quantity: a unit that
/// measures finds many. `name`, `name/part` and `name/part/cut` may be one.
fn read_the_same(one: &Prediction, other: &Prediction) -> bool {
    let quantities = |prediction: &Prediction| -> BTreeSet<Vec<String>> {
        let points = prediction.sample.points().into_iter();
        let quantity = points.map(|point| point.split_once(": ").map_or("", |(_, name)| name));
        quantity.map(|name| name.split('/').map(str::to_owned).collect()).collect()
    };
    let (ours, theirs) = (quantities(one), quantities(other));
    ours.iter().any(|ours| theirs.iter().any(|theirs| ours.iter().zip(theirs).all(|(a, b)| a == b)))
}

/// The units that a prediction depends on: cells without influence do not make it another one.
fn influential(prediction: &Prediction) -> BTreeSet<Hash> {
    let idle = &prediction.commitment.idle;
    let units = prediction.sample.units().filter(|(cell, _)| idle.iter().all(|name| name != cell));
    units.map(|(_, unit)| unit).collect()
}

/// Another prediction with its cells called as in our sample: arms may have other names over the
/// same units.
fn in_our_names(other: &Prediction, ours: &Sample) -> Option<Contrast> {
    let names: BTreeMap<Hash, &str> = ours.units().map(|(cell, unit)| (unit, cell)).collect();
    let renamed: BTreeMap<&str, &str> =
        other.sample.units().filter_map(|(cell, unit)| Some((cell, *names.get(&unit)?))).collect();
    let mut text = String::new();
    let mut rest = other.commitment.expression.as_str();
    while let Some((before, cell, after)) =
        rest.split_once('[').and_then(|(b, r)| r.split_once(']').map(|(c, a)| (b, c, a)))
    {
        text += &format!("{before}[{}]", renamed.get(cell).unwrap_or(&cell));
        rest = after;
    }
    Contrast::parse(&(text + rest)).ok()
}

fn cells(sample: &Sample) -> Vec<String> {
    let cells: BTreeSet<&str> = sample.units().map(|(cell, _)| cell).collect();
    cells.into_iter().map(str::to_owned).collect()
}
