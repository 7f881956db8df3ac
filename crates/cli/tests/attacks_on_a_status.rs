//! Ways to talk a row into a better status, each tried as somebody would who wants it: none forges
//! anything, and none may work.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use std::fs;

use backcut_study::record::Record;
use backcut_study::{Recorded, Store};
use common::study::{MASKING, StudyFolder, ending, family, tiny};

/// A study that was frozen, ran and was collected.
fn collected(text: &str) -> StudyFolder {
    let desk = StudyFolder::new();
    desk.write("s.toml", text);
    desk.fine("study freeze s.toml --out out");
    desk.fine("study run s.toml --out out --jobs 2");
    collect(&desk, "s");
    desk
}

/// `collect` ends with 1 where a prediction is contradicted, which is not what these tests are
/// about.
#[track_caller]
fn collect(desk: &StudyFolder, study: &str) {
    let seen = desk.backcut(&format!("study collect {study}.toml --out out"));
    assert!([0, 1].contains(&seen.code), "{}{}", seen.out, seen.err);
}

#[track_caller]
fn status(desk: &StudyFolder, study: &str, contrast: &str) -> (String, String) {
    let rows = desk.rows("out", study, "analysis.csv");
    let row = rows.iter().find(|row| row.get("contrast") == contrast).expect("a row of that name");
    (row.get("status").to_owned(), row.get("why").to_owned())
}

/// The changed file is refused by `collect`, and as an amendment it is post hoc.
#[track_caller]
fn is_refused_and_post_hoc(desk: &StudyFolder, changed: &str, difference: &str, why: &str) {
    desk.write("s.toml", changed);
    let said = desk.ends(2, "study collect s.toml --out out");
    assert!(said.contains("study s differs from what was frozen here"), "{said}");
    assert!(said.contains(difference), "{said}");
    let modest = changed.replace("asks = \"confirmatory\"", "asks = \"post hoc\"");
    desk.write("s.toml", &modest);
    desk.fine("study amend s.toml --out out --reason better");
    collect(desk, "s");
    let (status, because) = status(desk, "s", "R");
    assert_eq!(status, "post hoc", "{because}");
    assert!(because.contains(why), "{because}");
}

#[test]
fn sources_that_do_not_suit_cannot_be_dropped() {
    let text = tiny("s", 20, &family("confirmatory")).replace("count = 4", "count = 6");
    let desk = collected(&text);
    assert_eq!(status(&desk, "s", "R").0, "confirmatory");
    let fewer = text.replace("first = 1\ncount = 6", "seeds = [1, 2, 3, 5]");
    let why = "another sample: FF@0.20 of source 4 at update 20 and 3 more is left out";
    is_refused_and_post_hoc(&desk, &fewer, "sources", why);
}

#[test]
fn the_cuts_of_two_arms_cannot_be_exchanged() {
    // Both from initialization, so that an exchange only relabels what is there.
    let text = tiny("s", 20, &family("confirmatory")).replace("from = \"FF\"\nat = 10\n", "");
    let desk = collected(&text);
    let exchanged = text
        .replace("cut = \"FF\"", "cut = \"F_?\"")
        .replace("cut = \"F_SG\"", "cut = \"FF\"")
        .replace("cut = \"F_?\"", "cut = \"F_SG\"");
    let why = "another sample: FF@0.20 of source 1 at update 20 and 7 more is another result now";
    desk.write("s.toml", &exchanged);
    let said = desk.ends(2, "study collect s.toml --out out");
    assert!(said.contains("cut"), "{said}");
    // The states that are kept differ, not the results: nothing has to run.
    is_refused_and_post_hoc(&desk, &exchanged, "cut", why);
}

#[test]
fn conditions_cannot_leave_a_star() {
    let slope = "[[families]]\nname = \"slope\"\nasks = \"confirmatory\"\n\
        contrasts = [\"R = slope([F_SG@*] - [FF@*]) > 0\"]\n";
    let three = "\"0.00\" = { velocity = 0.0 }\n\"0.20\" = { velocity = 0.2 }\n\"0.30\" = { \
                 velocity = 0.3 }";
    let text = tiny("s", 20, slope).replace("\"0.20\" = { velocity = 0.2 }", three);
    let desk = collected(&text);
    assert_eq!(status(&desk, "s", "R").0, "confirmatory");
    let fewer = text.replace("\"0.00\" = { velocity = 0.0 }\n", "");
    let why = "another sample: FF@0.00 of source 1 at update 20 and 7 more is left out";
    is_refused_and_post_hoc(&desk, &fewer, "conditions", why);
}

