//! What was frozen when decides what a row may claim: from the command line to `analysis.csv`.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use std::fs;

use common::study::{Row, StudyFolder, ending, family, tiny};

/// The row of a contrast.
fn row(desk: &StudyFolder, out: &str, study: &str, contrast: &str) -> Row {
    let rows = desk.rows(out, study, "analysis.csv");
    rows.into_iter().find(|row| row.get("contrast") == contrast).expect("a row of that contrast")
}

#[track_caller]
fn claims(desk: &StudyFolder, study: &str, contrast: &str, status: &str, why: &str) {
    let row = row(desk, "out", study, contrast);
    assert_eq!(row.get("status"), status, "{}", row.get("why"));
    assert!(row.get("why").contains(why), "{}", row.get("why"));
}

/// `collect` ends with 1 where a prediction is contradicted, which is not what these tests are
/// about.
fn collect(desk: &StudyFolder, file: &str) {
    let seen = desk.backcut(&format!("study collect {file} --out out"));
    assert!([0, 1].contains(&seen.code), "{}{}", seen.out, seen.err);
}

const POST_HOC: &str = "[[families]]\nname = \"late\"\nasks = \"post hoc\"\n\
    contrasts = [\"L = [FF@0.20] - [F_SG@0.20] > 0\"]\n";

#[test]
fn a_changed_file_is_refused_with_the_difference() {
    let desk = StudyFolder::new();
    let text = tiny("s", 20, &family("prespecified"));
    desk.write("s.toml", &text);
    desk.fine("study run s.toml --out unfrozen");
    desk.fine("study freeze s.toml --out frozen");
    let changed = text.replace("count = 4", "count = 5").replace("> 0", "< 0");
    desk.write("s.toml", &changed);
    for (out, what, hint) in [
        ("unfrozen", "study s differs from what was run here", "another name, or another --out"),
        ("frozen", "study s differs from what was frozen here", "backcut study amend"),
    ] {
        let said = desk.ends(2, &format!("study run s.toml --out {out}"));
        assert!(said.contains(what) && said.contains(hint), "{said}");
        assert!(said.contains("sources") && said.contains('5'), "the seeds: {said}");
        assert!(said.contains("< 0") && said.contains("> 0"), "the contrast: {said}");
    }
    let said = desk.ends(2, "study freeze s.toml --out frozen");
    assert!(said.contains("differs from what was frozen") && said.contains("< 0"), "{said}");
    let said = desk.fine("study status s.toml --out frozen");
    assert!(said.contains("but the file has changed since"), "{said}");
    // A remark and a comment change nothing.
    desk.write(
        "s.toml",
        &text.replace("name = \"s\"", "name = \"s\"\nnote = \"a remark\" # and more"),
    );
    desk.fine("study run s.toml --out unfrozen");
    desk.fine("study run s.toml --out frozen");
    let said = desk.ends(2, "study freeze s.toml --out frozen");
    assert!(said.contains("frozen already, exactly like this"), "{said}");
}

