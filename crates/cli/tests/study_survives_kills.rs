//! Kill -9 from outside, at random times, inside units and inside writes; go on; the same tables.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use backcut_kernels::random::Stream;
use common::study::{MASKING, StudyFolder, ending, family, files, tiny};

const KILLS: u32 = 50;

/// Units that were begun and have no record.
fn begun(out: &Path) -> usize {
    let claims = std::fs::read_dir(out.join("claims")).into_iter().flatten().flatten();
    let names = claims.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_open = |name: &String| {
        name.len() == 64
            && !out.join("units").join(&name[..2]).join(format!("{name}.done.json")).exists()
    };
    names.into_iter().filter(is_open).count()
}

/// The kills' study: eight training units of a few hundred milliseconds in all, eight measurements.
fn desk() -> StudyFolder {
    let desk = StudyFolder::new();
    let more = family("confirmatory") + MASKING;
    desk.write("s.toml", &tiny("s", 600, &more));
    desk
}

fn run(out: &str) -> String {
    // A claim that a kill left half written is given a moment, not a minute.
    format!("study run s.toml --out {out} --jobs 2 --save-after 0.01 --stale-after 0.2")
}

#[test]
fn a_killed_study_ends_with_the_tables_of_an_undisturbed_one() {
    let desk = desk();
    desk.fine("study freeze s.toml --out whole");
    let clock = Instant::now();
    let code = desk.backcut(&run("whole")).code;
    let duration = clock.elapsed();
    desk.fine("study collect s.toml --out whole");
    let whole = desk.tables("whole", "s");
    assert_eq!(whole.len(), 3);

    let mut draws = Stream::new(1, "kill times").at(0, 0);
    let (mut kills, mut inside, mut saved, mut in_a_write, mut round) = (0, 0, 0, 0, 0);
    while kills < KILLS {
        round += 1;
        let out = format!("round-{round}");
        desk.fine(&format!("study freeze s.toml --out {out}"));
        let mut is_finished = false;
        while !is_finished {
            let mut child = desk.start(&run(&out));
            if kills < KILLS {
                let share = draws.uniform_in(0.0, 4.0 / f64::from(KILLS));
                std::thread::sleep(duration.mul_f64(share) + Duration::from_millis(12));
                is_finished = child.try_wait().unwrap().is_some();
                child.kill().unwrap(); // SIGKILL; nothing to a process that has exited
                child.wait().unwrap();
                let folder = desk.path(&out);
                kills += u32::from(!is_finished);
                inside += u32::from(!is_finished && begun(&folder) > 0);
                let work = ending(&folder.join("work"), "checkpoint.safetensors");
                saved += u32::from(!is_finished && !work.is_empty());
                let half = ending(&folder, ".tmp");
                in_a_write += u32::from(!is_finished && !half.is_empty());
            } else {
                assert_eq!(
                    child.wait().unwrap().code(),
                    Some(code),
                    "it ends like an undisturbed one"
                );
                is_finished = true;
            }
        }
        desk.ends(code, &run(&out)); // a run with nothing to do clears what the last kill left
        for _ in 0..4 {
            let mut child = desk.start(&format!("study collect s.toml --out {out}"));
            std::thread::sleep(Duration::from_millis(draws.uniform_in(1.0, 40.0) as u64));
            child.kill().unwrap();
            child.wait().unwrap();
            let said = desk.fine(&format!("study verify {out}"));
            assert!(said.contains(": sound"), "after a killed collection: {said}");
        }
        desk.fine(&format!("study collect s.toml --out {out}"));
        let half = ending(&desk.path(&out).join("tables"), ".tmp");
        assert!(half.is_empty(), "left behind: {half:?}");
        for (killed, whole) in desk.tables(&out, "s").iter().zip(&whole) {
            assert!(killed == whole, "{} differs after {kills} kills", whole.0);
        }
        let verified = desk.fine(&format!("study verify {out}"));
        assert!(verified.contains("16 records") && verified.contains("sound"), "{verified}");
        for folder in ["work", "claims"] {
            let left = files(&desk.path(&out).join(folder));
            assert!(left.is_empty(), "left behind: {left:?}");
        }
        for folder in ["units", "studies"] {
            let half = ending(&desk.path(&out).join(folder), ".tmp");
            assert!(half.is_empty(), "left behind: {half:?}");
        }
    }
    println!(
        "{kills} kills in {round} rounds, {inside} inside a unit, {saved} with a saved state, \
         {in_a_write} inside a write; {:?}",
        clock.elapsed()
    );
    assert!(2 * inside >= kills, "only {inside} of {kills} kills landed inside a unit");
    assert!(saved > 0, "no kill left a saved state");
    assert!(in_a_write > 0, "no kill landed inside a write");
}

#[test]
fn a_study_that_is_asked_to_stop_saves_and_goes_on_to_the_same_tables() {
    let desk = desk();
    let code = desk.backcut(&run("whole")).code;
    desk.fine("study collect s.toml --out whole");
    for signal in ["-TERM", "-INT"] {
        // Nothing is saved before the signal: what goes on later was saved because of it.
        let line = "study run s.toml --out stopped --jobs 2";
        let child = desk.command(line).stderr(std::process::Stdio::piped()).spawn().unwrap();
        let clock = Instant::now();
        while begun(&desk.path("stopped")) == 0 {
            assert!(clock.elapsed() < Duration::from_mins(1), "nothing was begun");
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(10));
        let id = child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(130), "{said}");
        assert!(said.contains("the same command goes on where it stopped"), "{said}");
        let saved = ending(&desk.path("stopped").join("work"), "checkpoint.safetensors");
        assert!(!saved.is_empty(), "nothing was saved");
        assert_eq!(begun(&desk.path("stopped")), 0, "a claim stays");
        let status = desk.fine("study status s.toml --out stopped");
        assert!(status.contains("interrupted"), "{status}");
    }
    // Another study of the same units wants an earlier state of them kept than the saved ones have.
    let other = tiny("t", 600, "").replace("keep = [600]", "keep = [2, 600]");
    desk.write("t.toml", &other);
    desk.fine("study run t.toml --out stopped --jobs 2");
    desk.ends(code, &run("stopped"));
    desk.fine("study collect s.toml --out stopped");
    assert!(desk.tables("stopped", "s") == desk.tables("whole", "s"));
}
