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
