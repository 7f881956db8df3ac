//! Every number of ours is read when the page is made: edit a result, and the page says so.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use std::fs;

use backcut_evidence::ledger::Status;
use backcut_page::report::{Format, Results};
use backcut_paper::agreement::agreement;
use backcut_paper::compare::{Ours, ours};
use backcut_paper::paper::Paper;

fn edit(folder: &std::path::Path, file: &str, change: impl Fn(&str) -> String) {
    let path = folder.join(file);
    let text = fs::read_to_string(&path).unwrap();
    let changed = change(&text);
    assert_ne!(text, changed, "{file}");
    fs::write(&path, changed).unwrap();
}

#[test]
fn an_edited_result_changes_reproduction_page_figure_and_table() {
    let folder = tempfile::tempdir().unwrap();
    common::write_results(folder.path());
    let make = || {
        let results = common::open(folder.path());
        [
            results.markdown(),
            results.page(None).unwrap(),
            results.figure("memory-value").unwrap().svg(),
            results.table("c5").unwrap().write(Format::Markdown),
        ]
    };
    let before = make();
    for table in ["c5/endpoints.csv", "c5/curves.csv"] {
        edit(folder.path(), table, |text| {
            let row = text.lines().find(|l| l.starts_with("2026092503,F_SG,0.20,1000,")).unwrap();
            let unit = common::hash(&["edited"]);
            text.replace(row, &format!("2026092503,F_SG,0.20,1000,0.02,done,{unit},"))
        });
    }
    for (before, after) in before.iter().zip(make()) {
        assert_ne!(*before, after);
    }
    let before = make();
    edit(folder.path(), "c5/analysis.csv", |text| {
        text.replace("0.0021,0.0019,0.0023", "-0.0021,-0.0023,-0.0019")
    });
    let after = make();
    assert_ne!(before[0], after[0]);
    assert!(after[0].contains("opposite direction"), "{}", after[0]);
}

#[test]
fn a_study_s_own_decision_stands_and_the_rest_is_called_descriptive() {
    let folder = tempfile::tempdir().unwrap();
    common::write_results(folder.path());
    let results = Results::open(folder.path()).unwrap();
    let paper = Paper::load().unwrap();
    let claim =
        |id: &str| ours(&results, paper.claims.iter().find(|c| c.id == id).unwrap()).unwrap();
    let h1 = claim("H1");
    assert_eq!((h1.status.status, h1.value), (Status::Prespecified, 0.0021));
    assert_eq!(h1.kind, "two-sided 95%, family of 3");
    let cost = claim("C5 cost");
    assert_eq!(cost.status.status, Status::Descriptive);
    // The mean is that of the values it claims to be of.
    let mean = cost.values.iter().map(|(_, v)| v).sum::<f64>() / cost.values.len() as f64;
    assert!((cost.value - mean).abs() < 1e-12 && cost.n + cost.missing.len() == 16);
}

#[test]
fn a_full_set_of_results_fits_three_megabytes() {
    let folder = tempfile::tempdir().unwrap();
    common::write_results(folder.path());
    let html = common::open(folder.path()).page(None).unwrap();
    assert!(html.len() < 3_000_000, "{}", html.len());
}

#[test]
fn a_mean_of_the_same_sign_can_be_decided_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    common::write_quick(folder.path());
    let results = Results::open(folder.path()).unwrap();
    let paper = Paper::load().unwrap();
    let a6 = paper.claims.iter().find(|c| c.id == "A6").unwrap();
    let decided = |verdict: &str| {
        let ours = Ours {
            study: "a6".to_owned(),
            value: 1.0,
            interval: Some([0.5, 2.0]),
            pointwise: Some([0.4, 2.1]),
            kind: String::new(),
            status: Status::Confirmatory.into(),
            why: String::new(),
            verdict: verdict.parse().ok(),
            n: 28,
            missing: Vec::new(),
            values: Vec::new(),
        };
        let agreement = agreement(&results, a6, &ours);
        assert_eq!(agreement.same_direction, Some(true));
        agreement.same_decision
    };
    assert_eq!(decided("noninferior"), Some(true));
    assert_eq!(decided("noninferior, not confirmed by the exact test"), Some(true));
    assert_eq!(decided("noninferiority not shown"), Some(false));
    assert_eq!(decided(""), None);
}

#[test]
fn the_multiverse_says_in_how_many_universes_each_claim_holds() {
    let folder = tempfile::tempdir().unwrap();
    common::write_results(folder.path());
    let section = |text: &str| {
        let start = text.find("## Which claims depend on what nobody published").unwrap();
        text[start..].split("\n## ").next().unwrap().to_owned()
    };
    let text = common::open(folder.path()).markdown();
    let all = common::CLAIMS.len();
    assert_eq!(section(&text).matches(" of 24 universes (supported in ").count(), all, "{text}");
    assert!(section(&text).matches("unresolved in 0,").count() < all, "{text}");
    assert!(text.contains("H1 holds in ") && text.contains(" of 24; most moved by "), "{text}");
    let path = folder.path().join("multiverse/analysis.csv");
    let judged = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, judged.replace("unresolved", "supported")).unwrap();
    let text = common::open(folder.path()).markdown();
    assert_eq!(section(&text).matches("unresolved in 0,").count(), all, "{text}");
    std::fs::remove_dir_all(folder.path().join("multiverse")).unwrap();
    let text = common::open(folder.path()).markdown();
    assert!(!text.contains("nobody published"), "{text}");
}
