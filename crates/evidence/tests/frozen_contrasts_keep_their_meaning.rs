//! Every contrast that was ever frozen here reads as it was written, and means the same numbers of
//! a table of observations as of a table with one row per cell.
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use backcut_evidence::ledger::Ledger;
use backcut_files::Hash;
use backcut_stats::table::RawTable;
use backcut_stats::{Contrast, Layout, SourceTable};

fn frozen() -> BTreeSet<String> {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results");
    let mut texts = BTreeSet::new();
    for ledger in ["ledger.jsonl", "second/ledger.jsonl"] {
        let ledger = Ledger::open(results.join(ledger)).unwrap();
        let contrasts =
            ledger.entries().iter().filter_map(|e| e.frozen()).flat_map(|f| &f.contrasts);
        texts.extend(contrasts.map(|contrast| contrast.expression.clone()));
    }
    texts
}

/// A number between 1 and 2 that belongs to its names.
fn value(names: &[&str]) -> f64 {
    let hash = Hash::of(names.join("/").as_bytes()).to_string();
    1.0 + u64::from_str_radix(&hash[..12], 16).unwrap() as f64 / (1u64 << 48) as f64
}

#[test]
fn what_was_frozen_means_what_it_meant() {
    let texts = frozen();
    assert!(texts.len() > 600, "{}", texts.len());
    let contrasts: BTreeMap<&str, Contrast> =
        texts.iter().map(|text| (text.as_str(), Contrast::parse(text).unwrap())).collect();
    let mut cells: BTreeSet<(&str, &str)> = BTreeSet::new();
    for (text, contrast) in &contrasts {
        assert_eq!(contrast.text, *text);
        assert_eq!(Contrast::parse(&contrast.to_string()).as_ref(), Ok(contrast));
        for cell in contrast.cells() {
            let (arm, condition) = cell.split_once('@').unwrap();
            if condition == "*" {
                cells.extend(["0.00", "0.10", "0.30"].map(|condition| (arm, condition)));
            } else {
                cells.insert((arm, condition));
            }
        }
    }
    let mut long = "source,arm,condition,value\n".to_owned();
    let mut observed = "source,arm,condition,update,quantity,of,part,value\n".to_owned();
    for source in ["1", "2", "3"] {
        for (arm, condition) in &cells {
            let of = |what: &str| value(&[source, arm, condition, what]);
            let place = format!("{source},{arm},{condition}");
            writeln!(long, "{place},{}", of("end")).unwrap();
            // What a cell does not mean unless it says so.
            writeln!(observed, "{place},200,error,,,{}", of("early")).unwrap();
            writeln!(observed, "{place},1000,error,,,{}", of("end")).unwrap();
            writeln!(observed, "{place},1000,masking.change,,w=1,{}", of("measured")).unwrap();
            writeln!(observed, "{place},1000,error,KD,all,{}", of("called so")).unwrap();
        }
    }
    let read = |text: &str| RawTable::from_csv(text.as_bytes()).unwrap();
    let (long, observed) = (read(&long), read(&observed));
    let all: Vec<Contrast> = contrasts.values().cloned().collect();
    let long = SourceTable::for_contrasts(&long, &Layout::default(), &all).unwrap();
    let observed = SourceTable::for_contrasts(&observed, &Layout::default(), &all).unwrap();
    for (text, contrast) in &contrasts {
        let wanted = contrast.evaluate(&long).unwrap();
        assert_eq!(contrast.evaluate(&observed).unwrap(), wanted, "{text}");
    }
}
