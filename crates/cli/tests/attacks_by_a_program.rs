//! Ways to a better status by the program that computes it: one that was edited, ignores its seed,
//! or is run until it suits. What cannot be refused is said in the row.

#![cfg(unix)]
#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use std::fs;

use common::study::StudyFolder;

fn study(system: &str) -> String {
    format!(
        r#"
name = "own"
title = "A program"
[system]
{system}
[sources]
draw = 6
[arms]
full = {{ settings = {{ detach = 0 }} }}
every-8 = {{ settings = {{ detach = 8 }} }}
[[families]]
name = "cost"
asks = "confirmatory"
contrasts = ["cost = [every-8@default] - [full@default] > 0"]
"#
    )
}

/// Answers with what the rest of the line makes of `$detach` and `$seed`.
fn script(value: &str) -> String {
    format!(
        r#"
of() {{ sed -n "s/.*\"$1\": \"\{{0,1\}}\([^\",]*\).*/\1/p" "$BACKCUT_UNIT"; }}
detach=$(of detach); seed=$(of seed)
echo "{{\"value\": {value}}}" > "$(of result)"
"#
    )
}

fn desk(system: &str, value: &str) -> StudyFolder {
    let desk = StudyFolder::new();
    desk.write("own.toml", &study(system)).write("unit.sh", &script(value));
    desk.fine("study freeze own.toml --out r");
    desk.fine("study run own.toml --out r --jobs 2");
    desk
}

#[track_caller]
fn why(desk: &StudyFolder) -> String {
    let seen = desk.backcut("study collect own.toml --out r");
    assert!([0, 1].contains(&seen.code), "{}{}", seen.out, seen.err);
    desk.rows("r", "own", "analysis.csv")[0].get("why").to_owned()
}

const FILE: &str = "command = [\"sh\", \"unit.sh\"]";

#[test]
fn a_row_says_what_a_program_rests_on() {
    let why = why(&desk(FILE, "$detach.$seed"));
    assert!(why.ends_with("; of a program: 1 file declared, replay bit by bit"), "{why}");
    let absolute = |desk: &StudyFolder| {
        format!(
            "command = [\"sh\", \"{}\"]\nreplay = \"impossible\"",
            desk.path("unit.sh").display()
        )
    };
    let other = StudyFolder::new();
    other.write("own.toml", &study(&absolute(&other))).write("unit.sh", &script("$detach.$seed"));
    other.fine("study freeze own.toml --out r");
    other.fine("study run own.toml --out r");
    let why = self::why(&other);
    let rests = "of a program: no file declared, so a changed one goes unnoticed, replay declared";
    assert!(why.contains(&format!("{rests} impossible")), "{why}");
    assert!(other.fine("study verify r").contains(": sound"));
    assert!(other.fine("study verify r/tables").contains(": sound"));
    // A replay of nothing is no replay.
    let said = other.ends(1, "study replay r --sample 3");
    assert!(said.contains("3 were declared impossible to replay"), "{said}");
}

#[test]
fn a_program_that_reduces_its_seed_is_noticed() {
    let desk = desk(FILE, "$detach.$((seed % 2))");
    let why = why(&desk);
    assert!(why.contains("; different sources have equal results: every-8@default has "), "{why}");
    assert!(why.contains(" in 6, full@default has "), "{why}");
    for folder in ["r", "r/tables"] {
        assert!(desk.fine(&format!("study verify {folder}")).contains(": sound"));
    }
}

#[test]
fn units_that_were_deleted_and_run_again_leave_a_trace() {
    let desk = desk(FILE, "$detach.$seed");
    fs::remove_dir_all(desk.path("r/units")).unwrap();
    desk.fine("study run own.toml --out r --jobs 2");
    let why = why(&desk);
    assert!(why.ends_with("; 12 of its 12 units ran more than once"), "{why}");
    let said = desk.fine("study verify r");
    assert!(said.contains(": sound"), "{said}");
    assert!(desk.fine("study verify r/tables").contains(": sound"));
    // The row does not lose its words where the count is taken away: the tables are held to it.
    fs::remove_dir_all(desk.path("r/runs")).unwrap();
    let said = desk.ends(1, "study verify r");
    assert!(said.contains("runs of units that ran more than once is"), "{said}");
}

