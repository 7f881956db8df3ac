//! `train`, `evaluate`, `inspect` and `export` as a user sees them.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

use std::io::Write as _;
use std::path::Path;
use std::process::{Command as Process, Output, Stdio};
use std::time::{Duration, Instant};

use assert_cmd::Command;
use safetensors::SafeTensors;

fn backcut(folder: &Path, line: &str) -> Output {
    let mut command = Command::cargo_bin("backcut").unwrap();
    command.current_dir(folder).args(line.split_whitespace()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a line that must succeed; returns stdout.
fn fine(folder: &Path, line: &str) -> String {
    let output = backcut(folder, line);
    assert!(output.status.success(), "{line}\n{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn a_run_is_trained_evaluated_inspected_and_branched() {
    let root = tempfile::tempdir().unwrap();
    let here = root.path();
    let line =
        "train quadrotor --noise 0.20 --seed 7 --updates 12 --evaluate-every 5 --keep 8 --out a";
    let table = fine(here, line);
    assert!(table.lines().all(|l| l.chars().count() <= 80), "{table}");
    for update in ["5", "10", "12"] {
        assert!(table.lines().any(|l| l.trim_start().starts_with(update)), "{table}");
    }
    assert!(table.contains("the paper's FF after 1000 updates: 0.00599"), "{table}");

    let json = fine(here, "evaluate a/checkpoint.safetensors --json");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["errors"].as_array().unwrap().len(), 256);
    let last = table.lines().find(|l| l.trim_start().starts_with("12")).unwrap();
    let shown: f64 = last.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!((json["mean_error"].as_f64().unwrap() - shown).abs() < 1e-5);
    let masked = fine(here, "evaluate a/checkpoint.safetensors --window 1 --noise hidden");
    assert!(masked.contains("velocity hidden, window 1"), "{masked}");

    let shown = fine(here, "inspect a");
    assert!(
        shown.contains("update     12 of 12") && shown.contains("block1.w_k.weight"),
        "{shown}"
    );
    assert!(shown.contains("log of updates 1 to 12"), "{shown}");

    // Branch at 8 under the same cut: the run that never stopped.
    fine(here, "train quadrotor --from a/checkpoint-000008.safetensors --updates 12 --out b");
    let hash = |name: &str| {
        let json = fine(here, &format!("inspect {name}/checkpoint.safetensors --json"));
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        json["header"]["parameter_hash"].as_str().unwrap().to_owned()
    };
    assert_eq!(hash("a"), hash("b"));
    let other = "train quadrotor --from a/checkpoint-000008.safetensors --cut F_SG --stream b";
    fine(here, &format!("{other} --updates 12 --out c"));
    assert_ne!(hash("a"), hash("c"));
}

#[test]
fn ctrl_c_leaves_a_state_that_resumes_to_the_same_bytes() {
    let root = tempfile::tempdir().unwrap();
    let here = root.path();
    let line = "train quadrotor --noise hidden --cut SEG-8 --updates 400 --evaluate-every 150";
    fine(here, &format!("{line} --out whole"));
    let mut child = Process::new(assert_cmd::cargo::cargo_bin!("backcut"))
        .current_dir(here)
        .args(format!("{line} --out parts --save-every 10").split_whitespace())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let clock = Instant::now();
    let log = here.join("parts/log.bin");
    while std::fs::metadata(&log).map_or(0, |m| m.len()) < 16 + 56 * 20 {
        assert!(clock.elapsed() < Duration::from_mins(1), "the run does not move");
        std::thread::sleep(Duration::from_millis(2));
    }
    let id = child.id().to_string();
    assert!(Process::new("kill").args(["-INT", &id]).status().unwrap().success());
    let status = child.wait().unwrap();
    let mut message = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut message).unwrap();
    assert_eq!(status.code(), Some(130), "{message}");
    assert!(message.contains("hint: backcut train quadrotor --out parts --resume"), "{message}");

    let again = backcut(here, &format!("{line} --out parts"));
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("--resume"), "{}", text(&again.stderr));
    fine(here, "train quadrotor --out parts --resume");
    for file in ["checkpoint.safetensors", "log.bin", "panels.csv", "config.json"] {
        let read = |run: &str| std::fs::read(here.join(run).join(file)).unwrap();
        assert!(read("whole") == read("parts"), "{file} differs");
    }
}

