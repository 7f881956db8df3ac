//! `backcut measure` as a user sees it.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

use std::path::Path;
use std::process::Output;

use assert_cmd::Command;

fn backcut(folder: &Path, line: &str) -> Output {
    let mut command = Command::cargo_bin("backcut").unwrap();
    command.current_dir(folder).args(line.split_whitespace()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a line that must succeed and fit 80 columns; returns stdout.
fn fine(folder: &Path, line: &str) -> String {
    let output = backcut(folder, line);
    assert!(output.status.success(), "{line}\n{}", text(&output.stderr));
    let shown = text(&output.stdout);
    if !line.contains("--json") {
        assert!(shown.lines().all(|l| l.chars().count() <= 80), "{shown}");
    }
    assert!(!shown.contains("NaN") && !shown.contains("inf"), "{shown}");
    shown
}

/// A run of six updates under F_SG with states kept after the first, third and fifth.
fn run(folder: &Path) {
    let line = "train quadrotor --noise 0.20 --cut F_SG --seed 5 --updates 6 --evaluate-every 6";
    fine(folder, &format!("{line} --keep 1,3,5 --out run"));
}

#[test]
fn every_measurement_prints_writes_and_defines() {
    let root = tempfile::tempdir().unwrap();
    let here = root.path();
    run(here);
    let state = "--checkpoint run/checkpoint-000003.safetensors";
    let shown = fine(here, &format!("measure gradient {state} --groups --out o"));
    for word in ["run@3", "F_SG", "KD vs KF", "block1.w_k", "cancellation", "resultant"] {
        assert!(shown.contains(word), "{word} in\n{shown}");
    }
    let shown = fine(here, &format!("measure update {state} --groups --out o"));
    for word in [
        "replay: bitwise (update 4",
        "applied update",
        "F_SG against FD",
        "rho =",
        "set apart as the part `redundant`",
    ] {
        assert!(shown.contains(word), "{word} in\n{shown}");
    }
    let shown = fine(here, &format!("measure chain {state} --out o"));
    assert!(shown.contains("growth over depth"), "{shown}");
    let shown = fine(here, &format!("measure cost {state} --rounds 1 --cuts FF,F_SG --out o"));
    assert!(shown.contains("workspace") && shown.contains("one thread;"), "{shown}");

    for (name, figures) in [
        ("gradient", vec!["gradient", "ages"]),
        ("update", vec!["update"]),
        ("chain", vec!["chain"]),
    ] {
        let csv = std::fs::read_to_string(here.join(format!("o/{name}.csv"))).unwrap();
        assert!(csv.starts_with("checkpoint,quantity,cut,part,value,note\nrun@3,"), "{csv}");
        let defined = fine(here, &format!("measure {name} --define"));
        for line in csv.lines().skip(1) {
            let quantity = line.split(',').nth(1).unwrap();
            assert!(defined.contains(quantity), "`{quantity}` is not defined by --define");
        }
        for figure in figures {
            let svg = std::fs::read_to_string(here.join(format!("o/{figure}.svg"))).unwrap();
            assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"), "{figure}");
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{figure}");
        }
    }
}

#[test]
fn several_states_give_medians_and_a_correlation() {
    let root = tempfile::tempdir().unwrap();
    let here = root.path();
    run(here);
    let files = [1, 3, 5].map(|u| format!("run/checkpoint-{u:06}.safetensors")).join(" ");
    let shown = fine(here, &format!("measure update --checkpoint {files}"));
    assert!(shown.contains("3 states, medians"), "{shown}");
    assert!(shown.contains("replay: bitwise at 3 of 3 states"), "{shown}");
    assert!(shown.contains("Spearman"), "{shown}");
    let json = fine(here, &format!("measure gradient --checkpoint {files} --windows 2 --json"));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["checkpoints"].as_array().unwrap().len(), 3);
    assert_eq!(json["checkpoints"][1]["checkpoint"], "run@3");
    assert!(!json["summary"].as_array().unwrap().is_empty());
    // Measured again, the same bits.
    let again = fine(here, &format!("measure gradient --checkpoint {files} --windows 2 --json"));
    assert_eq!(json, serde_json::from_str::<serde_json::Value>(&again).unwrap());
}

#[test]
fn a_log_that_tells_another_story_fails_the_replay() {
    let root = tempfile::tempdir().unwrap();
    let here = root.path();
    run(here);
    // The hash of update 4: record 3, its sixth number.
    let path = here.join("run/log.bin");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[16 + 3 * 56 + 40] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let line = "measure update --cuts FF --checkpoint run/checkpoint-000003.safetensors";
    let output = backcut(here, line);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("replay: FAILED"), "{}", text(&output.stdout));
    // Without a log there is nothing to compare, and that is said.
    std::fs::remove_file(&path).unwrap();
    assert!(fine(here, line).contains("replay: not checked"));
}

