//! What a row may claim: exactly the frozen sample, nothing that was known, and what a draw makes
//! certain.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use backcut_evidence::ledger::status::grant;
use backcut_evidence::ledger::{Contrast, Draw, Frozen, NotStamped, Status};
use common::diary::Diary;
use common::{asking, by_lists, contrast, reused, study, unit, using};

use Status::{Confirmatory, Descriptive, PostHoc, Prespecified};

fn existing(units: &[&str], frozen: Frozen) -> Frozen {
    Frozen { existing: units.iter().map(|name| unit(name)).collect(), ..frozen }
}

/// A ledger with one study over cells `FF` and `F_SG`, two sources each, its sample spelled out.
fn spelled_out() -> (Diary, Contrast) {
    let units = ["FF.1", "FF.2", "F_SG.1", "F_SG.2"];
    let contrast = using(&contrast("H"), &units);
    let mut diary = Diary::new();
    diary.freeze(study("A", &units, std::slice::from_ref(&contrast)));
    diary.run(&units);
    (diary, contrast)
}

#[test]
fn a_row_is_granted_for_exactly_the_frozen_sample() {
    let (diary, contrast) = spelled_out();
    let all = ["FF.1", "FF.2", "F_SG.1", "F_SG.2"];
    let nobody_remembers = |_: &_, _: &_| None;
    let status = |contrast: &Contrast, units: &[&str]| {
        let granted = grant(&diary.ledger, "A", contrast, &diary.used(units), &nobody_remembers);
        (granted.status, granted.why)
    };
    assert_eq!(status(&contrast, &all).0, Confirmatory);
    let (fewer, why) = status(&using(&contrast, &["FF.1", "F_SG.1"]), &["FF.1", "F_SG.1"]);
    assert_eq!(fewer, PostHoc);
    assert!(
        why.contains("another sample: FF@x of source FF.2 at 800 and 1 more is left out"),
        "{why}"
    );
    let mut exchanged = contrast.clone();
    let mut sample = backcut_evidence::ledger::Sample::default();
    for name in all {
        let cell = if name.starts_with("FF") { "F_SG@x" } else { "FF@x" };
        sample.insert(cell, "800", name, unit(name));
    }
    exchanged.sample = Some(sample);
    assert_eq!(status(&exchanged, &all).0, PostHoc);
    let silent = Contrast { sample: None, ..contrast };
    assert_eq!(status(&silent, &all).0, PostHoc);
}

#[test]
fn an_entry_without_a_sample_grants_only_what_can_be_remembered() {
    let mut diary = Diary::new();
    diary.freeze(study("A", &["a"], &[contrast("H")]));
    diary.run(&["a"]);
    let claimed = using(&contrast("H"), &["a"]);
    let grant = |recall: &backcut_evidence::ledger::status::Recall| {
        grant(&diary.ledger, "A", &claimed, &diary.used(&["a"]), recall)
    };
    assert_eq!(grant(&by_lists).status, Confirmatory);
    let nothing = grant(&|_: &_, _: &_| None);
    assert_eq!(nothing.status, PostHoc);
    assert!(nothing.why.contains("cannot be told"), "{}", nothing.why);
    let other = grant(&|_: &_, c: &Contrast| Some(using(c, &["b"])));
    assert!(other.why.contains("another sample"), "{}", other.why);
}

#[test]
fn what_was_known_under_another_name_is_known() {
    let units = ["FF.1", "FF.2", "F_SG.1", "F_SG.2"];
    let known = |known: &[&str]| {
        let mut diary = Diary::new();
        let mut frozen = study("A", &units, &[contrast("H")]);
        frozen.known = known.iter().map(|name| unit(name)).collect();
        diary.freeze(frozen);
        diary.run(&units);
        diary
    };
    let why = "all of its 4 results were known by then";
    known(&units).expect("A", &contrast("H"), &units, PostHoc, why);
    let diary = known(&["FF.1", "FF.2"]);
    diary.expect("A", &contrast("H"), &units, Prespecified, "2 results known under another name");
    let standing = diary.grant("A", &contrast("H"), &units).standing();
    assert_eq!(standing.to_string(), "prespecified; FF known (2 of 4 results)");
    // Two known sources with two new ones added: chosen on what the first two showed.
    let why = "FF@x was known in part by then (1 of 2 results)";
    known(&["FF.1", "F_SG.1"]).expect("A", &contrast("H"), &units, PostHoc, why);
    known(&[]).expect("A", &contrast("H"), &units, Confirmatory, "before its 4 new results");
}

