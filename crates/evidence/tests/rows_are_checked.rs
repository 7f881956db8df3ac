//! A row reads back to itself, and one that is not what it claims is refused with its place.
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use backcut_files::Hash;

use backcut_evidence::ledger::Status;
use backcut_evidence::tables::rows::{AnalysisRow, ERROR, Observation, ProvenanceRow, UnitRow};
use backcut_evidence::tables::{Judgement, UnitState, Work, from_csv, to_csv};
use backcut_stats::Verdict;
use backcut_text::escape::lines;
use proptest::prelude::*;

fn row() -> Observation {
    Observation {
        source: "1".into(),
        arm: "FF".into(),
        condition: "0.20".into(),
        update: 1000,
        quantity: ERROR.into(),
        of: None,
        part: None,
        value: Some(0.5),
        state: UnitState::Done,
        unit: Hash::of(b"unit").short(),
        note: String::new(),
    }
}

fn text(rows: &[Observation]) -> String {
    String::from_utf8(to_csv(rows).unwrap()).unwrap()
}

#[test]
fn an_empty_table_has_its_header() {
    assert_eq!(text(&[]), "source,arm,condition,update,quantity,of,part,value,state,unit,note\n");
    assert_eq!(from_csv::<Observation>(text(&[]).as_bytes()), Ok(Vec::new()));
}

#[test]
fn numbers_have_the_fewest_digits_that_read_back() {
    let written = |value: f64| {
        let line = text(&[Observation { value: Some(value), ..row() }]);
        line.lines().nth(1).unwrap().split(',').nth(7).unwrap().to_owned()
    };
    assert_eq!(written(1.0), "1");
    assert_eq!(written(0.1 + 0.2), "0.30000000000000004");
    assert_eq!(written(1e-4), "0.0001");
    assert_eq!(written(-2.5e-5), "-2.5e-5");
    assert_eq!(written(-0.0), "-0");
    assert_eq!(written(f64::NAN), "");
    assert_eq!(written(f64::INFINITY), "");
}

#[test]
fn what_is_not_a_row_is_refused_with_its_place() {
    let problem = |from: &str, to: &str| {
        let text = text(&[row(), Observation { source: "2".into(), ..row() }]);
        assert!(text.contains(from), "{from}");
        let end = text.len() - text.rfind(from).unwrap();
        let (start, rest) = text.split_at(text.len() - end);
        let broken = format!("{start}{}", rest.replacen(from, to, 1));
        from_csv::<Observation>(broken.as_bytes()).unwrap_err().to_string()
    };
    assert_eq!(problem("value", "valeu"), "row 1: there is no column `value`");
    assert_eq!(problem(",0.5,", ",nan,"), "row 3: `nan` in column `value` is not a finite number");
    assert_eq!(problem(",1000,", ",-1,"), "row 3: `-1` in column `update` is not a count");
    assert_eq!(problem("done", "gone"), "row 3: `gone` in column `state` is no state of a unit");
    assert!(problem("\n2,", "\n2,3,").starts_with("row 3: "));
}

#[test]
fn a_hash_is_written_in_one_way() {
    let unit = Hash::of(b"unit").to_string();
    let text = format!("unit,content,head,seconds\n{},{unit},{unit},1\n", unit.to_uppercase());
    let upper = from_csv::<ProvenanceRow>(text.as_bytes()).unwrap_err().to_string();
    assert!(upper.contains("in column `unit` is no SHA-256 value"), "{upper}");
}

#[test]
fn verdicts_and_statuses_are_read_or_refused() {
    let header = "family,contrast,expression,direction,sources,mean,lower,upper,bound,level,size,\
                  exact_p,floor,agreeing,verdict,status,why";
    let read = |verdict: &str, status: &str| {
        let line = format!("f,c,[a],,,,,,two-sided,0.05,1,,,,\"{verdict}\",{status},because");
        from_csv::<AnalysisRow>(format!("{header}\n{line}\n").as_bytes()).map(|mut r| r.remove(0))
    };
    let row = read("noninferiority not shown", "post hoc").unwrap();
    assert_eq!(
        (row.verdict.clone(), row.status.status),
        (Judgement::Decided(Verdict::NotShown), Status::PostHoc)
    );
    assert!(row.verdict.failed());
    let row = read("not computed: no value, at all", "confirmatory").unwrap();
    assert_eq!(row.verdict, Judgement::NotComputed("no value, at all".into()));
    assert!(!row.verdict.failed() && row.pointwise_lower.is_none());
    let row = read("no verdict", "descriptive").unwrap();
    assert_eq!((row.verdict.verdict(), row.verdict.failed()), (None, false));
    assert_eq!(row.verdict, Judgement::Described);
    assert!(read("supported by hope", "post hoc").unwrap_err().problem.ends_with("is no verdict"));
    assert!(read("supported", "certain").unwrap_err().problem.ends_with("is no status"));
}

#[test]
fn a_p_value_says_whether_it_is_adjusted() {
    let start = "family,contrast,expression,direction,sources,mean,lower,upper,bound,level,size";
    let end = "floor,agreeing,verdict,status,why";
    let read = |columns: &str, values: &str, status: &str| {
        let text = format!(
            "{start},{columns},{end}\n\
             f,c,[a],positive,8,1,0.5,2,two-sided,0.05,6,{values},0.01,8,supported,{status},because\n"
        );
        from_csv::<AnalysisRow>(text.as_bytes()).unwrap().remove(0)
    };
    let now = read("unadjusted_p,adjusted_p", "0.01,0.06", "post hoc");
    assert_eq!((now.unadjusted_p, now.adjusted_p), (Some(0.01), Some(0.06)));
    // The former name of the adjusted one.
    let before = read("exact_p", "0.06", "post hoc");
    assert_eq!((before.unadjusted_p, before.adjusted_p), (None, Some(0.06)));
    assert_eq!(now.clone().told_like(&before), before);
    assert_eq!(now.clone().told_like(&now), now);
    // A descriptive row has no verdict, whatever older tables gave it.
    let descriptive = read("exact_p", "0.06", "descriptive");
    assert_eq!(descriptive.clone().told_like(&descriptive).verdict, Judgement::Described);
}

#[test]
fn tables_of_earlier_versions_read_too() {
    let unit = Hash::of(b"unit");
    let text = format!(
        "unit,arm,condition,source,from,to,state,updates,clipped,note\n\
         {unit},FF,0.20,1,0,8,pending,8,,\n"
    );
    let row = from_csv::<UnitRow>(text.as_bytes()).unwrap().remove(0);
    assert_eq!((row.what, row.origin.as_str(), row.clipped), (Work::Train, "", None));
}

proptest! {
    #[test]
    fn any_row_reads_back_to_itself(
        words in "[^ \t\n\r\u{feff}]{1,3}([ -~\n\r\"]{0,8}[!-~\"])?",
        value in proptest::option::of(proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL),
        update: u64,
    ) {
        // White space at the ends of an entry is not kept, so there is none; controls are shown.
        let told = Observation { note: words.trim().to_owned(), ..row() };
        let told: Vec<Observation> = from_csv(&to_csv(&[told]).unwrap()).unwrap();
        let note = told[0].note.clone();
        prop_assert_eq!(&note, &lines(words.trim()));
        let row = Observation { note: note.clone(), arm: note, value, update, ..row() };
        let read: Vec<Observation> = from_csv(&to_csv(std::slice::from_ref(&row)).unwrap()).unwrap();
        prop_assert_eq!(read, [row]);
    }
}
