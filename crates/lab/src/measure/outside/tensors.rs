//! The tensors that a safetensors file lists, checked before any of them is read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;

use backcut_text::nearest;
use safetensors::tensor::TensorInfo;
use serde_json::{Map, Value};

use crate::measure::source::OutsideError;

/// The longest description of tensors that is read.
const MAX_HEADER: u64 = 100_000_000;
/// Families that an export holds and a comparison does not look at.
pub(super) const OTHERS: [&str; 6] = ["input", "read", "initial", "output", "fed", "update"];

pub(super) const WRITE_AGAIN: &str =
    "write the file again, under another name that is renamed at the end";

pub(super) fn wrong(what: impl Into<String>, hint: &str) -> OutsideError {
    OutsideError::new(what, hint)
}

/// The tensors by name.
pub(super) struct Tensors {
    pub(super) of_name: BTreeMap<String, TensorInfo>,
    /// Where the numbers begin.
    pub(super) start: u64,
    pub(super) metadata: Map<String, Value>,
}

/// The part of a tensor's name before the first slash.
pub(super) fn family(name: &str) -> Option<&str> {
    name.split_once('/').map(|(family, _)| family)
}

impl Tensors {
    pub(super) fn read(file: &mut File) -> Result<Self, Result<OutsideError, std::io::Error>> {
        let length = file.metadata().map_err(Err)?.len();
        let half = |what: String| Ok(wrong(what, WRITE_AGAIN));
        let mut prefix = [0; 8];
        file.read_exact(&mut prefix)
            .map_err(|_| half("it is no safetensors file, or half of one".into()))?;
        let header = u64::from_le_bytes(prefix);
        if header > MAX_HEADER || header + 8 > length {
            return Err(half(format!("it is no safetensors file, or half of one: {length} bytes")));
        }
        let mut text = vec![0; header as usize];
        file.read_exact(&mut text).map_err(Err)?;
        let all: Map<String, Value> = serde_json::from_slice(&text)
            .map_err(|error| half(format!("its list of tensors makes no sense: {error}")))?;
        let (mut of_name, mut metadata, mut end) = (BTreeMap::new(), Map::new(), 0);
        for (name, value) in all {
            if name == "__metadata__" {
                metadata = value.as_object().cloned().unwrap_or_default();
                continue;
            }
            let info: TensorInfo = serde_json::from_value(value)
                .map_err(|error| half(format!("tensor `{name}`: {error}")))?;
            let (from, to) = info.data_offsets;
            let count = info.shape.iter().try_fold(1_usize, |n, d| n.checked_mul(*d));
            let bytes =
                count.and_then(|n| n.checked_mul(info.dtype.bitsize())).map(|bits| bits / 8);
            if to.checked_sub(from) != bytes {
                return Err(half(format!(
                    "tensor `{name}` has not as many bytes as its shape says"
                )));
            }
            end = end.max(to as u64);
            of_name.insert(name, info);
        }
        let start = header + 8;
        match (start + end).cmp(&length) {
            std::cmp::Ordering::Greater => {
                let missing = start + end - length;
                Err(half(format!("half of a file: {missing} bytes of its tensors are missing")))
            }
            std::cmp::Ordering::Less => Err(half("it goes on after its last tensor".to_owned())),
            std::cmp::Ordering::Equal => Ok(Self { of_name, start, metadata }),
        }
    }

    /// The tensors of a family by the rest of their names, in the order of the file.
    pub(super) fn family(&self, prefix: &str) -> Vec<(&str, &TensorInfo)> {
        let all = self.of_name.iter();
        let mut found: Vec<(&str, &TensorInfo)> =
            all.filter_map(|(name, info)| Some((name.strip_prefix(prefix)?, info))).collect();
        found.sort_by_key(|(_, info)| info.data_offsets.0);
        found
    }

    /// The arms that tensors are named by.
    pub(super) fn arms(&self) -> Vec<String> {
        let mut arms: Vec<String> = Vec::new();
        for (rest, _) in self.family("gradient/") {
            let arm = rest.split('/').next().unwrap_or_default();
            if !arms.iter().any(|known| known == arm) {
                arms.push(arm.to_owned());
            }
        }
        arms.sort();
        arms
    }

    /// Refuses tensors that nobody asked for.
    pub(super) fn check_names(&self, arms: &[String]) -> Result<(), OutsideError> {
        let known = ["param", "gradient", "moment1", "moment2"];
        for name in self.of_name.keys() {
            let of = family(name).unwrap_or(name);
            if !known.contains(&of) && !OTHERS.contains(&of) {
                let hint = match nearest(of, known) {
                    Some(known) => format!("did you mean `{known}/...`?"),
                    None => "tensors are param/NAME, gradient/ARM/NAME, moment1/NAME, moment2/NAME"
                        .into(),
                };
                return Err(OutsideError::new(format!("an extra tensor `{name}`"), hint));
            }
            let is_of = |arm: &String| {
                name.strip_prefix("gradient/")
                    .and_then(|r| r.strip_prefix(arm.as_str()))
                    .is_some_and(|r| r.starts_with('/'))
            };
            if of == "gradient" && !arms.iter().any(is_of) {
                let what = format!("`{name}` is of no arm that the file lists");
                return Err(wrong(what, "list it in `arms`, or leave it out"));
            }
        }
        Ok(())
    }
}