#[test]
fn a_new_cell_without_influence_does_not_make_a_known_contrast_new() {
    let mut diary = Diary::new();
    diary.run(&["FF.1", "F_SG.1"]);
    let mut frozen = study("B", &["X.1"], &[contrast("H")]);
    frozen.reused = vec![reused("FF.1"), reused("F_SG.1")];
    diary.freeze(frozen);
    diary.run(&["X.1"]);
    let units = ["FF.1", "F_SG.1", "X.1"];
    let idle = Contrast { idle: vec!["X@x".into()], ..contrast("H") };
    diary.expect("B", &idle, &units, PostHoc, "what is new in it has no influence (X@x)");
    // With influence it is prespecified, and says what was known wherever it is printed.
    let granted = diary.grant("B", &contrast("H"), &units);
    let standing = granted.standing();
    assert_eq!(standing.to_string(), "prespecified; FF, F_SG known (2 of 3 results)");
    assert_eq!(standing.to_string().parse(), Ok(standing));
}

#[test]
fn drawn_sources_are_confirmatory_by_construction() {
    let mut diary = Diary::new();
    let mut frozen = study("A", &["stand-in"], &[contrast("H")]);
    frozen.draw = Some(Draw { sources: 2, stamped: NotStamped });
    diary.freeze(frozen.clone());
    let seeds = diary.ledger.drawn("A", 2).unwrap();
    let drawn: Vec<String> = seeds.iter().map(u64::to_string).collect();
    let drawn: Vec<&str> = drawn.iter().map(String::as_str).collect();
    diary.run(&drawn);
    diary.run(&["a.1", "a.2"]);
    // Sources that others drew are no surprise to them.
    let others = diary.grant("A", &contrast("H"), &["a.1", "a.2"]);
    assert_eq!(others.standing().to_string(), "confirmatory");
    assert!(others.why.contains("others drew its sources"), "{}", others.why);
    let granted = diary.grant("A", &contrast("H"), &drawn);
    assert_eq!(granted.standing().to_string(), "confirmatory by construction");
    assert!(granted.why.contains("drawn"), "{}", granted.why);
    let modest = diary.grant("A", &asking("H", Prespecified), &drawn).standing();
    assert_eq!(modest.to_string(), "prespecified");
    // An amendment does not draw again, and what it has seen is known to it.
    let mut amended = frozen;
    amended.contrasts.push(contrast("late"));
    amended.draw = Some(Draw { sources: 3, stamped: NotStamped });
    amended.known = drawn.iter().map(|name| unit(name)).collect();
    diary.amend(amended);
    assert_eq!(diary.ledger.drawn("A", 3).unwrap()[..2], seeds);
    diary.expect("A", &contrast("late"), &drawn, PostHoc, "known by then");
    diary.expect("A", &contrast("H"), &drawn, Confirmatory, "by construction");
}

#[test]
fn sources_wait_for_the_freeze() {
    let mut diary = Diary::new();
    assert_eq!(diary.ledger.drawn("A", 2), None);
    diary.freeze(study("A", &["a"], &[]));
    assert_eq!(diary.ledger.drawn("A", 2), None, "it draws nothing");
    let mut drawing = study("B", &["b"], &[]);
    drawing.draw = Some(Draw { sources: 2, stamped: NotStamped });
    diary.freeze(drawing);
    assert_eq!(diary.ledger.drawn("B", 2).map(|seeds| seeds.len()), Some(2));
}

#[test]
fn of_many_refusals_the_first_and_the_last_are_said() {
    let mut diary = Diary::new();
    diary.run(&["a"]);
    diary.freeze(study("A", &["a", "b"], &[contrast("H")]));
    diary.amend(study("A", &["b"], &[contrast("H")]));
    diary.amend(existing(&["b"], study("A", &["a", "b"], &[contrast("H")])));
    diary.run(&["b"]);
    let why = diary.grant("A", &contrast("H"), &["a", "b"]).why;
    let parts: Vec<&str> = why.split("; ").collect();
    let [first, last] = parts[..] else { panic!("{why}") };
    assert!(first.starts_with("frozen in entry 0, but") && first.contains("earlier head"), "{why}");
    assert!(last.starts_with("frozen in entry 2, but") && last.contains("known by then"), "{why}");
}

