//! `backcut report` on a small folder: what goes where, and how it fails.

#![expect(clippy::unwrap_used, reason = "helpers of a test may fail it")]

use std::fmt::Write as _;
use std::path::Path;
use std::process::Output;

use assert_cmd::Command;

fn backcut(folder: &Path, args: &[&str]) -> Output {
    Command::cargo_bin("backcut").unwrap().current_dir(folder).args(args).output().unwrap()
}

/// A study of four seeds with three arms at one noise level.
fn results(folder: &Path) {
    let study = folder.join("results/quick");
    std::fs::create_dir_all(&study).unwrap();
    let mut table = "source,arm,condition,update,value,state,unit,note\n".to_owned();
    for seed in 1..=4 {
        for (arm, error) in [("FF", 0.0060), ("F_SG", 0.0078), ("w1", 0.0085), ("SEG-8", 0.0067)] {
            let value = error * (1.0 + 0.01 * f64::from(seed));
            let unit = format!("{:064x}", table.len());
            writeln!(table, "{seed},{arm},0.20,1000,{value},done,{unit},").unwrap();
        }
    }
    std::fs::write(study.join("endpoints.csv"), table).unwrap();
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn page_figure_and_table_are_written() {
    let folder = tempfile::tempdir().unwrap();
    results(folder.path());
    let page = backcut(folder.path(), &["report", "page", "--paper", "results"]);
    assert!(page.status.success(), "{}", text(&page.stderr));
    assert!(page.stdout.is_empty());
    let html = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
    // The design drawing is filled in from the engine's own edges.
    assert!(html.contains("id=\"figure-design\"") && html.contains("id=\"figure-memory-value\""));

    let figure = backcut(folder.path(), &["report", "figure", "memory-value", "results"]);
    assert!(figure.status.success(), "{}", text(&figure.stderr));
    let csv = std::fs::read_to_string(folder.path().join("memory-value.csv")).unwrap();
    let mean = csv.split_once("cost of F_SG from the start,0.20,mean,").unwrap().1;
    let mean: f64 = mean.split_once(',').unwrap().0.parse().unwrap();
    assert!((mean - 30.0).abs() < 1e-9, "{csv}");
    assert!(
        std::fs::read_to_string(folder.path().join("memory-value.svg"))
            .unwrap()
            .starts_with("<svg")
    );

    let table = backcut(folder.path(), &["report", "table", "c5", "results", "--format", "latex"]);
    assert!(text(&table.stdout).contains("\\begin{tabular}"));
    let reproduction = backcut(folder.path(), &["report", "reproduction", "results"]);
    assert!(text(&reproduction.stdout).starts_with("# Reproduction"));
    let summary = backcut(folder.path(), &["report", "summary", "results", "quick"]);
    assert!(text(&summary.stdout).contains("the paper's"));
}

#[test]
fn a_study_of_anybody_s_has_a_page_and_figures_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    results(folder.path());
    let page = backcut(folder.path(), &["report", "page", "results"]);
    assert!(page.status.success(), "{}", text(&page.stderr));
    let html = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(html.contains("<h1>quick</h1>") && html.contains("id=\"figure-endpoints\""));
    assert!(!html.contains("memory-value") && !html.contains("not here"), "{html}");
    let figure =
        backcut(folder.path(), &["report", "figure", "endpoints", "results", "--study", "quick"]);
    assert!(figure.status.success(), "{}", text(&figure.stderr));
    assert!(folder.path().join("endpoints.svg").is_file());
    let list = text(&backcut(folder.path(), &["report", "list", "results"]).stdout);
    for line in ["study quick", "  endpoints         yes", "  memory-value      yes"] {
        assert!(list.lines().any(|l| l == line), "{line}\n{list}");
    }
    assert!(list.contains("  curves            no: quick holds no learning curves"), "{list}");
    let slip = backcut(folder.path(), &["report", "figure", "endpoint", "results"]);
    assert!(text(&slip.stderr).contains("hint: did you mean `endpoints`?"));
}

#[test]
fn the_design_shows_the_engine_s_cuts() {
    let folder = tempfile::tempdir().unwrap();
    results(folder.path());
    let figure = backcut(folder.path(), &["report", "figure", "design", "results"]);
    assert!(figure.status.success(), "{}", text(&figure.stderr));
    let csv = std::fs::read_to_string(folder.path().join("design.csv")).unwrap();
    for line in [
        "FF,memory,0,0,7,lives",
        "FD,memory,0,0,7,cut",
        "F_SG,memory,0,0,7,weights only",
        "KF,state,0,0,1,cut",
        "SEG-2,memory,0,2,3,lives",
        "SEG-2,memory,0,1,2,weights only",
    ] {
        assert!(csv.lines().any(|l| l == line), "{line}");
    }
}

#[test]
fn wrong_requests_end_with_code_2_and_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    results(folder.path());
    for args in [
        &["report", "page", "nowhere"][..],
        &["report", "figure", "nothing", "results"],
        &["report", "figure", "masking", "results"],
        &["report", "table", "nothing", "results"],
        &["report", "page", "results", "--out", "no/such/folder.html"],
    ] {
        let output = backcut(folder.path(), args);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {message}");
        assert!(
            message.starts_with("error: failed to ") && message.contains("\nhint: "),
            "{message}"
        );
    }
    let list = text(&backcut(folder.path(), &["report", "list"]).stdout);
    assert!(list.contains("memory-value") && list.contains("warm-change"), "{list}");
    assert!(list.lines().all(|line| line.chars().count() <= 80), "{list}");
}
