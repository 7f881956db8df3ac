//! Forgeries with good seals, one at a time: each is found for its own reason, and what is sound is
//! left alone.

mod common;

use std::fs;
use std::sync::atomic::AtomicBool;

use backcut_study::record::Record;
use backcut_study::runner::{RunOptions, run};
use backcut_study::verify::{Verified, verify};
use backcut_study::{Plan, Recorded, Store, Tools, commit};
use backcut_systems::Catalogue;
use common::TINY;
use tempfile::TempDir;

struct Desk {
    _folder: TempDir,
    store: Store,
    /// Records of units that started from another's state.
    branched: Vec<Record>,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::new(folder.path().join("results"));
        let study = common::study(TINY).expect("a study");
        let (plan, stop) = (Plan::new(&study), AtomicBool::new(false));
        let utc = "2026-11-15T12:00:00Z".parse().expect("a time");
        commit::freeze(&study, &plan, &store, utc).expect("it freezes");
        let (catalogue, options) = (Catalogue::builtin(), RunOptions::default());
        run(&study, &plan, &store, Tools::new(&catalogue), &options, &stop, &mut |_| {})
            .expect("it runs");
        let load = |id| Record::load(&store, id, Recorded::Done).expect("a record");
        let records = plan.units.iter().map(|unit| load(&unit.id));
        let branched: Vec<Record> = records.filter(|record| !record.started.is_empty()).collect();
        assert_eq!(branched.len(), 4, "two branches and two measurements");
        Self { _folder: folder, store, branched }
    }

    fn verify(&self) -> Verified {
        verify(self.store.root()).expect("it can be looked at")
    }

    #[track_caller]
    fn has_problem(&self, words: &str) {
        let Verified { problems, .. } = self.verify();
        assert!(problems.iter().any(|problem| problem.contains(words)), "{words}: {problems:?}");
    }
}

#[test]
fn a_start_from_other_parameters_and_a_record_that_names_none_are_found() {
    let desk = Desk::new();
    let said = desk.verify();
    assert!(said.is_sound(), "{:?}", said.problems);
    assert_eq!((said.records, said.entries), (6, 1));
    let mut forged = desk.branched[0].clone();
    forged.started[0].parameters = "0".repeat(16);
    forged.save(&desk.store).expect("it is saved");
    desk.has_problem("it started from other parameters than unit");
    let silent = Record { started: vec![], ..desk.branched[0].clone() };
    silent.save(&desk.store).expect("it is saved");
    desk.has_problem("it does not say which parameters it started from");
}

#[test]
fn a_note_with_other_units_than_its_study_plans_is_found() {
    let desk = Desk::new();
    let path = desk.store.root().join("studies/tiny.json");
    let good = fs::read_to_string(&path).expect("a note");
    let mut note: serde_json::Value = serde_json::from_str(&good).expect("JSON");
    note["units"].as_array_mut().expect("a list").pop();
    fs::write(&path, note.to_string()).expect("it is written");
    desk.has_problem("its units are not those of its study");
    fs::write(&path, good).expect("it is written");
    fs::rename(&path, path.with_file_name("renamed.json")).expect("it is renamed");
    desk.has_problem("its units are not those of its study");
}

#[test]
fn strays_among_the_records_are_found_and_states_without_a_record_noted() {
    let desk = Desk::new();
    let record = &desk.branched[0];
    let done = desk.store.record(&record.unit, Recorded::Done);
    let shelf = done.parent().expect("a shelf").to_owned();
    let stray = shelf.join("notes.txt");
    fs::write(&stray, "mine").expect("it is written");
    desk.has_problem("notes.txt: no file of a results folder");
    fs::remove_file(stray).expect("it is removed");
    let failed = desk.store.record(&record.unit, Recorded::Failed);
    fs::copy(&done, &failed).expect("it is copied");
    desk.has_problem("a failure beside a result");
    fs::remove_file(failed).expect("it is removed");
    assert!(desk.verify().is_sound());
    let lonely = |said: &Verified| {
        said.notes.iter().filter(|note| note.contains("states of a unit without a record")).count()
    };
    assert_eq!(lonely(&desk.verify()), 0);
    let trained = desk.branched[0].started[0].unit;
    fs::remove_file(desk.store.record(&trained, Recorded::Done)).expect("it is removed");
    assert_eq!(lonely(&desk.verify()), 1);
}
