//! The file that a program gives back.

use std::path::Path;

use backcut_lab::measure::Finding;
use backcut_text::escape::plain;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::file::is_formula;
use crate::program::Commanded;
use crate::record::Point;

/// More points or findings than this are a slip.
const MANY: usize = 1_000_000;
/// The longest answer that is read.
const LONGEST: u64 = 64 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    value: Option<f64>,
    #[serde(default)]
    curve: Vec<(u64, f64)>,
    #[serde(default)]
    findings: Findings,
    #[serde(default)]
    provenance: Map<String, Value>,
    #[serde(default)]
    failed: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Findings {
    Named(Map<String, Value>),
    /// Objects: a struct would be read from a list of its values, too.
    Listed(Vec<Map<String, Value>>),
}

impl Default for Findings {
    fn default() -> Self {
        Self::Listed(Vec::new())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    quantity: String,
    #[serde(default)]
    cut: String,
    #[serde(default = "all")]
    part: String,
    value: Option<f64>,
    #[serde(default)]
    note: String,
}

fn all() -> String {
    "all".to_owned()
}

/// What a program answered.
#[derive(PartialEq, Debug)]
pub(super) struct Answer {
    pub(super) curve: Vec<Point>,
    pub(super) findings: Vec<Finding>,
    pub(super) provenance: Map<String, Value>,
}

/// An answer that is none: why, and what to do.
#[derive(PartialEq, Debug)]
pub(super) struct NoAnswer {
    pub(super) what: String,
    pub(super) hint: String,
    pub(super) provenance: Map<String, Value>,
    /// The program itself says so.
    pub(super) is_said: bool,
}

fn none(what: impl Into<String>, hint: &str) -> NoAnswer {
    NoAnswer { what: what.into(), hint: hint.to_owned(), provenance: Map::new(), is_said: false }
}

/// Reads an answer and holds it to what was asked.
pub(super) fn read(path: &Path, asked: &Commanded) -> Result<Answer, NoAnswer> {
    let hint = "see docs/your-program.md for what a result holds";
    match std::fs::metadata(path) {
        Err(_) => return Err(none("it ended without a result", "write the file `result`")),
        Ok(about) if about.len() > LONGEST => {
            return Err(none(format!("its result is larger than {} MiB", LONGEST >> 20), hint));
        }
        Ok(_) => {}
    }
    let text = backcut_files::read_text(path)
        .map_err(|error| none(format!("its result cannot be read: {error}"), hint))?;
    understand(&text, asked)
}

fn understand(text: &str, asked: &Commanded) -> Result<Answer, NoAnswer> {
    let hint = "see docs/your-program.md for what a result holds";
    if !text.trim_start().starts_with('{') {
        return Err(none("its result makes no sense: it is no JSON object", hint));
    }
    let file: File = serde_json::from_str(text).map_err(|error| {
        let is_odd = ["NaN", "Infinity"].iter().any(|word| text.contains(word));
        let hint = if is_odd {
            "JSON has no NaN or infinity: answer with `failed` and say why"
        } else {
            hint
        };
        none(format!("its result makes no sense: {error}"), hint)
    })?;
    let File { value, curve, findings, provenance, failed } = file;
    if let Some(why) = failed {
        let why: String = why.chars().filter(|c| !c.is_control()).collect();
        let what = format!("it says: {}", &why[..why.floor_char_boundary(500)]);
        return Err(NoAnswer { provenance, is_said: true, ..none(what, "") });
    }
    let refuse = |what: String| NoAnswer { provenance: provenance.clone(), ..none(what, hint) };
    let curve = points(value, &curve, asked).map_err(refuse)?;
    let findings = found(findings).map_err(refuse)?;
    Ok(Answer { curve, findings, provenance })
}

/// The curve with its end, in order, with every point that was asked for.
fn points(
    value: Option<f64>,
    curve: &[(u64, f64)],
    asked: &Commanded,
) -> Result<Vec<Point>, String> {
    if curve.len() > MANY {
        return Err(format!("its curve has {} points", curve.len()));
    }
    if !curve.is_sorted_by(|a, b| a.0 < b.0) {
        return Err("the updates of its curve are not in order, each once".to_owned());
    }
    let end = asked.updates;
    if let Some((update, _)) = curve.last().filter(|(update, _)| *update > end) {
        return Err(format!("its curve goes to update {update}, and its budget is {end}"));
    }
    let mut points: Vec<Point> =
        curve.iter().map(|&(update, value)| Point { update, value }).collect();
    match (value, points.last()) {
        (Some(value), Some(last)) if last.update == end => {
            if last.value.to_bits() != value.to_bits() {
                let there = last.value;
                return Err(format!("its value is {value}, but its curve ends with {there}"));
            }
        }
        (Some(value), _) => points.push(Point { update: end, value }),
        (None, Some(last)) if last.update == end => {}
        (None, _) => return Err(format!("no `value`, and no point at update {end}")),
    }
    let is_there = |update: &u64| points.binary_search_by_key(update, |p| p.update).is_ok();
    match asked.evaluations.iter().find(|update| !is_there(update)) {
        Some(update) => Err(format!("no value at update {update}, which the study asks for")),
        None => Ok(points),
    }
}

fn found(findings: Findings) -> Result<Vec<Finding>, String> {
    let listed = match findings {
        Findings::Listed(listed) => {
            let read = |item: Map<String, Value>| serde_json::from_value(item.into());
            let listed: Result<Vec<Listed>, _> = listed.into_iter().map(read).collect();
            listed.map_err(|error| format!("a finding makes no sense: {error}"))?
        }
        Findings::Named(named) => {
            let mut listed = Vec::new();
            for (quantity, value) in named {
                let number = value.as_f64();
                if number.is_none() && !value.is_null() {
                    return Err(format!("finding `{quantity}` is no number"));
                }
                let (cut, note) = (String::new(), String::new());
                listed.push(Listed { quantity, cut, part: all(), value: number, note });
            }
            listed
        }
    };
    if listed.len() > MANY {
        return Err(format!("it has {} findings", listed.len()));
    }
    let mut findings: Vec<Finding> = Vec::new();
    for Listed { quantity, cut, part, value, note } in listed {
        let name = format!("{quantity}/{part}/{cut}");
        let is_formula = [&quantity, &part, &cut, &note].into_iter().any(|text| is_formula(text));
        let is_odd = plain(&name) != name || quantity.contains('/');
        if quantity.is_empty() || is_odd || is_formula {
            return Err(format!("a finding cannot be called {quantity:?}"));
        }
        findings.push(Finding { quantity, of: cut.into(), part, value, note });
    }
    let mut names: Vec<(&str, &str, String)> =
        findings.iter().map(|f| (&*f.quantity, &*f.part, f.of.to_string())).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("finding `{}` of part `{}` twice", pair[0].0, pair[0].1)),
        None => Ok(findings),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Replay;

