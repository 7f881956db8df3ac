//! What a row may claim, case by case.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use backcut_evidence::ledger::status::{can_grant, check_asks};
use backcut_evidence::ledger::{Contrast, Frozen, Status};
use backcut_files::Hash;
use common::diary::Diary;
use common::{asking, by_lists, contrast, reused, study, unit, using};

use Status::{Confirmatory, Descriptive, PostHoc, Prespecified};

fn existing(units: &[&str], frozen: Frozen) -> Frozen {
    Frozen { existing: units.iter().map(|name| unit(name)).collect(), ..frozen }
}

#[test]
fn everything_new_is_confirmatory() {
    let mut diary = Diary::new();
    diary.freeze(study("A", &["a", "b"], &[contrast("H")]));
    diary.run(&["a", "b"]);
    diary.expect("A", &contrast("H"), &["a", "b"], Confirmatory, "before its 2 new results");
}

#[test]
fn a_result_on_its_sources_at_freeze_leaves_it_prespecified() {
    let mut diary = Diary::new();
    diary.run(&["pilot"]);
    diary.freeze(existing(&["pilot"], study("A", &["a", "b"], &[contrast("H")])));
    diary.run(&["a", "b"]);
    diary.expect("A", &contrast("H"), &["a", "b"], Prespecified, "1 other result on the study's");
}

/// C6 freezes its segment arms and takes FF and F_SG over from C5.
#[test]
fn reused_arms_leave_it_prespecified_and_the_row_says_so() {
    let mut diary = Diary::new();
    diary.freeze(study("C5", &["FF", "F_SG"], &[contrast("H1")]));
    diary.run(&["FF", "F_SG"]);
    let mut c6 =
        existing(&["FF", "F_SG"], study("C6", &["SEG-2"], &[contrast("H"), contrast("old")]));
    c6.reused = vec![reused("FF"), reused("F_SG")];
    diary.freeze(c6);
    diary.run(&["SEG-2"]);
    let why = "before its 1 new result ran; 1 reused result may be older";
    diary.expect("C6", &contrast("H"), &["SEG-2", "FF"], Prespecified, why);
    let granted = diary.grant("C6", &contrast("H"), &["SEG-2", "FF"]);
    assert_eq!((granted.reused, granted.entry), (1, Some(diary.ledger.head())));
    // A new claim on nothing but known results predicts nothing.
    diary.expect(
        "C6",
        &contrast("old"),
        &["FF", "F_SG"],
        PostHoc,
        "all of its 2 results are reused",
    );
    // C5's own row is not touched by C6.
    diary.expect("C5", &contrast("H1"), &["FF", "F_SG"], Confirmatory, "entry 0");
}

#[test]
fn a_reused_result_that_changed_is_not_the_one_listed() {
    let mut diary = Diary::new();
    diary.run(&["FF"]);
    let mut frozen = existing(&["FF"], study("C6", &["SEG-2"], &[contrast("H")]));
    frozen.reused = vec![reused("FF")];
    diary.freeze(frozen);
    diary.run(&["SEG-2"]);
    diary.results[0].content = Hash::of(b"computed again, differently");
    let why = format!("1 of 2 results (first: unit {}) is reused with another", unit("FF").short());
    diary.expect("C6", &contrast("H"), &["SEG-2", "FF"], PostHoc, &why);
}

/// An amendment after a third of the units: old contrasts stay, new ones are post hoc.
#[test]
fn an_amendment_half_way_keeps_old_contrasts_and_grants_no_new_ones_on_known_results() {
    let mut diary = Diary::new();
    diary.freeze(study("A", &["a", "b", "c"], &[contrast("old")]));
    diary.run(&["a"]);
    let contrasts = [contrast("old"), contrast("late"), contrast("fresh")];
    let amended = study("A", &["a", "b", "c", "d", "e"], &contrasts);
    diary.amend(existing(&["a"], amended));
    diary.run(&["b", "c", "d", "e"]);
    diary.expect("A", &contrast("old"), &["a", "b", "c"], Confirmatory, "entry 0");
    diary.expect("A", &contrast("late"), &["a", "b", "c"], PostHoc, "1 of 3 results (first");
    // A contrast of the amendment that uses only what ran after it is prespecified, not more.
    diary.expect("A", &contrast("fresh"), &["d", "e"], Prespecified, "entry 1");
    // The old contrast on an enlarged sample is another contrast, made when `a` was known.
    let why = "frozen in entry 0, but 2 of 5 results";
    diary.expect("A", &contrast("old"), &["a", "b", "c", "d", "e"], PostHoc, why);
}

#[test]
fn an_amendment_cannot_take_over_what_its_own_study_ran() {
    let mut diary = Diary::new();
    diary.freeze(study("A", &["a", "b"], &[contrast("old")]));
    diary.run(&["a"]);
    let mut amended = study("A", &["b", "c"], &[contrast("late")]);
    amended.reused = vec![reused("a")];
    diary.amend(amended);
    diary.run(&["b", "c"]);
    diary.expect("A", &contrast("late"), &["a", "b", "c"], PostHoc, "known by then");
}

