//! Writing: beside its place under a name of its own, synced, renamed.

use std::fs::{self, File};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The longest part of a file's name that its temporary name repeats: there is an end to names.
const REPEATED: usize = 120;

/// Puts `bytes` at `path`, whole or not at all, at whatever instant the process dies, and waits
/// until the name is on the disk too.
///
/// Only a regular file is replaced. A folder, a device, a pipe and a link are refused: what a link
/// leads to may be somebody else's, and the link itself may be all that leads there.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    place(path, "", bytes)?;
    sync_folder(path)
}

/// The same without waiting for the name, which a power failure may forget. The temporary name
/// carries `mark` (without a dot), so that others can tell whose it was.
pub fn place(path: &Path, mark: &str, bytes: &[u8]) -> io::Result<()> {
    place_with(path, mark, |mut file| file.write_all(bytes).map(|()| file))
}

/// The same with whatever `write` puts into the file, which it hands back: for what is not in
/// memory at once.
pub fn place_with<E: From<io::Error>>(
    path: &Path,
    mark: &str,
    write: impl FnOnce(File) -> Result<File, E>,
) -> Result<(), E> {
    match fs::symlink_metadata(path) {
        Ok(found) => super::regular(found.file_type())?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error.into()),
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = &name[..name.floor_char_boundary(REPEATED)];
    let prefix = if mark.is_empty() { format!(".{name}.") } else { format!(".{name}.{mark}.") };
    let folder = folder_of(path);
    // Made anew or not at all: whatever has the name already, a link too, is left alone.
    let (file, temporary) = loop {
        let unique = RandomState::new().build_hasher().finish();
        let temporary = Unplaced(folder.join(format!("{prefix}{unique:016x}.tmp")));
        match File::create_new(&temporary.0) {
            Ok(file) => break (file, temporary),
            Err(error) => {
                // Somebody else's, and none of ours to remove.
                std::mem::forget(temporary);
                if error.kind() != io::ErrorKind::AlreadyExists {
                    return Err(error.into());
                }
            }
        }
    };
    write(file)?.sync_all()?;
    fs::rename(&temporary.0, path)?;
    std::mem::forget(temporary);
    Ok(())
}

/// A temporary file, which goes unless it got its place.
struct Unplaced(PathBuf);

impl Drop for Unplaced {
    fn drop(&mut self) {
        // Should that fail too, `target_of` tells whoever owns the folder what it was.
        let _ = fs::remove_file(&self.0);
    }
}

/// Waits until what happened to names in a file's folder is on the disk.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder_of(path))?.sync_all() } else { Ok(()) }
}

/// The name that a temporary file would have got, with what made it unique; `None` if `name` is not
/// that of a temporary file.
pub fn target_of(name: &str) -> Option<&str> {
    name.strip_prefix('.')?.strip_suffix(".tmp")
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_whole_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        replace(&path, b"first, and longer").unwrap();
        replace(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        let long = folder.path().join("n".repeat(255));
        replace(&long, b"a name as long as names can be").unwrap();
        assert_eq!(names(folder.path()).len(), 2);
    }

    #[test]
    fn a_folder_that_is_not_there_is_what_the_error_says() {
        let folder = tempfile::tempdir().unwrap();
        let error = replace(&folder.path().join("no/file"), b"x").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(!error.to_string().contains(".tmp"), "{error}");
    }

    #[test]
    fn a_leftover_can_be_told_by_its_name() {
        assert_eq!(target_of(".log.bin.mark.a1b2.tmp"), Some("log.bin.mark.a1b2"));
        assert_eq!(target_of("log.bin.tmp"), None);
        assert_eq!(target_of(".log.bin"), None);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_regular_file_is_not_replaced() {
        use std::os::unix::fs::FileTypeExt as _;
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let _held = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let (victim, link) = (folder.path().join("victim"), folder.path().join("link"));
        fs::write(&victim, b"dear").unwrap();
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        for path in [folder.path(), &socket, &link] {
            let error = replace(path, b"x").unwrap_err().to_string();
            assert!(error.ends_with("not a regular file"), "{}: {error}", path.display());
        }
        assert!(fs::metadata(&socket).unwrap().file_type().is_socket());
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&victim).unwrap(), b"dear");
        assert_eq!(names(folder.path()), ["link", "socket", "victim"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_planted_temporary_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let victim = folder.path().join("victim");
        fs::write(&victim, b"dear").unwrap();
        std::os::unix::fs::symlink(&victim, folder.path().join(".file.tmp")).unwrap();
        replace(&folder.path().join("file"), b"x").unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"dear");
        assert_eq!(names(folder.path()), [".file.tmp", "file", "victim"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_new_file_has_the_rights_that_any_other_gets() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let (ours, plain) = (folder.path().join("ours"), folder.path().join("plain"));
        replace(&ours, b"x").unwrap();
        fs::write(&plain, b"x").unwrap();
        let mode = |path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&ours), mode(&plain));
    }
}
