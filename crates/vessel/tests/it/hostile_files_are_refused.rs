//! Files from strangers: nothing panics, nothing grows without bound, and errors say what is wrong.

use std::io::{self, Read, Write};
use std::path::Path;

use backcut_vessel::read::{FileRead, Limits, read_file, read_table};
use backcut_vessel::{AisError, Naming, Report};
use proptest::prelude::*;

use crate::file;

const HEADER: &str = "MMSI,BaseDateTime,LAT,LON,SOG,COG,Heading,VesselName\n";
const ROW: &str = "366999999,2024-01-01T00:00:00,30.5,-90.25,10.1,180.0,179,NAME\n";

fn read(path: &Path) -> Result<(FileRead, Vec<(String, Report)>), AisError> {
    let mut seen = Vec::new();
    let found = read_file(path, &Limits::default(), &mut |_| (), &mut |name, _, report| {
        seen.push((name.to_owned(), *report));
        Ok(())
    })?;
    Ok((found, seen))
}

fn refusal(path: &Path) -> String {
    read(path).unwrap_err().to_string()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = io::Cursor::new(Vec::new());
    let mut packer = zip::ZipWriter::new(&mut out);
    for (name, bytes) in members {
        packer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        packer.write_all(bytes).unwrap();
    }
    packer.finish().unwrap();
    out.into_inner()
}

#[test]
fn both_schemas_and_every_packing_give_the_same_reports() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{HEADER}{ROW}");
    let newer = "\u{feff}mmsi,base_date_time,longitude,latitude,sog,cog,heading,vessel_name\r\n\
                 366999999,2024-01-01 00:00:00,-90.25,30.5,10.1,180.0,179,\"A, \"\"B\"\"\"\r\n";
    let danish = "# Timestamp,Type of mobile,MMSI,Latitude,Longitude,Navigational \
                  status,ROT,SOG,COG,Heading\n01/01/2024 00:00:00,Class \
                  A,366999999,30.5,-90.25,Under way,0.0,10.1,180.0,179\n";
    let track = "track_id,unix_time,lat,lon,sog_kn,cog_deg,heading_deg\n\
                 366999999,1704067200,30.5,-90.25,10.1,180.0,179\n";
    let want = read(&file(folder.path(), "a.csv", &text)).unwrap().1;
    assert_eq!(
        want[0].1,
        Report {
            time: 1_704_067_200,
            lat: 30.5,
            lon: -90.25,
            sog: Some(10.1),
            cog: Some(180.0),
            heading: Some(179.0),
        }
    );
    let zst = zstd::encode_all(text.as_bytes(), 3).unwrap();
    for (name, bytes) in [
        ("newer.csv", newer.as_bytes().to_vec()),
        ("danish.csv", danish.as_bytes().to_vec()),
        ("track.csv", track.as_bytes().to_vec()),
        ("a.csv.gz", gzip(text.as_bytes())),
        ("a.csv.zst", zst),
        ("a.zip", zip(&[("readme.txt", b"no table"), ("in/a.csv", text.as_bytes())])),
    ] {
        assert_eq!(read(&file(folder.path(), name, bytes)).unwrap().1, want, "{name}");
    }
}

#[test]
fn what_is_not_what_it_claims_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |name: &str, bytes: &[u8]| refusal(&file(folder.path(), name, bytes));
    assert!(refused("empty.csv", b"").ends_with("it is empty"));
    assert!(
        refused("a.csv.gz", HEADER.as_bytes()).contains("its name says .gz, its content does not")
    );
    assert!(refused("b.zip", &gzip(b"x")).contains("its name says .zip, its content says .gz"));
    let cut = gzip(format!("{HEADER}{}", ROW.repeat(1000)).as_bytes());
    assert!(refused("cut.csv.gz", &cut[..cut.len() / 2]).contains("it is damaged"));
    assert!(refused("utf16.csv", b"\xff\xfeM\0M\0").contains("UTF-16"));
    assert!(refused("binary.csv", &[0, 159, 146, 150, 10]).contains("no header of a known format"));
    assert!(refused("none.zip", &zip(&[("readme.txt", b"x")])).contains("no .csv file"));
    let bad = format!("{HEADER}{}", "a,b,c,d,e,f,g,h\n".repeat(3));
    assert!(
        refused("bad.csv", bad.as_bytes()).contains("3 of 3 rows are bad; line 2: `b` is no time")
    );
    let missing = refusal(&folder.path().join("missing.csv"));
    assert!(missing.contains("No such file"), "{missing}");
    assert!(refusal(folder.path()).contains("is not a regular file"));
    assert!(refusal(Path::new("/dev/zero")).contains("is not a regular file"));
}

