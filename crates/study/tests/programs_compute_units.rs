//! A study whose system is a command: what the program gets, what its answers become, what a unit
//! is.
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]
#![cfg(unix)]

mod common;

use std::fs;
use std::sync::atomic::AtomicBool;

use backcut_evidence::tables::rows::Observation;
use backcut_study::collect::{Results, write};
use backcut_study::record::Record;
use backcut_study::replay::CameOut;
use backcut_study::runner::{RunOptions, run};
use backcut_study::{Plan, Recorded, Study, Tools, commit, note, verify};
use backcut_systems::Catalogue;
use backcut_text::Hinted as _;
use common::program::{Place, SCRIPT, STUDY, replayed};

fn refused(change: impl Fn(&str) -> String) -> (String, String) {
    let place = Place::new(&change(STUDY), SCRIPT);
    let error = place.load().unwrap_err();
    (error.to_string(), error.hint().into_owned())
}

#[test]
fn answers_become_tables_and_verdicts() {
    let place = Place::new(STUDY, SCRIPT);
    let study = place.load().unwrap();
    let head = commit::freeze(
        &study,
        &Plan::new(&study),
        &place.store(),
        "2026-11-15T12:00:00Z".parse().unwrap(),
    )
    .unwrap();
    let (tally, study, plan) = place.run().unwrap();
    assert_eq!((tally.computed, tally.failed), (8, 0));
    let tables = place.tables(&study, &plan);
    let value = |arm: &str, source: &str| {
        let is_it = |r: &&Observation| r.is_error() && r.arm == arm && r.source == source;
        let row = tables.observations.iter().rfind(is_it).unwrap();
        (row.update, row.value.unwrap())
    };
    assert_eq!(value("full", "3"), (20, 0.3));
    assert_eq!(value("cut", "4"), (20, 8.4));
    let (errors, found): (Vec<_>, Vec<_>) = tables.observations.iter().partition(|r| r.is_error());
    assert_eq!(errors.len(), 16, "the point at 5 and the end");
    assert!(errors.iter().any(|r| r.update == 5 && r.value == Some(100.0)));
    assert_eq!(found.len(), 8);
    assert!(found.iter().any(|r| r.arm == "cut" && r.quantity == "norm" && r.value == Some(9.0)));
    let means: Vec<f64> = tables.analysis.iter().map(|row| row.mean.unwrap()).collect();
    assert_eq!(means, [8.0, 8.0]);
    for row in &tables.analysis {
        assert_eq!(row.status.to_string(), "confirmatory", "{}: {}", row.contrast, row.why);
    }
    let about = Results::read(&study, &plan, &place.store()).unwrap();
    let about = about.about(&place.store(), &[]).unwrap();
    assert_eq!(about["error"], "loss");
    assert_eq!(about["programs"][0]["units"], 8);
    assert_eq!(about["programs"][0]["provenance"]["sh"], "posix");

    // Collected, verified with records and without, and replayed.
    let folder = place.store().tables("own");
    write(&tables, &about, &place.store(), &folder, false).unwrap();
    let found = verify::verify(place.store().root()).unwrap();
    assert!(found.is_sound(), "{:?}", found.problems);
    let found = verify::verify(folder.parent().unwrap()).unwrap();
    assert!(found.is_sound() && found.rows == 2, "{:?}", found.problems);
    let record = Record::load(&place.store(), &plan.units[0].id, Recorded::Done).unwrap();
    assert_eq!((record.head, record.version), (head.to_string(), 3));
    let output = place.store().beside(&plan.units[0].id).path().join("output.txt");
    assert_eq!(fs::read_to_string(&output).unwrap(), "unit of 1\n");
    assert!(!place.store().work(&plan.units[0].id).path().exists());
    let again = replayed(&place, &plan);
    assert_eq!(again, Ok(CameOut::Same));
    fs::write(output, "something else").unwrap();
    assert_eq!(verify::verify(place.store().root()).unwrap().problems.len(), 1);
}

