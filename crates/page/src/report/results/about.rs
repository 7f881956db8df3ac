//! Facts about a run, and the ledger: shown, never interpreted.

use std::path::Path;

use serde_json::Value;

use crate::report::error::ReportError;

/// What the page says about the ledger.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ledger {
    /// Entries.
    pub entries: usize,
    /// The head: the last entry's own hash, or the whole entry if it names none.
    pub head: String,
}

impl Ledger {
    /// Counts the entries of a file with one JSON object per line; nothing if there is no file.
    pub(super) fn open(path: &Path) -> Result<Option<Self>, ReportError> {
        let Some(text) = read(path)? else { return Ok(None) };
        let mut entries = 0;
        let mut head = String::new();
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let value: Value = serde_json::from_str(line).map_err(|error| ReportError::Table {
                path: path.to_owned(),
                row: index as u64 + 1,
                problem: format!("not a JSON object: {error}"),
            })?;
            entries += 1;
            let named = ["hash", "head", "entry"].iter().find_map(|key| value.get(key)?.as_str());
            head = named.map_or_else(|| line.chars().take(64).collect(), str::to_owned);
        }
        Ok(Some(Self { entries, head }))
    }
}

/// The facts of a JSON file, nested names joined by dots; nothing if there is no file.
pub(super) fn facts(path: &Path) -> Result<Vec<(String, String)>, ReportError> {
    let Some(text) = read(path)? else { return Ok(Vec::new()) };
    let value: Value = serde_json::from_str(&text).map_err(|error| ReportError::Table {
        path: path.to_owned(),
        row: error.line() as u64,
        problem: error.to_string(),
    })?;
    Ok(facts_of(&value))
}

/// What a JSON value holds, nested values by their dotted names.
pub fn facts_of(value: &Value) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    flatten("", value, &mut facts);
    facts
}

fn flatten(name: &str, value: &Value, facts: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                flatten(&name, value, facts);
            }
        }
        Value::Array(items) if items.iter().any(|i| i.is_object() || i.is_array()) => {
            for (index, value) in items.iter().enumerate() {
                flatten(&format!("{name}.{}", index + 1), value, facts);
            }
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(scalar).collect();
            facts.push((name.to_owned(), items.join(", ")));
        }
        value => facts.push((name.to_owned(), scalar(value))),
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        value => value.to_string(),
    }
}

fn read(path: &Path) -> Result<Option<String>, ReportError> {
    let text = super::read::bytes(path)?.map(String::from_utf8).transpose();
    text.map_err(|error| ReportError::Unreadable {
        path: path.to_owned(),
        problem: error.to_string(),
    })
}
