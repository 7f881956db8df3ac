//! The check behind every measured update: replayed from the checkpoint, the run's own next update
//! must leave the parameters whose fingerprint the log recorded.

use std::path::PathBuf;

use anyhow::Result;
use backcut_lab::measure::{Rig, Subject, replayed_hash};
use backcut_lab::training::{Folder, log};

use super::states::{Named, States};
use super::table::wrapped;
use crate::exit::Told as _;

/// What came of it.
pub enum Replay {
    /// The same bits.
    Bitwise {
        /// The update.
        update: u64,
        /// Its fingerprint.
        hash: u64,
    },
    /// Other bits.
    Differs {
        /// What differs from what.
        what: String,
    },
    /// Nothing to compare with.
    NoRecord {
        /// The log that has none, or is not there.
        log: PathBuf,
        /// The update.
        update: u64,
    },
}

impl Replay {
    /// The replay left other bits.
    pub fn is_broken(&self) -> bool {
        matches!(self, Self::Differs { .. })
    }

    fn line(&self) -> String {
        match self {
            Self::Bitwise { update, hash } => {
                format!("replay: bitwise (update {update}, hash {hash:016x})")
            }
            Self::Differs { what } => format!("replay: FAILED: {what}"),
            Self::NoRecord { log, update } => {
                let name = log.file_name().unwrap_or_default().to_string_lossy();
                format!(
                    "replay: not checked (a run that ended here: no {name} beside it holds update \
                     {update})"
                )
            }
        }
    }

    /// One line for one state; for several, a count and every failure.
    pub fn report(replays: &[Self], states: &States) -> String {
        if let [only] = replays {
            return wrapped(&only.line(), 2);
        }
        let count = |is: fn(&Self) -> bool| replays.iter().filter(|r| is(r)).count();
        let bitwise = count(|r| matches!(r, Self::Bitwise { .. }));
        let unknown = count(|r| matches!(r, Self::NoRecord { .. }));
        let mut out = format!(
            "replay: bitwise at {bitwise} of {} states, {unknown} without a record\n",
            replays.len()
        );
        for (replay, state) in replays.iter().zip(&states.all).filter(|(r, _)| r.is_broken()) {
            out += &wrapped(&format!("  {}: {}", state.label, replay.line()), 4);
        }
        out
    }
}

/// Replays the update after a state under the cut of its own run.
pub fn replay(rig: &mut Rig<f32>, subject: &Subject, restored: &Named) -> Result<Replay> {
    let folder = Folder::new(restored.path.parent().unwrap_or(&restored.path));
    let update = subject.state.update + 1;
    let path = folder.log();
    if !path.is_file() {
        return Ok(Replay::NoRecord { log: path, update });
    }
    let records = log::read(&path).told()?;
    let recorded = |update: u64| records.iter().map(|r| r.update).find(|u| u.update == update);
    if let Some(before) = recorded(update - 1)
        && before.hash != subject.state.hash()
    {
        let what = format!(
            "update {} in {} left other parameters than this checkpoint's: not its log",
            update - 1,
            path.display()
        );
        return Ok(Replay::Differs { what });
    }
    let Some(after) = recorded(update) else { return Ok(Replay::NoRecord { log: path, update }) };
    let cut = restored.restored.header.config.cut;
    let hash = if rig.find(cut).is_some() {
        replayed_hash(rig, subject, cut)
    } else {
        Rig::new(subject.system, &[cut]).and_then(|mut own| replayed_hash(&mut own, subject, cut))
    }
    .told_at(&restored.label)?;
    Ok(if hash == after.hash {
        Replay::Bitwise { update, hash }
    } else {
        let recorded = after.hash;
        let what =
            format!("update {update} under {cut} gives {hash:016x}, the log {recorded:016x}");
        Replay::Differs { what }
    })
}
