//! What a user of `backcut stats` sees: output, exit codes, hints.

#![expect(clippy::unwrap_used, reason = "helpers of a test may fail it")]

use std::path::PathBuf;

use assert_cmd::Command;

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../paper/data").join(name)
}

struct Seen {
    code: i32,
    out: String,
    err: String,
}

fn stats(input: Option<&str>, file: &str, args: &[&str]) -> Seen {
    let mut command = Command::cargo_bin("backcut").unwrap();
    command.arg("stats");
    if file == "-" {
        command.arg("-")
    } else {
        command.arg(data(file))
    };
    command.args(args);
    if let Some(input) = input {
        command.write_stdin(input);
    }
    let output = command.output().unwrap();
    Seen {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn the_worked_example_of_the_guide() {
    let excess = "excess = ([f_sg] - [ff]) / [ff]";
    let args = ["--contrast", excess, "--margin", "0.05", "--one-sided"];
    let seen = stats(None, "a6_noninferiority.csv", &args);
    assert_eq!((seen.code, seen.err.as_str()), (0, ""));
    assert!(seen.out.lines().all(|line| line.chars().count() <= 80), "{}", seen.out);
    let guide = include_str!("../../../docs/statistics.md");
    assert!(guide.contains(&seen.out), "docs/statistics.md does not show this:\n{}", seen.out);
}

#[test]
fn every_line_fits_eighty_columns() {
    let args = [
        "--contrast",
        "a very long name for a contrast = ([v_intermediate] - [v_low]) / [v_low] > 0",
        "--values",
        "primary",
        "--family-size",
        "12",
    ];
    let seen = stats(None, "e3_forward_intervention.csv", &args);
    assert_eq!(seen.code, 0, "{}", seen.err);
    assert!(seen.out.lines().all(|line| line.chars().count() <= 80), "{}", seen.out);
    let word = "signific".to_owned() + "ant";
    assert!(!seen.out.contains(&word));
}

#[test]
fn a_failed_criterion_exits_with_one() {
    let args = ["--values", "0.05", "--margin", "5", "--family-size", "7"];
    let seen = stats(None, "seven_point_relative_excess_percent.csv", &args);
    assert_eq!(seen.code, 1);
    assert!(seen.out.contains("noninferiority not shown"), "{}", seen.out);
}

#[test]
fn wrong_input_exits_with_two_and_a_hint() {
    let cases: [(&str, &[&str], &str, &str); 6] = [
        ("seed,a\n1,1\n", &[], "use contrasts = none", "--contrast"),
        ("seed,a\n1,1\n", &["--contrast", "a - b"], "at character 1", "brackets"),
        ("seed,a\n1,1\n", &["--values", "b"], "find the cell `b`", "letter by letter"),
        ("seed,a\n1,1\n", &["--values", "a"], "from 1 sources", "more sources"),
        ("id,a\n1,1\n", &["--values", "a"], "the source column", "--source"),
        ("seed,a\n1,1\n2,\n3,1\n4,1\n5,2\n", &["--values", "a"], "1 of 5", "--drop-incomplete"),
    ];
    for (input, args, what, hint) in cases {
        let seen = stats(Some(input), "-", args);
        assert_eq!(seen.code, 2, "{}", seen.err);
        assert!(seen.out.is_empty() && seen.err.starts_with("error: failed to "), "{}", seen.err);
        let (message, hinted) = seen.err.split_once("\nhint: ").unwrap_or((&seen.err, ""));
        assert!(message.contains(what) && hinted.contains(hint), "{}", seen.err);
    }
    let missing = stats(None, "no_such_file.csv", &["--values", "a"]);
    assert_eq!(missing.code, 2);
}

#[test]
fn dropped_sources_are_counted_aloud() {
    let input = "seed,a\n1,1\n2,\n3,1\n4,1.5\n5,2\n";
    let seen = stats(Some(input), "-", &["--values", "a", "--drop-incomplete"]);
    assert_eq!(seen.code, 0, "{}", seen.err);
    assert!(seen.out.contains("1 of 5 sources left out for missing values: 2"), "{}", seen.out);
}

#[test]
fn json_carries_status_seed_and_every_number() {
    let args = ["--values", "at_020", "--values", "hidden", "--seed", "7", "--json"];
    let seen = stats(None, "c6_seg2_minus_fsg.csv", &args);
    let json: serde_json::Value = serde_json::from_str(&seen.out).unwrap();
    assert_eq!(json["seed"], 7);
    assert_eq!(json["family_size"], 2);
    assert_eq!(json["bound"], "two-sided");
    let row = &json["rows"][0];
    assert_eq!(row["status"], "descriptive");
    assert_eq!(row["verdict"], "unresolved");
    assert_eq!(row["exact"]["patterns"], 65536);
    assert!((row["adjusted_p"].as_f64().unwrap() - 0.186).abs() < 5e-4);
}

#[test]
fn the_plan_gives_a_number_or_says_why_not() {
    let args = ["--values", "0.05", "--values", "0.10", "--margin", "5", "--plan"];
    let seen = stats(None, "seven_point_relative_excess_percent.csv", &args);
    assert!(seen.out.contains("plan: 0.05: 28 sources for power 0.8"), "{}", seen.out);
    assert!(seen.out.contains("plan: 0.10: no number of sources is enough"), "{}", seen.out);
}

#[test]
fn parquet_and_csv_give_the_same_report() {
    let args = ["--values", "hidden", "--json"];
    let csv = stats(None, "c6_seg2_minus_fsg.csv", &args);
    let parquet = stats(None, "c6_seg2_minus_fsg.parquet", &args);
    assert_eq!(parquet.code, 0, "{}", parquet.err);
    assert_eq!(csv.out, parquet.out);
}

#[test]
fn the_forest_plot_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("forest.svg");
    let args = ["--values", "hidden", "--svg", path.to_str().unwrap()];
    assert_eq!(stats(None, "c6_seg2_minus_fsg.csv", &args).code, 0);
    let svg = std::fs::read_to_string(path).unwrap();
    assert!(svg.starts_with("<svg ") && svg.contains("hidden"));
}

#[test]
fn without_a_contrast_the_cells_and_an_example_are_shown() {
    let seen =
        stats(Some("seed,arm,value\n1,FF,1\n2,FF,2\n1,FD,3\n2,FD,\n1,w,4\n2,w,5\n"), "-", &[]);
    assert_eq!(seen.code, 2);
    assert!(seen.err.contains("--contrast \"difference = [w] - [FF]\""), "{}", seen.err);
    assert!(seen.err.contains("[FD]  1 of them") && seen.err.contains("[w]  2 of them"));
}

#[test]
fn tables_of_other_shapes_are_read_when_they_are_named() {
    let rows: Vec<String> = (1..=6).map(|s| format!("{s};8;1,{s}\n{s};0;0,{s}\n")).collect();
    let rows = rows.concat();
    let text = format!("seed;detach;loss\n{rows}");
    let contrast = ["--contrast", "d = [8] - [0]"];
    let seen = stats(Some(&text), "-", &contrast);
    assert_eq!(seen.code, 2);
    assert!(seen.err.contains("hint: add --separator ';'"), "{}", seen.err);
    let columns = ["--arm", "detach", "--value", "loss", "--separator", ";"];
    let seen = stats(Some(&text), "-", &[&contrast[..], &columns].concat());
    assert!(seen.err.contains("`1,1` is not a finite number"), "{}", seen.err);
    assert!(seen.err.contains("hint: if that is a decimal comma"), "{}", seen.err);
    let all = [&contrast[..], &columns, &["--decimal-comma", "--json"]].concat();
    let seen = stats(Some(&text), "-", &all);
    assert_eq!(seen.code, 0, "{}", seen.err);
    let json: serde_json::Value = serde_json::from_str(&seen.out).unwrap();
    assert!((json["rows"][0]["estimate"].as_f64().unwrap() - 1.0).abs() < 1e-12, "{json}");
    let seen = stats(Some("seed,a\n1,1\n"), "-", &["--values", "a", "--decimal-comma"]);
    assert!(seen.err.contains("separated by commas too"), "{}", seen.err);
}

#[test]
fn several_files_are_one_table_of_sources() {
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<PathBuf> =
        (1..=5).map(|s| folder.path().join(format!("seed-{s}.csv"))).collect();
    for (seed, file) in files.iter().enumerate() {
        std::fs::write(file, format!("arm,value\nFF,{seed}\nFD,{}\n", seed + 2)).unwrap();
    }
    let run = |files: &[PathBuf]| {
        let mut command = Command::cargo_bin("backcut").unwrap();
        command.arg("stats").args(files).args(["--contrast", "d = [FD] - [FF]", "--json"]);
        command.output().unwrap()
    };
    let output = run(&files);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["rows"][0]["estimate"], &json["rows"][0]["n"]), (&2.0.into(), &5.into()));
    std::fs::write(&files[0], "arm,loss\nFF,1\n").unwrap();
    let error = String::from_utf8(run(&files).stderr).unwrap();
    assert!(error.contains("the files have different columns"), "{error}");
}