    fn asked() -> Commanded {
        Commanded {
            version: 1,
            arm: "a".into(),
            condition: "c".into(),
            command: vec!["true".into()],
            files: std::collections::BTreeMap::new(),
            settings: Map::new(),
            seed: 1,
            updates: 20,
            evaluations: vec![10, 20],
            replay: Replay::Bitwise,
        }
    }

    fn refused(text: &str) -> String {
        understand(text, &asked()).unwrap_err().what
    }

    #[test]
    fn a_value_and_a_curve_are_one_series() {
        let answer =
            understand(r#"{"value": 0.5, "curve": [[5, 2], [10, 1.5]]}"#, &asked()).unwrap();
        let series: Vec<(u64, f64)> = answer.curve.iter().map(|p| (p.update, p.value)).collect();
        assert_eq!(series, [(5, 2.0), (10, 1.5), (20, 0.5)]);
        let same = understand(r#"{"curve": [[5, 2], [10, 1.5], [20, 0.5]]}"#, &asked()).unwrap();
        assert_eq!(same.curve, answer.curve);
    }

    #[test]
    fn what_was_not_asked_for_or_is_missing_is_no_answer() {
        assert!(refused("").contains("makes no sense"));
        assert!(refused("[0.5, [[10, 2]]]").contains("no JSON object"));
        assert!(refused(r#"{"value": 1, "curve": [[10, 2]], "more": 1}"#).contains("`more`"));
        assert!(refused(r#"{"value": 1}"#).contains("no value at update 10"));
        assert!(refused(r#"{"curve": [[10, 2]]}"#).contains("no point at update 20"));
        assert!(refused(r#"{"curve": [[10, 2], [20, 1]], "value": 2}"#).contains("ends with 1"));
        assert!(refused(r#"{"curve": [[10, 2], [10, 1]], "value": 2}"#).contains("in order"));
        assert!(refused(r#"{"curve": [[10, 2], [21, 1]], "value": 2}"#).contains("budget is 20"));
        assert!(refused(r#"{"value": 1e999, "curve": [[10, 2]]}"#).contains("out of range"));
        let odd = understand(r#"{"value": NaN}"#, &asked()).unwrap_err();
        assert!(odd.hint.contains("no NaN"), "{}", odd.hint);
        assert_eq!(refused(r#"{"failed": "diverged\nat 3"}"#), "it says: divergedat 3");
    }

    #[test]
    fn findings_have_a_short_and_a_long_form() {
        let base =
            |findings: &str| format!(r#"{{"value":1,"curve":[[10,2]],"findings":{findings}}}"#);
        let named = understand(&base(r#"{"norm": 1.5}"#), &asked()).unwrap().findings;
        let long = base(r#"[{"quantity": "norm", "value": 1.5}]"#);
        assert_eq!(understand(&long, &asked()).unwrap().findings, named);
        assert_eq!((&*named[0].part, named[0].value), ("all", Some(1.5)));
        assert!(refused(&base(r#"{"norm": "x"}"#)).contains("no number"));
        let formula = r#"[{"quantity": "q", "part": "@x", "value": 1}]"#;
        let turned = "{\"a\u{202e}b\": 1}";
        for odd in [r#"{"a/b": 1}"#, r#"{"=cmd|": 1}"#, formula, turned] {
            assert!(refused(&base(odd)).contains("cannot be called"), "{odd}");
        }
        let bare = refused(&base(r#"[["norm", "", "all", 1.5, ""]]"#));
        assert!(bare.contains("makes no sense"), "{bare}");
        let twice = r#"[{"quantity": "n", "value": 1}, {"quantity": "n", "value": 2}]"#;
        assert!(refused(&base(twice)).contains("twice"));
    }
}
