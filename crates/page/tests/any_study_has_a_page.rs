//! A study of anybody's has every figure, table and page, and they speak of nothing else.
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

#[path = "common/browser.rs"]
mod browser;
mod common;

use backcut_page::report::{
    FIGURES, Format, ReportError, Results, TABLES, figure, page, summary, table,
};
use backcut_text::Hinted as _;
use browser::Browser;
use serde_json::json;

/// Words of the project's own reproduction, none of which a stranger's study may meet.
const FOREIGN: [&str; 15] = [
    "FF",
    "FD",
    "F_SG",
    "SEG",
    "w1",
    "c2",
    "c5",
    "velocity",
    "noise",
    "m/s",
    "m²",
    "hidden",
    "paper",
    "quadrotor",
    "warm",
];

fn open(studies: &[&str]) -> (tempfile::TempDir, Results) {
    let folder = tempfile::tempdir().unwrap();
    for study in studies {
        common::write_study(folder.path(), study);
    }
    let results = Results::open(folder.path()).unwrap();
    (folder, results)
}

/// What a reader meets: text, and what marks say to a pointer or a screen reader.
fn words(markup: &str) -> String {
    let mut out = String::new();
    for piece in markup.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').unwrap();
        let is_hidden = ["style", "script"].iter().any(|name| tag.starts_with(name));
        for name in ["data-v=\"", "aria-label=\"", "download=\""] {
            if let Some((_, value)) = tag.split_once(name) {
                out += value.split('"').next().unwrap();
                out.push('\n');
            }
        }
        if !is_hidden {
            out += text;
            out.push('\n');
        }
    }
    out
}

#[track_caller]
fn speaks_of_itself_alone(text: &str) {
    let is_word = |c: char| c.is_alphanumeric() || "_/²".contains(c);
    for word in text.split(|c| !is_word(c)) {
        let met = FOREIGN.iter().find(|foreign| word.eq_ignore_ascii_case(foreign));
        assert_eq!(met, None, "{word}");
    }
    assert!(!text.contains("NaN"));
}

#[test]
fn every_figure_names_the_study_s_own_arms_conditions_and_units() {
    let (_folder, results) = open(&["pendulum"]);
    for (name, _) in FIGURES {
        let made = figure(&results, name, None).unwrap();
        let svg = made.svg();
        let text = words(&svg) + &made.csv + &made.alt + &made.caption;
        speaks_of_itself_alone(&text);
        assert!(made.csv.lines().count() > 2, "{name}");
        if *name != "forest" {
            assert!(
                svg.contains("gusty") && svg.contains(">10<"),
                "{name} spells conditions as the study does"
            );
        }
        if ["curves", "endpoints"].contains(name) {
            assert!(svg.contains("Mean squared angle") && svg.contains("error (rad²)"), "{name}");
            assert!(common::ARMS.iter().all(|arm| made.legend.iter().any(|k| k.label == *arm)));
        }
    }
    let failed = figure(&results, "endpoints", None).unwrap().caption;
    assert!(failed.contains("One mean leaves out 1 source"), "{failed}");
    let forest = figure(&results, "forest", None).unwrap();
    assert_eq!(forest.panels.len(), 2, "a contrast of another size has a panel of its own");
}

#[test]
fn an_arm_has_one_colour_on_a_page() {
    let (_folder, results) = open(&["pendulum", "second"]);
    let palette = results.palette(results.one(Some("pendulum")).unwrap());
    for name in ["endpoints", "curves"] {
        for study in ["pendulum", "second"] {
            for key in figure(&results, name, Some(study)).unwrap().legend {
                assert_eq!(key.series, palette.series(&key.label), "{name}");
            }
        }
    }
}