#[test]
fn a_script_is_known_by_its_content_and_not_by_its_length_and_time() {
    let desk = StudyFolder::new();
    let other = script("$detach.1$seed").replace("detach=", "other=").replace("other=", "detach=");
    let swap = format!("{}\ncp -p other.sh unit.sh\n", script("$detach.2$seed"));
    let length = swap.len();
    desk.write("own.toml", &study(&format!("{FILE}\ntimeout = 60"))).write("unit.sh", &swap);
    desk.write("other.sh", &format!("{other:<length$}"));
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
    for name in ["unit.sh", "other.sh"] {
        let file = fs::File::options().write(true).open(desk.path(name)).unwrap();
        file.set_modified(old).unwrap();
        assert_eq!(file.metadata().unwrap().len(), length as u64);
    }
    desk.fine("study freeze own.toml --out r");
    let said = desk.ends(2, "study run own.toml --out r --jobs 1");
    assert!(said.contains("unit.sh: it has changed"), "{said}");
    assert_eq!(common::study::ending(&desk.path("r/units"), ".done.json").len(), 0);
}

/// A program of somebody's own beside the binary, whose code an edit changes between two runs.
fn own(desk: &StudyFolder, edit: &str, line: &str) -> (Option<i32>, String) {
    let mut command = std::process::Command::new(common::example("broken-systems"));
    command.current_dir(desk.path("")).args(line.split_whitespace()).env("BROKEN_EDIT", edit);
    let seen = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (seen.status.code(), text(seen.stdout) + &text(seen.stderr))
}

const OWN: &str = r#"
name = "s"
title = "A system of one's own"
[system]
name = "broken"
[sources]
first = 1
count = 2
[arms.FF]
cut = "FF"
updates = 4
[arms.F_SG]
cut = "F_SG"
updates = 4
"#;

#[test]
fn results_of_a_changed_system_are_not_taken_for_its_own() {
    let desk = StudyFolder::new();
    desk.write("s.toml", OWN);
    let fine = |line: &str| {
        let (code, said) = own(&desk, "", line);
        assert_eq!(code, Some(0), "{line}\n{said}");
        said
    };
    fine("study freeze s.toml --out out");
    assert!(fine("study run s.toml --out out").contains("4 computed"));
    assert!(fine("study run s.toml --out out").contains("4 were there, 0 computed"));
    fine("train broken --cut FF --updates 4 --out run");
    fine("measure gradient --checkpoint run --cuts FF,F_SG");
    for (edit, part) in
        [("step", "a number in its step"), ("sampler", "the batches that its sampler draws")]
    {
        for line in [
            "measure gradient --checkpoint run --cuts FF,F_SG",
            "evaluate run",
            "train broken --out run --resume",
            "train broken --from run --updates 8 --out branch",
            "study replay out",
        ] {
            let (code, said) = own(&desk, edit, line);
            assert_eq!(code, Some(2), "{line}\n{said}");
            assert!(
                said.contains("broken does something else now than it did then"),
                "{line}\n{said}"
            );
            assert!(said.contains(part) && said.contains("hint:"), "{line}\n{said}");
        }
        for line in ["study run s.toml --out out", "study collect s.toml --out out"] {
            let (code, said) = own(&desk, edit, line);
            assert_eq!(code, Some(2), "{line}\n{said}");
            assert!(said.contains("differs from what was frozen here"), "{said}");
            assert!(said.contains("its system's code does something else since"), "{said}");
        }
        assert!(!desk.path("branch").exists());
    }
    // Under another name its units are others, and what was seen of the seeds is known.
    let other = OWN.replace("name = \"s\"", "name = \"t\"")
        + "[[families]]\nname = \"c\"\nasks = \"prespecified\"\n"
        + "contrasts = [\"R = [F_SG@default] - [FF@default] > 0\"]\n";
    desk.write("t.toml", &other);
    let (code, said) = own(&desk, "step", "study freeze t.toml --out out");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("all of its 4 results were known by then"), "{said}");
    desk.write("t.toml", &other.replace("prespecified", "post hoc"));
    let (code, said) = own(&desk, "step", "study run t.toml --out out");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("0 were there, 4 computed"), "{said}");
}

#[test]
fn what_cannot_learn_or_hear_is_refused_by_train_and_study_alike() {
    for (fault, words) in [
        ("loss", "the step has no loss, so nothing is learned"),
        ("deaf", "the sampler never writes the input `target`"),
    ] {
        let desk = StudyFolder::new();
        let text = OWN.replace(
            "name = \"broken\"",
            &format!("name = \"broken\"\nsettings.fault = \"{fault}\""),
        );
        desk.write("s.toml", &text);
        let train = format!("train broken --set fault={fault} --updates 4 --out run");
        for line in [&*train, "study plan s.toml", "study run s.toml --out out"] {
            let (code, said) = own(&desk, "", line);
            assert_eq!(code, Some(2), "{line}\n{said}");
            assert!(said.contains(words) && said.contains("hint:"), "{line}\n{said}");
        }
        assert!(!desk.path("run").exists() && !desk.path("out").exists());
    }
}