#[test]
fn a_study_that_reuses_another_ones_arms_is_prespecified_and_says_so() {
    let desk = StudyFolder::new();
    desk.write("a.toml", &tiny("a", 20, &family("confirmatory")));
    let other = tiny("b", 20, "").replace(
        "[arms.FF]",
        "[[reuse]]\nstudy = \"a.toml\"\narms = [\"FF\", \"F_SG\"]\n[arms.old]",
    );
    let (head, _) = other.split_once("[arms.old]").unwrap();
    let own = "[arms.SEG-2]\ncut = \"SEG-2\"\nupdates = 20\n[[families]]\nname = \"segments\"\n";
    let contrasts = "contrasts = [\"S = [SEG-2@0.20] - [F_SG@0.20] < 0\"]\n";
    let asks = |status: &str| format!("{head}{own}asks = \"{status}\"\n{contrasts}");
    desk.fine("study freeze a.toml --out out");
    desk.fine("study run a.toml --out out --jobs 2");
    collect(&desk, "a.toml");
    claims(&desk, "a", "R", "confirmatory", "frozen in entry 0 before its 8 new results");

    desk.write("b.toml", &asks("confirmatory"));
    let said = desk.ends(2, "study freeze b.toml --out out");
    assert!(said.contains("asks to be confirmatory, but can only be prespecified"), "{said}");
    desk.write("b.toml", &asks("prespecified"));
    desk.fine("study freeze b.toml --out out");
    let said = desk.fine("study run b.toml --out out --jobs 2");
    assert!(said.contains("12 units: 8 were there, 4 computed"), "{said}");
    collect(&desk, "b.toml");
    let known = "prespecified; F_SG known (4 of 8 results)";
    claims(&desk, "b", "S", known, "4 reused results may be older");
    let units = desk.rows("out", "b", "units.csv");
    assert_eq!(units.iter().filter(|u| u.get("origin") == "a").count(), 8);
    // The study whose arms they are keeps what it had.
    collect(&desk, "a.toml");
    claims(&desk, "a", "R", "confirmatory", "frozen in entry 0");
    assert!(desk.fine("study verify out").contains("sound"));
}

#[test]
fn an_amendment_keeps_old_predictions_and_can_not_add_to_what_is_known() {
    let desk = StudyFolder::new();
    let text = tiny("s", 20, &family("confirmatory"));
    desk.write("s.toml", &text);
    desk.fine("study freeze s.toml --out out");
    desk.fine("study run s.toml --out out --shard 1/3");
    let bold = POST_HOC.replace("post hoc", "prespecified");
    desk.write("s.toml", &format!("{text}{bold}"));
    let said = desk.ends(2, "study amend s.toml --out out --reason curious");
    assert!(said.contains("asks to be prespecified, but can only be post hoc"), "{said}");
    desk.write("s.toml", &format!("{text}{POST_HOC}"));
    let said = desk.ends(2, "study amend s.toml --out out --reason  ");
    assert!(said.contains("reason"), "{said}");
    desk.fine("study amend s.toml --out out --reason curious");
    let said = desk.ends(2, "study amend s.toml --out out --reason again");
    assert!(said.contains("has not changed since it was frozen"), "{said}");
    desk.fine("study run s.toml --out out --jobs 2");
    collect(&desk, "s.toml");
    claims(&desk, "s", "R", "confirmatory", "frozen in entry 0");
    claims(&desk, "s", "L", "post hoc", "");
    assert!(desk.fine("study verify out").contains("2 ledger entries"));
}

#[test]
fn an_amendment_whose_note_was_lost_to_a_kill_can_be_run() {
    let desk = StudyFolder::new();
    let text = tiny("s", 20, &family("confirmatory"));
    desk.write("s.toml", &text);
    desk.fine("study freeze s.toml --out out");
    let note = fs::read(desk.path("out/studies/s.json")).unwrap();
    desk.write("s.toml", &format!("{text}{POST_HOC}"));
    desk.fine("study amend s.toml --out out --reason curious");
    fs::write(desk.path("out/studies/s.json"), note).unwrap();
    desk.fine("study run s.toml --out out --jobs 2");
    assert!(desk.fine("study verify out").contains("sound"));
}

