//! Everything that can be wrong with a table, a contrast or a request.
//!
//! One enum for the crate: a caller shows the message and stops, whatever the stage was, and each
//! message names the place (row, column, source, character) so that the input can be corrected.

use std::borrow::Cow;

use backcut_text::Hinted;
use thiserror::Error;

/// A number with a decimal comma, written with a point; none if it is no such number.
pub(crate) fn with_point(cell: &str) -> Option<String> {
    let is_one = cell.matches(',').count() == 1 && !cell.contains('.');
    let pointed = is_one.then(|| cell.replace(',', "."))?;
    pointed.parse::<f64>().is_ok().then_some(pointed)
}

/// What is wrong; completes "failed to ...".
#[derive(Clone, PartialEq, Debug, Error)]
pub enum StatsError {
    /// The bytes are not a table.
    #[error("read the table: {0}")]
    Unreadable(String),
    /// A row is longer or shorter than the header.
    #[error("read the table: {0}")]
    Ragged(String),
    /// The columns are separated by something else.
    #[error("read the table: {what}")]
    Separator {
        /// What was found and what was wanted.
        what: String,
        /// What was found.
        separator: char,
    },
    /// A column that the request needs is not there.
    #[error("find {what} `{name}` in the table (it has: {available})")]
    MissingColumn {
        /// What the column was wanted for.
        what: &'static str,
        /// The name that was looked for.
        name: String,
        /// The names that exist.
        available: String,
        /// The one that may have been meant.
        near: Option<String>,
    },
    /// The same source (and cell) appears twice.
    #[error("pair sources: {what} appears in row {first} and again in row {second}")]
    Duplicate {
        /// The source, or the source and the cell.
        what: String,
        /// Line of the first appearance (the header is row 1).
        first: usize,
        /// Line of the second appearance.
        second: usize,
    },
    /// A cell that a contrast uses is empty for some sources.
    #[error("pair sources: {cell} has no value for {count} of {total} sources ({sources})")]
    Unpaired {
        /// The cell.
        cell: String,
        /// How many sources lack it.
        count: usize,
        /// How many sources there are.
        total: usize,
        /// Their names, the first few.
        sources: String,
    },
    /// A cell that a contrast uses holds something that is not a finite number.
    #[error("read {cell} of source {source_name}: `{text}` is not a finite number")]
    NotFinite {
        /// The cell.
        cell: String,
        /// The source.
        source_name: String,
        /// The text that stands there.
        text: String,
    },
    /// A division by zero.
    #[error("evaluate `{contrast}` for {place}: the denominator is zero")]
    ZeroDenominator {
        /// The contrast.
        contrast: String,
        /// The source, or a description of the mean.
        place: String,
    },
    /// Arithmetic left the finite numbers.
    #[error("evaluate `{contrast}` for {place}: the result is not finite")]
    Overflow {
        /// The contrast.
        contrast: String,
        /// The source.
        place: String,
    },
    /// Too few independent sources.
    #[error("make an interval from {found} sources: at least {needed} are needed")]
    TooFewSources {
        /// How many there are.
        found: usize,
        /// How many are needed.
        needed: usize,
    },
    /// A contrast could not be parsed.
    #[error("parse the contrast `{text}` at character {at}: {problem}")]
    Syntax {
        /// The contrast as given.
        text: String,
        /// Character position, from 1.
        at: usize,
        /// What was expected.
        problem: String,
    },
    /// A parameter out of its range.
    #[error("use {name} = {value}: {problem}")]
    Parameter {
        /// The parameter's name.
        name: &'static str,
        /// Its value as given.
        value: String,
        /// What it must be.
        problem: &'static str,
    },
    /// Two lists that must match in length do not.
    #[error("pair two lists of {left} and {right} values: the lengths differ")]
    Lengths {
        /// Length of the first.
        left: usize,
        /// Length of the second.
        right: usize,
    },
    /// A statistic that does not exist for these values.
    #[error("compute {what}: {problem}")]
    Undefined {
        /// The statistic.
        what: &'static str,
        /// Why it does not exist.
        problem: String,
    },
}

