//! Where two JSON values differ, in lines for people.

use serde_json::Value;

use crate::training::config::canonical;

/// Values longer than this are shortened.
const LONGEST: usize = 100;
/// Items of a list that are named.
const NAMED: usize = 6;

/// Where two JSON values differ: `path: ours asked for, theirs there`, one line each. Lists of
/// things with names are compared name by name, lists of numbers and words by what was added and
/// what is gone.
pub fn differences(ours: &Value, theirs: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    collect("", Some(ours), Some(theirs), &mut lines);
    lines
}

fn collect(path: &str, ours: Option<&Value>, theirs: Option<&Value>, lines: &mut Vec<String>) {
    match (ours, theirs) {
        (Some(a), Some(b)) if a == b => {}
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let mut keys: Vec<&String> = a.keys().chain(b.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            for key in keys {
                collect(&below(path, key), a.get(key), b.get(key), lines);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => lists(path, a, b, lines),
        (ours, theirs) => {
            lines.push(format!("{path}: {} asked for, {} there", shown(ours), shown(theirs)));
        }
    }
}

fn lists(path: &str, ours: &[Value], theirs: &[Value], lines: &mut Vec<String>) {
    if let (Some(a), Some(b)) = (names(ours), names(theirs)) {
        let before = lines.len();
        for (name, item) in &a {
            let other = b.iter().find(|(known, _)| known == name).map(|(_, item)| *item);
            collect(&below(path, name), Some(item), other, lines);
        }
        for (name, item) in b.iter().filter(|(name, _)| a.iter().all(|(known, _)| known != name)) {
            collect(&below(path, name), None, Some(item), lines);
        }
        if lines.len() == before {
            lines.push(format!("{path}: another order"));
        }
    } else if ours.iter().chain(theirs).all(is_plain) {
        let added: Vec<&Value> = ours.iter().filter(|item| !theirs.contains(item)).collect();
        let gone: Vec<&Value> = theirs.iter().filter(|item| !ours.contains(item)).collect();
        if !added.is_empty() {
            lines.push(format!("{path}: {} asked for, not there", listed(&added)));
        }
        if !gone.is_empty() {
            lines.push(format!("{path}: {} there, not asked for", listed(&gone)));
        }
        if added.is_empty() && gone.is_empty() {
            lines.push(format!("{path}: the same items in another order or number"));
        }
    } else {
        for at in 0..ours.len().max(theirs.len()) {
            collect(&format!("{path}[{at}]"), ours.get(at), theirs.get(at), lines);
        }
    }
}

/// The items of a list by their names, if all have different ones: `{"name": ...}` or
/// `["name", ...]`.
fn names(list: &[Value]) -> Option<Vec<(&str, &Value)>> {
    let named: Vec<(&str, &Value)> = list
        .iter()
        .map(|item| {
            let name = item.get("name").or_else(|| item.as_array()?.first())?.as_str()?;
            Some((name, item))
        })
        .collect::<Option<_>>()?;
    let mut seen: Vec<&str> = named.iter().map(|(name, _)| *name).collect();
    seen.sort_unstable();
    seen.dedup();
    (seen.len() == named.len() && !named.is_empty()).then_some(named)
}

fn is_plain(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

fn below(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn listed(items: &[&Value]) -> String {
    let words: Vec<String> = items.iter().take(NAMED).map(|item| shown(Some(item))).collect();
    let more = items.len().saturating_sub(NAMED);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    words.join(", ") + &rest
}

fn shown(value: Option<&Value>) -> String {
    let Some(value) = value else { return "nothing".to_owned() };
    let text = canonical(value);
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST).chain(" ...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_are_compared_by_what_changed() {
        let ours = json!({"sources": [1, 2, 3, 5], "arms": [{"name": "FF", "updates": 20}, {"name": "FD"}]});
        let theirs = json!({"sources": [1, 2, 3, 4], "arms": [{"name": "FF", "updates": 30}]});
        let want = [
            "arms.FF.updates: 20 asked for, 30 there",
            "arms.FD: {\"name\":\"FD\"} asked for, nothing there",
            "sources: 5 asked for, not there",
            "sources: 4 there, not asked for",
        ];
        assert_eq!(differences(&ours, &theirs), want);
        assert_eq!(differences(&json!({"a": 1}), &json!({})), ["a: 1 asked for, nothing there"]);
        assert!(differences(&ours, &ours).is_empty());
    }

    #[test]
    fn a_difference_is_never_lost() {
        for (a, b) in [
            (json!([1, 2]), json!([2, 1])),
            (json!([1, 1]), json!([1])),
            (json!([{"name": "x"}, {"name": "y"}]), json!([{"name": "y"}, {"name": "x"}])),
            (json!([[1], [2]]), json!([[1]])),
            (json!([{"a": 1}]), json!([{"a": 2}])),
            (json!([]), json!([{"name": "x"}])),
            (json!(null), json!(0)),
        ] {
            let lines = differences(&a, &b);
            assert!(!lines.is_empty(), "{a} {b}");
        }
        let many: Vec<u32> = (0..100).collect();
        let lines = differences(&json!({"s": many}), &json!({"s": []}));
        assert_eq!(lines, ["s: 0, 1, 2, 3, 4, 5 and 94 more asked for, not there"]);
    }
}
