//! Means over sources: of errors, and of what was measured.

use std::collections::BTreeMap;

use super::Table;
use crate::report::data::Data;
use crate::report::estimate::Estimate;
use crate::report::figures;
use crate::report::format::{NONE, estimate};
use crate::report::results::{Results, Study};

/// More rows than this go to the CSV only.
const SHOWN: usize = 400;

const INTERVALS: &str = "Means over sources with pointwise 95% source-bootstrap intervals \
                         (descriptive) from four sources on.";

pub fn endpoints(results: &Results, studies: &[&Study]) -> Table {
    let (mut rows, mut data) = (Vec::new(), Data::default());
    for study in studies {
        let unit = study.error_words().unit;
        for (condition, arm, e) in figures::cells(results, study) {
            data.mean(&study.name, arm, condition, &e, &unit);
            let [mean, sources, left_out] = cells(&e);
            let mean = format!("{mean} {unit}").trim_end().to_owned();
            let (name, arm, condition) = (study.name.clone(), arm.to_owned(), condition.to_owned());
            rows.push(vec![name, arm, condition, mean, sources, left_out]);
        }
    }
    let columns = ["study", "arm", "condition", "error", "sources", "left out"];
    finish("endpoints", "Errors at the last update", &columns, rows, &data)
}

/// The same means as a grid, without intervals: one row per arm, one column per condition.
pub fn grid(results: &Results, studies: &[&Study]) -> Table {
    let mut conditions: Vec<&str> = Vec::new();
    let (mut means, mut data) = (BTreeMap::new(), Data::default());
    let mut places: Vec<(&str, &str)> = Vec::new();
    for study in studies {
        let unit = study.error_words().unit;
        for (condition, arm, e) in figures::cells(results, study) {
            data.mean(&study.name, arm, condition, &e, &unit);
            if !conditions.contains(&condition) {
                conditions.push(condition);
            }
            let place = (study.name.as_str(), arm);
            if !places.contains(&place) {
                places.push(place);
            }
            means.insert((place, condition), estimate(e.mean, None));
        }
    }
    let row = |place: &(&str, &str)| {
        let cell = |condition| means.get(&(*place, condition)).map_or(NONE, String::as_str);
        let cells = conditions.iter().map(|condition| cell(*condition).to_owned());
        [place.0.to_owned(), place.1.to_owned()].into_iter().chain(cells).collect()
    };
    let rows = places.iter().map(row).collect();
    let columns: Vec<&str> =
        ["study", "arm"].into_iter().chain(conditions.iter().copied()).collect();
    let mut made = finish("means", "Errors at the last update", &columns, rows, &data);
    "Means over sources; the table of endpoints has their intervals."
        .clone_into(&mut made.notes[0]);
    made
}

pub fn measured(results: &Results, studies: &[&Study]) -> Table {
    let (mut rows, mut data) = (Vec::new(), Data::default());
    for study in studies {
        for quantity in figures::quantities(results, study) {
            for (place, e) in &quantity.means {
                let panel = format!("{}: {}", study.name, quantity.name);
                let [condition, arm, cut, part] = place.map(str::to_owned);
                data.mean(&panel, &[arm.as_str(), &cut, &part].join(" "), &condition, e, "");
                let mut row = vec![study.name.clone(), quantity.name.to_owned()];
                row.extend([arm, condition, cut, part]);
                row.extend(cells(e).into_iter().take(2));
                rows.push(row);
            }
        }
    }
    let columns = ["study", "quantity", "arm", "condition", "cut", "part", "mean", "sources"];
    finish("measurements", "What was measured", &columns, rows, &data)
}

/// The mean, how many sources it rests on, how many are left out.
fn cells(e: &Estimate) -> [String; 3] {
    let left_out = if e.missing.is_empty() { NONE.to_owned() } else { e.missing.len().to_string() };
    [estimate(e.mean, e.interval), e.n().to_string(), left_out]
}

fn finish(
    name: &str,
    title: &str,
    columns: &[&str],
    mut rows: Vec<Vec<String>>,
    data: &Data,
) -> Table {
    let mut notes = vec![INTERVALS.to_owned()];
    if rows.len() > SHOWN {
        notes.push(format!("{SHOWN} of {} rows are shown; the CSV has all.", rows.len()));
        rows.truncate(SHOWN);
    }
    Table {
        name: name.to_owned(),
        title: title.to_owned(),
        columns: columns.iter().map(|c| (*c).to_owned()).collect(),
        rows,
        notes,
        csv: data.csv(),
    }
}
