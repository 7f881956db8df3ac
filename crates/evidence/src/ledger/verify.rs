//! Everything that can be checked of a ledger, as a list for people to read.

use std::path::Path;

use crate::ledger::entry::{Body, Entry, Frozen};
use crate::ledger::{Ledger, LedgerError};
use backcut_files::Hash;

/// How bad a finding is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// The ledger is not to be relied on.
    Fault,
    /// Worth knowing; nothing is wrong by it.
    Note,
}

/// One thing that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// How bad it is.
    pub level: Level,
    /// The line of the file, counted from 1.
    pub line: usize,
    /// What it is.
    pub what: String,
}

/// What a verification found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// How many sound entries were read; 0 if a line is broken.
    pub entries: usize,
    /// The head; [`Hash::ZERO`] if a line is broken.
    pub head: Hash,
    /// What was found, by line.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Whether there is no fault.
    pub fn is_sound(&self) -> bool {
        self.findings.iter().all(|finding| finding.level != Level::Fault)
    }
}

/// Checks the chain of a ledger file, its times and its amendments. An error only if the file
/// cannot be read at all; a broken line is a finding.
pub fn verify(path: &Path) -> Result<Report, LedgerError> {
    match Ledger::open(path) {
        Ok(ledger) => Ok(ledger.verify_all()),
        Err(LedgerError::Broken { line, fault, .. }) => {
            let finding = Finding { level: Level::Fault, line, what: fault.to_string() };
            Ok(Report { entries: 0, head: Hash::ZERO, findings: vec![finding] })
        }
        Err(error) => Err(error),
    }
}

impl Ledger {
    /// The findings on a ledger whose chain is sound, as every open one's is.
    pub fn verify_all(&self) -> Report {
        let mut findings = Vec::new();
        for (i, entry) in self.entries().iter().enumerate() {
            let mut found = |level, what| findings.push(Finding { level, line: i + 1, what });
            if let Some(what) = i.checked_sub(1).and_then(|b| backwards(&self.entries()[b], entry))
            {
                found(Level::Note, what);
            }
            match &entry.body {
                Body::Freeze(_) => {}
                Body::Amend(amendment) => {
                    let before = self.entry(amendment.amends).and_then(Entry::frozen);
                    for what in before.map(|b| changed(b, &amendment.frozen)).unwrap_or_default() {
                        found(Level::Note, what);
                    }
                }
            }
        }
        if let Some(torn) = self.torn() {
            let what = if torn.whole {
                "the last line has no end; the next append ends it".into()
            } else {
                let bytes = torn.bytes;
                format!("a write was cut short after {bytes} bytes; the next append removes them")
            };
            findings.push(Finding { level: Level::Note, line: torn.line, what });
        }
        Report { entries: self.entries().len(), head: self.head(), findings }
    }
}

/// A clock that jumps must not break a chain: the order of entries is the chain's, not the clock's.
fn backwards(before: &Entry, entry: &Entry) -> Option<String> {
    let (earlier, later) = (before.utc, entry.utc);
    (later < earlier).then(|| format!("its time {later} is before {earlier}, the line above's"))
}

/// What an amendment did to the contrasts that stood before it.
fn changed(before: &Frozen, after: &Frozen) -> Vec<String> {
    let study = &after.study;
    let change = |name: &str, what: &str| format!("study `{study}`: contrast `{name}` was {what}");
    let gone = before.contrasts.iter().filter_map(|old| match after.contrast(&old.name) {
        None => Some(change(&old.name, "dropped")),
        Some(new) if !new.same_wording(old) => Some(change(&old.name, "reworded")),
        Some(new) if new.asks != old.asks => Some(change(&old.name, "given another status to ask")),
        Some(_) => None,
    });
    let added = after.contrasts.iter().filter(|new| before.contrast(&new.name).is_none());
    gone.chain(added.map(|new| change(&new.name, "added"))).collect()
}