impl StatsError {
    /// A table of nothing.
    pub(crate) fn no_rows() -> Self {
        Self::Unreadable("there are no rows below the header".into())
    }

    /// A name that a table does not have.
    pub(crate) fn missing<'a>(
        what: &'static str,
        name: &str,
        names: impl Iterator<Item = &'a str> + Clone,
    ) -> Self {
        let near = backcut_text::nearest(name, names.clone()).map(str::to_owned);
        Self::MissingColumn { what, name: name.to_owned(), available: name_list(names), near }
    }
}

impl Hinted for StatsError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Ragged(_) => {
                "every row has as many cells as the header; a missing value is an empty cell"
            }
            Self::Unreadable(_) => "give a CSV or Parquet table with a header",
            Self::Separator { separator: ';', .. } => {
                "add --separator ';', and --decimal-comma if numbers are written 1,5"
            }
            Self::Separator { separator: '\t', .. } => "add --separator tab",
            Self::Separator { .. } => "leave --separator out",
            Self::MissingColumn { what: "the source column", .. } => "name it with --source COLUMN",
            Self::MissingColumn { what: "the arm column", .. } => "name it with --arm COLUMN",
            Self::MissingColumn { what: "the value column", .. } => "name it with --value COLUMN",
            Self::MissingColumn { near, .. } => {
                let near = near.as_ref().map(|near| format!("did you mean `{near}`? "));
                let rule = "cells are matched letter by letter; 0.2 is not 0.20";
                return Cow::Owned(format!("{}{rule}", near.unwrap_or_default()));
            }
            Self::Unpaired { .. } => {
                "complete the table, or leave those sources out with --drop-incomplete"
            }
            Self::Duplicate { .. } => "each source has one value per cell; remove one of the rows",
            Self::NotFinite { text, .. } if with_point(text).is_some() => {
                "if that is a decimal comma, add --decimal-comma"
            }
            Self::NotFinite { .. } => "leave a missing value empty; failed runs are not numbers",
            Self::Syntax { .. } => "write cells in brackets, as in \"[F_SG@0.20] - [FF@0.20]\"",
            Self::Parameter { name: "contrasts", .. } => {
                "give --contrast \"[a] - [b]\" or --values COLUMN"
            }
            Self::Parameter { .. } => "give a value in that range",
            Self::TooFewSources { .. } => "measure more sources; rows of one source do not count",
            Self::ZeroDenominator { .. } => "a ratio needs denominators away from zero",
            Self::Overflow { .. } => "bring the table's values to another unit",
            Self::Lengths { .. } => "pair the lists source by source",
            Self::Undefined { .. } => "leave these values out of this statistic",
        }
        .into()
    }
}

/// Joins names for a message: the first few, then how many more.
pub(crate) fn name_list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 8;
    let names: Vec<&str> = names.into_iter().collect();
    let mut text = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text.push_str(", and ");
        text.push_str(&(names.len() - SHOWN).to_string());
        text.push_str(" more");
    }
    text
}

/// Refuses values that are not finite, naming the list.
pub(crate) fn require_finite(what: &'static str, values: &[f64]) -> Result<(), StatsError> {
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(i) => Err(StatsError::Undefined {
            what,
            problem: format!("value {} is {}, not a finite number", i + 1, values[i]),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_of_names_says_how_many_it_leaves_out() {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
        assert_eq!(name_list(names), "a, b, c, d, e, f, g, h, and 2 more");
        assert_eq!(name_list(names[..9].iter().copied()), "a, b, c, d, e, f, g, h, and 1 more");
        assert_eq!(name_list(names[..8].iter().copied()), "a, b, c, d, e, f, g, h");
        assert_eq!(name_list([]), "");
    }
}
