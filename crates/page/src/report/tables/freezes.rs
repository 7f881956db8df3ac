//! Everything that the ledger froze, and what became of it.

use backcut_evidence::tables::rows::FreezeRow;
use backcut_text::counted;

use super::Table;
use crate::report::error::ReportError;

/// The freezes of a folder's ledger. A family that was tried six times is seen six times.
pub fn freezes(rows: &[FreezeRow]) -> Result<Table, ReportError> {
    let row = |row: &FreezeRow| {
        let opposed = match row.opposed.as_str() {
            "" => String::new(),
            by => format!("; opposed on the same results: {by}"),
        };
        vec![
            row.entry.to_string(),
            row.utc.clone(),
            row.study.clone(),
            row.kind.clone(),
            counted(row.predictions as usize, "prediction"),
            counted(row.units as usize, "unit"),
            row.sources.clone(),
            row.fate.clone() + &opposed,
        ]
    };
    let columns = [
        "entry",
        "frozen",
        "study",
        "kind",
        "predictions",
        "units",
        "sources",
        "what became of it",
    ];
    let csv = backcut_evidence::tables::to_csv(rows)
        .map_err(|error| ReportError::missing("freezes", error.to_string()))?;
    Ok(Table {
        name: "freezes".to_owned(),
        title: "What was frozen, and what became of it".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: rows.iter().map(row).collect(),
        notes: Vec::new(),
        csv: String::from_utf8_lossy(&csv).into_owned(),
    })
}
