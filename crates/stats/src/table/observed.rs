//! A table of observations: one row per number, with the quantity and the update it belongs to.
//!
//! A cell may then say which number it means, `[QUANTITY: ARM@CONDITION@UPDATE]`. Without a
//! quantity it is the error, without an update the last one; `QUANTITY/PART` and `QUANTITY/PART/OF`
//! narrow it down.

use std::collections::BTreeMap;

use super::RawTable;

/// The quantity of a cell that names none.
const ERROR: &str = "error";

const COLUMNS: [&str; 8] =
    ["source", "arm", "condition", "update", "quantity", "of", "part", "value"];

/// One entry of the table that it stands for.
pub(super) struct Entry<'t> {
    pub(super) line: usize,
    pub(super) source: &'t str,
    pub(super) cell: String,
    pub(super) value: &'t str,
}

/// A row, by the columns that say what it is.
#[derive(Clone, Copy)]
struct Row<'t> {
    line: usize,
    source: &'t str,
    arm: &'t str,
    condition: &'t str,
    update: &'t str,
    quantity: &'t str,
    of: &'t str,
    part: &'t str,
    value: &'t str,
}

/// What a cell asks for.
struct Asked<'t> {
    quantity: Option<&'t str>,
    place: &'t str,
}

impl<'t> Asked<'t> {
    fn new(cell: &'t str) -> Self {
        match cell.split_once(": ") {
            Some((quantity, place)) => {
                Self { quantity: Some(quantity.trim()), place: place.trim() }
            }
            None => Self { quantity: None, place: cell },
        }
    }

    fn is_of(&self, row: &Row<'_>) -> bool {
        let Some(quantity) = self.quantity else {
            return row.quantity == ERROR && row.of.is_empty() && row.part.is_empty();
        };
        let mut parts = quantity.splitn(3, '/');
        let mut fits = |found: &str| parts.next().is_none_or(|wanted| wanted == found);
        fits(row.quantity) && fits(row.part) && fits(row.of)
    }

    /// The cell that a row belongs to, and whether it names its update; none if it is another's.
    fn cell(&self, row: &Row<'_>) -> Option<(String, bool)> {
        if !self.is_of(row) {
            return None;
        }
        let prefix = self.quantity.map_or_else(String::new, |quantity| format!("{quantity}: "));
        let after_arm = self.place.strip_prefix(row.arm)?.strip_prefix('@')?;
        if after_arm == "*" || after_arm == row.condition {
            return Some((format!("{prefix}{}@{}", row.arm, row.condition), false));
        }
        let update = after_arm.strip_prefix(row.condition)?.strip_prefix('@')?;
        (update == row.update).then(|| (format!("{prefix}{}", self.place), true))
    }
}

/// The entries of the named cells, and of every error's last update; nothing for a table
/// of another kind.
pub(super) fn entries<'t>(raw: &'t RawTable, cells: &[&str]) -> Option<Vec<Entry<'t>>> {
    let mut places = [0; COLUMNS.len()];
    for (place, name) in places.iter_mut().zip(COLUMNS) {
        *place = raw.header.iter().position(|column| column == name)?;
    }
    let row = |(line, row): &'t (usize, Vec<String>)| {
        let [source, arm, condition, update, quantity, of, part, value] =
            places.map(|place| row[place].as_str());
        Row { line: *line, source, arm, condition, update, quantity, of, part, value }
    };
    let rows: Vec<Row<'t>> = raw.rows.iter().map(row).collect();
    let mut asked: BTreeMap<&str, Asked<'_>> = BTreeMap::new();
    for cell in cells {
        asked.insert(cell, Asked::new(cell));
    }
    let is_named =
        |asked: &Asked<'_>| asked.quantity.is_some() || asked.place.matches('@').count() > 1;
    asked.retain(|_, asked| is_named(asked));
    // Where a cell names no update, rows of its last one stay.
    let mut found: BTreeMap<(String, &str), (u64, Vec<Row<'t>>)> = BTreeMap::new();
    let mut add = |cell: String, update: u64, row: Row<'t>| {
        let (last, rows) = found.entry((cell, row.source)).or_default();
        if update > *last {
            rows.clear();
            *last = update;
        }
        if update == *last {
            rows.push(row);
        }
    };
    let any = Asked { quantity: None, place: "" };
    for row in rows {
        let update = row.update.parse().unwrap_or(0);
        if any.is_of(&row) {
            add(format!("{}@{}", row.arm, row.condition), update, row);
        }
        for asked in asked.values() {
            if let Some((cell, is_at_update)) = asked.cell(&row)
                && (is_at_update || asked.quantity.is_some())
            {
                add(cell, update, row);
            }
        }
    }
    let entries = found.into_iter().flat_map(|((cell, source), (_, rows))| {
        rows.into_iter().map(move |row| Entry {
            line: row.line,
            source,
            cell: cell.clone(),
            value: row.value,
        })
    });
    Some(entries.collect())
}

#[cfg(test)]
mod tests {
    use crate::{Contrast, Layout, SourceTable, StatsError};

    const TABLE: &str = "source,arm,condition,update,quantity,of,part,value,state\n\
        1,FF,0.1,4,error,,,5,done\n1,FF,0.1,10,error,,,1,done\n1,FF,0.2,10,error,,,2,done\n\
        1,FF,0.1,10,norm,KD,head,7,done\n1,FF,0.1,10,norm,KD,all,8,done\n1,FF,0.2,10,norm,KD,all,9,done\n2,FF,0.1,4,error,,,6,done\n2,FF,0.1,10,error,,,3,done\n2,FF,0.2,10,error,,,,failed\n2,FF,0.1,10,norm,KD,head,70,done\n2,FF,0.1,10,norm,KD,all,80,done\n2,FF,0.2,10,norm,KD,all,90,done\n";

    fn values(text: &str) -> Result<Vec<f64>, StatsError> {
        let contrast = Contrast::parse(text).unwrap();
        let raw = crate::table::RawTable::from_csv(TABLE.as_bytes()).unwrap();
        let table = SourceTable::with_cells(&raw, &Layout::default(), &contrast.cells())?;
        Ok(contrast.evaluate(&table)?.values)
    }

    #[test]
    fn a_cell_is_the_last_error_unless_it_says_otherwise() {
        assert_eq!(values("[FF@0.1]").unwrap(), [1.0, 3.0]);
        assert_eq!(values("[FF@0.1@4] - [FF@0.1]").unwrap(), [4.0, 3.0]);
        assert_eq!(values("[norm/head: FF@0.1]").unwrap(), [7.0, 70.0]);
        assert_eq!(values("[norm/all/KD: FF@0.1@10]").unwrap(), [8.0, 80.0]);
        assert_eq!(rounded(values("slope([norm/all: FF@*])").unwrap()), [10.0, 100.0]);
        assert!(matches!(values("[FF@0.2]"), Err(StatsError::Unpaired { count: 1, .. })));
    }

    #[test]
    fn what_several_rows_could_be_is_refused_and_what_none_is_too() {
        assert!(matches!(values("[norm: FF@0.1]"), Err(StatsError::Duplicate { .. })));
        for nothing in ["[FF@0.1@5]", "[norm/none: FF@0.1]", "[mass: FF@0.1]", "[FD@0.1]"] {
            assert!(matches!(values(nothing), Err(StatsError::MissingColumn { .. })), "{nothing}");
        }
    }

    fn rounded(values: Vec<f64>) -> Vec<f64> {
        values.into_iter().map(f64::round).collect()
    }
}
