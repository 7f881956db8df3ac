//! `measure memory`, `measure probe` and `measure analytic` as a user sees them.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;

fn backcut(folder: &Path, line: &str) -> Output {
    let mut command = Command::cargo_bin("backcut").unwrap();
    command.current_dir(folder).args(line.split_whitespace()).output().unwrap()
}

fn fine(folder: &Path, line: &str) -> String {
    let output = backcut(folder, line);
    assert!(output.status.success(), "{line}\n{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains("NaN"), "{text}");
    text
}

fn narrow(text: &str) {
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
}

/// Exit code and stderr of a line that the user got wrong.
fn refused(folder: &Path, line: &str) -> String {
    let output = backcut(folder, line);
    assert_eq!(output.status.code(), Some(2), "{line}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn memory_and_probes_of_checkpoints() {
    let root = tempfile::tempdir().unwrap();
    let here = root.path();
    for (cut, out) in [("FF", "a"), ("F_SG", "b")] {
        let train = "train quadrotor --noise 0.20 --seed 7 --updates 6 --evaluate-every 6";
        fine(here, &format!("{train} --cut {cut} --out {out}"));
    }
    let one = fine(here, "measure memory --checkpoint a --windows 1,2,32 --out tables");
    narrow(&one);
    for word in ["the current token alone", "the last 32 tokens", "v_I1", "block1", "norm"] {
        assert!(one.contains(word), "{word}\n{one}");
    }
    let all = one.lines().find(|l| l.contains("the last 32 tokens")).unwrap();
    assert!(all.ends_with("+0.0%"), "a window of all steps hides nothing: {all}");
    let csv = std::fs::read_to_string(here.join("tables/memory.csv")).unwrap();
    assert!(csv.starts_with("checkpoint,quantity,cut,part,value,note\n"), "{csv}");
    assert!(csv.lines().any(|l| l.starts_with("a@6,masking.relative,,w=32,0,")), "{csv}");
    let donors = std::fs::read_to_string(here.join("tables/donors.csv")).unwrap();
    assert_eq!(donors.lines().count(), 257);

    let evaluated: Value =
        serde_json::from_str(&fine(here, "evaluate a/checkpoint.safetensors --json")).unwrap();
    let json: Value =
        serde_json::from_str(&fine(here, "measure memory --checkpoint a --json")).unwrap();
    let findings = json["checkpoints"][0]["findings"].as_array().unwrap();
    let base = findings.iter().find(|f| f["quantity"] == "panel.error").unwrap();
    assert_eq!(base["value"], evaluated["mean_error"], "the same evaluation, the same bits");

    let several = fine(here, "measure memory --checkpoint a b");
    narrow(&several);
    assert!(several.contains("a@6") && several.contains("F_SG"), "{several}");

    let probes = fine(here, "measure probe --checkpoint a b --reference a --out tables");
    narrow(&probes);
    assert!(probes.contains("on its own inputs") && probes.contains("reference's"), "{probes}");
    let csv = std::fs::read_to_string(here.join("tables/probe.csv")).unwrap();
    let value = |state: &str, quantity: &str| {
        let start = format!("{state},{quantity},,token,");
        let line = csv.lines().find_map(|l| l.strip_prefix(&start).map(str::to_owned)).unwrap();
        line.split(',').next().unwrap().parse::<f64>().unwrap()
    };
    assert_eq!(value("a@6", "probe.r2"), value("a@6", "probe.r2_common"));
    assert_eq!(value("b@6", "probe.r2_common"), value("a@6", "probe.r2"), "one token for all");

    let error = refused(here, "measure memory --checkpoint a --windows 0");
    assert!(error.contains("a@6") && error.contains("hint:"), "{error}");
    let error = refused(here, "measure probe --checkpoint a --target wind");
    assert!(error.contains("`wind`") && error.contains("true_velocity"), "{error}");
    let error = refused(here, "measure memory --checkpoint nothing.safetensors");
    assert!(error.contains("nothing.safetensors"), "{error}");
}

#[test]
fn the_analytic_study_runs_whole() {
    let root = tempfile::tempdir().unwrap();
    let text = fine(root.path(), "measure analytic --out tables");
    narrow(&text);
    assert!(text.contains("= 128 cases") && text.contains("16,384 label updates"), "{text}");
    assert!(text.contains("largest at s / q = 2.0000"), "{text}");
    let rows = std::fs::read_to_string(root.path().join("tables/analytic.csv")).unwrap();
    assert_eq!(rows.lines().count(), 1 + 128 * 4);
    let agreement =
        std::fs::read_to_string(root.path().join("tables/analytic_agreement.csv")).unwrap();
    assert!(agreement.contains("\"fixed: FF, FD, KF, KD\""), "{agreement}");
}

#[test]
fn definitions_need_no_checkpoint() {
    let root = tempfile::tempdir().unwrap();
    for (command, quantity) in
        [("memory", "donor.cost"), ("probe", "probe.r2"), ("analytic", "S_U")]
    {
        let text = fine(root.path(), &format!("measure {command} --define"));
        narrow(&text);
        assert!(text.contains(quantity), "{text}");
    }
}
