//! A page is a function of the tables.

mod common;

use backcut_page::report::Format;
use backcut_paper::FIGURES;
use backcut_paper::paper::Paper;

#[test]
fn two_readings_give_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    common::write_results(folder.path());
    let make = || {
        let results = common::open(folder.path());
        (results.page(None).unwrap(), results.markdown())
    };
    assert_eq!(make(), make());
}

#[test]
fn every_figure_and_table_is_made_and_holds_no_nan() {
    let folder = tempfile::tempdir().unwrap();
    common::write_results(folder.path());
    let results = common::open(folder.path());
    for (name, _) in FIGURES.iter().filter(|(name, _)| *name != "design") {
        let made = results.figure(name).unwrap_or_else(|e| panic!("{name}: {e}"));
        let svg = made.svg();
        for text in [&svg, &made.csv, &made.alt, &made.caption] {
            assert!(!text.contains("NaN") && !text.contains("inf,"), "{name}");
            // The style sheet has braces of its own.
            let words = text.split("</style>").last().unwrap_or_default();
            assert!(!words.contains('{'), "{name} has words that nobody filled in");
        }
        assert!(svg.contains("<title>") && svg.contains("<desc>"));
        assert!(!svg.contains("var(--"), "{name} stands alone");
        let lines = made.csv.lines().count();
        assert!(lines > 5, "{name}: {lines}");
    }
    for (name, _) in Paper::load().unwrap().table_names() {
        for format in [Format::Html, Format::Markdown, Format::Latex] {
            let text = results.table(name).unwrap().write(format);
            let odd = text.lines().find(|line| line.contains("NaN"));
            assert_eq!(odd, None, "{name}");
        }
    }
    assert!(results.figure("nothing").is_err());
    assert!(results.table("nothing").is_err());
}
