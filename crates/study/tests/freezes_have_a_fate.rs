//! What a ledger froze is listed with what became of it, and with what contradicts it.

mod common;

use std::sync::atomic::AtomicBool;

use backcut_evidence::tables::rows::FreezeRow;
use backcut_study::runner::{RunOptions, run};
use backcut_study::verify::verify;
use backcut_study::{Plan, Store, Study, Tools, commit};
use backcut_systems::Catalogue;
use common::TINY;
use tempfile::TempDir;

struct Desk {
    _folder: TempDir,
    store: Store,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::new(folder.path().join("results"));
        Self { _folder: folder, store }
    }

    fn freeze(&self, text: &str) -> Study {
        let study = common::study(text).expect("a study");
        let utc = "2026-11-15T12:00:00Z".parse().expect("a time");
        commit::freeze(&study, &Plan::new(&study), &self.store, utc).expect("it freezes");
        study
    }

    fn amend(&self, text: &str) {
        let study = common::study(text).expect("a study");
        let utc = "2026-11-15T13:00:00Z".parse().expect("a time");
        commit::amend(&study, &Plan::new(&study), &self.store, utc, "why").expect("it is amended");
    }

    fn run(&self, study: &Study) {
        let (plan, stop) = (Plan::new(study), AtomicBool::new(false));
        commit::admit(study, &plan, &self.store).expect("it may run");
        let (catalogue, options) = (Catalogue::builtin(), RunOptions::default());
        run(study, &plan, &self.store, Tools::new(&catalogue), &options, &stop, &mut |_| {})
            .expect("it runs");
    }

    fn freezes(&self) -> Vec<FreezeRow> {
        let verified = verify(self.store.root()).expect("it can be looked at");
        assert!(verified.is_sound(), "{:?}", verified.problems);
        verified.freezes
    }
}

/// The tiny study under another name and with another prediction.
fn tiny(name: &str, contrast: &str) -> String {
    TINY.replace("name = \"tiny\"", &format!("name = \"{name}\""))
        .replace("R = [F_SG@0.20] - [FF@0.20] > 0", contrast)
}

#[test]
fn an_entry_is_never_run_then_run_then_amended() {
    let desk = Desk::new();
    let study = desk.freeze(TINY);
    let [row] = &desk.freezes()[..] else { panic!("one entry") };
    assert_eq!((row.kind.as_str(), row.study.as_str()), ("freeze", "tiny"));
    assert_eq!((row.predictions, row.units, row.sources.as_str()), (1, 6, "chosen"));
    assert_eq!((row.fate.as_str(), row.opposed.as_str()), ("never run", ""));
    desk.run(&study);
    assert_eq!(desk.freezes()[0].fate, "6 of 6 units ran, never collected");
    // On one source more, two of three known: no prediction any longer.
    let amended = TINY.replace("count = 2", "count = 3");
    desk.amend(&amended.replace("asks = \"confirmatory\"", "asks = \"descriptive\""));
    let [first, second] = &desk.freezes()[..] else { panic!("two entries") };
    assert_eq!((first.fate.as_str(), second.kind.as_str()), ("amended in entry 1", "amendment"));
    assert_eq!(second.fate, "6 of 9 units ran, never collected");
}

#[test]
fn opposite_predictions_on_the_same_results_are_named_and_no_others() {
    let desk = Desk::new();
    desk.freeze(&tiny("up", "R = [F_SG@0.20] - [FF@0.20] > 0"));
    desk.freeze(&tiny("down", "S = [F_SG@0.20] - [FF@0.20] < 0"));
    desk.freeze(&tiny("again", "T = [F_SG@0.20] - [FF@0.20] > 0"));
    desk.freeze(
        &tiny("turned", "U = [FF@0.20] - [F_SG@0.20] > 0").replace("count = 2", "count = 3"),
    );
    let opposed: Vec<String> = desk.freezes().into_iter().map(|row| row.opposed).collect();
    assert_eq!(
        opposed,
        [
            "`cost: R` by `cost: S` of down",
            "`cost: S` by `cost: R` of up; `cost: S` by `cost: T` of again",
            "`cost: T` by `cost: S` of down",
            "", // on other sources too: not the same results
        ]
    );
}

/// Units that measure find many quantities: one that rises says nothing against another that falls.
#[test]
fn predictions_about_different_quantities_do_not_oppose_each_other() {
    let desk = Desk::new();
    let measured = |name: &str, quantity: &str, contrast: &str| {
        let text = tiny(name, contrast);
        text.replace("[[families]]\n", &format!("[[families]]\nquantity = \"{quantity}\"\n"))
    };
    desk.freeze(&measured("one", "masking.relative/window 1", "R = [F_SG@0.20] > 0"));
    desk.freeze(&measured("two", "masking.relative/window 2", "S = [F_SG@0.20] < 0"));
    desk.freeze(&measured("any", "masking.relative", "T = [F_SG@0.20] < 0"));
    let opposed: Vec<String> = desk.freezes().into_iter().map(|row| row.opposed).collect();
    assert_eq!(opposed, ["`cost: R` by `cost: T` of any", "", "`cost: T` by `cost: R` of one"]);
}
