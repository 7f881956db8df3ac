//! What is missing is said, never drawn around and never a failure.

mod common;

use std::fs;

use backcut_report::{FIGURES, PageOptions, Results, figure, page, reproduction, summary_text};

#[test]
fn a_single_small_study_makes_a_page_that_names_what_is_absent() {
    let folder = tempfile::tempdir().unwrap();
    common::write_quick(folder.path());
    let results = Results::open(folder.path()).unwrap();
    let html = page(&results, &PageOptions::default()).unwrap().html;
    assert!(html.contains("id=\"figure-memory-value\""));
    assert!(html.contains("id=\"figure-segments\""));
    for absent in ["noninferiority", "seven-point", "masking"] {
        assert!(html.contains(&format!("<li><b>{absent}</b>: study")), "{absent}");
    }
    assert!(html.contains("No ledger was collected"));
    let text = summary_text(&results, "quick").unwrap();
    assert!(text.contains("C5 cost") && text.contains("H1"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(summary_text(&results, "c5").is_err());
}

#[test]
fn every_study_taken_away_alone_leaves_a_page() {
    let whole = tempfile::tempdir().unwrap();
    common::write_results(whole.path());
    for absent in ["c5", "c6", "c2"] {
        let moved = tempfile::tempdir().unwrap();
        fs::rename(whole.path().join(absent), moved.path().join(absent)).unwrap();
        let results = Results::open(whole.path()).unwrap();
        let missing: Vec<String> = FIGURES
            .iter()
            .filter_map(|(name, _)| figure(&results, name).err().map(|e| e.to_string()))
            .collect();
        assert!(missing.iter().all(|m| m.starts_with("make ")), "{missing:?}");
        let text = reproduction(&results).unwrap();
        assert!(!text.contains("NaN"));
        fs::rename(moved.path().join(absent), whole.path().join(absent)).unwrap();
    }
}

#[test]
fn failed_units_are_listed_with_their_note_and_left_out_of_means_by_count() {
    let folder = tempfile::tempdir().unwrap();
    common::write_results(folder.path());
    let results = Results::open(folder.path()).unwrap();
    let html = page(&results, &PageOptions::default()).unwrap().html;
    assert!(html.contains(">failed<") && html.contains(">interrupted<"));
    let caption = figure(&results, "memory-value").unwrap().caption;
    assert!(caption.contains("leave out sources whose arms are not all done"), "{caption}");
}

#[test]
fn a_table_that_is_not_one_is_an_error_with_file_and_row() {
    let break_it = |file: &str, from: &str, to: &str| {
        let folder = tempfile::tempdir().unwrap();
        common::write_quick(folder.path());
        let path = folder.path().join("quick").join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file} holds {from}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        Results::open(folder.path()).unwrap_err().to_string()
    };
    let no_column = break_it("endpoints.csv", "value", "valeu");
    assert!(
        no_column.ends_with("endpoints.csv in row 1: there is no column `value`"),
        "{no_column}"
    );
    let nan = break_it("endpoints.csv", ",1000,0.", ",1000,nan\u{7}0.");
    assert!(nan.contains("in row 2") && nan.contains("is not a finite number"), "{nan}");
    let twice = break_it("endpoints.csv", "\n1,F_SG,", "\n1,FF,");
    assert!(twice.contains("appear twice"), "{twice}");
    let json = break_it("about.json", "{", "[");
    assert!(json.contains("about.json"), "{json}");
    let ragged = break_it("units.csv", "\n", "\nx,y\n");
    assert!(ragged.contains("units.csv in row 2"), "{ragged}");
}

#[test]
fn a_folder_without_studies_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let message = Results::open(folder.path()).unwrap_err().to_string();
    assert!(message.contains("no folder in it holds a table of a study"), "{message}");
    assert!(Results::open(&folder.path().join("nowhere")).is_err());
}

#[test]
fn one_study_s_own_folder_opens_too() {
    let folder = tempfile::tempdir().unwrap();
    common::write_quick(folder.path());
    let results = Results::open(&folder.path().join("quick")).unwrap();
    assert!(results.study("quick").is_some());
}
