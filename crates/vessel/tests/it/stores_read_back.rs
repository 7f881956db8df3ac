//! What was stored reads back, in any order of files, and a changed byte is noticed.

use backcut_vessel::store::{open, read_manifest};
use backcut_vessel::{Fleet, Reserved, Rules, store};

use proptest::prelude::*;

use crate::{file, import};

const FLEET: Fleet = Fleet { ships: 8, days: 4, seed: 3 };

#[test]
fn a_store_holds_what_was_put_in() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("store");
    let manifest = FLEET.write(&out, &Rules::default(), 2).unwrap();
    assert_eq!(manifest, read_manifest(&out).unwrap());
    for reserved in [Reserved::Excluded, Reserved::Included] {
        let tracks = open(&out, reserved).unwrap();
        assert_eq!(tracks, FLEET.tracks(&Rules::default(), 2, reserved).unwrap());
        assert_eq!(tracks.hash(), manifest.hash);
    }
    let problem = FLEET.write(&out, &Rules::default(), 2).unwrap_err().to_string();
    assert!(problem.ends_with("holds a store already"), "{problem}");
    let names = std::fs::read_dir(&out).unwrap().count();
    assert_eq!(names, 3, "nothing but the store");
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_link_and_no_empty_folder_stays() {
    let folder = tempfile::tempdir().unwrap();
    let (victim, out) = (folder.path().join("victim"), folder.path().join("store"));
    std::fs::write(&victim, "dear").unwrap();
    std::fs::create_dir(&out).unwrap();
    for name in ["spill.tmp", "tracks.tmp", "tracks.parquet"] {
        std::os::unix::fs::symlink(&victim, out.join(name)).unwrap();
    }
    let problem = FLEET.write(&out, &Rules::default(), 2).unwrap_err().to_string();
    assert!(problem.contains("tracks.parquet: it is a link"), "{problem}");
    assert_eq!(std::fs::read(&victim).unwrap(), b"dear");
    std::fs::remove_file(out.join("tracks.parquet")).unwrap();
    FLEET.write(&out, &Rules::default(), 2).unwrap();
    assert_eq!(std::fs::read(&victim).unwrap(), b"dear");
    open(&out, Reserved::Included).unwrap();
    let empty = file(folder.path(), "empty.csv", "");
    let failed = tempfile::tempdir().unwrap();
    import(failed.path(), &[empty], Rules::default()).unwrap_err();
    assert_eq!(std::fs::read_dir(failed.path()).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn two_imports_do_not_mix_in_one_folder() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("store");
    let first = store::StoreWriter::create(&out, &Rules::default()).unwrap();
    let problem = FLEET.write(&out, &Rules::default(), 2).unwrap_err().to_string();
    assert!(problem.ends_with("another import writes there"), "{problem}");
    drop(first);
    FLEET.write(&out, &Rules::default(), 2).unwrap();
}

#[test]
fn the_order_of_vessels_in_a_file_changes_no_byte() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let mut csv = Vec::new();
    FLEET.write_csv(&mut csv).unwrap();
    let text = String::from_utf8(csv).unwrap();
    let (header, rows) = text.split_once('\n').unwrap();
    let mut by_vessel: Vec<&str> = rows.lines().collect();
    by_vessel.sort_by_key(|row| &row[..9]);
    let by_vessel = format!("{header}\n{}\n", by_vessel.join("\n"));
    for (folder, text) in folders.iter().zip([&text, &by_vessel]) {
        let path = file(folder.path(), "a.csv", text);
        import(folder.path(), &[path], Rules::default()).unwrap();
    }
    let [a, b] = [&folders[0], &folders[1]]
        .map(|folder| std::fs::read(folder.path().join("store/tracks.parquet")).unwrap());
    assert_eq!(a, b);
}

#[test]
fn a_changed_store_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [one, other] = ["one", "other"].map(|name| folder.path().join(name));
    FLEET.write(&one, &Rules::default(), 2).unwrap();
    Fleet { seed: 4, ..FLEET }.write(&other, &Rules::default(), 2).unwrap();
    std::fs::copy(other.join("tracks.parquet"), one.join("tracks.parquet")).unwrap();
    let problem = store::open(&one, Reserved::Excluded).unwrap_err().to_string();
    assert!(problem.contains("it is not the file that store.json names"), "{problem}");
    // Whoever puts the file's hash right as well meets the hash of the content.
    let [mine, theirs] = [&one, &other].map(|folder| read_manifest(folder).unwrap());
    let text = serde_json::to_string(&store::Manifest { files: theirs.files, ..mine }).unwrap();
    std::fs::write(one.join("store.json"), text).unwrap();
    let problem = store::open(&one, Reserved::Excluded).unwrap_err().to_string();
    assert!(problem.contains("its content is not what store.json says"), "{problem}");
    let text = std::fs::read_to_string(other.join("store.json")).unwrap();
    let step = text.replacen("\"step_seconds\": 300", "\"step_seconds\": 60", 1);
    std::fs::write(other.join("store.json"), step).unwrap();
    assert!(open(&other, Reserved::Excluded).unwrap_err().to_string().contains("contradict"));
}

proptest! {
    #[test]
    fn flipped_bytes_are_refused_or_change_nothing(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("store");
        let rules = Rules { shortest_steps: 40, ..Rules::default() };
        Fleet { ships: 2, days: 1, seed: 3 }.write(&out, &rules, 0).unwrap();
        let before = open(&out, Reserved::Excluded).unwrap();
        let path = out.join("tracks.parquet");
        let mut bytes = std::fs::read(&path).unwrap();
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        std::fs::write(&path, bytes).unwrap();
        if let Ok(after) = open(&out, Reserved::Excluded) {
            prop_assert_eq!(after, before);
        }
    }
}
