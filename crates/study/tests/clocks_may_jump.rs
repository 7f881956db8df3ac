//! No order is taken from a wall clock: a ledger whose times run backwards is as good as any.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use std::sync::atomic::AtomicBool;

use backcut_evidence::ledger::Status;
use backcut_study::collect::Results;
use backcut_study::runner::{RunOptions, run};
use backcut_study::{Plan, Store, Tools, commit, verify};
use backcut_systems::Catalogue;
use common::{TINY, study};

fn without_measurements(text: &str) -> String {
    let (before, after) = text.split_once("[[measurements]]").unwrap();
    format!("{before}{}", &after[after.find("[[families]]").unwrap()..])
}

#[test]
fn a_clock_that_was_set_back_changes_no_status() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path());
    let first = study(&without_measurements(&TINY.replace("count = 2", "count = 4"))).unwrap();
    let other =
        TINY.replace("name = \"tiny\"", "name = \"other\"").replace("first = 1", "first = 7");
    let other = study(&other).unwrap();
    let (plan, other_plan) = (Plan::new(&first), Plan::new(&other));
    commit::freeze(&other, &other_plan, &store, "2031-01-01T00:00:00Z".parse().unwrap()).unwrap();
    commit::freeze(&first, &plan, &store, "2019-01-01T00:00:00Z".parse().unwrap()).unwrap();
    commit::admit(&first, &plan, &store).unwrap();
    let stop = AtomicBool::new(false);
    let options = RunOptions::default();
    let tally =
        run(&first, &plan, &store, Tools::new(&Catalogue::builtin()), &options, &stop, &mut |_| {})
            .unwrap();
    assert_eq!((tally.units, tally.computed, tally.left), (8, 8, 0));
    let tables = Results::read(&first, &plan, &store).unwrap().tables(&store, &[]).unwrap();
    assert_eq!(tables.analysis[0].status.status, Status::Confirmatory);
    let verified = verify::verify(folder.path()).unwrap();
    assert!(verified.is_sound(), "{:?}", verified.problems);
    assert!(verified.notes.iter().any(|n| n.contains("the line above's")), "{:?}", verified.notes);
}

/// What a runner meets that was stopped for longer than others are patient: its unit is somebody
/// else's.
#[test]
fn a_unit_that_was_taken_over_is_left_to_who_took_it() {
    use std::time::Duration;

    use backcut_study::runner::Event;

    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path());
    let one = study(&without_measurements(&TINY.replace("count = 2", "count = 1"))).unwrap();
    let plan = Plan::new(&one);
    commit::admit(&one, &plan, &store).unwrap();
    let claim = folder.path().join("claims").join(plan.units[0].id.to_string());
    let mut begun = 0;
    let mut hear = |event: Event| {
        if let Event::Started { unit: 0, .. } = event {
            begun += 1;
            if begun == 1
                && let Ok(claimed) = std::fs::read_to_string(&claim)
            {
                let theirs = claimed.replace("\"process\":", "\"process\":9");
                std::fs::write(&claim, theirs).unwrap();
            }
        }
    };
    let stop = AtomicBool::new(false);
    let options = RunOptions { stale_after: Duration::from_millis(200), ..RunOptions::default() };
    let tools = Catalogue::builtin();
    let tally = run(&one, &plan, &store, Tools::new(&tools), &options, &stop, &mut hear).unwrap();
    assert_eq!((tally.units, tally.computed, tally.left), (2, 2, 0));
    assert!(verify::verify(folder.path()).unwrap().is_sound());
}