#[test]
fn the_page_opens_with_the_study_and_holds_everything() {
    let (_folder, results) = open(&["pendulum"]);
    let html = page::of_studies(&results, None).unwrap();
    speaks_of_itself_alone(&words(&html));
    assert!(html.contains("<h1>pendulum: How far a pendulum looks back</h1>"));
    for (name, _) in FIGURES {
        assert!(html.contains(&format!("id=\"figure-{name}\"")), "{name}");
    }
    assert!(html.contains("a wheel came off") && !html.contains("Figures left out"));
    assert!(!html.contains("<b>bold</b>"));
    assert_eq!(html, page::of_studies(&results, None).unwrap());
    for (name, _) in TABLES {
        let made = table(&results, name, None).unwrap();
        for format in [Format::Html, Format::Markdown, Format::Latex] {
            speaks_of_itself_alone(&made.write(format));
        }
        assert!(made.rows.iter().all(|row| row.len() == made.columns.len()), "{name}");
    }
    let text = summary(&results, "pendulum", 80).unwrap();
    assert!(text.contains("steady price: 0.200") && text.contains("supported"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn half_a_study_is_a_page_that_says_so() {
    let (folder, _) = open(&["pendulum"]);
    let study = folder.path().join("pendulum");
    for table in ["analysis.csv", "about.json"] {
        std::fs::remove_file(study.join(table)).unwrap();
    }
    let numbers = std::fs::read_to_string(study.join("observations.csv")).unwrap();
    let is_kept = |line: &&str| line.starts_with("source") || line.contains(",80,error,");
    let kept: Vec<&str> = numbers.lines().filter(is_kept).collect();
    std::fs::write(study.join("observations.csv"), kept.join("\n") + "\n").unwrap();
    let results = Results::open(folder.path()).unwrap();
    let html = page::of_studies(&results, None).unwrap();
    assert!(html.contains("<h1>pendulum</h1>") && html.contains("id=\"figure-endpoints\""));
    for absent in ["forest", "curves", "measurements"] {
        assert!(html.contains(&format!("<li><b>{absent}</b>: pendulum ")), "{absent}");
        let error = figure(&results, absent, None).unwrap_err();
        assert!(error.to_string().starts_with(&format!("make {absent}: pendulum ")), "{error}");
    }
}

#[test]
fn among_several_studies_one_is_named() {
    let (_folder, results) = open(&["pendulum", "second"]);
    let error = figure(&results, "curves", None).unwrap_err();
    assert_eq!(error.to_string(), "choose among several studies: pendulum, second");
    assert_eq!(error.hint(), "name one of them with --study");
    let error = figure(&results, "curves", Some("third")).unwrap_err();
    assert!(matches!(error, ReportError::Unknown { what: "study", .. }), "{error}");
    assert!(figure(&results, "nothing", Some("second")).is_err());
    let html = page::of_studies(&results, Some("Both")).unwrap();
    assert!(html.contains("<h1>Both</h1>") && html.contains("id=\"figure-second-curves\""));
}

#[test]
fn the_page_fits_a_desk_and_a_phone() {
    let (folder, results) = open(&["pendulum"]);
    let file = folder.path().join("report.html");
    std::fs::write(&file, page::of_studies(&results, None).unwrap()).unwrap();
    let mut browser = Browser::start();
    browser.view(1280, 1600, "light");
    browser.open(&file);
    for (width, theme) in [(1280, "light"), (820, "light"), (700, "light"), (390, "dark")] {
        browser.view(width, 1600, theme);
        let wide = browser.evaluate("document.documentElement.scrollWidth");
        assert!(wide.as_u64().unwrap() <= width, "{wide} at {width}");
        assert_eq!(browser.evaluate(browser::OVERLAPPING), json!([]), "{theme} at {width}");
        assert_eq!(browser.evaluate(browser::CRAMPED), json!([]), "{theme} at {width}");
    }
    browser.on_paper();
    assert_eq!(browser.evaluate(browser::CRAMPED), json!([]), "on paper");
    for method in ["Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"] {
        assert!(browser.events.iter().all(|event| event["method"] != method), "{method}");
    }
}
