//! Text to sources and cells: layout, pairing, duplicates.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{RawTable, observed};
use crate::error::StatsError;

/// Which columns play which part; `None` means the customary names.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Layout {
    /// The column that names the source; by default `source`, else `seed`, else `stream`.
    pub source: Option<String>,
    /// The column that names the cluster; by default `cluster`, if there is one.
    pub cluster: Option<String>,
    /// The column that names the stratum; by default `stratum`, if there is one.
    pub stratum: Option<String>,
    /// The column that names the arm of a long table; by default `arm`.
    pub arm: Option<String>,
    /// The column that names its condition; by default `condition`.
    pub condition: Option<String>,
    /// The column that holds its values; by default `value`.
    pub value: Option<String>,
}

/// Customary names of the source column.
const SOURCES: [&str; 3] = ["source", "seed", "stream"];

impl Layout {
    /// Whether a table with this header names its sources.
    pub fn has_source(&self, header: &[String]) -> bool {
        let has = |name: &str| header.iter().any(|h| h == name);
        self.source.is_some() || SOURCES.into_iter().any(has)
    }
}

/// One entry of a table.
#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    /// Nothing stands there.
    Empty,
    /// A finite number.
    Number(f64),
    /// Something else, kept to be shown when it is asked for.
    Text(String),
}

impl Cell {
    fn of(value: Option<f64>) -> Self {
        match value {
            None => Self::Empty,
            Some(value) if value.is_finite() => Self::Number(value),
            Some(value) => Self::Text(value.to_string()),
        }
    }

    fn read(text: &str) -> Self {
        match text.parse::<f64>() {
            _ if text.is_empty() => Self::Empty,
            Ok(value) if value.is_finite() => Self::Number(value),
            _ => Self::Text(text.to_owned()),
        }
    }
}

/// Sources in the order of their names, and named cells with one entry per source.
#[derive(Clone, PartialEq, Debug)]
pub struct SourceTable {
    sources: Vec<String>,
    clusters: Option<Vec<String>>,
    strata: Option<Vec<String>>,
    cells: BTreeMap<String, Vec<Cell>>,
}

/// Columns of a long table that are not cells.
const LONG_ROLES: [&str; 3] = ["arm", "condition", "value"];
/// What they are called in messages.
const LONG_WORDS: [&str; 3] = ["the arm column", "the condition column", "the value column"];

impl SourceTable {
    /// Reads CSV.
    pub fn from_csv(bytes: &[u8], layout: &Layout) -> Result<Self, StatsError> {
        Self::from_raw(&RawTable::from_csv(bytes)?, layout)
    }

    /// Reads CSV or Parquet, whichever the bytes are.
    pub fn from_bytes(bytes: &[u8], layout: &Layout) -> Result<Self, StatsError> {
        Self::from_raw(&RawTable::from_bytes(bytes)?, layout)
    }

    /// Reads a rectangle of text, long or wide by its header.
    pub fn from_raw(raw: &RawTable, layout: &Layout) -> Result<Self, StatsError> {
        Self::with_cells(raw, layout, &[])
    }

    /// The same, with the cells that somebody names: of a table of observations, which holds more
    /// numbers than cells are made of, `[QUANTITY: ARM@CONDITION@UPDATE]` is one of them.
    pub fn with_cells(raw: &RawTable, layout: &Layout, cells: &[&str]) -> Result<Self, StatsError> {
        let is_usual = *layout == Layout::default();
        if let Some(entries) = is_usual.then(|| observed::entries(raw, cells)).flatten() {
            let mut builder = Builder::default();
            for observed::Entry { line, source, cell, value } in entries {
                let number = builder.place(source, line, None, None)?;
                builder.set((number, source), &cell, line, Cell::read(value))?;
            }
            return Ok(builder.finish());
        }
        let roles = Roles::find(&raw.header, layout)?;
        let mut builder = Builder::default();
        let [arm, condition, value] = roles.long;
        for (line, row) in &raw.rows {
            let source = row[roles.source].as_str();
            if source.is_empty() {
                return Err(StatsError::Unreadable(format!("row {line} has no source name")));
            }
            let group = |column: Option<usize>| column.map(|c| row[c].clone());
            let (cluster, stratum) = (group(roles.cluster), group(roles.stratum));
            let source = (builder.place(source, *line, cluster, stratum)?, source);
            match value {
                Some(value) if arm.is_some() || condition.is_some() => {
                    let parts: Vec<&str> =
                        [arm, condition].into_iter().flatten().map(|c| row[c].as_str()).collect();
                    builder.set(source, &parts.join("@"), *line, Cell::read(&row[value]))?;
                }
                _ => {
                    for (index, name) in raw.header.iter().enumerate() {
                        if !roles.holds(index) {
                            builder.set(source, name, *line, Cell::read(&row[index]))?;
                        }
                    }
                }
            }
        }
        Ok(builder.finish())
    }

