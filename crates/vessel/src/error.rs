//! What can go wrong with files of positions, and what to do about it.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use backcut_text::Hinted;
use backcut_text::escape::plain;

/// The file that makes a folder a store of tracks.
pub(crate) const MANIFEST: &str = "store.json";

/// Why tracks could not be read, cleaned, stored or divided.
#[derive(Debug, thiserror::Error)]
pub enum AisError {
    /// The system refused to read or write.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// A folder, a pipe, a device.
    #[error("{} is not a regular file", .0.display())]
    NotAFile(PathBuf),
    /// A file whose content contradicts its name or its header.
    #[error("{}: {problem}", path.display())]
    NotWhatItClaims {
        /// The file.
        path: PathBuf,
        /// What it claims and what was found.
        problem: String,
    },
    /// A file that unpacks to far more than it holds.
    #[error("{}: {problem}", path.display())]
    Bomb {
        /// The file.
        path: PathBuf,
        /// The limit that it passed.
        problem: String,
    },
    /// More vessels than memory was promised for.
    #[error("more than {limit} vessels")]
    TooManyVessels {
        /// The limit.
        limit: usize,
    },
    /// A rule, a shape or a share that makes no sense.
    #[error("{setting} = {value}: {problem}")]
    Setting {
        /// Its name.
        setting: &'static str,
        /// What was asked for.
        value: String,
        /// Why not.
        problem: &'static str,
    },
    /// A folder into which somebody else writes a store at this moment.
    #[error("{}: another import writes there", .0.display())]
    Busy(PathBuf),
    /// A folder that holds a store already.
    #[error("{} holds a store already", .0.display())]
    StoreExists(PathBuf),
    /// A store that is not as it was written.
    #[error("{}: {problem}", path.display())]
    BadStore {
        /// The file of the store.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// Too little to reserve, to hold out or to cut windows from.
    #[error("{0}")]
    TooLittle(String),
}

/// Of a file that is being written, whose path is told by `AisError::at`.
impl From<io::Error> for AisError {
    fn from(error: io::Error) -> Self {
        Self::Io { path: PathBuf::new(), error }
    }
}

impl AisError {
    /// The same error, of a file that it does not name yet.
    pub(crate) fn at(self, file: &Path) -> Self {
        match self {
            Self::Io { path, error } if path.as_os_str().is_empty() => {
                Self::Io { path: file.to_owned(), error }
            }
            other => other,
        }
    }

    pub(crate) fn io(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        |error| Self::Io { path: path.to_owned(), error }
    }

    pub(crate) fn claims(path: &Path, problem: impl AsRef<str>) -> Self {
        // The problem may quote the file.
        Self::NotWhatItClaims { path: path.to_owned(), problem: plain(problem.as_ref()) }
    }

    pub(crate) fn store(path: &Path, problem: impl std::fmt::Display) -> Self {
        Self::BadStore { path: path.to_owned(), problem: plain(&format!("{problem}")) }
    }
}

impl Hinted for AisError {
    fn hint(&self) -> Cow<'_, str> {
        Cow::Borrowed(match self {
            Self::Io { error, path }
                if error.kind() == io::ErrorKind::NotFound && path.ends_with(MANIFEST) =>
            {
                "a store is a folder that `backcut vessel import` or `backcut vessel fleet` made; \
                 name it from where you are"
            }
            Self::Io { error, .. } if error.kind() == io::ErrorKind::NotFound => {
                "check the spelling; the folder of --out is made, its parent must exist"
            }
            Self::Io { .. } => "check the file, its permissions and the free space",
            Self::NotAFile(_) => "write the stream to a file first and name that file",
            Self::NotWhatItClaims { .. } => {
                "the formats that are read are described in docs/vessel-data.md; a download that \
                 broke off must be fetched again"
            }
            Self::Bomb { .. } => {
                "if you trust the file, unpack it yourself and name what comes out"
            }
            Self::TooManyVessels { .. } => "import fewer files at a time",
            Self::Setting { .. } => "the defaults are listed in docs/vessel-data.md",
            Self::Busy(_) => "wait for it, or name another folder",
            Self::StoreExists(_) => "name another folder, or remove that one first",
            Self::BadStore { .. } => "import the files again into a new folder",
            Self::TooLittle(_) => "give more or longer tracks, or smaller windows and shares",
        })
    }
}