#[test]
fn a_unit_is_its_command_settings_source_budget_and_files() {
    let place = Place::new(STUDY, SCRIPT);
    let ids = |place: &Place| -> Vec<String> {
        let study = place.load().unwrap();
        let again = Study::from_canonical(&study.canonical).unwrap();
        let plan = Plan::new(&study);
        assert_eq!(Plan::new(&again).units, plan.units, "the canonical form holds all of it");
        for unit in 0..plan.units.len() as u32 {
            assert_eq!(plan.definition(&study, unit).id(), plan.units[unit as usize].id);
        }
        plan.units.iter().map(|unit| unit.id.to_string()).collect()
    };
    let first = ids(&place);
    let mut all = first.clone();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 8);
    let changed = |text: String| {
        fs::write(place.path("own.toml"), text).unwrap();
        let now = ids(&place);
        now.iter().zip(&first).filter(|(a, b)| a != b).count()
    };
    assert_eq!(changed(STUDY.replace("detach = 8", "detach = 9")), 4);
    assert_eq!(changed(STUDY.replace("width = 3", "width = 4")), 8);
    assert_eq!(changed(STUDY.replace("first = 1", "first = 2")), 8);
    assert_eq!(changed(STUDY.replace("updates = 20", "updates = 30")), 8);
    assert_eq!(changed(STUDY.replace("[\"sh\", ", "[\"sh\", \"-e\", ")), 8);
    assert_eq!(changed(STUDY.replace("settings = { width", "timeout = 9\nsettings = { width")), 0);
    assert_eq!(changed(STUDY.replace("title = \"A", "title = \"The")), 0);
    fs::write(place.path("unit.sh"), SCRIPT.replace("unit of", "Unit of")).unwrap();
    assert_eq!(changed(STUDY.to_owned()), 8, "a file among the words of the command");
    fs::write(place.path("unit.sh"), SCRIPT).unwrap();
    fs::write(place.path("model.txt"), "one").unwrap();
    let listed = STUDY.replace("error =", "files = [\"model.txt\"]\nerror =");
    assert_eq!(changed(listed.clone()), 8);
    let before = ids(&place);
    fs::write(place.path("model.txt"), "two").unwrap();
    assert_ne!(ids(&place), before, "a declared file");
}

#[test]
fn what_a_program_would_not_be_told_is_refused() {
    let arm = |key: &str| {
        let key = key.to_owned();
        refused(move |text| text.replace("detach = 8 },", &format!("detach = 8 }}, {key},"))).0
    };
    for key in
        ["cut = \"FF\"", "window = 3", "stream = \"a\"", "keep = [3]", "shared = { seed = 1 }"]
    {
        assert!(arm(key).contains("a command would not be told"), "{}", arm(key));
    }
    assert!(arm("optimizer = { clip = 1.0 }").contains("`optimizer`"));
    assert!(arm("from = \"full\"").contains("branches from `full`, which a command computes"));
    let system = |line: &str| {
        let line = line.to_owned();
        refused(move |text| text.replace("error = \"loss\"", &line)).0
    };
    assert!(system("name = \"quadrotor\"").contains("a name and a command"));
    assert!(system("timeout = 0.0").contains("timeout"));
    assert!(system("replay = { tolerance = 2.0 }").contains("tolerance"));
    assert!(system("files = [\"nothing.py\"]").contains("nothing.py"));
    assert!(system("files = [\"/etc/passwd\"]").contains("/etc/passwd"));
    assert!(refused(|t| t.replace("[\"sh\", \"unit.sh\"]", "[]")).0.contains("command = []"));
    let optimizer = |t: &str| t.replace("[sources]", "[optimizer]\nclip = 1.0\n[sources]");
    assert!(refused(optimizer).0.contains("[optimizer] with a command"));
    let twins = refused(|t| t.replace("detach = 8", "detach = 0")).0;
    assert!(twins.contains("the same settings as `full@default`"), "{twins}");
    let measured = "[[measurements]]\nkind = \"masking\"\nwindows = [1]\nof = \
                    [\"cut\"]\n[[families]]\nname = \"cost\"";
    let measured = refused(|t| t.replace("[[families]]\nname = \"cost\"", measured)).0;
    assert!(measured.contains("which a command computes"), "{measured}");
    let built = "[system]\nname = \"quadrotor\"\ntimeout = 5";
    let ignored = refused(|t| {
        t.replace(
            "[system]\ncommand = [\"sh\", \"unit.sh\"]\nerror = \"loss\"\nunit = \"nats\"",
            built,
        )
    })
    .0;
    assert!(ignored.contains("`timeout` without a command"), "{ignored}");
    let at = refused(|t| t.replace("quantity = \"norm\"", "quantity = \"norm\"\nat = 5")).0;
    assert!(at.contains("not done at update 5"), "{at}");
}

