//! The vessel's claims: read from its own tables, compared by what compares, absent without a trace of failure.
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

mod common;

use backcut_page::report::Results;
use backcut_paper::agreement::{Agreement, agreement};
use backcut_paper::compare::{Ours, ours};
use backcut_paper::paper::{Compare, Entry, Paper, Subject};

struct Vessel {
    results: Results,
    paper: Paper,
    _folder: tempfile::TempDir,
}

impl Vessel {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        common::vessel::write_vessel(folder.path());
        let results = Results::open(folder.path()).unwrap();
        Self { results, paper: Paper::load().unwrap(), _folder: folder }
    }

    fn claim(&self, id: &str) -> (&Entry, Ours, Agreement) {
        let entry = self.paper.claim(id).unwrap_or_else(|| panic!("{id}"));
        let ours = ours(&self.results, entry).unwrap_or_else(|why| panic!("{id}: {why}"));
        let agreement = agreement(&self.results, entry, &ours);
        (entry, ours, agreement)
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
}

/// The made-up value of a state, before an update.
fn state(source: &str, arm: &str, update: &str) -> f64 {
    1.0 + 0.1 * common::wobble(&[source, arm, update])
}

#[test]
fn states_of_several_paths_have_one_median_and_the_update_that_is_named() {
    let vessel = Vessel::new();
    for (time, update) in [("2", "4001"), ("800", "4799")] {
        let (_, ours, agreement) = vessel.claim(&format!("B2 interaction, raw, {time}"));
        let of_source =
            |s: &String| ["FF", "FD", "KF", "KD"].map(|arm| 0.85 * state(s, arm, update));
        let all: Vec<f64> = common::vessel::sources().iter().flat_map(of_source).collect();
        assert_eq!((ours.n, ours.interval), (32, None), "states of one stream are no sources");
        assert!((ours.value - median(all)).abs() < 1e-12, "{}", ours.value);
        assert_eq!(agreement.same_direction, None, "a norm has no direction");
        assert_eq!(agreement.same_size(), Some(true), "{agreement:?}");
    }
    let (_, detached, _) = vessel.claim("B2 placement, detached history");
    assert!(detached.n == 16 && (27.0..33.0).contains(&detached.value), "{detached:?}");
    let (_, ours, _) = vessel.claim("B2 rank correlation");
    assert!((ours.value - 1.0).abs() < 1e-9, "{}", ours.value);
    let (_, keys, _) = vessel.claim("B2 keys, update");
    assert!((4.0..6.0).contains(&keys.value), "two blocks are added: {}", keys.value);
}

#[test]
fn a_ratio_of_two_cuts_is_taken_window_by_window() {
    let vessel = Vessel::new();
    let of_window =
        |cut: &str, i: usize| 1.0 - 0.1 * common::wobble(&[cut, &format!("window {i}")]).abs();
    let ratios = (0..32).map(|i| 0.001 * of_window("KD", i) / (0.2 * of_window("FD", i)));
    let (_, ours, agreement) = vessel.claim("B1 depth of credit");
    assert!((ours.value - median(ratios.collect())).abs() < 1e-12, "{}", ours.value);
    assert_eq!(agreement.same_direction, Some(true), "both are below one");
    assert!(agreement.words.starts_with("same side of 1, 1.7"), "{}", agreement.words);
    let (_, action, _) = vessel.claim("B1 action");
    assert!((action.value - 0.99).abs() < 1e-12);
    // An interval that was measured beside its value stands with its note.
    let (_, error, agreement) = vessel.claim("B6 error");
    assert_eq!(error.interval.map(|ends| ends.map(|v| (v * 100.0).round())), Some([-5.0, 45.0]));
    assert_eq!(agreement.is_apart(), Some(false), "{agreement:?}");
}

#[test]
fn errors_of_other_ships_compare_by_sign_and_decision_only() {
    let vessel = Vessel::new();
    let (entry, ours, agreement) = vessel.claim("B3 FD - FF, 400");
    assert_eq!((entry.compare, ours.value), (Compare::Sign, -60.0));
    assert_eq!((agreement.difference, agreement.widths, agreement.factor), (None, None, None));
    assert_eq!(agreement.same_direction, Some(true));
    assert_eq!(agreement.same_decision, Some(true), "the interval decides, not the exact test");
    assert!(agreement.words.starts_with("same direction; sizes do not compare; "), "{agreement:?}");
    assert!(agreement.words.ends_with("exact test does not confirm it and ours confirms it"));
    // The same contrast at another update is another row.
    let (_, later, agreement) = vessel.claim("B3 FD - FF, 800");
    assert_eq!(later.value, -40.0);
    assert_eq!((agreement.same_direction, agreement.same_decision), (Some(false), Some(true)));
    let (_, _, agreement) = vessel.claim("B3 FD - KD, 400");
    assert_eq!(agreement.same_decision, Some(false));
    let claims = vessel.paper.claims.iter().filter(|claim| claim.unit == "km²");
    assert!(claims.clone().count() > 10);
    assert!(claims.into_iter().all(|claim| claim.compare == Compare::Sign));
}

