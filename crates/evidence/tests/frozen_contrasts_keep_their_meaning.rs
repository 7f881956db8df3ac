//! Every contrast that was ever frozen here reads as it was written, and means the same numbers of
//! a table of observations as of a table with one row per cell.
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::collections::BTreeSet;
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

/// The arms and conditions that a contrast reads; a star stands for three conditions.
fn cells(contrast: &Contrast) -> BTreeSet<(&str, &str)> {
    let mut cells = BTreeSet::new();
    for (arm, condition) in contrast.cells().into_iter().filter_map(|cell| cell.split_once('@')) {
        let levels = if condition == "*" { vec!["0.00", "0.10", "0.30"] } else { vec![condition] };
        cells.extend(levels.into_iter().map(|level| (arm, level)));
    }
    cells
}

#[test]
fn what_was_frozen_means_what_it_meant() {
    let texts = frozen();
    assert!(texts.len() > 600, "{}", texts.len());
    for text in &texts {
        let contrast = Contrast::parse(text).unwrap();
        assert_eq!(contrast.text, *text);
        assert_eq!(Contrast::parse(&contrast.to_string()).as_ref(), Ok(&contrast));
        let mut long = "source,arm,condition,value\n".to_owned();
        let mut observed = "source,arm,condition,update,quantity,of,part,value\n".to_owned();
        for source in ["1", "2", "3"] {
            for (arm, condition) in cells(&contrast) {
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
        let evaluate = |table: &str| {
            let raw = RawTable::from_csv(table.as_bytes()).unwrap();
            let table = SourceTable::with_cells(&raw, &Layout::default(), &contrast.cells());
            contrast.evaluate(&table.unwrap()).unwrap()
        };
        assert_eq!(evaluate(&observed), evaluate(&long), "{text}");
    }
}
