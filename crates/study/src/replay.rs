//! Replaying: some units again, in another place, compared bit by bit.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use backcut_engine::Cpu;
use backcut_kernels::random::Stream;

use crate::error::StudyError;
use crate::execute::{Context, Ended, execute};
use crate::record::Record;
use crate::store::{Recorded, Store};
use crate::systems::Catalogue;
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

/// Computes a unit again in `scratch` and compares everything that was recorded.
pub fn replay(
    store: &Store,
    id: &UnitId,
    catalogue: &dyn Catalogue,
    scratch: &Path,
) -> Result<Replayed, StudyError> {
    let recorded = Record::load(store, id, Recorded::Done)?;
    let elsewhere = Store::new(scratch);
    for need in recorded.definition.needs() {
        let (from, to) = (
            store.checkpoint(&need.unit, need.update),
            elsewhere.checkpoint(&need.unit, need.update),
        );
        fs::create_dir_all(elsewhere.beside(&need.unit)).map_err(StudyError::io(&to))?;
        fs::copy(&from, &to).map_err(StudyError::io(&from))?;
    }
    let stop = AtomicBool::new(false);
    let context = Context {
        store: &elsewhere,
        catalogue,
        executor: Cpu::detect(),
        head: recorded.head.clone(),
        save_after: Duration::MAX,
        stop: &stop,
    };
    let keep: Vec<u64> = recorded
        .files
        .iter()
        .filter_map(|f| {
            f.name.strip_prefix("checkpoint-")?.strip_suffix(".safetensors")?.parse().ok()
        })
        .collect();
    let Ended::Recorded(again) = execute(&context, &recorded.definition, &keep, &|_| {})? else {
        return Err(StudyError::invalid("the replay was stopped", "run it again"));
    };
    let outcome = if again.content != recorded.content {
        Err("the result differs".to_owned())
    } else if let Some(file) = again.files.iter().find(|f| !recorded.files.contains(f)) {
        Err(format!("{} differs", file.name))
    } else {
        Ok(())
    };
    Ok(Replayed { unit: *id, outcome, seconds: again.seconds })
}