#[test]
fn wrong_input_is_answered_with_a_hint() {
    let root = tempfile::tempdir().unwrap();
    let here = root.path();
    run(here);
    let state = "--checkpoint run";
    for (line, word) in [
        (format!("measure gradient {state} --ages FF"), "age bins are not defined under FF"),
        (format!("measure gradient {state} --cuts FX"), "not a cut"),
        ("measure update --checkpoint nowhere.safetensors".to_owned(), "nowhere"),
        ("measure chain --checkpoint run/log.bin".to_owned(), "run/log.bin"),
    ] {
        let output = backcut(here, &line);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}\n{message}");
        assert!(message.contains(word) && message.contains("hint:"), "{line}\n{message}");
    }
    assert_eq!(backcut(here, "measure chain").status.code(), Some(2));
}

/// Names of tensors, arms and files are others' words, and a table is opened by a spreadsheet.
#[test]
fn names_of_a_file_of_gradients_do_nothing_in_a_table() {
    let root = tempfile::tempdir().unwrap();
    let here = root.path();
    let (part, arms) = ("w\u{1b}[2J", ["=cmd|", "b\u{202e}"]);
    let entry = |at: usize| {
        let places = [8 * at, 8 * at + 8];
        serde_json::json!({"dtype": "F32", "shape": [2], "data_offsets": places})
    };
    let header: serde_json::Map<_, _> = arms
        .iter()
        .enumerate()
        .map(|(at, arm)| (format!("gradient/{arm}/{part}"), entry(at)))
        .collect();
    let header = serde_json::to_vec(&header).unwrap();
    let numbers = [1.0_f32, 2.0, 3.0, 4.0].map(f32::to_le_bytes).concat();
    let file = [&(header.len() as u64).to_le_bytes(), header.as_slice(), &numbers].concat();
    std::fs::write(here.join("=a.safetensors"), file).unwrap();
    fine(here, "measure gradients =a.safetensors --out o");
    let csv = std::fs::read_to_string(here.join("o/gradients.csv")).unwrap();
    let is_harmless = |c: char| c == '\n' || !c.is_control() && c != '\u{202e}';
    assert!(csv.chars().all(is_harmless), "{csv:?}");
    for shown in ["w[U+001B][2J", "b[U+202E]", ",'=cmd|,", "\n'=a.safetensors,"] {
        assert!(csv.contains(shown), "{shown}: {csv}");
    }
    assert!(!csv.contains(",=") && !csv.contains("\n="), "{csv}");
}

/// The same numbers, once from a checkpoint and once from the file that `export` wrote: the same
/// text.
#[test]
fn gradients_from_a_file_agree_to_the_last_digit() {
    let root = tempfile::tempdir().unwrap();
    let here = root.path();
    run(here);
    let state = "run/checkpoint-000003.safetensors";
    fine(here, &format!("export --from {state} --cuts FF,FD,KF,KD --out a.safetensors"));
    fine(
        here,
        &format!("measure gradient --checkpoint {state} --cuts FF,FD,KF,KD --ages none --out o"),
    );
    // A file's gradients are compared as they are: no parameter is set apart.
    let line = format!("measure update --checkpoint {state} --cuts FF,FD,KF,KD --together --out o");
    assert!(!fine(here, &line).contains("redundant"));
    let shown = fine(here, "measure gradients a.safetensors --factorial FF,FD,KF,KD --out o");
    assert!(
        shown.contains("applied update against FF") && shown.contains("interaction"),
        "{shown}"
    );
    let rows = |name: &str| -> std::collections::BTreeMap<String, String> {
        let csv = std::fs::read_to_string(here.join(format!("o/{name}.csv"))).unwrap();
        let row = |line: &str| {
            let cells: Vec<&str> = line.split(',').collect();
            (cells[1..4].join(","), cells[4].to_owned())
        };
        csv.lines().skip(1).map(row).collect()
    };
    let mut known = rows("gradient");
    known.extend(rows("update"));
    let (mut same, defined) = (0, fine(here, "measure gradients --define"));
    for (name, value) in rows("gradients") {
        assert!(defined.contains(name.split(',').next().unwrap()), "{name} is not defined");
        let Some(there) = known.get(&name.replace(".effect,", ".memory-effect,")) else {
            panic!("{name} is not measured from a checkpoint");
        };
        assert_eq!(*there, value, "{name}");
        same += 1;
    }
    assert!(same > 500, "{same}");

    // Two files are one table, with medians.
    fine(
        here,
        "export --from run/checkpoint-000005.safetensors --cuts FF,FD,KF,KD --out b.safetensors",
    );
    fine(
        here,
        "measure gradients a.safetensors b.safetensors --group attention=w_[qkvo] --out two",
    );
    let csv = std::fs::read_to_string(here.join("two/gradients.csv")).unwrap();
    for start in
        ["a.safetensors,gradient.norm,FD,attention,", "b.safetensors,", "all,gradient.norm,"]
    {
        assert!(csv.lines().any(|line| line.starts_with(start)), "{start}");
    }
    let output = backcut(here, "measure gradients a.safetensors --reference XX");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("hint: its arms are FF, FD, KF, KD"));
    let output = backcut(here, &format!("measure gradients {state}"));
    assert!(text(&output.stderr).contains("not an export"), "{}", text(&output.stderr));
}
