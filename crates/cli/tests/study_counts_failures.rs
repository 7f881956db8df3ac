//! Units that fail are results too: recorded, counted, shown, never dropped.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use std::fs;

use backcut_study::record::{Outcome, Record};
use backcut_study::{Recorded, Store};
use common::study::{MASKING, StudyFolder, ending, family, tiny};

/// A study that diverges at its second update.
fn diverging() -> StudyFolder {
    let desk = StudyFolder::new();
    let text = tiny("bad", 20, &(family("prespecified") + MASKING));
    let rate = "[optimizer]\nrate = 1e30\ndecay = 0.0\nclip = 1e30\n[sources]";
    desk.write("bad.toml", &text.replace("[sources]", rate));
    desk
}

#[test]
fn a_diverging_study_has_rows_for_everything_and_says_where_it_broke() {
    let desk = diverging();
    let said = desk.ends(1, "study run bad.toml --out out --jobs 2");
    assert_eq!(said.matches("FAILED FF@0.20 source ").count(), 4, "{said}");
    assert!(said.contains("update 2: value") && said.contains("step 0, trajectory 0"), "{said}");
    assert!(said.contains("0 computed, 4 failed, 12 blocked by a failed start"), "{said}");
    let said = desk.fine("study status bad.toml --out out");
    assert!(
        said.contains("failed              4") && said.contains("blocked            12"),
        "{said}"
    );
    assert!(said.contains("failed: FF@0.20 source 1: update 2: value"), "{said}");
    let said = desk.fine("study collect bad.toml --out out");
    assert!(said.contains("0 of 16 units done\n  4 failed, 12 blocked"), "{said}");
    assert!(said.contains("not computed: no value of"), "{said}");

    let numbers = desk.rows("out", "bad", "observations.csv");
    let (errors, measured): (Vec<_>, Vec<_>) =
        numbers.into_iter().partition(|row| row.get("quantity") == "error");
    assert!(errors.len() >= 8 && errors.len() % 8 == 0, "{}", errors.len());
    for row in &errors {
        assert_eq!(row.get("value"), "");
        let is_start = row.get("arm") == "FF";
        assert_eq!(row.get("state"), if is_start { "failed" } else { "blocked" });
        let note = if is_start { "update 2: value" } else { "what it starts from failed" };
        assert!(row.get("note").contains(note), "{}", row.get("note"));
    }
    assert!(measured.len() == 8 && measured.iter().all(|r| r.get("state") == "blocked"));
    let analysis = desk.rows("out", "bad", "analysis.csv");
    assert!(analysis[0].get("verdict").contains("not computed: no value of FF@0.20 of source 1"));
    assert_eq!((analysis[0].get("mean"), analysis[0].get("adjusted_p")), ("", ""));
    assert!(desk.fine("study verify out").contains("4 records"));

    // Failures stay until they are asked for, and fail again in the same way.
    let before = fs::read(&ending(&desk.path("out"), ".failed.json")[0]).unwrap();
    let said = desk.ends(1, "study run bad.toml --out out --jobs 2");
    assert!(said.contains("4 failed") && !said.contains("FAILED"), "{said}");
    let said = desk.ends(1, "study run bad.toml --out out --jobs 2 --only-failed");
    assert_eq!(said.matches("FAILED").count(), 4, "{said}");
    let after = fs::read(&ending(&desk.path("out"), ".failed.json")[0]).unwrap();
    let content = |bytes: &[u8]| {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let json: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        json["content"].clone()
    };
    assert_eq!(content(&before), content(&after));
}

#[test]
fn fail_fast_starts_nothing_more() {
    let desk = diverging();
    let said = desk.ends(1, "study run bad.toml --out out --jobs 1 --fail-fast");
    assert_eq!(said.matches("FAILED").count(), 1, "{said}");
    assert_eq!(ending(&desk.path("out"), ".failed.json").len(), 1);
    assert!(said.contains("1 failed") && said.contains("left"), "{said}");
}

#[test]
fn a_cured_failure_is_replaced_and_its_branches_run() {
    let desk = StudyFolder::new();
    desk.write("s.toml", &tiny("s", 20, &family("prespecified")));
    desk.fine("study run s.toml --out whole --jobs 2");
    let seen = desk.backcut("study collect s.toml --out whole");
    assert!([0, 1].contains(&seen.code), "{}", seen.err);
    // One start "failed", as under a defect that is repaired since.
    desk.fine("study run s.toml --out out --shard 2/4");
    let (whole, store) = (Store::new(desk.path("whole")), Store::new(desk.path("out")));
    let units = desk.rows("whole", "s", "units.csv");
    let unit = units.iter().find(|u| u.get("arm") == "FF" && u.get("source") == "1").unwrap();
    let good = Record::load(&whole, &unit.get("unit").parse().unwrap(), Recorded::Done).unwrap();
    let outcome = Outcome::Failed { what: "a defect".into(), hint: String::new() };
    Record::new(good.definition, outcome, good.head).save(&store).unwrap();

    let said = desk.ends(1, "study run s.toml --out out --jobs 2");
    assert!(said.contains("1 failed, 1 blocked by a failed start"), "{said}");
    // A contrast without one of its sources is not computed on the rest.
    let said = desk.fine("study collect s.toml --out out");
    assert!(said.contains("6 of 8 units done\n  1 failed, 1 blocked"), "{said}");
    assert!(said.contains("not computed: no value of FF@0.20 of source 1 and 1 more"), "{said}");
    let said = desk.fine("study run s.toml --out out --jobs 2 --only-failed");
    assert!(said.contains("1 left"), "its branch is for the next run: {said}");
    assert!(ending(&desk.path("out"), ".failed.json").is_empty());
    desk.fine("study run s.toml --out out --jobs 2");
    let seen = desk.backcut("study collect s.toml --out out");
    assert!([0, 1].contains(&seen.code), "{}", seen.err);
    assert!(desk.tables("out", "s") == desk.tables("whole", "s"));
}

#[test]
fn a_missing_source_does_not_take_the_other_contrasts_with_it() {
    let desk = StudyFolder::new();
    let text =
        tiny("s", 20, "").replace("[arms.FF]", "hidden = { velocity = \"hidden\" }\n[arms.FF]");
    let families = "[[families]]\nname = \"both\"\nasks = \"descriptive\"\ncontrasts = [\n\
        \"A = [F_SG@0.20] - [FF@0.20]\", \"B = [F_SG@hidden] - [FF@hidden]\"]\n";
    desk.write("s.toml", &(text + families));
    desk.fine("study run s.toml --out out --jobs 2");
    desk.fine("study collect s.toml --out out");
    let whole = desk.rows("out", "s", "analysis.csv");
    let units = desk.rows("out", "s", "units.csv");
    let lost = units.iter().find(|u| u.get("arm") == "F_SG" && u.get("condition") == "hidden");
    let id = lost.unwrap().get("unit");
    fs::remove_file(desk.path("out/units").join(&id[..2]).join(format!("{id}.done.json"))).unwrap();
    desk.fine("study collect s.toml --out out");
    let rows = desk.rows("out", "s", "analysis.csv");
    for column in ["mean", "lower", "upper", "size", "adjusted_p", "verdict"] {
        assert_eq!(rows[0].get(column), whole[0].get(column), "{column}");
    }
    assert_eq!(rows[0].get("size"), "2");
    assert!(rows[1].get("verdict").contains("not computed: no value of F_SG@hidden of source 1"));
}