#[test]
fn an_amendment_that_redefines_every_unit_grants_anew() {
    let mut diary = Diary::new();
    diary.freeze(study("A", &["a", "b"], &[contrast("H")]));
    diary.run(&["a"]);
    diary.amend(existing(&["a"], study("A", &["a2", "b2"], &[contrast("H")])));
    diary.run(&["a2", "b2"]);
    diary.expect("A", &contrast("H"), &["a2", "b2"], Prespecified, "entry 1");
    diary.expect("A", &contrast("H"), &["a", "b2"], PostHoc, "not listed there");
}

#[test]
fn a_reworded_contrast_loses_its_standing_and_going_back_does_not_restore_it() {
    let (mut turned, mut renamed) = (contrast("H"), contrast("H"));
    turned.direction = Some("negative".into());
    renamed.family = "main, one-sided".into();
    for other in [turned, renamed] {
        let mut diary = Diary::new();
        diary.freeze(study("A", &["a"], &[contrast("H")]));
        diary.run(&["a"]);
        diary.amend(existing(&["a"], study("A", &["a"], std::slice::from_ref(&other))));
        diary.expect("A", &other, &["a"], PostHoc, "known by then");
        diary.expect("A", &contrast("H"), &["a"], PostHoc, "entry 1 words it differently");
        diary.amend(existing(&["a"], study("A", &["a"], &[contrast("H")])));
        diary.expect("A", &contrast("H"), &["a"], PostHoc, "entry 2, but 1 of 1 result");
    }
}

#[test]
fn a_prediction_typed_in_afterwards_is_post_hoc() {
    let mut diary = Diary::new();
    diary.freeze(study("A", &["a"], &[contrast("H")]));
    diary.run(&["a"]);
    diary.expect("A", &contrast("typed"), &["a"], PostHoc, "does not have it");
    diary.expect("B", &contrast("H"), &["a"], PostHoc, "never frozen");
    let mut other = contrast("H");
    other.expression = "FD - FF".into();
    diary.expect("A", &other, &["a"], PostHoc, "expression `H: F_SG - FF`, here `FD - FF`");
    // Not even as a description: nobody declared it.
    let exploration = Contrast { direction: None, ..contrast("typed") };
    diary.expect("A", &exploration, &["a"], PostHoc, "does not have it");
}

#[test]
fn a_result_that_ran_before_the_freeze_or_under_a_lost_head_is_refused() {
    let mut diary = Diary::new();
    diary.freeze(study("other", &[], &[]));
    diary.run(&["a"]);
    diary.freeze(study("A", &["a", "b"], &[contrast("H")]));
    diary.run(&["b"]);
    let why = format!(
        "1 of 2 results (first: unit {}) is from a run under an earlier head",
        unit("a").short()
    );
    diary.expect("A", &contrast("H"), &["b", "a"], PostHoc, &why);
    diary.results[0].head = Hash::ZERO;
    diary.expect("A", &contrast("H"), &["b", "a"], PostHoc, "under an earlier head");
    diary.results[0].head = Hash::of(b"an entry of another ledger");
    diary.expect("A", &contrast("H"), &["b", "a"], PostHoc, "that this ledger does not have");
    // Under a later entry, whosever, it is fine.
    diary.freeze(study("yet another", &[], &[]));
    diary.results[0].head = diary.ledger.head();
    diary.expect("A", &contrast("H"), &["b", "a"], Confirmatory, "entry 1");
}

#[test]
fn a_result_that_the_entry_does_not_list_is_refused() {
    let mut diary = Diary::new();
    diary.freeze(study("A", &["a"], &[contrast("H")]));
    diary.run(&["a", "x"]);
    diary.expect("A", &contrast("H"), &["a", "x"], PostHoc, "1 of 2 results");
    diary.expect("A", &contrast("H"), &[], PostHoc, "no results");
}

#[test]
fn a_study_gets_what_it_asks_for_if_that_is_less() {
    let exploration = Contrast { direction: None, ..contrast("look") };
    let modest = [Prespecified, Descriptive, PostHoc];
    let names = ["modest 0", "modest 1", "modest 2"];
    let mut contrasts: Vec<_> = names.iter().zip(modest).map(|(n, s)| asking(n, s)).collect();
    contrasts.push(exploration.clone());
    let mut diary = Diary::new();
    diary.freeze(study("A", &["a"], &contrasts));
    diary.run(&["a"]);
    for (contrast, status) in contrasts.iter().zip(modest) {
        let granted = diary.grant("A", contrast, &["a"]);
        assert_eq!(granted.status, status, "{}", granted.why);
        assert!(granted.why.contains("entry 0 asks for no more"), "{}", granted.why);
        // Asking for more at the analysis than at the freeze is of no use.
        let greedy = Contrast { asks: Some(Confirmatory), ..contrast.clone() };
        assert_eq!(diary.grant("A", &greedy, &["a"]).status, status);
    }
    diary.expect("A", &exploration, &["a"], Descriptive, "predicts nothing");
}