#[cfg(unix)]
#[test]
fn a_pipe_is_refused_without_waiting_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe.csv");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    if made.is_ok_and(|status| status.success()) {
        assert!(refusal(&path).contains("is not a regular file"));
    }
}

#[test]
fn bad_rows_are_counted_with_their_lines() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "{HEADER}{ROW}366999999,2024-01-01T00:00:00,north,-90\n{ROW}\0\0\n\n{ROW}\
         366999999,2024-01-01T00:00:00,\"30,-90\n{ROW}{}\n{ROW}{ROW}",
        "x".repeat(100_000)
    );
    let (found, seen) = read(&file(folder.path(), "a.csv", text)).unwrap();
    assert_eq!((found.rows, found.bad.count, seen.len()), (10, 4, 6));
    let told: Vec<_> =
        found.bad.examples.iter().map(|bad| (bad.line, bad.problem.as_str())).collect();
    assert_eq!(
        told,
        [
            (3, "`north` is no degree"),
            (5, "`[U+0000][U+0000]` names no vessel"),
            (8, "a quotation mark stays open"),
        ]
        .map(|(line, problem)| (line, problem))
    );
}

/// A header and then a line that never ends.
struct Endless<'a> {
    head: &'a [u8],
    left: u64,
    byte: u8,
}

impl Read for Endless<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.head.is_empty() {
            return self.head.read(buffer);
        }
        let n = (buffer.len() as u64).min(self.left) as usize;
        buffer[..n].fill(self.byte);
        self.left -= n as u64;
        Ok(n)
    }
}

#[test]
fn endless_lines_and_a_million_columns_take_no_memory() {
    for (head, byte) in [(HEADER, b'x'), (HEADER, b','), (HEADER, b'"')] {
        let table = Endless { head: head.as_bytes(), left: 1 << 30, byte };
        let mut found = FileRead::default();
        let limits = Limits::default();
        read_table(Path::new("a.csv"), table, &limits, &mut found, &mut |_, _, _| Ok(())).unwrap();
        assert_eq!((found.rows, found.bad.count), (1, 1));
    }
    let header = Endless { head: b"MMSI", left: 1 << 20, byte: b',' };
    let mut found = FileRead::default();
    let error =
        read_table(Path::new("a.csv"), header, &Limits::default(), &mut found, &mut |_, _, _| {
            Ok(())
        });
    assert!(error.unwrap_err().to_string().contains("its first line has more than 65536 bytes"));
}

#[test]
fn bombs_do_not_go_off() {
    let folder = tempfile::tempdir().unwrap();
    let text = [HEADER.as_bytes(), &vec![b'\n'; 100 << 20]].concat();
    let zst = zstd::encode_all(&text[..], 3).unwrap();
    for (name, bytes) in
        [("a.csv.gz", gzip(&text)), ("a.csv.zst", zst), ("a.zip", zip(&[("a.csv", &text)]))]
    {
        let problem = refusal(&file(folder.path(), name, bytes));
        assert!(problem.contains("unpacks to more than 200 times its size"), "{problem}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(
        header in 0usize..4,
        body in prop::collection::vec(prop_oneof![
            any::<u8>(), prop::sample::select(b"0123456789,\n.-:T/\" ".to_vec())
        ], 0..600),
    ) {
        let headers: [&[u8]; 4] = [
            HEADER.as_bytes(),
            b"# Timestamp,MMSI,Latitude,Longitude\n",
            b"track_id,unix_time,lat,lon\n",
            b"",
        ];
        let text = [headers[header], &body].concat();
        let mut found = FileRead::default();
        let mut good = 0;
        let result = read_table(Path::new("a"), &text[..], &Limits::default(), &mut found,
            &mut |name: &str, _: Naming, report: &Report| {
                assert!(!name.is_empty() && report.lat.is_finite() && report.lon.is_finite());
                good += 1;
                Ok(())
            });
        if result.is_ok() {
            prop_assert_eq!(found.rows, found.bad.count + good);
        }
    }

    #[test]
    fn damaged_packings_are_refused_or_read(
        flips in prop::collection::vec((0usize..4000, any::<u8>()), 1..8), kind in 0usize..3,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("{HEADER}{}", ROW.repeat(50));
        let (name, mut bytes) = match kind {
            0 => ("a.csv.gz", gzip(text.as_bytes())),
            1 => ("a.csv.zst", zstd::encode_all(text.as_bytes(), 1).unwrap()),
            _ => ("a.zip", zip(&[("a.csv", text.as_bytes())])),
        };
        for (at, byte) in flips {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        let _ = read(&file(folder.path(), name, bytes));
    }
}