#[test]
fn failures_are_outcomes_with_their_last_words() {
    let of = |script: &str| Place::new(STUDY, script).failure();
    let (what, hint) = of("echo out; echo 'ValueError: no' >&2; exit 3");
    assert_eq!(what, "it ended with exit code 3; its last words: ValueError: no");
    assert!(hint.contains("beside the record"), "{hint}");
    assert_eq!(of("kill -9 $$").0, "it was ended by signal 9 SIGKILL");
    assert_eq!(of("true").0, "it ended without a result");
    let answer = |text: &str| {
        format!(
            "result=$(sed -n 's/.*\"result\": \"\\([^\"]*\\).*/\\1/p' \"$BACKCUT_UNIT\"); echo \
             '{text}' > $result"
        )
    };
    assert!(of(&answer("{\"value\": NaN}")).1.contains("no NaN"));
    assert!(of(&answer("{\"curve\": [[1, 2]]}")).0.contains("no point at update 20"));
    assert!(of(&answer("{\"value\": 1")).0.contains("makes no sense"));
    assert_eq!(of(&answer("{\"failed\": \"diverged at 3\"}")).0, "it says: diverged at 3");
    let said = answer("{\"failed\": \"diverged\"}") + "; exit 1";
    assert_eq!(of(&said).0, "it says: diverged");
    let late = answer("{\"value\": 1}") + "; exit 1";
    assert_eq!(of(&late).0, "it ended with exit code 1", "an answer does not make up for it");

    let place = Place::new(STUDY, "exit 1");
    let (_, study, plan) = place.run().unwrap();
    let tables = place.tables(&study, &plan);
    let is_failure =
        |row: &Observation| row.is_error() && row.value.is_none() && row.note.contains("code 1");
    assert!(tables.observations.iter().all(is_failure));
    assert!(tables.analysis.iter().all(|row| row.mean.is_none()));
    // Cured, by something that is no declared file.
    fs::write(place.path("unit.sh"), SCRIPT).unwrap();
    assert!(place.run().unwrap_err().to_string().contains("differs from what was run"));
}

#[test]
fn a_command_that_cannot_be_started_stops_the_run() {
    let place = Place::new(&STUDY.replace("\"sh\"", "\"no-such-program\""), SCRIPT);
    let error = place.run().unwrap_err();
    assert!(error.to_string().contains("`no-such-program` cannot be started"), "{error}");
    assert!(place.store().scan().unwrap().is_empty());
}

#[test]
fn a_changed_file_stops_the_run() {
    let place = Place::new(STUDY, SCRIPT);
    let catalogue = Catalogue::builtin();
    let study = place.load().unwrap();
    let (plan, store) = (Plan::new(&study), place.store());
    fs::write(place.path("unit.sh"), SCRIPT.replace("unit of", "Unit of")).unwrap();
    let (stop, options) = (AtomicBool::new(false), RunOptions::default());
    let tools = Tools::new(&catalogue);
    let error = run(&study, &plan, &store, tools, &options, &stop, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("unit.sh: it has changed"), "{error}");
    assert!(store.scan().unwrap().is_empty());
}

#[test]
fn words_are_never_read_by_a_shell() {
    let odd = "$(touch evil) ; `touch evil` > evil";
    let text = STUDY.replace("\"unit.sh\"]", &format!("\"unit.sh\", \"{odd}\"]"));
    let script = format!("[ \"$1\" = '{odd}' ] || exit 9\n{SCRIPT}");
    let place = Place::new(&text, &script);
    assert_eq!(place.run().unwrap().0.computed, 8);
    assert!(!place.path("evil").exists());
}

/// Known under any name: an edited script, a renamed arm and a longer budget have been seen before.
#[test]
fn what_was_seen_is_known_under_any_name() {
    let place = Place::new(STUDY, SCRIPT);
    place.run().unwrap();
    let utc = || "2026-11-15T12:00:00Z".parse().unwrap();
    let frozen = |text: String| {
        fs::write(place.path("own.toml"), text).unwrap();
        let study = place.load().unwrap();
        let head = commit::freeze(&study, &Plan::new(&study), &place.store(), utc());
        head.map(|_| ()).map_err(|error| error.to_string())
    };
    fs::write(place.path("unit.sh"), format!("# edited\n{SCRIPT}")).unwrap();
    let named = |name: &str| STUDY.replace("\"own\"", &format!("\"{name}\""));
    let renamed = named("renamed").replace("cut = {", "chopped = {").replace("[cut@", "[chopped@");
    let longer = named("longer").replace("updates = 20", "updates = 21");
    for seen in [named("edited"), longer, renamed] {
        let refused = frozen(seen).unwrap_err();
        assert!(refused.contains("all of its 8 results were known by then"), "{refused}");
    }
    assert_eq!(frozen(named("other").replace("first = 1", "first = 11")), Ok(()));
}

/// As the tasks of a cluster do, whatever becomes of the file.
#[test]
fn a_noted_study_is_run_without_its_file() {
    let place = Place::new(STUDY, SCRIPT);
    let study = place.load().unwrap();
    note::note(&study, &Plan::new(&study), &place.store()).unwrap();
    let again = note::read(&place.store().study(&study.name)).unwrap();
    assert_eq!(again.arms, study.arms, "the folder in which its program runs too");
    assert_eq!((&again.canonical, &again.error), (&study.canonical, &study.error));
}
