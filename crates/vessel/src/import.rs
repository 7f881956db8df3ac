//! Files to a store, in one go.

use std::path::{Path, PathBuf};

use crate::clean::{Cleaner, Rules};
use crate::error::AisError;
use crate::read::{Limits, read_file};
use crate::source::{Source, hash_file};
use crate::store::{Funnel, Manifest, StoreWriter};

/// What to import, and how.
#[derive(Clone, Debug)]
pub struct Import<'a> {
    /// The files, in the order of time.
    pub files: &'a [PathBuf],
    /// The folder that becomes a store.
    pub out: &'a Path,
    /// The rules of cleaning.
    pub rules: Rules,
    /// What is refused as hostile.
    pub limits: Limits,
    /// Vessels to set apart.
    pub reserve: usize,
}

impl Import<'_> {
    /// Reads, cleans and stores. `advance` hears of bytes as they are read.
    pub fn run(&self, advance: &mut dyn FnMut(u64)) -> Result<Manifest, AisError> {
        let rules = self.rules.clone().check()?;
        let mut store = StoreWriter::create(self.out, &self.rules)?;
        let mut cleaner = Cleaner::new(rules, self.limits.vessels);
        let (mut funnel, mut sources) = (Funnel::default(), Vec::new());
        for path in self.files {
            let found = read_file(path, &self.limits, advance, &mut |vessel, naming, report| {
                cleaner.report(vessel, naming, report)?;
                if cleaner.has_ended() {
                    cleaner.ended().try_for_each(|segment| store.add(segment))?;
                }
                Ok(())
            })?;
            funnel.rows += found.rows;
            funnel.bad.count += found.bad.count;
            funnel.bad.examples.extend(found.bad.examples);
            let (sha256, bytes) = hash_file(path)?;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            sources.push(Source { name, bytes, sha256 });
        }
        store.complete(cleaner, self.reserve, funnel, sources)
    }
}
