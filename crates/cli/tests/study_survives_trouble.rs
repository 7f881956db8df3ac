//! Full disks, read-only folders, damaged files, odd clocks, several runners: a clear message,
//! nothing lost, the same tables in the end.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use common::study::{StudyFolder, change_a_byte, ending, family, tiny};

fn desk() -> StudyFolder {
    let desk = StudyFolder::new();
    desk.write("s.toml", &tiny("s", 40, &family("confirmatory")));
    desk
}

/// Runs and collects undisturbed, for comparison.
fn whole(desk: &StudyFolder) {
    desk.fine("study freeze s.toml --out whole");
    desk.fine("study run s.toml --out whole --jobs 2");
    desk.fine("study collect s.toml --out whole");
}

#[track_caller]
fn ends_like_an_undisturbed_one(desk: &StudyFolder, out: &str) {
    desk.fine(&format!("study run s.toml --out {out} --jobs 2 --stale-after 0.2"));
    desk.fine(&format!("study collect s.toml --out {out}"));
    assert_eq!(desk.tables("whole", "s").len(), 3);
    assert!(desk.tables(out, "s") == desk.tables("whole", "s"));
    let verified = desk.fine(&format!("study verify {out}"));
    assert!(verified.contains("8 records") && verified.contains("sound"), "{verified}");
}

/// A small file system in memory.
struct Disk(PathBuf);

impl Disk {
    /// `None`, with a word, where mounting is not allowed.
    fn mount(desk: &StudyFolder, name: &str, kilobytes: u32) -> Option<Self> {
        let path = desk.path(name);
        fs::create_dir(&path).unwrap();
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", &format!("size={kilobytes}k"), "backcut-test"]);
        if command.arg(&path).status().is_ok_and(|status| status.success()) {
            return Some(Self(path));
        }
        eprintln!("SKIPPED: mounting a small disk is not possible here (it takes root)");
        None
    }

    fn remount(&self, options: &str) {
        let status =
            Command::new("mount").arg("-o").arg(format!("remount,{options}")).arg(&self.0).status();
        assert!(status.unwrap().success(), "remount {options}");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status(); // the folder is temporary
    }
}

#[test]
fn a_full_disk_loses_nothing() {
    let desk = desk();
    let Some(disk) = Disk::mount(&desk, "small", 400) else { return };
    whole(&desk);
    desk.fine("study freeze s.toml --out small");
    let said = desk.ends(2, "study run s.toml --out small --jobs 2");
    assert!(said.contains("No space left on device"), "{said}");
    assert!(
        said.contains("hint: free some space and run again: finished units are safe"),
        "{said}"
    );
    assert!(ending(&desk.path("small"), ".tmp").is_empty(), "half files stay");
    let done = ending(&desk.path("small"), ".done.json").len();
    assert!((1..8).contains(&done), "{done} units before the disk was full");
    desk.fine("study verify small");

    // Nothing at all can be written: the ledger and the tables say so too, and stay what they were.
    let mut ballast = fs::File::create(desk.path("small/ballast")).unwrap();
    while ballast.write_all(&[0; 1024]).is_ok() {}
    desk.write("other.toml", &tiny("other", 20, "").replace("count = 4", "count = 60"));
    let said = desk.ends(2, "study freeze other.toml --out small");
    assert!(said.contains("No space left on device"), "{said}");
    let said = desk.ends(2, "study collect s.toml --out small");
    assert!(said.contains("No space left on device"), "{said}");
    assert!(desk.fine("study status s.toml --out small").contains("in entry 0"));

    drop(ballast);
    fs::remove_file(desk.path("small/ballast")).unwrap();
    disk.remount("size=20m");
    ends_like_an_undisturbed_one(&desk, "small");
}

#[test]
fn a_read_only_folder_is_refused_with_a_hint_and_can_still_be_read() {
    let desk = desk();
    let Some(disk) = Disk::mount(&desk, "locked", 20_000) else { return };
    whole(&desk);
    desk.fine("study freeze s.toml --out locked");
    desk.fine("study run s.toml --out locked --shard 1/2");
    disk.remount("ro");
    for line in [
        "study run s.toml --out locked --jobs 2",
        "study collect s.toml --out locked",
        "study amend s.toml --out locked --reason none",
    ] {
        let said = desk.ends(2, line);
        if line.contains("amend") {
            assert!(said.contains("has not changed"), "{said}");
            continue;
        }
        assert!(said.contains("Read-only file system"), "{said}");
        assert!(said.contains("hint: choose a folder that can be written to"), "{said}");
    }
    assert!(desk.fine("study status s.toml --out locked").contains("pending"));
    assert!(desk.fine("study verify locked").contains("sound"));
    disk.remount("rw");
    ends_like_an_undisturbed_one(&desk, "locked");
}

