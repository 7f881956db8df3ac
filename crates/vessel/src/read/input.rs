//! Opening a file: what it is, what is inside, and how much of it may come out.
//!
//! Files come from strangers. Only regular files are opened (a pipe could keep us waiting, a device
//! could go on for ever), what a file is follows from its first bytes and must agree with its name,
//! and what unpacks to far more than it holds is refused before it fills anything.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::rc::Rc;

use crate::clean::VESSELS;
use crate::error::AisError;

/// How much is read, unpacked and remembered before a file counts as hostile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of a line; a longer one is a bad row.
    pub line_bytes: usize,
    /// How many times as large a packed file may become. Files of positions reach 4 to 20.
    pub ratio: u64,
    /// Bytes that a packed file may become in any case, and the least to which the ratio applies.
    pub expanded_bytes: [u64; 2],
    /// Vessels that are remembered at a time.
    pub vessels: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            line_bytes: 1 << 16,
            ratio: 200,
            expanded_bytes: [1 << 24, 1 << 40],
            vessels: VESSELS,
        }
    }
}

/// What a file's first bytes say it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Packing {
    Plain,
    Gzip,
    Zstd,
    Zip,
}

impl Packing {
    const MAGIC: [(Self, &'static [u8], &'static str); 3] = [
        (Self::Gzip, b"\x1f\x8b", "gz"),
        (Self::Zstd, b"\x28\xb5\x2f\xfd", "zst"),
        (Self::Zip, b"PK\x03\x04", "zip"),
    ];

    fn of(path: &Path, first: &[u8]) -> Result<Self, AisError> {
        let found = Self::MAGIC.into_iter().find(|(_, magic, _)| first.starts_with(magic));
        let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        let claimed = Self::MAGIC.into_iter().find(|(.., e)| ending.eq_ignore_ascii_case(e));
        match (found, claimed) {
            (None, Some((.., claim))) => {
                Err(AisError::claims(path, format!("its name says .{claim}, its content does not")))
            }
            (Some((found, _, has)), Some((claimed, _, claim))) if found != claimed => {
                let problem = format!("its name says .{claim}, its content says .{has}");
                Err(AisError::claims(path, problem))
            }
            (found, _) => Ok(found.map_or(Self::Plain, |(packing, ..)| packing)),
        }
    }
}

/// Hands every table of a file to `take`: one, or the CSV files inside a zip in the order of their
/// names. `advance` hears how many bytes of the file have been read since it was last called.
pub fn each_table(
    path: &Path,
    limits: &Limits,
    advance: &mut dyn FnMut(u64),
    take: &mut dyn FnMut(&mut dyn Read) -> Result<(), AisError>,
) -> Result<(), AisError> {
    let io = AisError::io(path);
    if !std::fs::metadata(path).map_err(&io)?.is_file() {
        return Err(AisError::NotAFile(path.to_owned()));
    }
    let mut file = File::open(path).map_err(&io)?;
    let mut first = Vec::with_capacity(4);
    file.by_ref().take(4).read_to_end(&mut first).map_err(&io)?;
    let packing = Packing::of(path, &first)?;
    file.seek(SeekFrom::Start(0)).map_err(&io)?;
    let packed = Rc::new(Cell::new(0));
    let metered = Metered { file, read: Rc::clone(&packed), advance };
    match packing {
        Packing::Plain => take(&mut { metered }),
        Packing::Gzip => {
            let reader = flate2::bufread::MultiGzDecoder::new(buffered(metered));
            take(&mut Guarded::new(reader, &packed, limits))
        }
        Packing::Zstd => {
            let reader = zstd::stream::read::Decoder::new(metered).map_err(&io)?;
            take(&mut Guarded::new(reader, &packed, limits))
        }
        Packing::Zip => {
            let bad = |error: zip::result::ZipError| AisError::claims(path, error.to_string());
            let mut archive = zip::ZipArchive::new(buffered(metered)).map_err(bad)?;
            let is_table = |name: &String| name.to_ascii_lowercase().ends_with(".csv");
            let mut names = Vec::new();
            for name in archive.file_names() {
                names.extend(Some(name.map_err(bad)?.into_owned()).filter(is_table));
            }
            if names.is_empty() {
                return Err(AisError::claims(path, "there is no .csv file in the archive"));
            }
            names.sort();
            for name in names {
                let member = archive.by_name(&name).map_err(bad)?;
                take(&mut Guarded::new(member, &packed, limits))?;
            }
            Ok(())
        }
    }
}

fn buffered<R: Read>(reader: R) -> BufReader<R> {
    BufReader::with_capacity(1 << 17, reader)
}

/// Counts the bytes that are taken from the disk.
struct Metered<'a> {
    file: File,
    read: Rc<Cell<u64>>,
    advance: &'a mut dyn FnMut(u64),
}

impl Read for Metered<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(buffer)?;
        self.read.set(self.read.get() + n as u64);
        (self.advance)(n as u64);
        Ok(n)
    }
}

impl Seek for Metered<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// Ends a stream that becomes too large beside what it is unpacked from.
struct Guarded<R> {
    reader: R,
    packed: Rc<Cell<u64>>,
    expanded: u64,
    limits: Limits,
}

impl<R> Guarded<R> {
    fn new(reader: R, packed: &Rc<Cell<u64>>, limits: &Limits) -> Self {
        Self { reader, packed: Rc::clone(packed), expanded: 0, limits: *limits }
    }
}

/// Travels inside an [`io::Error`] from the guard to whoever reads.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Expands(pub String);

impl<R: Read> Read for Guarded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(buffer)?;
        self.expanded += n as u64;
        let ([small, most], ratio) = (self.limits.expanded_bytes, self.limits.ratio);
        let problem = if self.expanded > most {
            format!("it unpacks to more than {most} bytes")
        } else if self.expanded > small && self.expanded / ratio > self.packed.get() {
            format!("it unpacks to more than {ratio} times its size")
        } else {
            return Ok(n);
        };
        Err(io::Error::other(Expands(problem)))
    }
}