#[test]
fn asking_for_more_in_an_amendment_is_of_no_use_and_for_less_is_kept() {
    let mut diary = Diary::new();
    diary.freeze(study("A", &["a"], &[asking("up", Prespecified), asking("down", Confirmatory)]));
    diary.run(&["a"]);
    let amended = [asking("up", Confirmatory), asking("down", Descriptive)];
    diary.amend(existing(&["a"], study("A", &["a"], &amended)));
    diary.expect("A", &amended[0], &["a"], Prespecified, "entry 0 asks for no more");
    diary.expect("A", &amended[1], &["a"], Descriptive, "entry 1 asks for no more");
}

#[test]
fn an_analysis_may_ask_for_less_than_was_frozen() {
    let mut diary = Diary::new();
    diary.freeze(study("A", &["a"], &[asking("H", Confirmatory)]));
    diary.run(&["a"]);
    for status in [Prespecified, Descriptive, PostHoc] {
        let granted = diary.grant("A", &asking("H", status), &["a"]);
        assert_eq!(granted.status, status);
        assert!(
            granted.why.starts_with("it asks for no more (frozen in entry 0"),
            "{}",
            granted.why
        );
    }
}

#[test]
fn an_analysis_cannot_call_a_refused_prediction_a_description() {
    let mut diary = Diary::new();
    diary.run(&["a"]);
    diary.freeze(study("A", &["a"], &[asking("H", Prespecified)]));
    diary.expect("A", &asking("H", Descriptive), &["a"], PostHoc, "earlier head");
}

#[test]
fn a_freeze_that_asks_too_much_is_refused_with_the_reason() {
    let diary = Diary::new();
    let plan = |asks, known: &[&str]| {
        let mut frozen = existing(known, study("A", &["a", "b"], &[asking("H", asks)]));
        frozen.reused = vec![reused("r")];
        frozen
    };
    let check = |frozen: &Frozen, needed: &[&str]| {
        let mut frozen = frozen.clone();
        frozen.contrasts = frozen.contrasts.iter().map(|c| using(c, needed)).collect();
        check_asks(&diary.ledger, &frozen, &by_lists).map_err(|error| error.to_string())
    };
    for (asks, known, needed, refusal) in [
        (Confirmatory, &[][..], &["b", "a"][..], None),
        (Confirmatory, &["x"], &["a", "b"], Some("can only be prespecified")),
        (Confirmatory, &[], &["a", "r"], Some("1 reused result may be older")),
        (Prespecified, &["x"], &["a", "r"], None),
        (Prespecified, &["a"], &["a", "b"], Some("can only be post hoc")),
        (Prespecified, &[], &["r"], Some("reused: they were known")),
        (Prespecified, &[], &["a", "y"], Some("not listed there")),
        (Prespecified, &[], &[], Some("uses no results")),
        (Descriptive, &["a"], &["a", "r"], None),
    ] {
        let checked = check(&plan(asks, known), needed);
        match refusal {
            None => assert_eq!(checked, Ok(()), "{asks} {known:?} {needed:?}"),
            Some(text) => {
                let error = checked.expect_err(&format!("{asks} {known:?} {needed:?}"));
                assert!(error.contains(text), "`{error}` lacks `{text}`");
            }
        }
    }
    let mut aimless = plan(Prespecified, &[]);
    aimless.contrasts[0].direction = None;
    assert!(check(&aimless, &["a"]).unwrap_err().contains("predicts nothing"));
}

#[test]
fn an_amendment_may_ask_again_for_what_was_granted_and_not_for_more() {
    let mut diary = Diary::new();
    diary.freeze(study("A", &["a", "b"], &[asking("old", Confirmatory)]));
    diary.run(&["a"]);
    let units = ["a", "b"];
    let contrasts = [asking("old", Confirmatory), asking("late", Prespecified)];
    let contrasts = contrasts.map(|contrast| using(&contrast, &units));
    let amended = existing(&["a"], study("A", &["a", "b", "c"], &contrasts));
    let can_grant = |contrast: &Contrast| can_grant(&diary.ledger, &amended, contrast, &by_lists);
    assert_eq!(can_grant(&contrasts[0]).status, Confirmatory);
    let late = can_grant(&contrasts[1]);
    assert_eq!(late.status, PostHoc, "{}", late.why);
    assert_eq!(can_grant(&using(&contrasts[1], &["c"])).status, Prespecified);
    let error = check_asks(&diary.ledger, &amended, &by_lists).unwrap_err();
    assert_eq!(error.contrast, "late");
}