    /// Takes values that are numbers already: (source, cell, value), in any order; `None` is a gap.
    pub fn from_values<S: AsRef<str>, C: AsRef<str>, V: Into<Option<f64>>>(
        values: impl IntoIterator<Item = (S, C, V)>,
    ) -> Result<Self, StatsError> {
        let mut builder = Builder::default();
        for (index, (source, cell, value)) in values.into_iter().enumerate() {
            let (source, cell) = (source.as_ref(), cell.as_ref());
            // Rows count as in a CSV file, whose header is row 1.
            let source = (builder.place(source, index + 2, None, None)?, source);
            builder.set(source, cell, index + 2, Cell::of(value.into()))?;
        }
        if builder.cells.is_empty() {
            return Err(StatsError::no_rows());
        }
        Ok(builder.finish())
    }

    /// The names of the sources, sorted.
    pub fn sources(&self) -> &[String] {
        &self.sources
    }

    /// The cluster of each source, if the table has clusters.
    pub fn clusters(&self) -> Option<&[String]> {
        self.clusters.as_deref()
    }

    /// The stratum of each source, if the table has strata.
    pub fn strata(&self) -> Option<&[String]> {
        self.strata.as_deref()
    }

    /// The names of the cells, sorted.
    pub fn cell_names(&self) -> impl Iterator<Item = &str> + Clone {
        self.cells.keys().map(String::as_str)
    }

    /// The entries of a cell, one per source; an unknown cell is an error that lists what exists.
    pub fn cell(&self, name: &str) -> Result<&[Cell], StatsError> {
        self.cells
            .get(name)
            .map(Vec::as_slice)
            .ok_or_else(|| StatsError::missing("the cell", name, self.cell_names()))
    }

    /// Sources with an empty entry in any of the named cells.
    pub fn incomplete(&self, names: &[String]) -> Result<Vec<String>, StatsError> {
        let mut missing = vec![false; self.sources.len()];
        for name in names {
            for (flag, cell) in missing.iter_mut().zip(self.cell(name)?) {
                *flag |= *cell == Cell::Empty;
            }
        }
        let pairs = self.sources.iter().zip(missing);
        Ok(pairs.filter(|(_, missing)| *missing).map(|(source, _)| source.clone()).collect())
    }

    /// The same table without the named sources.
    #[must_use]
    pub fn without(&self, left_out: &[String]) -> Self {
        let left_out: BTreeSet<&String> = left_out.iter().collect();
        let keep: Vec<bool> = self.sources.iter().map(|s| !left_out.contains(s)).collect();
        Self {
            sources: kept(&self.sources, &keep),
            clusters: self.clusters.as_ref().map(|c| kept(c, &keep)),
            strata: self.strata.as_ref().map(|s| kept(s, &keep)),
            cells: self.cells.iter().map(|(n, c)| (n.clone(), kept(c, &keep))).collect(),
        }
    }
}

fn kept<T: Clone>(items: &[T], keep: &[bool]) -> Vec<T> {
    items.iter().zip(keep).filter(|(_, keep)| **keep).map(|(item, _)| item.clone()).collect()
}

/// Where the columns that are not cells stand.
struct Roles {
    source: usize,
    cluster: Option<usize>,
    stratum: Option<usize>,
    /// Arm, condition and value of a long table.
    long: [Option<usize>; 3],
}