/// A study that reuses both arms of `s`, with what is its own.
fn reusing(own: &str) -> String {
    let text = tiny("b", 20, "");
    let (head, _) = text.split_once("[arms.FF]").unwrap();
    format!("{head}[[reuse]]\nstudy = \"s.toml\"\narms = [\"FF\", \"F_SG\"]\n{own}")
}

#[test]
fn a_cell_without_influence_does_not_make_a_seen_contrast_new() {
    let desk = collected(&tiny("s", 20, &family("confirmatory")));
    for dummy in ["0*[X@0.20]", "[X@0.20] - [X@0.20]", "0.001*[X@0.20]"] {
        let contrast = format!("R = [F_SG@0.20] - [FF@0.20] + {dummy} > 0");
        let own = format!(
            "[arms.X]\ncut = \"FD\"\nupdates = 1\n[[families]]\nname = \"cost\"\n\
             asks = \"prespecified\"\ncontrasts = [\"{contrast}\"]\n"
        );
        desk.write("b.toml", &reusing(&own));
        let said = desk.ends(2, "study freeze b.toml --out out");
        assert!(said.contains("can only be post hoc"), "{said}");
        assert!(said.contains("what is new in it has no influence (X@0.20)"), "{said}");
    }
}

#[test]
fn what_is_known_in_part_says_so_in_its_status_everywhere() {
    let desk = collected(&tiny("s", 20, &family("confirmatory")));
    let own = "[arms.X]\ncut = \"FD\"\nupdates = 20\n[[families]]\nname = \"cost\"\n\
         asks = \"prespecified\"\ncontrasts = [\"P = [X@0.20] - [FF@0.20] > 0\"]\n";
    desk.write("b.toml", &reusing(own));
    desk.fine("study freeze b.toml --out out");
    desk.fine("study run b.toml --out out --jobs 2");
    let known = "prespecified; FF known (4 of 8 results)";
    let said = desk.backcut("study collect b.toml --out out").out;
    assert!(said.contains(known), "{said}");
    assert_eq!(status(&desk, "b", "P").0, known);
    desk.fine("report page out/tables --out page.html");
    let page = fs::read_to_string(desk.path("page.html")).unwrap();
    assert!(page.contains(known), "the page says it too");
    assert!(desk.fine("study verify out").contains("sound"));
}

#[test]
fn looking_more_often_under_another_name_does_not_make_a_result_new() {
    let text = tiny("s", 20, &family("confirmatory"));
    let desk = collected(&text);
    let other = text.replace("name = \"s\"", "name = \"t\"");
    let other = other.replace("evaluate_every = 5", "evaluate_every = 10");
    desk.write("t.toml", &other.replace("confirmatory", "prespecified"));
    let said = desk.ends(2, "study freeze t.toml --out out");
    assert!(said.contains("all of its 8 results were known by then"), "{said}");
    desk.write("t.toml", &other.replace("confirmatory", "post hoc"));
    desk.fine("study freeze t.toml --out out");
    desk.fine("study run t.toml --out out --jobs 2");
    collect(&desk, "t");
    assert_eq!(status(&desk, "t", "R").0, "post hoc");
    let mean = |study: &str| desk.rows("out", study, "analysis.csv")[0].get("mean").to_owned();
    assert_eq!(mean("s"), mean("t"), "they are the same results");
}

#[test]
fn a_seen_measurement_is_known_with_one_more_setting_too() {
    let measured = |asks: &str| {
        format!(
            "[[families]]\nname = \"masking\"\nasks = \"{asks}\"\nquantity = \
             \"masking.change/w=1\"\ncontrasts = [\"M = [F_SG@0.20] - [FF@0.20] < 0\"]\n"
        )
    };
    let desk = collected(&tiny("s", 20, &format!("{MASKING}{}", measured("prespecified"))));
    let more = MASKING.replace("[1, 2]", "[1, 2, 4]");
    desk.write("b.toml", &reusing(&format!("{more}{}", measured("prespecified"))));
    let said = desk.ends(2, "study freeze b.toml --out out");
    assert!(said.contains("all of its 8 results were known by then"), "{said}");
}

