//! Kill -9 from outside, at random times and inside writes; resume; the same bytes.
//!
//! The test runs itself as the process to be killed: `victim` is that process's main function.

#![expect(
    clippy::disallowed_methods,
    reason = "it starts itself as a child, and kills by the clock"
)]
#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use backcut_engine::Cut;
use backcut_kernels::random::Stream;
use backcut_lab::training::{Begin, Checkpoint, Folder, RunOptions, ValidRun, run};
use common::{PointMass, go_on, valid};

const FOLDER: &str = "BACKCUT_TEST_FOLDER";
const UPDATES: u64 = 1200;
const KILLS: u32 = 24;

fn config() -> ValidRun {
    valid(Cut::F_SG, 21, UPDATES)
}

#[test]
#[ignore = "started by the test below"]
fn victim() {
    let Some(path) = std::env::var_os(FOLDER) else { return };
    let options = RunOptions { save_every: 2, keep: vec![] };
    let (system, config, folder) = (PointMass::new(), config(), Folder::new(path));
    run::run(&system, &config, None, &folder, Begin::Resume, &options, &mut go_on).unwrap();
}

fn start(folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "victim", "--ignored"])
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn is_half_written(folder: &Path) -> bool {
    let names = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.file_name());
    names.into_iter().any(|name| name.to_string_lossy().ends_with(".tmp"))
}

#[test]
fn a_killed_run_ends_with_the_bytes_of_an_undisturbed_one() {
    let root = tempfile::tempdir().unwrap();
    let undisturbed = Folder::new(root.path().join("undisturbed"));
    let clock = Instant::now();
    assert!(start(undisturbed.path()).wait().unwrap().success());
    let duration = clock.elapsed();

    let mut draws = Stream::new(1, "kill times").at(0, 0);
    let (mut kills, mut mid_run, mut in_a_write, mut round) = (0, 0, 0, 0);
    while kills < KILLS {
        round += 1;
        let folder = Folder::new(root.path().join(format!("round {round}")));
        let mut is_finished = false;
        while !is_finished {
            let mut child = start(folder.path());
            if kills < KILLS {
                let share = draws.uniform_in(0.0, 2.0 / f64::from(KILLS));
                std::thread::sleep(duration.mul_f64(share) + Duration::from_millis(3));
                is_finished = child.try_wait().unwrap().is_some();
                child.kill().unwrap(); // SIGKILL; nothing to a process that has exited
                child.wait().unwrap();
                kills += u32::from(!is_finished);
                let update = Checkpoint::load(&folder.checkpoint()).map(|c| c.header().update);
                let was_running = update.is_ok_and(|u| u > 0 && u < UPDATES);
                mid_run += u32::from(!is_finished && was_running);
                in_a_write += u32::from(!is_finished && is_half_written(folder.path()));
            } else {
                is_finished = child.wait().unwrap().success();
                assert!(is_finished, "the resumed run failed");
            }
        }
        for file in [Folder::checkpoint, Folder::log, Folder::panels, Folder::config] {
            let read = |folder| std::fs::read(file(folder)).unwrap();
            assert!(read(&undisturbed) == read(&folder), "{} differs", file(&folder).display());
        }
        assert!(!is_half_written(folder.path()));
    }
    println!(
        "{kills} kills, {mid_run} mid-run, {in_a_write} inside a write; {:?}",
        clock.elapsed()
    );
    assert!(2 * mid_run >= kills, "only {mid_run} of {kills} kills landed mid-run");
    assert!(in_a_write > 0, "no kill landed inside a write");
}
