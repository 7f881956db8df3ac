//! What a row may claim, case by case.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use backcut_ledger::status::{can_grant, check_asks, grant};
use backcut_ledger::{Body, Contrast, Draw, Frozen, Granted, Hash, Ledger, NotDrawn, Status, Used};
use common::{amendment, asking, by_lists, content, contrast, reused, study, unit, using, utc};
use tempfile::TempDir;

use Status::{Confirmatory, Descriptive, PostHoc, Prespecified};

/// A ledger that is written like a diary: freeze, run, amend, run.
struct Diary {
    _folder: TempDir,
    ledger: Ledger,
    results: Vec<Used>,
}

impl Diary {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(folder.path().join("ledger.jsonl")).unwrap();
        Self { _folder: folder, ledger, results: Vec::new() }
    }

    fn freeze(&mut self, frozen: Frozen) -> Hash {
        self.ledger.append(utc(0), Body::Freeze(frozen)).unwrap()
    }

    fn amend(&mut self, frozen: Frozen) -> Hash {
        let body = amendment(&self.ledger, frozen);
        self.ledger.append(utc(0), body).unwrap()
    }

    fn run(&mut self, units: &[&str]) {
        let head = self.ledger.head();
        let result = |name: &&str| Used { unit: unit(name), content: content(name), head };
        self.results.extend(units.iter().map(result));
    }

    fn used(&self, units: &[&str]) -> Vec<Used> {
        let find = |name: &&str| *self.results.iter().find(|r| r.unit == unit(name)).unwrap();
        units.iter().map(find).collect()
    }

    fn grant(&self, study: &str, contrast: &Contrast, units: &[&str]) -> Granted {
        let contrast = using(contrast, units);
        grant(&self.ledger, study, &contrast, &self.used(units), &by_lists)
    }

    #[track_caller]
    fn expect(&self, study: &str, contrast: &Contrast, units: &[&str], status: Status, why: &str) {
        let granted = self.grant(study, contrast, units);
        assert_eq!(granted.status, status, "{}", granted.why);
        assert!(granted.why.contains(why), "`{}` lacks `{why}`", granted.why);
        let by_the_ledger = status > PostHoc;
        assert_eq!(granted.entry.is_some(), by_the_ledger, "{granted:?}");
    }
}

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
    let mut sample = backcut_ledger::Sample::default();
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
    let grant = |recall: &backcut_ledger::status::Recall| {
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
    frozen.draw = Some(Draw { sources: 2, stamped: false });
    diary.freeze(frozen.clone());
    diary.run(&["a.1", "a.2"]);
    let granted = diary.grant("A", &contrast("H"), &["a.1", "a.2"]);
    assert_eq!(granted.standing().to_string(), "confirmatory by construction");
    assert!(granted.why.contains("drawn"), "{}", granted.why);
    let modest = diary.grant("A", &asking("H", Prespecified), &["a.1", "a.2"]).standing();
    assert_eq!(modest.to_string(), "prespecified");
    // An amendment does not draw again, and what it has seen is known to it.
    let seeds = diary.ledger.drawn("A", 2).unwrap();
    let mut amended = frozen;
    amended.contrasts.push(contrast("late"));
    amended.draw = Some(Draw { sources: 3, stamped: true });
    amended.known = vec![unit("a.1"), unit("a.2")];
    diary.amend(amended);
    assert_eq!(diary.ledger.drawn("A", 3).unwrap()[..2], seeds);
    diary.expect("A", &contrast("late"), &["a.1", "a.2"], PostHoc, "known by then");
    diary.expect("A", &contrast("H"), &["a.1", "a.2"], Confirmatory, "by construction");
}

#[test]
fn sources_wait_for_the_freeze_and_for_the_stamp_that_it_asks_for() {
    let mut diary = Diary::new();
    assert_eq!(diary.ledger.drawn("A", 2), Err(NotDrawn::Unfrozen));
    diary.freeze(study("A", &["a"], &[]));
    assert_eq!(diary.ledger.drawn("A", 2), Err(NotDrawn::Unfrozen), "it draws nothing");
    let mut stamped = study("B", &["b"], &[]);
    stamped.draw = Some(Draw { sources: 2, stamped: true });
    diary.freeze(stamped);
    assert_eq!(diary.ledger.drawn("B", 2), Err(NotDrawn::Unstamped(1)));
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
    frozen.draw = Some(Draw { sources: 2, stamped: false });
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
    frozen.draw = Some(Draw { sources: 2, stamped: false });
    diary.freeze(frozen.clone());
    // The sources are known from now on: they can be tried in a copy of the folder.
    let mut amended = frozen;
    amended.contrasts.push(contrast("late"));
    diary.amend(amended);
    diary.run(&["a.1", "a.2"]);
    let late = diary.grant("A", &contrast("late"), &["a.1", "a.2"]);
    assert_eq!(late.standing().to_string(), "confirmatory");
    assert!(late.why.contains("rests on the heads"), "{}", late.why);
    let first = diary.grant("A", &contrast("H"), &["a.1", "a.2"]);
    assert_eq!(first.standing().to_string(), "confirmatory by construction");
}
