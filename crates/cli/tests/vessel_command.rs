//! What a user of `backcut vessel` sees.

#![expect(clippy::unwrap_used, reason = "helpers of a test may fail it")]

mod common;

use common::backcut;

#[test]
fn a_fleet_goes_through_a_file_into_the_same_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (direct, csv, imported) = (path("direct"), path("fleet.csv"), path("imported"));
    let fleet = ["vessel", "fleet", "--ships", "8", "--days", "5"];
    let made = backcut(&[&fleet[..], &["--out", &direct, "--csv", &csv]].concat());
    assert_eq!((made.code, made.err.as_str()), (0, ""));
    let read = backcut(&["vessel", "import", &csv, "--out", &imported]);
    // The same funnel and the same hash: there is one way from reports to tracks.
    assert_eq!((read.code, read.err.as_str(), &read.out), (0, "", &made.out));
    for line in
        ["rows      read ", "- too fast", "windows   of 16 + 288 steps", "reserved: 2 vessels: "]
    {
        assert!(read.out.contains(line), "{line}: {}", read.out);
    }
    assert!(read.out.lines().all(|line| line.chars().count() <= 80), "{}", read.out);

    let shown = backcut(&["vessel", "show", &imported, "--by-vessel"]);
    assert_eq!((shown.code, shown.err.as_str()), (0, ""));
    assert!(
        shown.out.starts_with(&read.out) && shown.out.contains("evaluation: "),
        "{}",
        shown.out
    );

    let svg = path("moves.svg");
    let compared = backcut(&[&fleet[..], &["--compare", &imported, "--svg", &svg]].concat());
    assert_eq!((compared.code, compared.err.as_str()), (0, ""));
    // A fleet is not apart from itself.
    assert_eq!(compared.out.matches("apart 0.000").count(), 4, "{}", compared.out);
    assert!(std::fs::read_to_string(svg).unwrap().starts_with("<svg"));

    let again = backcut(&["vessel", "import", &csv, "--out", &imported]);
    assert_eq!(again.code, 2);
    assert!(
        again.err.contains("holds a store already\nhint: name another folder"),
        "{}",
        again.err
    );
}

#[test]
fn what_is_wrong_is_said_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (bad, out) = (path("bad.csv"), path("out"));
    std::fs::write(&bad, "name,place\nA,B\n").unwrap();
    for (args, words) in [
        (vec!["vessel", "import", &bad, "--out", &out], "no header of a known format"),
        (vec!["vessel", "import", &bad, "--out", &out, "--gap", "0"], "gap_minutes = 0"),
        (vec!["vessel", "import", "/dev/null", "--out", &out], "is not a regular file"),
        (vec!["vessel", "fleet"], "nothing is asked of the fleet"),
        (vec!["vessel", "fleet", "--ships", "2", "--out", &out], "would be reserved"),
        (vec!["vessel", "show", &out], "store.json"),
    ] {
        let seen = backcut(&args);
        assert_eq!((seen.code, seen.out.as_str()), (2, ""), "{args:?}");
        assert!(seen.err.contains(words) && seen.err.contains("\nhint: "), "{}", seen.err);
    }
}

const FOUR_GRAPHS: &str = r#"
name = "four"
title = "Four graphs of a tiny vessel"

[system]
name = "vessel"

[system.settings]
preset = { width = 8, heads = 2, observed = 3, predicted = 4, key_points = 3 }
data = { ships = 6, days = 6, seed = 1 }
output = "velocity"

[sources]
first = 1
count = 4

[arms.pretrained]
cut = "FF"
updates = 4
shared = { seed = 9 }
settings = { phase = "pretrain" }
"#;

