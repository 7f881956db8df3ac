//! Replaying: some units again, in another place, compared bit by bit.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use backcut_kernels::random::Stream;
use backcut_training::Folder;

use crate::error::StudyError;
use crate::execute::{Context, Ended, execute};
use crate::record::{KeptFile, Record};
use crate::store::{Recorded, Store};
use crate::tools::Tools;
use crate::unit::UnitId;

/// One replayed unit.
#[derive(Clone, PartialEq, Debug)]
pub struct Replayed {
    /// The unit.
    pub unit: UnitId,
    /// It came out the same, bit by bit; otherwise what differs.
    pub outcome: Result<(), String>,
    /// Seconds.
    pub seconds: f64,
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

/// Computes a unit again and leaves it in `elsewhere`, with the states after `needed` for those that
/// start from it.
fn again(
    store: &Store,
    id: &UnitId,
    tools: Tools,
    elsewhere: &Store,
    depth: Depth,
    needed: &[u64],
    seconds: &mut f64,
) -> Result<Result<(), String>, StudyError> {
    let recorded = Record::load(store, id, Recorded::Done)?;
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
    };
    let kept = recorded.files.iter().filter_map(|file| Folder::kept_update(Path::new(&file.name)));
    let keep: BTreeSet<u64> = kept.chain(needed.iter().copied()).collect();
    let keep: Vec<u64> = keep.into_iter().collect();
    let Ended::Recorded(again) = execute(&context, &recorded.definition, &keep, &|_| {})? else {
        return Err(StudyError::invalid("the replay was stopped", "run it again"));
    };
    *seconds += again.seconds;
    again.save(elsewhere)?;
    let is_other = |file: &&KeptFile| {
        recorded.files.iter().any(|was| was.name == file.name && was.sha256 != file.sha256)
    };
    Ok(if again.content != recorded.content {
        Err("the result differs".to_owned())
    } else if let Some(file) = again.files.iter().find(is_other) {
        Err(format!("{} differs", file.name))
    } else if !recorded.started.is_empty() && recorded.started != again.started {
        Err("it started from other parameters".to_owned())
    } else {
        Ok(())
    })
}