/// The entry that draws spells stand-ins out: what they stand for is remembered.
#[test]
fn the_sample_of_drawn_sources_is_remembered_and_not_read_from_the_entry() {
    let mut diary = Diary::new();
    let stand_in = using(&contrast("H"), &["stand-in"]);
    let mut frozen = study("A", &["stand-in"], std::slice::from_ref(&stand_in));
    frozen.draw = Some(Draw { sources: 2, stamped: NotStamped });
    diary.freeze(frozen);
    diary.run(&["a.1", "a.2", "stand-in"]);
    let drawn = using(&contrast("H"), &["a.1", "a.2"]);
    let recall = |_: &_, _: &_| Some(drawn.clone());
    let used = diary.used(&["a.1", "a.2"]);
    assert_eq!(grant(&diary.ledger, "A", &drawn, &used, &recall).status, Confirmatory);
    let used = diary.used(&["stand-in"]);
    assert_eq!(grant(&diary.ledger, "A", &stand_in, &used, &recall).status, PostHoc);
}

/// Known under another name is known all the same, if the study itself ran it first.
#[test]
fn an_amendment_cannot_call_its_own_results_another_study_s() {
    let mut diary = Diary::new();
    diary.freeze(study("A", &["a", "b"], &[contrast("old")]));
    diary.run(&["a"]);
    let mut amended = study("A", &["a", "b"], &[contrast("late")]);
    amended.known = vec![unit("a")];
    diary.amend(amended);
    diary.run(&["b"]);
    let why = "1 of 2 results (first: unit ca978112ca1b) is known by then";
    diary.expect("A", &contrast("late"), &["a", "b"], PostHoc, why);
}

#[test]
fn a_description_claims_nothing_so_it_may_be_late_and_says_nothing_of_what_was_known() {
    let mut diary = Diary::new();
    diary.run(&["a", "FF"]);
    let contrasts = [asking("late", Descriptive), asking("known", Descriptive), contrast("sober")];
    let mut frozen = study("A", &["a", "b"], &contrasts);
    frozen.reused = vec![reused("FF")];
    diary.freeze(frozen);
    diary.run(&["b"]);
    let late = diary.grant("A", &contrasts[0], &["a"]);
    assert_eq!((late.status, late.why.as_str()), (Descriptive, "entry 0 asks for no more"));
    let known = diary.grant("A", &contrasts[1], &["b", "FF"]);
    assert!(known.why.starts_with("entry 0 asks for no more (frozen in entry 0"), "{}", known.why);
    assert!(known.known.is_some());
    assert_eq!(known.standing().to_string(), "descriptive");
    // Who asks for exactly what is granted is told why it is granted.
    let sober = diary.grant("A", &asking("sober", Prespecified), &["b", "FF"]);
    assert!(sober.why.starts_with("frozen in entry 0 before its 1 new result"), "{}", sober.why);
}

#[test]
fn a_level_that_fewer_comparisons_share_is_another_level() {
    let units = ["a.1", "b.1"];
    let sharing = |n| Contrast { shared_by: Some(n), ..using(&contrast("H"), &units) };
    let mut diary = Diary::new();
    diary.freeze(study("A", &units, &[sharing(2)]));
    diary.run(&units);
    let grant = |n| grant(&diary.ledger, "A", &sharing(n), &diary.used(&units), &by_lists);
    assert_eq!(grant(2).status, Confirmatory);
    assert_eq!(grant(1).status, PostHoc);
    assert!(grant(1).why.contains("its level was shared by 2 comparisons, and is by 1 here"));
}

#[test]
fn an_amendment_of_a_drawn_study_is_not_confirmatory_by_construction() {
    let mut diary = Diary::new();
    let mut frozen = study("A", &["stand-in"], &[contrast("H")]);
    frozen.draw = Some(Draw { sources: 2, stamped: NotStamped });
    diary.freeze(frozen.clone());
    // The sources are known from now on: they can be tried in a copy of the folder.
    let mut amended = frozen;
    amended.contrasts.push(contrast("late"));
    diary.amend(amended);
    let seeds = diary.ledger.drawn("A", 2).unwrap();
    let drawn: Vec<String> = seeds.iter().map(u64::to_string).collect();
    let drawn: Vec<&str> = drawn.iter().map(String::as_str).collect();
    diary.run(&drawn);
    let late = diary.grant("A", &contrast("late"), &drawn);
    assert_eq!(late.standing().to_string(), "confirmatory");
    assert!(late.why.contains("rests on the heads"), "{}", late.why);
    let first = diary.grant("A", &contrast("H"), &drawn);
    assert_eq!(first.standing().to_string(), "confirmatory by construction");
}
