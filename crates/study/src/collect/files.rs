//! Tables as files in a folder, with their checksums.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use backcut_evidence::tables::rows::FreezeRow;
use backcut_evidence::tables::{Row, names};
use backcut_files::Hash;
use serde_json::Value as Json;

use super::Tables;
use crate::commit;
use crate::error::StudyError;
use crate::freezes::{Beside, freezes};
use crate::store::{Store, beginning, list, publish, sweep};

/// What a folder of tables consists of.
pub(crate) struct Files {
    /// Names and bytes, in the order of their names.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
}

impl Files {
    /// The files of a study's tables.
    pub(crate) fn new(
        tables: &Tables,
        about: &Json,
        with_parquet: bool,
    ) -> Result<Self, StudyError> {
        let mut files = Self { files: BTreeMap::new() };
        files.table(names::OBSERVATIONS, &tables.observations, with_parquet)?;
        files.table(names::UNITS, &tables.units, with_parquet)?;
        files.table(names::PROVENANCE, &tables.provenance, with_parquet)?;
        files.table(names::ANALYSIS, &tables.analysis, with_parquet)?;
        if !tables.plans.is_empty() {
            files.table(names::PLANS, &tables.plans, with_parquet)?;
        }
        if !tables.comparisons.is_empty() {
            files.table(names::COMPARISONS, &tables.comparisons, with_parquet)?;
        }
        files.files.insert("about.json".to_owned(), format!("{about:#}\n").into_bytes());
        Ok(files)
    }

    #[cfg_attr(not(feature = "parquet"), expect(unused_variables, reason = "only Parquet asks"))]
    fn table<R: Row>(
        &mut self,
        name: &str,
        rows: &[R],
        with_parquet: bool,
    ) -> Result<(), StudyError> {
        let wrong = |error| StudyError::bug(format!("no table {name}: {error}"));
        let bytes = backcut_evidence::tables::to_csv(rows).map_err(wrong)?;
        self.files.insert(format!("{name}.csv"), bytes);
        #[cfg(feature = "parquet")]
        if with_parquet {
            let bytes = backcut_evidence::tables::to_parquet(name, rows).map_err(wrong)?;
            self.files.insert(format!("{name}.parquet"), bytes);
        }
        Ok(())
    }

    /// `SHA256SUMS`.
    fn sums(&self) -> String {
        let line = |(name, bytes): (&String, &Vec<u8>)| format!("{}  {name}\n", Hash::of(bytes));
        self.files.iter().map(line).collect()
    }
}

/// Writes tables into a folder, all at once, with their SHA-256 in `SHA256SUMS`; one level up,
/// beside the tables of other studies, the ledger and what became of everything that it froze.
pub fn write(
    tables: &Tables,
    about: &Json,
    store: &Store,
    folder: &Path,
    with_parquet: bool,
) -> Result<(), StudyError> {
    let files = Files::new(tables, about, with_parquet)?;
    let fresh = beginning(folder)?;
    let whole = || -> Result<(), StudyError> {
        for (name, bytes) in &files.files {
            publish(&fresh.join(name), bytes)?;
        }
        publish(&fresh.join(SUMS), files.sums().as_bytes())?;
        take_place(&fresh, folder)
    };
    let placed = whole();
    let _ = std::fs::remove_dir_all(&fresh); // what is left of it where that failed
    placed?;
    let ledger = store.ledger();
    if let (Ok(bytes), Some(above)) = (backcut_files::read(&ledger), folder.parent()) {
        publish(&above.join("ledger.jsonl"), &bytes)?;
        let rows = frozen_here(store, above)?;
        let bytes = backcut_evidence::tables::to_csv(&rows).map_err(StudyError::bug)?;
        publish(&above.join(format!("{}.csv", names::FREEZES)), &bytes)?;
    }
    Ok(())
}

/// What one file of checksums is called.
const SUMS: &str = "SHA256SUMS";

/// Puts a folder of tables in the place of an earlier one, whose tables would be out of date.
/// Whatever else lies there goes along. A kill leaves the one, the other, or neither, and never
/// half of one.
fn take_place(fresh: &Path, folder: &Path) -> Result<(), StudyError> {
    let above = folder.parent().unwrap_or(Path::new("."));
    for path in [folder, above] {
        sweep(path, "");
    }
    let sums = backcut_files::read_text(&folder.join(SUMS)).unwrap_or_default();
    let mut former: BTreeSet<&str> =
        sums.lines().filter_map(|line| Some(line.split_once("  ")?.1)).collect();
    former.insert(SUMS);
    for name in list(folder)?.iter().filter(|name| !former.contains(name.as_str())) {
        let path = fresh.join(name);
        if !path.exists() {
            std::fs::rename(folder.join(name), &path).map_err(StudyError::io(&path))?;
        }
    }
    let old = beginning(folder)?;
    if folder.exists() {
        std::fs::rename(folder, &old).map_err(StudyError::io(folder))?;
    }
    std::fs::rename(fresh, folder).map_err(StudyError::io(folder))?;
    std::fs::remove_dir_all(&old).map_err(StudyError::io(&old))
}

/// Everything that the ledger of a results folder froze; `tables` holds the folders of tables.
pub fn frozen_here(store: &Store, tables: &Path) -> Result<Vec<FreezeRow>, StudyError> {
    let recorded: BTreeSet<Hash> = store.scan()?.into_keys().collect();
    let (ledger, planned) = (commit::ledger(store)?, crate::note::known(store)?);
    let has_records = !recorded.is_empty() || !planned.is_empty();
    let recorded = has_records.then_some(&recorded);
    Ok(freezes(&ledger, &Beside { recorded, tables, planned: &planned }))
}
