//! What can go wrong between a study file and its tables.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

/// An error that a person can act on: what, where, and a hint.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// The study file, or what was asked for, makes no sense.
    #[error("{what}")]
    Invalid {
        /// What is wrong, and where.
        what: String,
        /// What to do about it.
        hint: String,
    },
    /// The file system said no.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// A file of a results folder is not what it claims to be.
    #[error("{}: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// Something that can not happen did: a defect of the program, not of what was asked for.
    #[error("{what} (this is a bug)")]
    Bug {
        /// What happened.
        what: String,
    },
}

impl StudyError {
    /// An error in what was asked for.
    pub fn invalid(what: impl Display, hint: impl Display) -> Self {
        Self::Invalid { what: what.to_string(), hint: hint.to_string() }
    }

    /// The same error, with the place where it was found before it.
    pub(crate) fn within(self, place: &str) -> Self {
        match self {
            Self::Invalid { what, hint } => {
                Self::Invalid { what: format!("{place}: {what}"), hint }
            }
            other => other,
        }
    }

    /// A defect of the program.
    pub fn bug(what: impl Display) -> Self {
        Self::Bug { what: what.to_string() }
    }

    /// Puts the path beside what the file system said.
    pub fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }

    /// A damaged file.
    pub fn damaged(path: &Path, what: impl Display) -> Self {
        Self::Damaged { path: path.to_owned(), what: what.to_string() }
    }

    /// What to do about it.
    pub fn hint(&self) -> &str {
        match self {
            Self::Invalid { hint, .. } => hint,
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    "free some space and run again: finished units are safe, nothing is lost"
                }
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    "choose a folder that can be written to, with --out"
                }
                _ => "check the path, its permissions and the free space",
            },
            Self::Bug { .. } => "please report it, with the command that led here",
            Self::Damaged { .. } => {
                "`backcut study verify` lists everything that is damaged; remove the file to compute it again"
            }
        }
    }
}

/// The known key nearest to one that is not known, if one is near.
pub fn nearest<'a>(key: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let candidate = known.into_iter().map(|k| (distance(key, k), k)).min()?;
    (candidate.0 <= (key.len() / 2).max(2)).then_some(candidate.1)
}

/// Levenshtein distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_keyboard_finds_its_key() {
        let known = ["updates", "cut", "window", "conditions"];
        assert_eq!(nearest("updats", known), Some("updates"));
        assert_eq!(nearest("condition", known), Some("conditions"));
        assert_eq!(nearest("xyzzy", known), None);
    }
}