#[test]
fn a_prediction_typed_in_afterwards_is_refused_and_as_an_amendment_post_hoc() {
    let desk = StudyFolder::new();
    let text = tiny("s", 20, &family("confirmatory"));
    desk.write("s.toml", &text);
    desk.fine("study freeze s.toml --out out");
    desk.fine("study run s.toml --out out --jobs 2");
    collect(&desk, "s.toml");
    let tables = desk.tables("out", "s");
    let bold = POST_HOC.replace("post hoc", "confirmatory");
    for changed in [
        format!("{text}{bold}"),
        text.replace("> 0", "< 0"),
        text.replace("asks =", "alpha = 0.1\nasks ="),
    ] {
        desk.write("s.toml", &changed);
        let said = desk.ends(2, "study collect s.toml --out out");
        assert!(said.contains("study s differs from what was frozen here"), "{said}");
    }
    assert_eq!(desk.tables("out", "s"), tables, "nothing was written");
    // As an amendment it is another prediction, made when the results were known.
    for changed in ["asks =", "> 0"] {
        let other = if changed == "> 0" { "< 0" } else { "alpha = 0.1\nasks =" };
        desk.write("s.toml", &text.replace(changed, other).replace("confirmatory", "post hoc"));
        desk.fine("study amend s.toml --out out --reason curious");
        collect(&desk, "s.toml");
        claims(&desk, "s", "R", "post hoc", "known by then");
    }
}

#[test]
fn a_family_that_was_never_frozen_is_post_hoc() {
    let desk = StudyFolder::new();
    desk.write("s.toml", &tiny("s", 20, &family("confirmatory")));
    let said = desk.fine("study run s.toml --out out --jobs 2");
    assert!(
        said.contains("note: study s is not frozen: no row of it can be prespecified"),
        "{said}"
    );
    collect(&desk, "s.toml");
    claims(&desk, "s", "R", "post hoc", "its study was never frozen");
}

#[test]
fn nothing_is_confirmatory_on_sources_that_were_used() {
    let desk = StudyFolder::new();
    let pilot = tiny("pilot", 10, "");
    desk.write("pilot.toml", &pilot).write("s.toml", &tiny("s", 20, &family("confirmatory")));
    desk.fine("study run pilot.toml --out out --jobs 2");
    let said = desk.ends(2, "study freeze s.toml --out out");
    assert!(said.contains("contrast `cost: R` asks to be confirmatory"), "{said}");
    assert!(said.contains("but can only be prespecified"), "{said}");
    assert!(
        said.contains("hint: ask for less, or use sources that nothing was computed on"),
        "{said}"
    );
    assert!(!desk.path("out/ledger.jsonl").exists(), "nothing was frozen");
    desk.write(
        "s.toml",
        &tiny("s", 20, &family("confirmatory")).replace("first = 1", "first = 11"),
    );
    desk.fine("study freeze s.toml --out out");
}

#[test]
fn a_result_from_before_the_prediction_does_not_enter_its_row() {
    let desk = StudyFolder::new();
    desk.write("s.toml", &tiny("s", 20, &family("confirmatory")));
    // Computed without a ledger, and put under one afterwards.
    desk.fine("study run s.toml --out known --jobs 2");
    desk.fine("study freeze s.toml --out out");
    for record in ending(&desk.path("known/units"), "") {
        let to =
            desk.path("out/units").join(record.strip_prefix(desk.path("known/units")).unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(&record, to).unwrap();
    }
    let said = desk.fine("study run s.toml --out out --jobs 2");
    assert!(said.contains("8 were there, 0 computed"), "{said}");
    collect(&desk, "s.toml");
    claims(&desk, "s", "R", "post hoc", "from a run under an earlier head");
    // Under another ledger's head it does not do either.
    desk.fine("study freeze s.toml --out elsewhere");
    desk.write(
        "t.toml",
        &tiny("t", 10, &family("confirmatory")).replace("first = 1", "first = 50"),
    );
    desk.fine("study freeze t.toml --out elsewhere");
    desk.fine("study run s.toml --out elsewhere --jobs 2");
    for record in ending(&desk.path("elsewhere/units"), ".done.json") {
        let name = record.strip_prefix(desk.path("elsewhere/units")).unwrap();
        fs::copy(&record, desk.path("out/units").join(name)).unwrap();
    }
    collect(&desk, "s.toml");
    claims(&desk, "s", "R", "post hoc", "under a head that this ledger does not have");
    let said = desk.ends(1, "study verify out");
    assert!(said.contains("it ran under a head that is not in the ledger"), "{said}");
}