impl Roles {
    fn find(header: &[String], layout: &Layout) -> Result<Self, StatsError> {
        let find = |name: &str| header.iter().position(|h| h == name);
        let names = header.iter().map(String::as_str);
        let missing = |what, name: &str| StatsError::missing(what, name, names.clone());
        let group = |asked: &Option<String>, custom: &str, what| match asked {
            Some(name) => find(name).map(Some).ok_or_else(|| missing(what, name)),
            None => Ok(find(custom)),
        };
        let source = match &layout.source {
            Some(name) => find(name).ok_or_else(|| missing("the source column", name))?,
            None => SOURCES
                .into_iter()
                .find_map(find)
                .ok_or_else(|| missing("the source column", "source"))?,
        };
        let named = [&layout.arm, &layout.condition, &layout.value];
        let mut long = [None; 3];
        for (role, asked) in named.into_iter().enumerate() {
            long[role] = group(asked, LONG_ROLES[role], LONG_WORDS[role])?;
        }
        // Who names an arm or a value means a long table, which has both.
        if named.iter().any(|asked| asked.is_some())
            && (long[2].is_none() || long[0].or(long[1]).is_none())
        {
            let role = if long[2].is_none() { 2 } else { 0 };
            return Err(missing(LONG_WORDS[role], LONG_ROLES[role]));
        }
        Ok(Self {
            source,
            long,
            cluster: group(&layout.cluster, "cluster", "the cluster column")?,
            stratum: group(&layout.stratum, "stratum", "the stratum column")?,
        })
    }

    fn holds(&self, index: usize) -> bool {
        index == self.source || self.cluster == Some(index) || self.stratum == Some(index)
    }
}

/// Cluster and stratum, as far as the table has them.
type Groups = (Option<String>, Option<String>);

/// Collects rows in any order. Sources are numbered as they come: a million names are looked up
/// once per row and sorted once, and not compared all over again for every entry.
#[derive(Default)]
struct Builder {
    numbers: HashMap<String, usize>,
    /// By number: the row that named the source first, and its groups.
    groups: Vec<(usize, Groups)>,
    /// By cell, then by number; absent where no row gave an entry.
    cells: BTreeMap<String, Vec<Option<(usize, Cell)>>>,
}

impl Builder {
    /// The number of a row's source.
    fn place(
        &mut self,
        source: &str,
        line: usize,
        cluster: Option<String>,
        stratum: Option<String>,
    ) -> Result<usize, StatsError> {
        let groups = (cluster, stratum);
        let Some(&number) = self.numbers.get(source) else {
            let number = self.groups.len();
            self.numbers.insert(source.to_owned(), number);
            self.groups.push((line, groups));
            return Ok(number);
        };
        let (first, known) = &self.groups[number];
        if *known == groups {
            return Ok(number);
        }
        Err(StatsError::Unreadable(format!(
            "source {source} is in one cluster or stratum in row {first} and in another in row \
             {line}"
        )))
    }

    fn set(
        &mut self,
        (number, source): (usize, &str),
        cell: &str,
        line: usize,
        to: Cell,
    ) -> Result<(), StatsError> {
        if !self.cells.contains_key(cell) {
            self.cells.insert(cell.to_owned(), Vec::new());
        }
        let Some(column) = self.cells.get_mut(cell) else { return Ok(()) };
        if column.len() <= number {
            column.resize(number + 1, None);
        }
        if let Some((first, _)) = column[number].replace((line, to)) {
            let what = format!("[{cell}] of source {source}");
            return Err(StatsError::Duplicate { what, first, second: line });
        }
        Ok(())
    }

    fn finish(self) -> SourceTable {
        let mut order: Vec<(String, usize)> = self.numbers.into_iter().collect();
        order.sort_unstable();
        let cells = self.cells.into_iter().map(|(name, mut column)| {
            let entry = |(_, number): &(String, usize)| {
                let given = column.get_mut(*number).and_then(Option::take);
                given.map_or(Cell::Empty, |(_, cell)| cell)
            };
            (name, order.iter().map(entry).collect())
        });
        let cells = cells.collect();
        let groups = || order.iter().map(|(_, number)| &self.groups[*number].1);
        SourceTable {
            cells,
            clusters: groups().map(|(cluster, _)| cluster.clone()).collect(),
            strata: groups().map(|(_, stratum)| stratum.clone()).collect(),
            sources: order.into_iter().map(|(source, _)| source).collect(),
        }
    }
}

#[cfg(test)]
mod tests;
