//! A folder holds one run: stopped runs continue, finished ones stay, others are refused.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use backcut_engine::Cut;
use backcut_lab::training::{
    Begin, Control, Folder, RunError, RunOptions, Summary, ValidRun, panels, run,
};
use common::{PointMass, go_on, valid};

fn train(
    config: &ValidRun,
    folder: &Folder,
    begin: Begin,
    stop_at: u64,
) -> Result<Summary, RunError> {
    let options = RunOptions { save_every: 7, keep: vec![] };
    run::run(&PointMass::new(), config, None, folder, begin, &options, &mut |progress| {
        if progress.update.update == stop_at { Control::Stop } else { Control::Continue }
    })
}

#[test]
fn a_stopped_run_continues_to_the_same_files() {
    let root = tempfile::tempdir().unwrap();
    let (whole, parts) = (Folder::new(root.path().join("a/b")), Folder::new(root.path().join("c")));
    let config = valid(Cut::F_SG, 8, 50);
    let straight = train(&config, &whole, Begin::Fresh, 0).unwrap();
    let first = train(&config, &parts, Begin::Fresh, 33).unwrap();
    assert_eq!((first.update, first.is_finished, first.panels.len()), (33, false, 1));
    assert!(matches!(
        train(&config, &parts, Begin::Fresh, 0),
        Err(RunError::Unfinished { update: 33, .. })
    ));
    let rest = train(&config, &parts, Begin::Resume, 0).unwrap();
    assert_eq!((rest.began, rest.update, rest.is_finished), (33, 50, true));
    assert_eq!((&rest.panels, rest.clipped), (&straight.panels, straight.clipped));
    assert!(straight.clipped > 0, "the sample run should clip somewhere");
    for file in [Folder::checkpoint, Folder::log, Folder::panels, Folder::config] {
        let read = |folder| std::fs::read(file(folder)).unwrap();
        assert_eq!(read(&whole), read(&parts), "{}", file(&parts).display());
    }
    assert_eq!(panels::read(&whole.panels()).unwrap(), straight.panels);
    // Resuming a finished run changes nothing; starting it anew is refused.
    assert!(train(&config, &parts, Begin::Resume, 0).unwrap().is_finished);
    assert!(matches!(
        train(&config, &parts, Begin::Fresh, 0),
        Err(RunError::Finished { update: 50, .. })
    ));
}

#[test]
fn another_runs_folder_is_refused_with_the_difference() {
    let root = tempfile::tempdir().unwrap();
    let folder = Folder::new(root.path());
    train(&valid(Cut::FF, 8, 10), &folder, Begin::Fresh, 0).unwrap();
    let error = train(&valid(Cut::FD, 9, 10), &folder, Begin::Resume, 0).unwrap_err().to_string();
    assert!(error.contains("cut: \"FD\" asked for, \"FF\" there"), "{error}");
    assert!(error.contains("seed: 9 asked for, 8 there"), "{error}");
}

#[test]
fn a_folder_with_other_things_is_left_alone() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("thesis.tex"), "dear reader").unwrap();
    let error = train(&valid(Cut::FF, 8, 10), &Folder::new(root.path()), Begin::Fresh, 0);
    assert!(matches!(error, Err(RunError::Occupied { entry, .. }) if entry == "thesis.tex"));
}

#[test]
fn two_processes_do_not_share_a_folder() {
    let root = tempfile::tempdir().unwrap();
    let folder = Folder::new(root.path());
    let config = valid(Cut::FF, 8, 10);
    let mut inner = None;
    let options = RunOptions::default();
    let summary =
        run::run(&PointMass::new(), &config, None, &folder, Begin::Fresh, &options, &mut |_| {
            inner.get_or_insert_with(|| {
                let begin = Begin::Resume;
                run::run(&PointMass::new(), &config, None, &folder, begin, &options, &mut go_on)
            });
            Control::Continue
        });
    assert!(summary.unwrap().is_finished);
    assert!(matches!(inner, Some(Err(RunError::Locked { .. }))));
}
