//! The paired protocol on columns from Python.

use arrow_pyarrow::{PyArrowType, Table};
use backcut_stats::table::RawTable;
use backcut_stats::{Bound as Ends, Contrast, FamilyParams, Layout, SourceTable, StatsError, text};
use backcut_text::escape;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyList, PyString};

use serde::Deserialize;

use crate::{frame, internal, told, wrong};

/// Everything but the table, by the command's names.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    contrasts: Vec<String>,
    values: Vec<String>,
    family_size: Option<usize>,
    margin: Option<f64>,
    one_sided: bool,
    alpha: Option<f64>,
    draws: Option<usize>,
    seed: Option<u64>,
    exact_up_to: Option<usize>,
    source: Option<String>,
    arm: Option<String>,
    condition: Option<String>,
    value: Option<String>,
    cluster: Option<String>,
    stratum: Option<String>,
    drop_incomplete: bool,
    title: String,
}

impl Options {
    fn family(&self) -> Result<backcut_stats::Family, StatsError> {
        let parsed = self.contrasts.iter().map(|text| Contrast::parse(text));
        let mut contrasts = parsed.collect::<Result<Vec<_>, _>>()?;
        contrasts.extend(self.values.iter().map(|name| Contrast::column(name)));
        let default = FamilyParams::new(contrasts);
        FamilyParams {
            size: self.family_size,
            alpha: self.alpha.unwrap_or(default.alpha),
            margin: self.margin,
            bound: if self.one_sided { Ends::OneSided } else { Ends::TwoSided },
            draws: self.draws.unwrap_or(default.draws),
            seed: self.seed.unwrap_or(default.seed),
            exact_up_to: self.exact_up_to.unwrap_or(default.exact_up_to),
            ..default
        }
        .check()
    }

    fn layout(&self) -> Layout {
        Layout {
            source: self.source.clone(),
            cluster: self.cluster.clone(),
            stratum: self.stratum.clone(),
            arm: self.arm.clone(),
            condition: self.condition.clone(),
            value: self.value.clone(),
        }
    }
}

/// Judges contrasts on a table, given as the bytes of a CSV file, as an Arrow stream or as columns:
/// report as JSON, text, forest plot.
#[pyfunction]
pub fn stats(
    py: Python<'_>,
    file: Option<&Bound<'_, PyBytes>>,
    frame: Option<PyArrowType<Table>>,
    columns: Vec<(String, Bound<'_, PyList>)>,
    options: &str,
) -> PyResult<(String, String, String)> {
    let options: Options = serde_json::from_str(options).map_err(internal)?;
    let failed = |error: StatsError| told("failed to ", &error);
    let asks_nothing = options.contrasts.is_empty() && options.values.is_empty();
    let family = match options.family() {
        Err(error) if !asks_nothing => return Err(failed(error)),
        family => family,
    };
    let raw = match (file, frame) {
        (Some(bytes), _) => RawTable::from_bytes(bytes.as_bytes()).map_err(failed)?,
        (None, Some(frame)) => py.detach(|| frame::read(frame.0))?,
        (None, None) => listed(&columns)?,
    };
    let family = match family {
        Ok(family) => family,
        Err(error) => {
            // What to type depends on what is there.
            let table = SourceTable::from_raw(&raw, &options.layout()).map_err(failed)?;
            let hint = text::what_to_ask(&table, str::to_owned);
            return Err(wrong(format!("failed to {error}"), &hint));
        }
    };
    let (report, title) = py
        .detach(|| {
            let contrasts = &family.params().contrasts;
            let cells: Vec<&str> = contrasts.iter().flat_map(Contrast::cells).collect();
            let table = SourceTable::with_cells(&raw, &options.layout(), &cells)?;
            let judged = if options.drop_incomplete {
                family.run_on_complete(&table)?.0
            } else {
                family.run(&table)?
            };
            Ok::<_, StatsError>((judged, options.title.as_str()))
        })
        .map_err(failed)?;
    let json = serde_json::to_string(&report).map_err(internal)?;
    Ok((
        json,
        escape::lines(&text::render(&report, title)),
        backcut_page::report::forest(&report, title),
    ))
}

/// The rectangle of columns that are lists.
fn listed(columns: &[(String, Bound<'_, PyList>)]) -> PyResult<RawTable> {
    let column = |(name, values): &(String, Bound<'_, PyList>)| {
        let entries = values.iter().map(|value| entry(&value)).collect::<PyResult<_>>()?;
        Ok((name.clone(), entries))
    };
    rectangle(columns.iter().map(column).collect::<PyResult<_>>()?)
}

/// Columns as the rectangle of text that a file would give.
pub(crate) fn rectangle(columns: Vec<(String, Vec<String>)>) -> PyResult<RawTable> {
    let length = columns.first().map_or(0, |(_, values)| values.len());
    if length == 0 {
        return Err(wrong(
            "the table has no rows",
            "give a row per source, or per source and cell",
        ));
    }
    let mut rows: Vec<(usize, Vec<String>)> =
        (0..length).map(|i| (i + 2, Vec::with_capacity(columns.len()))).collect();
    let mut header = Vec::with_capacity(columns.len());
    for (name, values) in columns {
        if values.len() != length {
            let what = format!("column `{name}` has {} rows, the first one {length}", values.len());
            return Err(wrong(what, ""));
        }
        if header.contains(&name) {
            return Err(wrong(format!("two columns are named `{name}`"), "rename one of them"));
        }
        for (value, (_, row)) in values.into_iter().zip(&mut rows) {
            row.push(value);
        }
        header.push(name);
    }
    Ok(RawTable { header, rows })
}

/// A number as it reads back the same. As pandas writes a CSV file: a NaN is a value that is not
/// there.
pub(crate) fn of_number(number: f64) -> String {
    if number.is_nan() { String::new() } else { number.to_string() }
}

fn entry(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if value.is_none() {
        return Ok(String::new());
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(of_number(number.extract::<f64>()?));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(text.to_str()?.trim().to_owned());
    }
    if value.is_instance_of::<PyBool>() {
        let what = "a column of the table holds true and false";
        return Err(wrong(what, "give names as text and values as numbers"));
    }
    Ok(value.str()?.to_str()?.to_owned())
}
