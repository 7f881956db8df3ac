//! A fleet follows from its seed, bit by bit, and goes through the same cleaning as a file.

use backcut_vessel::{Fleet, Reserved, Rules};

use crate::{file, import};

const SMALL: Fleet = Fleet { ships: 6, days: 4, seed: 7 };

#[test]
fn a_fleet_has_the_bits_that_it_always_had() {
    let tracks = SMALL.tracks(&Rules::default(), 0, Reserved::Excluded).unwrap();
    // A change of these bits is a change of every result that was made on a fleet.
    assert_eq!(tracks.hash().short(), GOLDEN);
    let other = Fleet { seed: 8, ..SMALL }.tracks(&Rules::default(), 0, Reserved::Excluded);
    assert_ne!(other.unwrap().hash(), tracks.hash());
}

const GOLDEN: &str = "d729c024529a";

#[test]
fn a_fleet_written_as_a_file_gives_the_same_tracks() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = Vec::new();
    SMALL.write_csv(&mut text).unwrap();
    let path = file(folder.path(), "fleet.csv", &text);
    let manifest = import(folder.path(), &[path], Rules::default()).unwrap();
    let tracks = SMALL.tracks(&Rules::default(), 0, Reserved::Excluded).unwrap();
    assert_eq!(manifest.hash, tracks.hash());
    let counts = &manifest.funnel.counts;
    assert!(counts.adds_up());
    // Its faults are there, or the cleaning was not tried.
    for (fault, count) in [
        ("no position", counts.no_position),
        ("too fast", counts.too_fast),
        ("duplicate", counts.duplicate),
        ("no speed", counts.sog_blanked),
    ] {
        assert!(count > 0, "{fault}");
    }
}
