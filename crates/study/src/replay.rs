//! Replaying: some units again, in another place, compared bit by bit, or as closely as a study
//! declared that its program comes out again.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use backcut_kernels::random::Stream;
use backcut_lab::measure::Finding;
use backcut_lab::training::Folder;

use crate::context::{Context, Ended};
use crate::error::StudyError;
use crate::execute::execute;
use crate::program::Replay;
use crate::record::{KeptFile, Outcome, Record};
use crate::store::{Recorded, Store};
use crate::tools::Tools;
use crate::unit::{Definition, UnitId};

/// One replayed unit.
#[derive(Clone, PartialEq, Debug)]
pub struct Replayed {
    /// The unit.
    pub unit: UnitId,
    /// How it came out; otherwise what differs.
    pub outcome: Result<CameOut, String>,
    /// Seconds.
    pub seconds: f64,
}

/// How a replay agrees with what was recorded.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum CameOut {
    /// The same, bit by bit.
    Same,
    /// A program's values lie within its declared tolerance; this is the largest difference.
    Within(f64),
    /// The study declared that the program cannot be replayed; nothing was run.
    Impossible,
}

/// Chooses units with results, at random by a seed.
pub fn sample(store: &Store, count: usize, seed: u64) -> Result<Vec<UnitId>, StudyError> {
    let found = store.scan()?;
    let mut ids: Vec<UnitId> =
        found.into_iter().filter(|(_, r)| *r == Recorded::Done).map(|(id, _)| id).collect();
    ids.sort_unstable();
    if ids.is_empty() {
        let what = format!("{} holds no finished unit", store.root().display());
        return Err(StudyError::invalid(what, "run a study there first"));
    }
    let mut draws = Stream::new(seed, "replay").at(0, 0);
    let order = draws.permutation(ids.len());
    Ok(order.into_iter().take(count).map(|i| ids[i]).collect())
}

/// Where a replay starts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Depth {
    /// The states that were kept, each checked against its unit's record and log.
    Kept,
    /// Initialization: what a unit starts from is computed again too, and must come out the same.
    Deep,
}

/// Computes a unit again in `scratch` and compares everything that was recorded.
pub fn replay(
    store: &Store,
    id: &UnitId,
    tools: Tools,
    scratch: &Path,
    depth: Depth,
) -> Result<Replayed, StudyError> {
    let elsewhere = Store::new(scratch);
    let mut seconds = 0.0;
    let outcome = again(store, id, tools, &elsewhere, depth, &[], &mut seconds)?;
    Ok(Replayed { unit: *id, outcome, seconds })
}

/// Computes a unit again and leaves it in `elsewhere`, with the states after `needed` for those
/// that start from it.
fn again(
    store: &Store,
    id: &UnitId,
    tools: Tools,
    elsewhere: &Store,
    depth: Depth,
    needed: &[u64],
    seconds: &mut f64,
) -> Result<Result<CameOut, String>, StudyError> {
    let recorded = Record::load(store, id, Recorded::Done)?;
    if let Definition::Command(what) = &recorded.definition
        && what.replay == Replay::Impossible
    {
        return Ok(Ok(CameOut::Impossible));
    }
    if depth == Depth::Deep {
        for need in recorded.definition.needs() {
            if elsewhere.has_state(&need.unit, need.update) {
                continue;
            }
            let updates = [need.update];
            let parent = again(store, &need.unit, tools, elsewhere, depth, &updates, seconds)?;
            if let Err(what) = parent {
                return Ok(Err(format!("what it starts from, unit {}: {what}", need.unit.short())));
            }
        }
    }
    let stop = AtomicBool::new(false);
    let context = Context {
        store: elsewhere,
        states: if depth == Depth::Deep { elsewhere } else { store },
        tools,
        head: recorded.head.clone(),
        save_after: Duration::MAX,
        stop: &stop,
        surroundings: recorded.ran.as_ref().map(|ran| ran.surroundings.clone()),
    };
    let kept = recorded.files.iter().filter_map(|file| Folder::kept_update(Path::new(&file.name)));
    let keep: BTreeSet<u64> = kept.chain(needed.iter().copied()).collect();
    let keep: Vec<u64> = keep.into_iter().collect();
    let Ended::Recorded(again) = execute(&context, &recorded.definition, &keep, &|_| {})? else {
        return Err(StudyError::invalid("the replay was stopped", "run it again"));
    };
    *seconds += again.seconds;
    again.save(elsewhere)?;
    if let Definition::Command(what) = &recorded.definition {
        return Ok(compare(what.replay, &recorded.outcome, &again.outcome));
    }
    let is_other = |file: &&KeptFile| {
        recorded.files.iter().any(|was| was.name == file.name && was.sha256 != file.sha256)
    };
    Ok(if again.content != recorded.content {
        Err("the result differs".to_owned())
    } else if let Some(file) = again.files.iter().find(is_other) {
        Err(format!("{} differs", file.name))
    } else if recorded.started != again.started {
        Err("it started from other parameters".to_owned())
    } else {
        Ok(CameOut::Same)
    })
}

/// A program's result against what was recorded. What it printed is not compared.
fn compare(replay: Replay, recorded: &Outcome, again: &Outcome) -> Result<CameOut, String> {
    let (Outcome::Ran { curve: was, findings: had }, Outcome::Ran { curve, findings }) =
        (recorded, again)
    else {
        return Err(match again {
            Outcome::Failed { what, .. } => format!("it failed: {what}"),
            _ => "the result differs".to_owned(),
        });
    };
    if recorded == again {
        return Ok(CameOut::Same);
    }
    let name = |f: &Finding| [f.quantity.clone(), f.part.clone(), f.of.to_string()];
    let is_alike = was.iter().map(|p| p.update).eq(curve.iter().map(|p| p.update))
        && had.iter().map(name).eq(findings.iter().map(name));
    if !is_alike {
        return Err("it has other points or findings".to_owned());
    }
    let pair = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() / a.abs().max(b.abs()).max(1.0),
        (None, None) => 0.0,
        _ => f64::INFINITY,
    };
    let values = was.iter().zip(curve).map(|(a, b)| pair(Some(a.value), Some(b.value)));
    let found = had.iter().zip(findings).map(|(a, b)| pair(a.value, b.value));
    let largest = values.chain(found).fold(0.0, f64::max);
    match replay {
        Replay::Tolerance(tolerance) if largest <= tolerance => Ok(CameOut::Within(largest)),
        Replay::Tolerance(tolerance) => {
            Err(format!("it differs by {largest:.3e}, declared was {tolerance:.3e}"))
        }
        Replay::Bitwise | Replay::Impossible => {
            Err(format!("it differs by {largest:.3e}, declared was bitwise"))
        }
    }
}