#[test]
fn mistakes_end_with_code_2_and_a_hint() {
    let root = tempfile::tempdir().unwrap();
    let here = root.path();
    fine(here, "train quadrotor --updates 1 --out run");
    let whole = std::fs::read(here.join("run/checkpoint.safetensors")).unwrap();
    std::fs::write(here.join("short"), &whole[..whole.len() / 2]).unwrap();
    std::fs::write(here.join("rubbish"), [0x5a; 1000]).unwrap();
    for (line, want) in [
        ("train quadrotor --cut FX", "FX"),
        ("train quadrotor --noise loud", "--noise loud"),
        ("train quadrotor --noise=-0.1", "-0.1"),
        ("train quadrotor --window 0", "--window 0"),
        ("train quadrotor --stream c", "--stream c"),
        ("train quadrotor --updates 0", "0 updates"),
        ("train quadrotor --clip 0", "optimizer.clip"),
        ("train quadrotor --updates 1 --out run", "finished"),
        ("train quadrotor --updates 2 --out run --resume", "updates: 2 asked for, 1 there"),
        ("train quadrotor --from missing", "missing"),
        ("train quadrotor --from run/checkpoint.safetensors --updates 1", "starts after update 1"),
        ("evaluate short", "truncated"),
        ("evaluate rubbish", "not a checkpoint"),
        ("inspect rubbish", "not a checkpoint"),
        ("inspect missing", "missing"),
        ("export --cuts FF,SEG-0 --out x", "SEG-0"),
        ("export --out missing/x", "missing/x"),
    ] {
        let output = backcut(here, line);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}\n{message}");
        assert!(message.contains(want) && message.contains("hint: "), "{line}\n{message}");
        assert!(!message.contains("panicked"), "{message}");
    }
}

