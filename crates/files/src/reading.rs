//! Reading: only regular files, and never more than a bound.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// The largest file that is read: four gigabytes hold the checkpoint of a billion numbers.
pub const MAX_BYTES: u64 = 4 << 30;

/// The largest file that is read as text, such as a study, a configuration or a list of hashes.
pub const MAX_TEXT: u64 = 256 << 20;

/// Opens a regular file for reading. A link is followed to one.
pub fn open(path: &Path) -> io::Result<File> {
    // Looked at before it is opened, because opening a pipe waits for its writer; and again after
    // that, because a name may have changed hands in between.
    super::regular(fs::metadata(path)?.file_type())?;
    let file = File::open(path)?;
    super::regular(file.metadata()?.file_type())?;
    Ok(file)
}

/// The bytes of a regular file of at most [`MAX_BYTES`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    bounded(path, MAX_BYTES)
}

/// The text of a regular file of at most [`MAX_TEXT`].
pub fn read_text(path: &Path) -> io::Result<String> {
    let not_text = |_| io::Error::new(io::ErrorKind::InvalidData, "it is no text in UTF-8");
    String::from_utf8(bounded(path, MAX_TEXT)?).map_err(not_text)
}

/// All that a stream holds, if that is at most [`MAX_BYTES`].
pub fn read_from(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fill(source, &mut bytes, MAX_BYTES)?;
    Ok(bytes)
}

fn bounded(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let length = file.metadata()?.len();
    if length > limit {
        return Err(too_large(limit));
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length as usize).map_err(|_| too_large(length))?;
    fill(file, &mut bytes, limit)?;
    Ok(bytes)
}

/// Reads to the end: the length that a file states is not always what it gives.
fn fill(source: impl Read, bytes: &mut Vec<u8>, limit: u64) -> io::Result<()> {
    source.take(limit + 1).read_to_end(bytes)?;
    if bytes.len() as u64 > limit { Err(too_large(limit)) } else { Ok(()) }
}

fn too_large(limit: u64) -> io::Error {
    let what = format!("it is larger than the {} MB that are read", limit >> 20);
    io::Error::new(io::ErrorKind::FileTooLarge, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_bound() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, b"1234").unwrap();
        assert_eq!(bounded(&path, 4).unwrap(), b"1234");
        let error = bounded(&path, 3).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        fs::File::create(&path).unwrap().set_len(MAX_TEXT + 1).unwrap(); // takes no space
        let error = read_text(&path).unwrap_err().to_string();
        assert_eq!(error, "it is larger than the 256 MB that are read");
    }

    #[test]
    fn a_stream_without_an_end_is_given_up() {
        let mut bytes = Vec::new();
        assert!(fill(io::repeat(0), &mut bytes, 1000).is_err());
        assert_eq!(bytes.len(), 1001);
    }

    #[test]
    fn bytes_that_are_no_text_are_not_taken_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, b"\xff").unwrap();
        assert_eq!(read_text(&path).unwrap_err().to_string(), "it is no text in UTF-8");
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_regular_file_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let listener = folder.path().join("socket");
        let _held = std::os::unix::net::UnixListener::bind(&listener).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        for path in [folder.path(), &listener, &link, Path::new("/dev/zero")] {
            let error = read(path).unwrap_err().to_string();
            assert!(error.ends_with("not a regular file"), "{}: {error}", path.display());
        }
        let (file, link) = (folder.path().join("file"), folder.path().join("to a file"));
        fs::write(&file, b"x").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(read(&link).unwrap(), b"x");
    }
}
