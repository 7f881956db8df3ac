//! What a file of gradients says of itself: one form, with a version.

use backcut_systems::{AdamW, Kind, Rule};
use serde::de::Error as _;
use serde_json::{Map, Value};

use super::described::Optimizing;
use crate::measure::source::OutsideError;

/// The newest version that this build reads, and the one that it writes.
pub const FORMAT: u32 = 2;

/// The metadata's key.
const KEY: &str = "backcut";
const HINT: &str = "see docs/format.md for what the metadata say";

#[derive(Default)]
pub(super) struct Header {
    pub(super) arms: Option<Vec<String>>,
    pub(super) parameters: Option<Vec<String>>,
    step: Option<u64>,
    optimizer: Option<(Rule, f64)>,
}

/// A rule as files of gradients say it: its settings beside its `kind`.
pub fn tagged(rule: &Rule) -> Result<Value, serde_json::Error> {
    let kind = rule.kind().name();
    let mut form = serde_json::to_value(rule)?[kind].take();
    form["kind"] = kind.into();
    Ok(form)
}

/// What [`tagged`] made, read again.
pub fn untagged(mut form: Map<String, Value>) -> Result<Rule, serde_json::Error> {
    let missing = || serde_json::Error::missing_field("kind");
    let kind: Kind = serde_json::from_value(form.remove("kind").ok_or_else(missing)?)?;
    serde_json::from_value(Map::from_iter([(kind.name().to_owned(), form.into())]).into())
}

fn wrong(what: impl Into<String>) -> OutsideError {
    OutsideError::new(what, HINT)
}

impl Header {
    /// Understands the metadata. A file without ours has gradients alone.
    pub(super) fn read(metadata: &Map<String, Value>) -> Result<Self, OutsideError> {
        let Some(text) = metadata.get(KEY) else { return Ok(Self::default()) };
        let text = text.as_str().ok_or_else(|| wrong("metadata `backcut` are no text"))?;
        let value: Value = serde_json::from_str(text)
            .map_err(|error| wrong(format!("metadata `backcut`: {error}")))?;
        match value["kind"].as_str() {
            Some("export") => {}
            Some(other) => {
                return Err(wrong(format!("it is a file of kind `{other}`, not an export")));
            }
            None => return Err(wrong("metadata `backcut` have no `kind`")),
        }
        match value["format"].as_u64() {
            Some(1) => Self::first_form(&value),
            Some(2) => Self::second_form(&value),
            Some(newer) => Err(wrong(format!("format {newer}; this build reads up to {FORMAT}"))),
            None => Err(wrong("metadata `backcut` have no `format`")),
        }
    }

    fn second_form(value: &Value) -> Result<Self, OutsideError> {
        let texts = |key: &str| -> Result<Option<Vec<String>>, OutsideError> {
            match &value[key] {
                Value::Null => Ok(None),
                list => serde_json::from_value(list.clone())
                    .map(Some)
                    .map_err(|error| wrong(format!("metadata `{key}`: {error}"))),
            }
        };
        let optimizer = match &value["optimizer"] {
            Value::Null => None,
            form => {
                let broken = |error| wrong(format!("metadata `optimizer`: {error}"));
                let mut form: Map<String, Value> =
                    serde_json::from_value(form.clone()).map_err(broken)?;
                let clip = form.remove("clip").unwrap_or(Value::Null);
                let clip: Option<f64> = serde_json::from_value(clip).map_err(broken)?;
                Some((untagged(form).map_err(broken)?, clip.unwrap_or(f64::INFINITY)))
            }
        };
        let step = match &value["step"] {
            Value::Null => None,
            step => Some(step.as_u64().ok_or_else(|| wrong("metadata `step` is no count"))?),
        };
        Ok(Self { arms: texts("arms")?, parameters: texts("parameters")?, step, optimizer })
    }

    /// Files that were written before the form had arms and an order of parameters.
    fn first_form(value: &Value) -> Result<Self, OutsideError> {
        let mut arms: Vec<String> =
            value["cuts"].as_object().into_iter().flat_map(Map::keys).cloned().collect();
        arms.sort_by_key(|arm| (arm != "FF", arm.clone()));
        let optimizer = &value["config"]["optimizer"];
        let settings = serde_json::from_value::<AdamW>(optimizer["adamw"].clone())
            .map_err(|error| wrong(format!("metadata of format 1: {error}")))?;
        let rate = value["rate"].as_f64().unwrap_or(settings.rate);
        let clip = optimizer["clip"].as_f64().unwrap_or(f64::INFINITY);
        Ok(Self {
            arms: Some(arms),
            parameters: None,
            step: value["adam_step"].as_u64(),
            optimizer: Some((Rule::AdamW(AdamW { rate, ..settings }), clip)),
        })
    }

    /// The optimizer, with its count of steps.
    pub(super) fn optimizing(&self) -> Result<Option<Optimizing>, OutsideError> {
        let Some((rule, clip)) = self.optimizer else { return Ok(None) };
        let Some(step) = self.step else {
            let hint = "add `step`: how many updates the moments have seen, 0 before the first";
            return Err(OutsideError::new("an optimizer without its count of steps", hint));
        };
        Ok(Some(Optimizing { rule, clip, step }))
    }
}
