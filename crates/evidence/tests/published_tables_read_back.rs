//! Every table under `results/`, read into rows and written again, is the same bytes.
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use backcut_evidence::tables::rows::{
    AgreementRow, AnalysisRow, AnalyticRow, ComparisonRow, ConstructionRow, FindingRow, FreezeRow,
    Observation, PlanRow, ProvenanceRow, StreamRow, UnitRow,
};
use backcut_evidence::tables::{Row, from_csv, to_csv};

fn published() -> Vec<PathBuf> {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results");
    let list = |folder: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let folders = list(&results).into_iter().filter(|path| path.is_dir()).chain([results.clone()]);
    let files = folders.flat_map(|folder| list(&folder));
    files.filter(|path| path.extension().is_some_and(|e| e == "csv")).collect()
}

/// Reads and writes; returns how many rows there are.
fn round<R: Row>(path: &Path) -> usize {
    let bytes = std::fs::read(path).unwrap();
    let rows: Vec<R> = from_csv(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let written = as_it_was_called::<R>(&bytes, &to_csv(&rows).unwrap());
    assert!(written == bytes, "{} came out otherwise", path.display());
    rows.len()
}

/// A written table with the columns that the published one has, under the names that it gives them.
fn as_it_was_called<R: Row>(published: &[u8], written: &[u8]) -> Vec<u8> {
    let header = csv::Reader::from_reader(published).headers().unwrap().clone();
    let mut reader = csv::Reader::from_reader(written);
    let mut places = Vec::new();
    let mut names = Vec::new();
    for (place, name) in reader.headers().unwrap().iter().enumerate() {
        let former = R::RENAMED.iter().find(|(now, _)| *now == name).map(|(_, former)| *former);
        if let Some(name) =
            [Some(name), former].into_iter().flatten().find(|n| header.iter().any(|h| h == *n))
        {
            names.push(name.to_owned());
            places.push(place);
        } else {
            assert!(R::NEWER.contains(&name), "{name} is neither new nor renamed");
        }
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(&names).unwrap();
    for record in reader.records() {
        let record = record.unwrap();
        writer.write_record(places.iter().map(|place| &record[*place])).unwrap();
    }
    writer.into_inner().unwrap()
}

#[test]
fn every_published_table_reads_back_to_its_bytes() {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for path in published() {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let rows = match name.as_str() {
            "observations" => round::<Observation>(&path),
            "units" => round::<UnitRow>(&path),
            "provenance" => round::<ProvenanceRow>(&path),
            "analysis" => round::<AnalysisRow>(&path),
            "plans" => round::<PlanRow>(&path),
            "comparisons" => round::<ComparisonRow>(&path),
            "cost" => round::<FindingRow>(&path),
            "analytic" => round::<AnalyticRow>(&path),
            "construction" => round::<ConstructionRow>(&path),
            "streams" => round::<StreamRow>(&path),
            "freezes" => round::<FreezeRow>(&path),
            "orderings" => round::<AgreementRow>(&path),
            // Its second column is quoted whether it needs to be or not.
            "analytic_agreement" => {
                from_csv::<AgreementRow>(&std::fs::read(&path).unwrap()).unwrap().len()
            }
            other => panic!("{other}.csv has no row type"),
        };
        *seen.entry(name).or_default() += rows;
    }
    let kinds = 12 + usize::from(seen.contains_key("orderings"));
    assert_eq!(seen.len(), kinds, "{seen:?}");
    assert!(seen.values().all(|rows| *rows > 0) && seen["observations"] > 10_000, "{seen:?}");
}
