//! A study of a program, as its user types it: planned, frozen, run, killed, collected, verified,
//! replayed.

#![cfg(unix)]
#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use std::fs;
use std::process::Command;
use std::time::Duration;

use common::study::StudyFolder;

const STUDY: &str = r#"
name = "own"
title = "A program"
[system]
command = ["sh", "unit.sh", "two words"]
timeout = 60
error = "loss"
[sources]
first = 1
count = 5
[arms]
full = { settings = { detach = 0 } }
every-8 = { settings = { detach = 8 } }
[[families]]
name = "cost"
asks = "confirmatory"
contrasts = ["cost = [every-8@default] - [full@default] > 0"]
"#;

const SCRIPT: &str = r#"
of() { sed -n "s/.*\"$1\": \"\{0,1\}\([^\",]*\).*/\1/p" "$BACKCUT_UNIT"; }
echo "{\"value\": $(of detach).$(of seed)}" > "$(of result)"
"#;

fn desk(script: &str) -> StudyFolder {
    let desk = StudyFolder::new();
    desk.write("own.toml", STUDY);
    desk.write("unit.sh", script);
    desk
}

fn read(desk: &StudyFolder, name: &str) -> String {
    fs::read_to_string(desk.path(name)).unwrap()
}

/// A process that nobody has waited for yet has ended all the same.
fn lives(process: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.trim())).unwrap_or_default();
    !stat.is_empty() && !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z')
}

#[test]
fn a_program_gets_all_that_a_study_gets() {
    let desk = desk(SCRIPT);
    let plan = desk.fine("study plan own.toml --out r");
    assert!(plan.contains("command   sh unit.sh 'two words'"), "{plan}");
    assert!(plan.contains("timeout   60 s") && plan.contains("unit.sh"), "{plan}");
    assert!(plan.contains("every-8@default: {\"detach\":8}"), "{plan}");
    assert!(!desk.path("r").exists(), "a plan runs nothing");
    let json = desk.fine("study plan own.toml --out r --json");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["programs"][0]["command"][2], "two words");
    desk.fine("study freeze own.toml --out r");
    desk.fine("study run own.toml --out r --jobs 2");
    let collected = desk.fine("study collect own.toml --out r");
    assert!(collected.contains("confirmatory"), "{collected}");
    let verified = desk.fine("study verify r");
    assert!(verified.contains("10 records") && verified.contains("sound"), "{verified}");
    let replayed = desk.fine("study replay r --sample 3");
    assert!(replayed.contains("3 of 3 replayed units came out the same"), "{replayed}");
    desk.fine("report page r/tables/own --out page.html");
    assert!(read(&desk, "page.html").contains("loss"));
    // The program is part of what was frozen.
    desk.write("unit.sh", &format!("{SCRIPT}\n# edited"));
    let edited = desk.backcut("study run own.toml --out r");
    assert_eq!(edited.code, 2);
    assert!(edited.err.contains("differs from what was frozen here"), "{}", edited.err);
    let replayed = desk.backcut("study replay r --sample 1");
    assert_eq!(replayed.code, 2);
    assert!(replayed.err.contains("unit.sh: it has changed"), "{}", replayed.err);
}

/// `kill -9` of backcut leaves the program running; the next run ends it and goes on from its
/// checkpoint.
#[test]
fn a_program_that_outlives_backcut_is_ended_by_the_next_run() {
    let script = format!(
        r#"
folder=$(sed -n 's/.*"checkpoint": "\([^"]*\).*/\1/p' "$BACKCUT_UNIT")
if [ ! -e "$folder/half" ]; then
    echo $$ > pid
    touch "$folder/half"
    exec sleep 1000
fi
echo again >> resumed
{SCRIPT}"#
    );
    let desk = desk(&script);
    let mut first = desk.start("study run own.toml --out r --jobs 1");
    let half = || {
        let units = fs::read_dir(desk.path("r/work")).ok()?;
        units.flatten().find(|unit| unit.path().join("checkpoint/half").exists())
    };
    while half().is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let process = || fs::read(half().unwrap().path().join("process")).unwrap_or_default();
    while process().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    first.kill().unwrap();
    first.wait().unwrap();
    let pid = read(&desk, "pid");
    assert!(lives(&pid), "it runs on");
    // Every unit stops half way once: with a checkpoint of its own it would stop there for ever.
    desk.write("unit.sh", &script.replace("exec sleep 1000", "exit 7"));
    let other = desk.backcut("study run own.toml --out r");
    assert_eq!(other.code, 2, "the script is part of the study: {}", other.err);
    desk.write("unit.sh", &script);
    let unit = half().unwrap().file_name();
    let mut second = desk.start("study run own.toml --out r --jobs 1");
    let name = unit.to_str().unwrap();
    let record = desk.path(&format!("r/units/{}/{name}.done.json", &name[..2]));
    while !record.exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!lives(&pid), "ended before the unit went on");
    assert_eq!(read(&desk, "resumed"), "again\n");
    // Told to stop, it ends its own program too.
    while read(&desk, "pid") == pid {
        std::thread::sleep(Duration::from_millis(5));
    }
    let later = read(&desk, "pid");
    Command::new("kill").arg(second.id().to_string()).status().unwrap();
    second.wait().unwrap();
    assert!(!lives(&later), "ended with backcut");
}
