//! One text for one value: JSON with sorted keys and no spaces.
//!
//! Written here and not left to `serde_json`'s map, whose order changes when any crate of the tree
//! enables `preserve_order`.

use serde::Serialize;
use serde_json::Value;

/// The canonical JSON of a value. Fails only for what JSON cannot hold (maps with other keys than
/// texts); numbers that are not finite become `null`, as in all of JSON.
pub fn canonical(value: &impl Serialize) -> Result<String, serde_json::Error> {
    Ok(canonical_value(&serde_json::to_value(value)?))
}

/// The same of a value that is JSON already, which can not fail.
pub fn canonical_value(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let mut pairs: Vec<_> = map.iter().collect();
            pairs.sort_by_key(|(key, _)| key.as_str());
            text.push('{');
            for (i, (key, value)) in pairs.into_iter().enumerate() {
                if i > 0 {
                    text.push(',');
                }
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write(value, text);
            }
            text.push('}');
        }
        Value::Array(values) => {
            text.push('[');
            for (i, value) in values.iter().enumerate() {
                if i > 0 {
                    text.push(',');
                }
                write(value, text);
            }
            text.push(']');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_at_every_depth_and_texts_escaped() {
        let value: Value =
            serde_json::from_str(r#"{ "b": [1, {"z": 0.1, "a": "x\n\"é"}], "a": null }"#).unwrap();
        let text = canonical(&value).unwrap();
        assert_eq!(text, r#"{"a":null,"b":[1,{"a":"x\n\"é","z":0.1}]}"#);
        let again: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(canonical(&again).unwrap(), text);
    }
}