#[test]
fn a_damaged_record_is_named_and_can_be_computed_again() {
    let desk = desk();
    whole(&desk);
    desk.fine("study freeze s.toml --out out");
    desk.fine("study run s.toml --out out --jobs 2");
    let records = ending(&desk.path("out"), ".done.json");
    change_a_byte(&records[2]);
    fs::write(&records[5], "").unwrap();
    let said = desk.ends(2, "study collect s.toml --out out");
    assert!(said.contains(".done.json: its seal does not match its content"), "{said}");
    assert!(said.contains("hint: `backcut study verify` lists everything"), "{said}");
    let said = desk.ends(1, "study verify out");
    for record in [&records[2], &records[5]] {
        assert!(said.contains(record.file_name().unwrap().to_str().unwrap()), "{said}");
        fs::remove_file(record).unwrap();
    }
    ends_like_an_undisturbed_one(&desk, "out");
}

#[test]
fn a_damaged_checkpoint_that_is_needed_is_named_and_can_be_computed_again() {
    let desk = desk();
    whole(&desk);
    desk.fine("study freeze s.toml --out out");
    desk.fine("study run s.toml --out out --jobs 2");
    // A branch is to be computed again, and its start is damaged.
    let units = desk.rows("whole", "s", "units.csv");
    let unit = |arm: &str| units.iter().find(|u| u.get("arm") == arm && u.get("source") == "3");
    let (start, branch) = (unit("FF").unwrap().get("unit"), unit("F_SG").unwrap().get("unit"));
    let folder = |id: &str| desk.path("out/units").join(&id[..2]);
    fs::remove_file(folder(branch).join(format!("{branch}.done.json"))).unwrap();
    let checkpoint = folder(start).join(start).join("checkpoint-000020.safetensors");
    change_a_byte(&checkpoint);
    let said = desk.ends(2, "study run s.toml --out out --jobs 2");
    assert!(said.contains("checkpoint-000020.safetensors") && said.contains("hint: "), "{said}");
    fs::remove_file(&checkpoint).unwrap();
    ends_like_an_undisturbed_one(&desk, "out");
}

#[test]
fn claims_left_behind_are_taken_over_whatever_the_clock_says() {
    let desk = desk();
    whole(&desk);
    desk.fine("study freeze s.toml --out out");
    let units = desk.rows("whole", "s", "units.csv");
    let claims = desk.path("out/claims");
    fs::create_dir_all(&claims).unwrap();
    let foreign =
        r#"{"owner":{"host":"elsewhere","machine":"other","process":1,"began":1},"beat":7}"#;
    // Half written; foreign from a past and from a future century; a process number that came back.
    let here = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let reborn = format!(
        r#"{{"owner":{{"host":"here","machine":"{} {}","process":{},"began":1}},"beat":0}}"#,
        here.trim(),
        space.display(),
        std::process::id()
    );
    let texts = [&foreign[..30], foreign, foreign, &reborn, ""];
    let dates = ["2001-01-01", "1991-01-01", "2099-01-01", "2099-01-01", "2099-01-01"];
    for ((unit, text), date) in units.iter().zip(texts).zip(dates) {
        let path = claims.join(unit.get("unit"));
        fs::write(&path, text).unwrap();
        assert!(Command::new("touch").args(["-d", date]).arg(&path).status().unwrap().success());
    }
    let clock = Instant::now();
    let said = desk.fine("study run s.toml --out out --jobs 2 --stale-after 0.4");
    assert!(clock.elapsed().as_secs_f64() > 0.4, "foreign claims are given time");
    assert!(said.contains("taken over from process 1 on elsewhere"), "{said}");
    assert!(said.contains("taken over from an unreadable claim"), "{said}");
    ends_like_an_undisturbed_one(&desk, "out");
}

#[test]
fn several_runners_share_a_folder() {
    let desk = desk();
    desk.write("s.toml", &tiny("s", 200, &family("confirmatory")));
    whole(&desk);
    desk.fine("study freeze s.toml --out out");
    let start = || {
        let mut command = desk.command("study run s.toml --out out --jobs 1 --stale-after 20");
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let runners = [start(), start(), start()];
    for runner in runners {
        let output = runner.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(said.contains("s: 8 units: "), "{said}");
    }
    assert!(ending(&desk.path("out"), ".tmp").is_empty());
    assert!(fs::read_dir(desk.path("out/claims")).unwrap().next().is_none(), "a claim stays");
    ends_like_an_undisturbed_one(&desk, "out");
}

#[test]
fn shards_together_are_the_whole() {
    let desk = desk();
    whole(&desk);
    desk.fine("study freeze s.toml --out out");
    for shard in ["3/3", "1/3", "2/3"] {
        desk.fine(&format!("study run s.toml --out out --shard {shard}"));
    }
    assert_eq!(ending(&desk.path("out"), ".done.json").len(), 8);
    ends_like_an_undisturbed_one(&desk, "out");
    for shard in ["0/3", "4/3", "3", "a/b"] {
        let said = desk.ends(2, &format!("study run s.toml --out out --shard {shard}"));
        assert!(said.contains("hint: write I/N"), "{said}");
    }
}