#[test]
fn a_contrast_against_a_margin_is_shown_as_the_quantity() {
    let vessel = Vessel::new();
    let (_, ours, agreement) = vessel.claim("B7 P1, stream 1");
    assert!((ours.value - 0.001).abs() < 1e-12, "{}", ours.value);
    let [low, high] = ours.interval.unwrap();
    assert!((low - 0.0005).abs() < 1e-12 && (high - 0.0015).abs() < 1e-12);
    assert_eq!((agreement.same_direction, agreement.same_decision), (Some(true), Some(true)));
}

/// In how many streams one arm's made-up error after 400 updates is below another's.
fn below(vessel: &Vessel, arm: &str, other: &str) -> f64 {
    let study = vessel.results.study("b3").unwrap();
    let error = |source: &str, arm: &str| {
        let of = |row: &&backcut_evidence::tables::rows::Observation| {
            row.source == source && row.arm == arm && row.update == 4400
        };
        study.errors().find(of).unwrap().value.unwrap()
    };
    let sources = common::vessel::sources();
    sources.iter().filter(|s| error(s, arm) < error(s, other)).count() as f64
}

#[test]
fn errors_along_training_are_divided_by_constant_velocity() {
    let vessel = Vessel::new();
    let (_, ours, _) = vessel.claim("B5 FF, 400");
    let errors = common::vessel::sources()
        .iter()
        .map(|s| 1.5 * (1.0 + 0.1 * common::wobble(&[s, "FF"])))
        .sum::<f64>();
    assert!((ours.value - errors / 8.0).abs() < 1e-12 && ours.interval.is_some());
    let (_, change, _) = vessel.claim("B3 change, FD");
    assert!((change.value - 1300.0 / 1500.0).abs() < 1e-12);
    let (_, streams, agreement) = vessel.claim("B3 streams, KD");
    assert_eq!((streams.value, streams.n), (below(&vessel, "FD", "KD"), 8));
    assert_eq!(agreement.same_direction, None, "a count has no direction");
    let (_, share, agreement) = vessel.claim("B3 clipping");
    assert_eq!(
        (share.value, agreement.words.as_str()),
        (75.0, "apart: ours minus the paper's −25.0 [−25.0, −25.0]")
    );
    let (_, least, agreement) = vessel.claim("B5 least");
    assert_eq!((least.value, agreement.same_direction), (2.2, Some(true)));
}

#[test]
fn the_vessel_has_a_section_of_its_own_only_where_it_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    common::write_quick(folder.path());
    let html = common::open(folder.path()).page(None).unwrap();
    assert!(html.contains("Claims about the vessel") && html.contains("(none of "), "folded away");
    let without = common::open(folder.path()).markdown();
    assert!(!without.contains("## The vessel"));
    assert!(without.contains("(B1 difference, full): study b1 was not collected."));
    assert!(without.contains("(B4 vessel labels): study orderings was not collected."));
    common::vessel::write_vessel(folder.path());
    let with = common::open(folder.path());
    let text = with.markdown();
    let (quadrotor, rest) = text.split_once("## The vessel").unwrap();
    assert!(!quadrotor.contains("| B1 ") && rest.contains("| B1 difference, full |"));
    for study in ["b1", "b2", "b3", "b7", "d1", "e6"] {
        let summary = with.summary(study, 80).unwrap();
        assert!(summary.contains("the paper's"), "{summary}");
        assert!(summary.lines().all(|line| line.chars().count() <= 80), "{summary}");
    }
    let html = with.page(None).unwrap();
    assert!(html.contains("id=\"vessel\"") && html.contains("id=\"figure-vessel-horizon\""));
    let rows = with.table("vessel").unwrap().rows;
    let claims = Paper::load().unwrap().claims;
    assert_eq!(rows.len(), claims.iter().filter(|c| c.system == Subject::Vessel).count());
}

#[test]
fn a_figure_says_which_study_it_misses_and_takes_no_other() {
    let folder = tempfile::tempdir().unwrap();
    common::write_quick(folder.path());
    let results = common::open(folder.path());
    for (figure, study) in [
        ("gradient", "b1 or b1-quick"),
        ("chain", "b1 or b1-quick"),
        ("ages", "b1 or b1-quick"),
        ("layers", "b2"),
        ("placement", "b2"),
        ("learning", "b3"),
        ("horizon", "b5"),
        ("noise", "d1"),
    ] {
        let name = format!("vessel-{figure}");
        let error = results.figure(&name).unwrap_err().to_string();
        assert_eq!(error, format!("make {name}: study {study} was not collected"));
    }
    // The quadrotor's figures are not drawn from the vessel's studies.
    common::vessel::write_vessel(folder.path());
    let results = common::open(folder.path());
    assert!(results.figure("gradient").is_err() && results.figure("updates").is_err());
}

#[test]
fn figures_show_the_papers_values_from_its_data() {
    let vessel = tempfile::tempdir().unwrap();
    common::vessel::write_vessel(vessel.path());
    let results = common::open(vessel.path());
    for (figure, value) in [
        ("vessel-gradient", "the paper's median,0.907,"),
        ("vessel-gradient", "the paper's median,0.000272,"),
        ("vessel-chain", "k=288,the paper's median,1.264,"),
        ("vessel-layers", "200,the paper's median,0.256,"),
        ("vessel-placement", "the paper's median,29,"),
        ("vessel-learning", "400,the paper's mean,1.26,"),
    ] {
        let csv = results.figure(figure).unwrap().csv;
        assert!(csv.contains(value), "{figure}: {csv}");
    }
}
