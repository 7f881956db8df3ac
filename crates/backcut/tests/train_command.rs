//! `train`, `evaluate`, `inspect` and `export` as a user sees them.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

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

/// The Python that has numpy, safetensors and a framework, if there is one.
fn python() -> Option<(&'static str, &'static str)> {
    let imports = |framework: &str| {
        let line = format!("import numpy, safetensors, {framework}");
        Process::new("python3").args(["-c", &line]).stderr(Stdio::null()).status()
    };
    ["torch", "jax"]
        .into_iter()
        .find(|framework| imports(framework).is_ok_and(|status| status.success()))
        .map(|framework| ("python3", framework))
}

#[test]
fn another_framework_finds_the_same_gradients() {
    let Some((python, framework)) = python() else {
        eprintln!("skipped: python3 with numpy, safetensors and torch or jax is not installed");
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let here = root.path();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/check_gradient.py");
    for line in ["--noise 0.20 --seed 3", "--noise hidden --window 2 --seed 4"] {
        fine(here, &format!("export {line} --cuts FF,FD,F_SG --precision f64 --out e.safetensors"));
        let mut check = Process::new(python);
        let output =
            check.arg(&script).args(["e.safetensors", framework]).current_dir(here).output();
        let output = output.unwrap();
        let shown = text(&output.stdout) + &text(&output.stderr);
        assert!(output.status.success(), "{line}\n{shown}");
        println!("{shown}");
    }
}

#[test]
fn another_phase_has_its_own_optimizer_and_budget() {
    let root = tempfile::tempdir().unwrap();
    let here = root.path();
    let small = "--set data={\"ships\":6,\"days\":6,\"seed\":1} --set preset={\"width\":8,\"heads\":2,\"observed\":3,\"predicted\":4,\"key_points\":3}";
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
    let said = fine(here, "evaluate run/checkpoint.safetensors");
    assert!(said.contains("constant velocity: mean"), "{said}");
}
