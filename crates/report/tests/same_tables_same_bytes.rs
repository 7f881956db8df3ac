//! A page is a function of the tables.

mod common;

use backcut_report::{
    FIGURES, Format, PageOptions, Results, figure, page, reproduction, table, table_names,
};

#[test]
fn two_readings_give_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    common::write_results(folder.path());
    let make = || {
        let results = Results::open(folder.path()).unwrap();
        (page(&results, &PageOptions::default()).unwrap().html, reproduction(&results).unwrap())
    };
    assert_eq!(make(), make());
}

#[test]
fn every_figure_and_table_is_made_and_holds_no_nan() {
    let folder = tempfile::tempdir().unwrap();
    common::write_results(folder.path());
    let results = Results::open(folder.path()).unwrap();
    for (name, _) in FIGURES.iter().filter(|(name, _)| *name != "design") {
        let made = figure(&results, name).unwrap_or_else(|e| panic!("{name}: {e}"));
        for text in [&made.svg, &made.csv, &made.alt, &made.caption] {
            assert!(!text.contains("NaN") && !text.contains("inf,"), "{name}");
        }
        assert!(made.svg.contains("<title>") && made.svg.contains("<desc>"));
        assert!(!made.svg.contains("var(--"), "{name} stands alone");
        let lines = made.csv.lines().count();
        assert!(lines > 5, "{name}: {lines}");
    }
    for (name, _) in table_names().unwrap() {
        for format in [Format::Html, Format::Markdown, Format::Latex] {
            let text = table(&results, &name, format).unwrap();
            assert!(!text.contains("NaN"), "{name}");
        }
    }
    assert!(figure(&results, "nothing").is_err());
    assert!(table(&results, "nothing", Format::Html).is_err());
}