#[test]
fn an_export_holds_the_update_that_training_makes() {
    let root = tempfile::tempdir().unwrap();
    let here = root.path();
    fine(here, "train quadrotor --noise 0.1 --seed 4 --updates 3 --keep 2 --out run");
    let cuts = "FF,FD,F_SG,K_SG,SEG-4";
    let from = "--from run/checkpoint-000002.safetensors";
    fine(here, &format!("export {from} --cuts {cuts} --out e.safetensors"));
    let bytes = std::fs::read(here.join("e.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    for (name, shape) in [
        ("input/initial_state", vec![8, 12]),
        ("input/reference_position", vec![8, 43, 3]),
        ("input/reference_velocity", vec![8, 43, 3]),
        ("input/noise", vec![8, 32, 3]),
        ("output/token", vec![32, 8, 105]),
        ("output/state", vec![32, 8, 12]),
        ("output/action", vec![32, 8, 4]),
        ("output/row_loss", vec![8]),
        ("gradient/SEG-4/block0.w_k.weight", vec![64, 64]),
        ("update/K_SG/embedding.weight", vec![105, 64]),
    ] {
        assert_eq!(file.tensor(name).unwrap().shape(), shape, "{name}");
    }
    let end = std::fs::read(here.join("run/checkpoint.safetensors")).unwrap();
    let end = SafeTensors::deserialize(&end).unwrap();
    let read = |file: &SafeTensors, name: &str| -> Vec<f32> {
        let view = file.tensor(name).unwrap();
        let (words, _) = view.data().as_chunks::<4>();
        words.iter().map(|w| f32::from_le_bytes(*w)).collect()
    };
    for name in ["embedding.weight", "block0.w_v.bias", "head.bias", "position"] {
        let (before, after) = (format!("param/{name}"), format!("param/{name}"));
        let (before, after) = (read(&file, &before), read(&end, &after));
        let made: Vec<u32> = after.iter().zip(&before).map(|(a, b)| (a - b).to_bits()).collect();
        let said = read(&file, &format!("update/FF/{name}"));
        assert_eq!(made, said.iter().map(|u| u.to_bits()).collect::<Vec<_>>(), "{name}");
    }
    let shown = fine(here, "inspect e.safetensors");
    assert!(shown.contains("gradient/F_SG/head.bias"), "{shown}");
    fine(here, &format!("export {from} --cuts FF --precision f64 --out d.safetensors"));
}

const SMALL_VESSEL: &str = "--system vessel --set data={\"ships\":6,\"days\":6,\"seed\":1} --set \
                            preset={\"width\":8,\"heads\":2,\"observed\":3,\"predicted\":6,\"key_points\":3}";

/// What an export says about itself.
fn header(export: &[u8]) -> serde_json::Value {
    let (_, about) = SafeTensors::read_metadata(export).unwrap();
    serde_json::from_str(&about.metadata().as_ref().unwrap()["backcut"]).unwrap()
}

#[test]
fn a_vessel_is_exported_with_its_scales_and_what_is_fed() {
    let root = tempfile::tempdir().unwrap();
    let here = root.path();
    for (phase, prefix, fed, width, steps) in
        [("rollout", 3, "action", 2, 3), ("pretrain", 1, "state", 4, 9)]
    {
        let line = format!("export {SMALL_VESSEL} --phase {phase} --cuts FF,K4_SG --precision f64");
        fine(here, &format!("{line} --out v.safetensors"));
        let bytes = std::fs::read(here.join("v.safetensors")).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        for (name, shape) in [
            ("input/positions".to_owned(), vec![4, 10, 2]),
            ("input/velocities".to_owned(), vec![4, 9, 2]),
            ("input/route".to_owned(), vec![4, 3, 2]),
            ("input/noise".to_owned(), vec![4, 9, 2]),
            (format!("fed/{fed}"), vec![steps, 4, width]),
            ("gradient/K4_SG/tokens.weight".to_owned(), vec![5, 8]),
        ] {
            assert_eq!(file.tensor(&name).unwrap().shape(), shape, "{phase}: {name}");
        }
        let numbers = |name: &str| -> Vec<f64> {
            let data = file.tensor(name).unwrap().data().to_vec();
            data.as_chunks::<8>().0.iter().map(|w| f64::from_le_bytes(*w)).collect()
        };
        // What is fed is the velocity of a step, or that of the step before it.
        let (given, velocities) = (numbers(&format!("fed/{fed}")), numbers("input/velocities"));
        for (row, t) in (0..4).flat_map(|row| (0..steps).map(move |t| (row, t))) {
            let at = if fed == "action" { t } else { t.saturating_sub(1) };
            let end = (t * 4 + row + 1) * width;
            assert_eq!(given[end - 2..end], velocities[(row * 9 + at) * 2..][..2], "{phase}");
        }
        let about = header(&bytes);
        assert_eq!(about["forward"]["prefix"], prefix, "{phase}");
        assert_eq!(about["forward"]["fed"][fed], serde_json::json!([0, steps]));
        let constants = &about["constants"];
        assert_eq!(constants["sizes"]["heads"], 2);
        let km_per_knot = constants["km_per_knot"].as_f64().unwrap();
        assert!((km_per_knot - 1.852 * 5.0 / 60.0).abs() < 1e-15);
        let scale = |name: &str| constants[name].as_f64().unwrap();
        assert!(scale("velocity_rms") > scale("change_rms") && scale("change_rms") > 0.0);
    }
}

/// Whether `python3` has numpy, safetensors and a framework; says so if not.
fn has_python(framework: &str) -> bool {
    let line = format!("import numpy, safetensors, {framework}");
    let status = Process::new("python3").args(["-c", &line]).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Written past the capture of a test's output, so that it is seen.
fn skipped(frameworks: &str) {
    let missing = format!("python3 with numpy, safetensors and {frameworks} is not installed");
    let _ = writeln!(std::io::stderr(), "skipped a comparison of gradients: {missing}");
}

/// Exports a batch and has the example compare every cut.
fn agrees(here: &Path, framework: &str, line: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/check_gradient.py");
    fine(here, &format!("export {line} --precision f64 --out e.safetensors"));
    let mut check = Process::new("python3");
    let output = check.arg(&script).args(["e.safetensors", framework]).current_dir(here).output();
    let output = output.unwrap();
    let shown = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{line}\n{shown}");
    println!("{line}\n{shown}");
}

#[test]
fn another_framework_finds_the_same_gradients() {
    let Some(framework) = ["torch", "jax"].into_iter().find(|name| has_python(name)) else {
        return skipped("torch or jax");
    };
    let root = tempfile::tempdir().unwrap();
    agrees(root.path(), framework, "--noise 0.20 --seed 3 --cuts FF,FD,F_SG,F_A0.5,K4_SG");
    agrees(root.path(), framework, "--noise hidden --window 2 --seed 4 --cuts FF,FD,F_SG");
}

#[test]
fn jax_finds_the_same_gradients_of_a_vessel() {
    if !has_python("jax") {
        return skipped("jax");
    }
    let root = tempfile::tempdir().unwrap();
    for line in [
        "--set noise=0.3 --cuts FF,FD,SEG-4,F_A0.5,K4_SG",
        "--set output=velocity --set noise=0.3 --window 4 --cuts K2_SEG-4",
        "--phase pretrain --set noise=0.3 --cuts F_SG",
        "--phase pretrain --set output=velocity --cuts KF",
    ] {
        agrees(root.path(), "jax", &format!("{SMALL_VESSEL} {line}"));
    }
}

#[test]
fn another_phase_has_its_own_optimizer_and_budget() {
    let root = tempfile::tempdir().unwrap();
    let here = root.path();
    let small = "--set data={\"ships\":6,\"days\":6,\"seed\":1} --set \
                 preset={\"width\":8,\"heads\":2,\"observed\":3,\"predicted\":4,\"key_points\":3}";
    fine(here, &format!("train vessel --phase pretrain {small} --updates 3 --out pre"));
    let config = |name: &str| -> serde_json::Value {
        let text = std::fs::read(here.join(name).join("config.json")).unwrap();
        serde_json::from_slice(&text).unwrap()
    };
    let pre = "--from pre/checkpoint.safetensors";
    fine(here, &format!("train vessel {pre} --phase rollout --cut F_SG --out run"));
    assert_eq!(config("pre")["optimizer"]["adamw"]["rate"], 1e-3);
    assert_eq!(config("run")["optimizer"]["adamw"]["rate"], 2e-6);
    assert_eq!(config("run")["updates"], 403);
    // The same phase goes on with what it has.
    fine(here, &format!("train vessel {pre} --cut FD --updates 5 --out more"));
    assert_eq!(config("more")["optimizer"], config("pre")["optimizer"]);
    for (phase, rate, step) in [("pretrain", 5e-6, 3), ("rollout", 2e-6, 0)] {
        let line = format!("export {pre} --phase {phase} --cuts FF --out e.safetensors");
        fine(here, &line);
        let about = header(&std::fs::read(here.join("e.safetensors")).unwrap());
        assert_eq!(about["rate"], rate, "{phase}");
        assert_eq!(about["adam_step"], step, "{phase}");
    }
    let said = fine(here, "evaluate run/checkpoint.safetensors");
    assert!(said.contains("constant velocity: mean"), "{said}");
}
