//! The flight and the ages: distances, shares and movement follow the tables.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use common::looks::{CONDITIONS, STEPS};

fn value(csv: &str, begins: &str) -> f64 {
    let row =
        csv.lines().find(|line| line.starts_with(begins)).unwrap_or_else(|| panic!("{begins}"));
    row.trim_start_matches(begins).split(',').next().unwrap().parse().unwrap()
}

#[test]
fn a_flight_is_drawn_to_scale_with_its_distance_and_moves() {
    let folder = tempfile::tempdir().unwrap();
    common::write_results(folder.path());
    let flight = common::open(folder.path()).figure("flight").unwrap();
    assert_eq!(flight.panels.len(), 2 * CONDITIONS.len());
    for step in 1..=STEPS {
        for (arm, far) in [("FF", 0.1), ("F_SG", 0.2)] {
            let found = value(&flight.csv, &format!("\"distance, step {step}\",{arm},hidden,,"));
            assert!((found - far).abs() < 1e-12, "{arm}, step {step}: {found}");
        }
    }
    let above = &flight.panels[0].body;
    assert_eq!(above.matches("<animateTransform").count(), 2, "both policies move");
    assert!(!flight.panels[CONDITIONS.len()].body.contains("<animateTransform"));
    // As long across as up: the reference runs 0.75 m along the bottom, F_SG 0.2 m above it.
    let ends: Vec<Vec<(f64, f64)>> = above
        .split("<path class=\"")
        .filter(|path| path.split('"').next().is_some_and(|class| class.ends_with(" line")))
        .map(|path| {
            let d = path.split(" d=\"M").nth(1).unwrap().split('"').next().unwrap();
            let point =
                |p: &str| p.split_once(' ').map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()));
            d.split('L').filter_map(point).collect()
        })
        .collect();
    let [reference, _, cut] = ends.as_slice() else { panic!("{} ways", ends.len()) };
    let metre = (reference[STEPS - 1].0 - reference[0].0) / 0.75;
    let apart = (reference[0].1 - cut[0].1) / 0.2;
    assert!((metre - apart).abs() < 0.01 * metre, "{metre} {apart}");
}

#[test]
fn ages_are_shares_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    common::write_results(folder.path());
    let results = common::open(folder.path());
    let attention = results.figure("attention").unwrap();
    assert_eq!(attention.panels.len(), CONDITIONS.len());
    let mean = value(&attention.csv, "\"Layer 1, 0.05 m/s\",\"FF, age 1\",0.05,mean,");
    assert!((mean - 100.0 * (0.2 + 0.045 + 0.1)).abs() < 1e-9, "{mean}");
    let gradient = results.figure("gradient-ages").unwrap();
    // Source 1 under F_SG at age 0: 0.1 + 0.01 + 0.2, of a sum up to the last age of 0.3 + 0.01 +
    // 0.2.
    let one = value(&gradient.csv, "Velocity hidden,\"F_SG, age 0\",hidden,1,");
    assert!((one - 100.0 * 0.31 / 0.51).abs() < 1e-9, "{one}");
}