/// Trained from one state, mapped, scored, and compared with what the scores said.
#[test]
fn four_graphs_are_trained_mapped_and_ordered() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let mut text = FOUR_GRAPHS.to_owned();
    for cut in ["FF", "FD", "KF", "KD"] {
        text += &format!(
            "\n[arms.{cut}]\nfrom = \"pretrained\"\ncut = \"{cut}\"\nupdates = 8\nkeep = [5]\n\
             settings = {{ phase = \"rollout\" }}\n"
        );
    }
    text += "\n[[measurements]]\nkind = \"scores\"\ncuts = [\"FF\", \"FD\", \"KF\", \"KD\"]\n\
             of = [\"FF\"]\nat = [5]\n";
    let (file, out) = (path("four.toml"), path("results"));
    std::fs::write(&file, text).unwrap();
    let fine = |args: &[&str]| {
        let done = backcut(args);
        assert_eq!(done.code, 0, "{args:?}\n{}", done.err);
        done.out
    };
    fine(&["study", "run", &file, "--out", &out]);
    fine(&["study", "collect", &file, "--out", &out]);
    let tables = path("results/tables/four");
    let ordered = fine(&["measure", "orderings", &tables]);
    assert!(ordered.contains("4 sources, 6 pairs of graphs each"), "{ordered}");
    for order in ["S_G", "S_U", "fixed: FF, FD, KF, KD", "best fixed", "labels of the next"] {
        assert!(ordered.contains(order), "{order}: {ordered}");
    }
    assert!(ordered.lines().all(|line| line.chars().count() <= 80), "{ordered}");
    let wrong = backcut(&["measure", "orderings", &tables, "--anchor", "KD"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("no scores at states of the arm `KD`"), "{}", wrong.err);
    let wrong = backcut(&["measure", "orderings", &tables, "--at", "7"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("has no error there"), "{}", wrong.err);

    labels_lie_in_the_tables_of_the_study_that_is_used(&path("results/tables"), &ordered);

    let checkpoints: Vec<String> = walk(folder.path(), "checkpoint-000005.safetensors");
    assert_eq!(checkpoints.len(), 16);
    let svg = path("map.svg");
    let arguments = ["vessel", "map", &checkpoints[0], &checkpoints[1], "--windows", "3"];
    let mapped = fine(&[&arguments[..], &["--svg", &svg]].concat());
    assert!(mapped.contains("constant") && mapped.contains("@5"), "{mapped}");
    let svg = std::fs::read_to_string(svg).unwrap();
    let marks = svg.matches("data-v=\"last observed position").count();
    assert_eq!(marks, 3, "one mark a window");
}

/// Scores of a study that uses FF alone: the same agreements, with labels from the other study's
/// tables.
fn labels_lie_in_the_tables_of_the_study_that_is_used(tables: &str, whole: &str) {
    let (four, alone) = (format!("{tables}/four"), format!("{tables}/alone"));
    std::fs::create_dir(&alone).unwrap();
    for name in ["observations", "units"] {
        let text = std::fs::read_to_string(format!("{four}/{name}.csv")).unwrap();
        let (header, rows) = text.split_once('\n').unwrap();
        let columns: Vec<&str> = header.split(',').collect();
        let at = |wanted: &str| columns.iter().position(|name| *name == wanted);
        let mut kept = format!("{header}\n");
        for row in rows.lines() {
            let mut cells: Vec<&str> = row.split(',').collect();
            if cells[at("arm").unwrap()] == "FF" {
                if let Some(place) = at("origin") {
                    cells[place] = "four";
                }
                kept += &(cells.join(",") + "\n");
            }
        }
        std::fs::write(format!("{alone}/{name}.csv"), kept).unwrap();
    }
    let out = format!("{tables}/orderings");
    let seen = backcut(&["measure", "orderings", &alone, "--out", &out]);
    assert_eq!(seen.code, 0, "{}", seen.err);
    let said = "labels of arms that are not here: four\n";
    assert_eq!(seen.out.replace(said, ""), whole);
    let csv = std::fs::read_to_string(format!("{out}/orderings.csv")).unwrap();
    for row in ["agreement,S_G,", "agreement again,S_U,", "advantage,S_U - S_G,"] {
        assert!(csv.contains(row), "{row}: {csv}");
    }
    let refused = |words: &str| {
        let seen = backcut(&["measure", "orderings", &alone]);
        assert_eq!((seen.code, seen.out.as_str()), (2, ""), "{words}");
        assert!(seen.err.contains(words) && seen.err.contains("hint: "), "{}", seen.err);
    };
    // Trained otherwise: labels of other runs are nobody's.
    let units = std::fs::read_to_string(format!("{four}/units.csv")).unwrap();
    let turned = |line: &str| match line.strip_prefix('0') {
        Some(rest) => format!("1{rest}"),
        None if line.starts_with("unit") => line.to_owned(),
        None => format!("0{}", &line[1..]),
    };
    let other: Vec<String> = units.lines().map(turned).collect();
    std::fs::write(format!("{four}/units.csv"), other.join("\n") + "\n").unwrap();
    refused("`FF` was not trained as in the tables of four");
    std::fs::write(format!("{four}/units.csv"), units).unwrap();
    std::fs::rename(&four, format!("{tables}/elsewhere")).unwrap();
    refused("no tables of four, which it uses");
    std::fs::rename(format!("{tables}/elsewhere"), &four).unwrap();
}

/// Every file of that name below a folder.
fn walk(folder: &std::path::Path, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(walk(&path, name));
        } else if path.file_name().is_some_and(|file| file == name) {
            found.push(path.to_str().unwrap().to_owned());
        }
    }
    found.sort();
    found
}
