//! Files of users: read within bounds, put in place whole.
//!
//! **Does**: reads files whose paths somebody gave ([`read`], [`read_text`], [`open`]) and puts
//! files where somebody wants them, whole or not at all ([`replace`], [`place`]). What every crate
//! hashes, it hashes by what is defined here: [`canonical()`] JSON, SHA-256 as [`struct@Hash`]. A
//! time in a record is a [`Utc`]; no clock is read.
//!
//! **Refuses**: whatever is no regular file. A pipe would never end, `/dev/zero` would fill the
//! memory, and a device that is "replaced" is lost to the machine. Nothing is written through a
//! link either.
//!
//! **One design decision.** A file is written under a name that nobody can foresee, in the folder
//! where it will stand, and renamed. A name that can be foreseen can be occupied: by a link to
//! somebody else's file, or by another process that writes the same one. Such names still start
//! with a dot and end in `.tmp` ([`target_of`]), so that whoever owns a folder can tell what a
//! killed writer left there.
//!
//! ```
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("notes.txt");
//! backcut_files::replace(&path, b"one line\n")?;
//! assert_eq!(backcut_files::read_text(&path)?, "one line\n");
//! assert!(backcut_files::read(folder.path()).is_err());
//! # Ok::<(), std::io::Error>(())
//! ```

mod canonical;
mod hash;
mod reading;
mod utc;
mod writing;

pub use canonical::{canonical, canonical_value};
pub use hash::{Hash, HashError};
pub use reading::{MAX_BYTES, MAX_TEXT, open, read, read_from, read_text};
pub use utc::{Utc, UtcError};
pub use writing::{place, place_with, replace, sync_folder, target_of};

use std::fs::FileType;
use std::io;

/// An error if it is no regular file that a path leads to.
fn regular(kind: FileType) -> io::Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    let (error, what) = match kind {
        kind if kind.is_dir() => (io::ErrorKind::IsADirectory, "a folder"),
        kind if kind.is_symlink() => (io::ErrorKind::InvalidInput, "a link"),
        _ => (io::ErrorKind::InvalidInput, "a pipe, a socket or a device"),
    };
    Err(io::Error::new(error, format!("it is {what}, not a regular file")))
}