#[test]
fn a_unit_that_was_begun_and_can_be_read_is_known() {
    let desk = StudyFolder::new();
    desk.write("s.toml", &tiny("s", 60_000, &family("confirmatory")));
    let mut child = desk.start("study run s.toml --out out --jobs 1");
    let begun =
        || fs::read_dir(desk.path("out/claims")).is_ok_and(|mut list| list.next().is_some());
    while !begun() {
        assert_eq!(child.try_wait().unwrap(), None, "it is at work");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    child.wait().unwrap();
    assert_eq!(ending(&desk.path("out/work"), "panels.csv").len(), 1, "its state was saved");
    let said = desk.ends(2, "study freeze s.toml --out out");
    assert!(said.contains("was known in part by then (1 of 4 results)"), "{said}");
    // Frozen for less, it stays known when what could be read is gone.
    let text = tiny("s", 60_000, &family("post hoc"));
    desk.write("s.toml", &text);
    desk.fine("study freeze s.toml --out out");
    let ledger = fs::read_to_string(desk.path("out/ledger.jsonl")).unwrap();
    assert!(ledger.contains("\"known\":["), "{ledger}");
    // Another study with the same trajectory meets it too, whatever it looks at.
    let other = tiny("t", 60_000, &family("confirmatory")).replace("evaluate_every = 15000", "");
    desk.write("t.toml", &other);
    let said = desk.ends(2, "study freeze t.toml --out out");
    assert!(said.contains("was known in part by then (1 of 4 results)"), "{said}");
}

/// The record of a training unit of an arm and a source.
fn record(desk: &StudyFolder, arm: &str, source: &str) -> (Store, Record) {
    let store = Store::new(desk.path("out"));
    let units = desk.rows("out", "s", "units.csv");
    let is_it = |row: &&common::study::Row| row.get("arm") == arm && row.get("source") == source;
    let id = units.iter().find(is_it).unwrap().get("unit").parse().unwrap();
    let record = Record::load(&store, &id, Recorded::Done).unwrap();
    (store, record)
}

#[test]
fn a_checkpoint_of_another_source_is_an_error_wherever_it_is_met() {
    let desk = collected(&tiny("s", 20, &family("confirmatory")));
    let (store, mut first) = record(&desk, "FF", "1");
    let (_, second) = record(&desk, "FF", "2");
    let (_, branch) = record(&desk, "F_SG", "1");
    let place = store.checkpoint(&first.unit, 10);
    fs::copy(store.checkpoint(&second.unit, 10), &place).unwrap();
    // As an adversary would: the record does not list it any more, and its seal is right.
    first.files.retain(|file| file.name != "checkpoint-000010.safetensors");
    first.save(&store).unwrap();
    fs::remove_file(store.record(&branch.unit, Recorded::Done)).unwrap();
    let wrong = "it belongs to a run of another definition";
    let said = desk.ends(2, "study run s.toml --out out");
    assert!(said.contains(wrong) && said.contains("checkpoint-000010"), "{said}");
    let said = desk.ends(1, "study verify out");
    assert!(said.contains("checkpoint-000010.safetensors: the record does not list it"), "{said}");
    // The branch that was computed before the exchange cannot be replayed from it.
    branch.save(&store).unwrap();
    let said = desk.ends(2, "study replay out --sample 8");
    assert!(said.contains(wrong), "{said}");
    // From initialization it comes out as it was.
    let said = desk.fine("study replay out --sample 8 --deep");
    assert!(said.contains("8 of 8 replayed units came out the same"), "{said}");
}

#[test]
fn a_branch_from_other_parameters_than_its_parents_is_found() {
    let desk = collected(&tiny("s", 20, &family("confirmatory")));
    let (store, mut branch) = record(&desk, "F_SG", "1");
    let (_, parent) = record(&desk, "FF", "1");
    let [started] = &mut branch.started[..] else { panic!("one start") };
    assert_eq!((started.unit, started.update), (parent.unit, 10));
    started.parameters = "0123456789abcdef".to_owned();
    branch.save(&store).unwrap();
    let said = desk.ends(1, "study verify out");
    assert!(said.contains("it started from other parameters than unit"), "{said}");
    let said = desk.ends(1, "study replay out --sample 8");
    assert!(said.contains("DIFFERENT: it started from other parameters"), "{said}");
    assert!(said.contains("7 of 8"), "{said}");
}

#[test]
fn drawn_sources_cannot_be_computed_before_the_prediction_stands() {
    let desk = StudyFolder::new();
    let text = tiny("s", 20, &family("confirmatory")).replace("first = 1\ncount = 4", "draw = 4");
    desk.write("s.toml", &text);
    let said = desk.ends(2, "study run s.toml --out out");
    assert!(said.contains("its sources are drawn when it is frozen"), "{said}");
    assert!(said.contains("hint: freeze it first"), "{said}");
    assert!(desk.fine("study plan s.toml --out out").contains("4 sources"));
    desk.fine("study freeze s.toml --out out");
    desk.fine("study run s.toml --out out --jobs 2");
    collect(&desk, "s");
    let (standing, why) = status(&desk, "s", "R");
    assert_eq!(standing, "confirmatory by construction", "{why}");
    assert!(why.contains("its sources were drawn then"), "{why}");
    assert!(desk.fine("study verify out").contains(": sound"));
    assert!(desk.fine("study verify out/tables").contains(": sound"));
    assert!(desk.fine("study verify out").contains("sources: 4 drawn by it"));
    // The seeds follow from the entry's hash, by the rule that the ledger's documentation gives.
    let ledger = backcut_evidence::ledger::Ledger::open(desk.path("out/ledger.jsonl")).unwrap();
    let hash = ledger.entries()[0].hash;
    let first = backcut_files::Hash::of(format!("{hash} source 1").as_bytes());
    let seed = u64::from_str_radix(&first.to_string()[..12], 16).unwrap();
    let sources = desk.rows("out", "s", "observations.csv");
    assert!(sources.iter().any(|row| row.get("source") == seed.to_string()), "{seed}");
    // An amendment keeps them; with more of them it is another sample.
    let more = text.replace("draw = 4", "draw = 5").replace("confirmatory", "post hoc");
    desk.write("s.toml", &more);
    desk.fine("study amend s.toml --out out --reason more");
    let said = desk.fine("study run s.toml --out out --jobs 2");
    assert!(said.contains("10 units: 8 were there, 2 computed"), "{said}");
    collect(&desk, "s");
    let (standing, why) = status(&desk, "s", "R");
    assert_eq!(standing, "post hoc", "{why}");
    assert!(why.contains("another sample"), "{why}");
    // A study that takes drawn sources over finds them by the entry that drew them.
    desk.write("s.toml", &more);
    let own = "[arms.X]\nfrom = \"FF\"\nat = 10\ncut = \"FD\"\nupdates = 20\n";
    let (head, _) = text.split_once("[system]").unwrap();
    let head = head.replace("name = \"s\"", "name = \"b\"");
    let reuse = "[[reuse]]\nstudy = \"s.toml\"\narms = [\"FF\"]\n";
    desk.write("b.toml", &format!("{head}{reuse}{own}"));
    let said = desk.fine("study run b.toml --out out --jobs 2");
    assert!(said.contains("10 units: 5 were there, 5 computed"), "{said}");
    desk.ends(2, "study run b.toml --out elsewhere");
}

#[test]
fn every_freeze_is_listed_and_opposite_predictions_are_named() {
    let desk = StudyFolder::new();
    let text = tiny("up", 20, &family("confirmatory"));
    desk.write("up.toml", &text);
    desk.write(
        "down.toml",
        &text.replace("name = \"up\"", "name = \"down\"").replace("> 0", "< 0"),
    );
    let turned = text.replace("name = \"up\"", "name = \"turned\"");
    let turned = turned.replace("[F_SG@0.20] - [FF@0.20]", "[FF@0.20] - [F_SG@0.20]");
    desk.write("turned.toml", &turned);
    desk.write(
        "other.toml",
        &text.replace("name = \"up\"", "name = \"other\"").replace("first = 1", "first = 9"),
    );
    for name in ["up", "down", "turned", "other"] {
        desk.fine(&format!("study freeze {name}.toml --out out"));
    }
    desk.fine("study run up.toml --out out --jobs 2");
    collect(&desk, "up");
    for said in [desk.fine("study verify out"), desk.fine("study verify out/tables")] {
        assert!(said.contains("freeze of up, 1 prediction: collected"), "{said}");
        let line = "opposed on the same results: `cost: R` by `cost: R` of down; `cost: R` by \
                    `cost: R` of turned";
        assert!(said.contains(line), "{said}");
        assert_eq!(said.matches("opposed").count(), 3, "{said}");
    }
    let said = desk.fine("study verify out");
    assert!(
        said.contains("freeze of down, 1 prediction: 8 of 8 units ran, never collected"),
        "{said}"
    );
    assert!(said.contains("freeze of other, 1 prediction: never run"), "{said}");
    let said = desk.fine("study verify out/tables");
    assert!(said.contains("freeze of other, 1 prediction: no tables here"), "{said}");
    let rows = fs::read_to_string(desk.path("out/tables/freezes.csv")).unwrap();
    assert_eq!(rows.lines().count(), 5, "{rows}");
    desk.fine("report page out/tables --out page.html");
    let page = fs::read_to_string(desk.path("page.html")).unwrap();
    assert!(page.contains("never run") && page.contains("never collected"), "the page lists them");
}

/// Frozen with two contrasts that share the level; one of them is dropped when the results are
/// known.
#[test]
fn a_level_cannot_be_won_back_from_contrasts_that_are_dropped() {
    let two = family("confirmatory")
        .replace("contrasts = [", "contrasts = [\"R2 = [F_SG@0.20] - 2*[FF@0.20] > 0\", ");
    for sources in ["draw = 6", "first = 1\ncount = 6"] {
        let text = |family: &str| tiny("s", 20, family).replace("first = 1\ncount = 4", sources);
        let desk = collected(&text(&two));
        assert!(status(&desk, "s", "R").0.starts_with("confirmatory"));
        desk.write("s.toml", &text(&family("confirmatory")));
        let said = desk.ends(2, "study amend s.toml --out out --reason tidy");
        assert!(said.contains("its level was shared by 2 comparisons, and is by 1 here"), "{said}");
        desk.write("s.toml", &text(&family("post hoc")));
        desk.fine("study amend s.toml --out out --reason tidy");
        collect(&desk, "s");
        assert_eq!(status(&desk, "s", "R").0, "post hoc");
    }
}

#[test]
fn an_amendment_of_drawn_sources_is_not_by_construction() {
    let desk = StudyFolder::new();
    let text = tiny("s", 20, &family("confirmatory")).replace("first = 1\ncount = 4", "draw = 5");
    desk.write("s.toml", &text);
    desk.fine("study freeze s.toml --out out");
    // Whoever copies the folder can look before amending.
    let changed = text.replace("draw = 5", "draw = 4").replace("> 0", "< 0");
    desk.write("s.toml", &changed);
    desk.fine("study amend s.toml --out out --reason looked");
    desk.fine("study run s.toml --out out --jobs 2");
    collect(&desk, "s");
    let (standing, why) = status(&desk, "s", "R");
    assert_eq!(standing, "confirmatory", "{why}");
    assert!(why.contains("this rests on the heads that its records carry"), "{why}");
    let said = desk.fine("study verify out");
    assert!(said.contains("sources: 4 drawn by entry 0"), "{said}");
}

#[test]
fn the_error_is_not_new_under_the_name_of_a_measurement() {
    let desk = collected(&tiny("s", 20, &family("confirmatory")));
    let measured = |kind: &str, quantity: &str| {
        reusing(&format!(
            "[[measurements]]\n{kind}\nof = [\"FF\", \"F_SG\"]\n[[families]]\nname = \"m\"\n\
             asks = \"prespecified\"\nquantity = \"{quantity}\"\n\
             contrasts = [\"M = [F_SG@0.20] - [FF@0.20] > 0\"]\n"
        ))
    };
    for (kind, quantity) in [
        ("kind = \"donor\"", "panel.error"),
        ("kind = \"reference\"", "reference.policy"),
        ("kind = \"reference\"", "reference.ratio"),
    ] {
        desk.write("b.toml", &measured(kind, quantity));
        let said = desk.ends(2, "study freeze b.toml --out out");
        assert!(said.contains("the evaluation error under another name"), "{said}");
    }
    desk.write("b.toml", &measured("kind = \"masking\"\nwindows = [8]", "masking.error/w=8"));
    let said = desk.ends(2, "study freeze b.toml --out out");
    assert!(said.contains("a window of 8, where rollouts have 8 steps"), "{said}");
}

#[test]
fn a_cut_under_another_name_gives_no_new_results() {
    let desk = collected(&tiny("s", 20, &family("confirmatory")));
    for (full, stopped) in [("SEG-8", "SEG-1"), ("K64F", "F_A0"), ("F_A1", "SEG-1")] {
        let text = tiny("t", 20, &family("prespecified"))
            .replace("cut = \"FF\"", &format!("cut = \"{full}\""))
            .replace("cut = \"F_SG\"", &format!("cut = \"{stopped}\""));
        desk.write("t.toml", &text);
        let said = desk.ends(2, "study freeze t.toml --out out");
        assert!(said.contains("all of its 8 results were known by then"), "{full}: {said}");
    }
}

#[test]
fn deleting_records_does_not_make_what_they_held_unknown() {
    let desk = collected(&tiny("s", 20, &format!("{MASKING}{}", family("confirmatory"))));
    let other = tiny("t", 20, &family("prespecified")).replace("evaluate_every = 5", "");
    desk.write("t.toml", &other);
    let is_known = |desk: &StudyFolder| {
        let said = desk.ends(2, "study freeze t.toml --out out");
        assert!(said.contains("all of its 8 results were known by then"), "{said}");
    };
    is_known(&desk);
    // The records alone, then everything but the tables.
    for record in ending(&desk.path("out/units"), ".done.json") {
        fs::remove_file(record).unwrap();
    }
    is_known(&desk);
    fs::remove_dir_all(desk.path("out/units")).unwrap();
    is_known(&desk);
}

/// `FF` and `F_SG` from initialization, so that an arm can be taken over alone.
fn plain(name: &str, sources: &str, more: &str) -> String {
    tiny(name, 20, more)
        .replace("from = \"FF\"\nat = 10\n", "")
        .replace("first = 1\ncount = 4", sources)
}

#[test]
fn sources_that_another_study_of_the_same_name_drew_are_not_drawn_here() {
    let desk = StudyFolder::new();
    desk.write("inner.toml", &plain("s", "draw = 1", ""));
    desk.write("c.toml", &plain("c", "seeds = [19, 15, 56, 57]", ""));
    let reuse =
        |file: &str, arms: &str| format!("[[reuse]]\nstudy = \"{file}\"\narms = [{arms}]\n");
    let contrast = "[F_SG@c/0.20] - [FF@c/0.20]";
    let family = family("confirmatory").replace("[F_SG@0.20] - [FF@0.20]", contrast);
    let both = reuse("inner.toml", "\"FF\"") + &reuse("c.toml", "\"FF\", \"F_SG\"") + &family;
    desk.write("s.toml", &format!("name = \"s\"\ntitle = \"t\"\n{both}"));
    let said = desk.ends(2, "study freeze s.toml --out out");
    assert!(said.contains("study s takes arms over from a study of its own name"), "{said}");
    // Nor by way of a third one.
    desk.write(
        "t.toml",
        &format!("name = \"t\"\ntitle = \"t\"\n{}", reuse("inner.toml", "\"FF\"")),
    );
    let by_way = reuse("t.toml", "\"FF\"") + &reuse("c.toml", "\"FF\", \"F_SG\"") + &family;
    desk.write("s.toml", &format!("name = \"s\"\ntitle = \"t\"\n{by_way}"));
    let said = desk.ends(2, "study freeze s.toml --out out");
    assert!(said.contains("study s takes arms over from a study of its own name"), "{said}");
}

#[test]
fn one_result_for_all_sources_is_no_sample() {
    let desk = StudyFolder::new();
    let text = plain("s", "draw = 4", &family("confirmatory"));
    let shared = text.replace("keep = [20]", "shared = { seed = 7 }");
    desk.write(
        "s.toml",
        &shared.replace("cut = \"F_SG\"", "cut = \"F_SG\"\nshared = { seed = 7 }"),
    );
    let said = desk.ends(2, "study freeze s.toml --out out");
    assert!(said.contains("`R` compares arms that are trained once, for all sources"), "{said}");
    // Beside an arm of every source's own it is a constant, whose seed somebody chose.
    desk.write("s.toml", &shared);
    desk.fine("study freeze s.toml --out out");
    desk.fine("study run s.toml --out out --jobs 2");
    collect(&desk, "s");
    let (standing, why) = status(&desk, "s", "R");
    assert_eq!(standing, "confirmatory", "{why}");
    let not = "not by construction: one result stands for all sources of FF@0.20";
    assert!(why.ends_with(not), "{why}");
    assert!(desk.fine("study verify out").contains(": sound"));
}

#[test]
fn a_measurement_of_one_state_is_no_sample_either() {
    let desk = StudyFolder::new();
    let measured = "[[families]]\nname = \"masking\"\nasks = \"confirmatory\"\n\
         quantity = \"masking.change/w=1\"\ncontrasts = [\"M = [F_SG@0.20] - [FF@0.20] < 0\"]\n";
    let text = plain("s", "draw = 4", &format!("{MASKING}{measured}"));
    let shared = text.replace("keep = [20]", "shared = { seed = 7 }");
    desk.write(
        "s.toml",
        &shared.replace("cut = \"F_SG\"", "cut = \"F_SG\"\nshared = { seed = 8 }"),
    );
    let said = desk.ends(2, "study freeze s.toml --out out");
    assert!(said.contains("`M` compares arms that are trained once, for all sources"), "{said}");
}

#[test]
fn freeze_refuses_what_a_table_would_take_back() {
    let desk = StudyFolder::new();
    desk.write("a.toml", &plain("a", "first = 1\ncount = 4", ""));
    desk.fine("study run a.toml --out out --jobs 2");
    let own = "[arms.X]\ncut = \"FD\"\nupdates = 20\n[[families]]\nname = \"cost\"\n\
         asks = \"prespecified\"\ncontrasts = [\"P = [X@0.20] - [FF@0.20] > 0\"]\n";
    desk.write("b.toml", &plain("b", "first = 1\ncount = 4", own));
    let said = desk.ends(2, "study freeze b.toml --out out");
    assert!(said.contains("4 of its results ran before it was frozen"), "{said}");
    assert!(said.contains("[[reuse]]"), "{said}");
    let (head, _) = plain("b", "first = 1\ncount = 4", "")
        .split_once("[arms.FF]")
        .map(|(h, a)| (h.to_owned(), a.to_owned()))
        .unwrap();
    let reuse = "[[reuse]]\nstudy = \"a.toml\"\narms = [\"FF\"]\n";
    desk.write("b.toml", &format!("{head}{reuse}{own}"));
    desk.fine("study freeze b.toml --out out");
    desk.fine("study run b.toml --out out --jobs 2");
    collect(&desk, "b");
    let (standing, why) = status(&desk, "b", "P");
    assert_eq!(standing, "prespecified; FF known (4 of 8 results)", "{why}");
}

#[test]
fn a_status_that_no_ledger_grants_is_a_problem() {
    let desk = collected(&tiny("s", 20, &family("descriptive")));
    let table = desk.path("out/tables/s/analysis.csv");
    let text = fs::read_to_string(&table).unwrap();
    let claims = text.replacen(",descriptive,", ",confirmatory by construction,", 1);
    assert_ne!(claims, text);
    fs::write(&table, &claims).unwrap();
    let sums = desk.path("out/tables/s/SHA256SUMS");
    let hash = |text: &str| backcut_files::Hash::of(text.as_bytes()).to_string();
    let sealed = fs::read_to_string(&sums).unwrap().replace(&hash(&text), &hash(&claims));
    fs::write(&sums, sealed).unwrap();
    fs::create_dir(desk.path("pub")).unwrap();
    fs::rename(desk.path("out/tables/s"), desk.path("pub/s")).unwrap();
    for folder in ["pub", "pub/s"] {
        let said = desk.ends(1, &format!("study verify {folder}"));
        assert!(
            said.contains("R: it says confirmatory by construction, and no ledger is here"),
            "{said}"
        );
    }
    desk.fine("report page pub --out page.html");
    let page = fs::read_to_string(desk.path("page.html")).unwrap();
    assert!(page.contains("not verified here, no ledger lies with these tables"), "it says so");
    // With the ledger it is found by what that grants.
    fs::copy(desk.path("out/ledger.jsonl"), desk.path("pub/ledger.jsonl")).unwrap();
    let said = desk.ends(1, "study verify pub");
    assert!(said.contains("it says confirmatory by construction, and the ledger grants"), "{said}");
}

#[test]
fn a_multiverse_does_not_agree_with_itself() {
    let desk = StudyFolder::new();
    let factors = "[factors.rate]\nlow = { optimizer = { rate = 0.001 } }\n[universes]\n\
         u1 = { levels = [\"low\"] }\nu2 = { levels = [\"low\"] }\n";
    desk.write("s.toml", &tiny("s", 20, &format!("{}{factors}", family("confirmatory"))));
    let said = desk.ends(2, "study plan s.toml --no-measure");
    assert!(said.contains("universes `u1` and `u2` are the same configuration"), "{said}");
    let twice = "\"0.20\" = { velocity = 0.2 }\nagain = { velocity = 0.2, batch = 8 }";
    desk.write("s.toml", &tiny("s", 20, "").replace("\"0.20\" = { velocity = 0.2 }", twice));
    let said = desk.ends(2, "study plan s.toml --no-measure");
    assert!(said.contains("conditions `0.20` and `again` are the same settings"), "{said}");
}

#[test]
fn nothing_that_is_planted_replays_as_the_same_bits() {
    let desk = collected(&plain("s", "first = 1\ncount = 2", &family("confirmatory")));
    // As it was found: forged records, and states where an earlier version would have looked.
    let mut child = desk.command("study replay out --sample 4 --deep");
    let child = child.env("TMPDIR", desk.path("")).stdout(std::process::Stdio::piped());
    let child = child.spawn().unwrap();
    let planted = format!("backcut-replay-{}", child.id());
    let store = Store::new(desk.path(&planted));
    let ids = Store::new(desk.path("out")).scan().unwrap().into_keys();
    for id in ids.collect::<std::collections::BTreeSet<_>>() {
        fs::create_dir_all(store.root().join("work").join(id.to_string())).unwrap();
        fs::write(store.root().join("work").join(id.to_string()).join("log.bin"), "x").unwrap();
    }
    let said = child.wait_with_output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.contains("4 of 4 replayed units came out the same"), "{said}");
    let names = fs::read_dir(desk.path("")).unwrap().flatten();
    let left: Vec<_> = names.map(|entry| entry.file_name().into_string().unwrap()).collect();
    let left: Vec<_> = left.iter().filter(|name| name.starts_with("backcut-replay")).collect();
    assert_eq!(left, [&planted], "its own folder is gone, and was not that one");
}

