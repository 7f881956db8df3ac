//! What can go wrong between a study file and its tables.

use std::borrow::Cow;
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use backcut_evidence::ledger::LedgerError;
use backcut_evidence::tables::folder::FolderError;
use backcut_text::Hinted;

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

    /// Another error, told as one of a study.
    pub fn from_hinted<E: Hinted>(error: E) -> Self {
        if error.is_bug() { Self::bug(error) } else { Self::invalid(&error, error.hint()) }
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
}

impl From<FolderError> for StudyError {
    fn from(error: FolderError) -> Self {
        match error {
            FolderError::Unreadable { path, problem } => Self::io(&path)(problem),
            FolderError::Table { path, problem } => Self::damaged(&path, problem),
        }
    }
}

impl Hinted for StudyError {
    fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Invalid { hint, .. } => hint.as_str(),
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
                "`backcut study verify` lists everything that is damaged; remove the file to \
                 compute it again"
            }
        }
        .into()
    }

    fn is_bug(&self) -> bool {
        matches!(self, Self::Bug { .. })
    }
}

impl From<LedgerError> for StudyError {
    fn from(error: LedgerError) -> Self {
        let hint = match error {
            LedgerError::Io { path, error, .. } => return Self::Io { path, source: error },
            LedgerError::Broken { .. } => {
                "the ledger was changed after it was written: restore it from a copy"
            }
            LedgerError::Moved { .. } => "somebody else wrote to the ledger: try again",
            _ => "see `backcut study --help`",
        };
        Self::invalid(error, hint)
    }
}
