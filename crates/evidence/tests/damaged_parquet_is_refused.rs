//! Any byte of a Parquet file may be wrong: the table reads, or an error says that it does not.
#![cfg(feature = "parquet")]
#![allow(clippy::unwrap_used)] // helpers of tests may panic

use backcut_evidence::tables::rows::ProvenanceRow;
use backcut_evidence::tables::{from_csv, to_parquet};
use backcut_stats::table::RawTable;

fn sound() -> Vec<u8> {
    let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let line = |i: usize| format!("{},{hash},{hash},{i}.5\n", hash.replace('a', &i.to_string()));
    let text = format!("unit,content,head,seconds\n{}{}{}", line(1), line(2), line(3));
    let rows: Vec<ProvenanceRow> = from_csv(text.as_bytes()).unwrap();
    to_parquet("provenance", &rows).unwrap()
}

#[test]
fn every_byte_may_be_wrong() {
    let sound = sound();
    assert_eq!(RawTable::from_bytes(&sound).unwrap().rows.len(), 3);
    // Not the first four, by which Parquet is told from CSV.
    let mut refused = 0;
    for at in 4..sound.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff, sound[at] ^ 1, sound[at] ^ 0x40] {
            let mut damaged = sound.clone();
            damaged[at] = value;
            refused += usize::from(RawTable::from_bytes(&damaged).is_err());
        }
    }
    assert!(refused > sound.len(), "{refused} of {} changes were noticed", 7 * sound.len());
}

#[test]
fn a_file_may_end_anywhere() {
    let sound = sound();
    for end in 4..sound.len() {
        assert!(RawTable::from_bytes(&sound[..end]).is_err(), "{end} bytes");
    }
}