#[test]
fn more_sources_cost_the_first_ones_nothing() {
    let desk = StudyFolder::new();
    desk.write("s.toml", &plain("s", "draw = 4", &family("confirmatory")));
    let said = desk.ends(2, "study extend s.toml --sources 4 --out out");
    assert!(said.contains("nothing ran there"), "{said}");
    let desk = collected(&plain("s", "draw = 4", &family("confirmatory")));
    let before = desk.tables("out", "s");
    let said = desk.fine("study extend s.toml --sources 4 --out out");
    assert!(said.contains("study s-more, 4 sources drawn, in s-more.toml"), "{said}");
    let said = desk.ends(2, "study extend s.toml --sources 4 --out out");
    assert!(said.contains("s-more.toml is there already"), "{said}");
    let said = desk.fine("study run s-more.toml --out out --jobs 2");
    assert!(said.contains("8 units: 0 were there, 8 computed"), "{said}");
    collect(&desk, "s-more");
    collect(&desk, "s");
    assert_eq!(desk.tables("out", "s"), before);
    for study in ["s", "s-more"] {
        let (standing, why) = status(&desk, study, "R");
        assert_eq!(standing, "confirmatory by construction", "{why}");
        assert_eq!(desk.rows("out", study, "analysis.csv")[0].get("sources"), "4");
    }
    let said = desk.fine("study verify out");
    assert!(said.contains(": sound") && said.contains("sources: 4 drawn by it"), "{said}");
    desk.fine("report page out/tables --out page.html");
    let page = fs::read_to_string(desk.path("page.html")).unwrap();
    assert!(page.contains("s-more") && page.matches("confirmatory by construction").count() > 1);
    // Of a file that was changed since, nothing is extended.
    desk.write("s.toml", &plain("s", "draw = 5", &family("confirmatory")));
    let said = desk.ends(2, "study extend s.toml --sources 4 --name t --out out");
    assert!(said.contains("study s differs from what was frozen here"), "{said}");
    assert!(!desk.path("t.toml").exists());
}
