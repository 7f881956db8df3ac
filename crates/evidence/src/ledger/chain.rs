//! From bytes to entries, with every line checked: JSON, version, form, spelling, own hash, place,
//! predecessor, and the rules on what may be said after what. Pure: no file is touched here.

use serde_json::Value;

use crate::ledger::entry::{Entry, OLDEST, VERSION};
use crate::ledger::rules::{self, RuleError};
use backcut_files::Hash;
use backcut_files::canonical;

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Not JSON at all.
    #[error("it is not JSON: {0}")]
    NotJson(String),
    /// Written by a later version of this software.
    #[error("it has version {0}, and this program reads {VERSION}: use a newer one")]
    Newer(u64),
    /// JSON, but not an entry.
    #[error("it is not an entry: {0}")]
    Form(String),
    /// A time stamp. None was ever published.
    #[error("it is a time stamp: these are kept beside a ledger now, see docs/studies.md")]
    Stamp,
    /// An entry, but not spelled as entries are.
    #[error("its bytes are not in canonical form (sorted keys, no spaces)")]
    Spelling,
    /// The entry is not what its hash says.
    #[error("its content has the hash {found} and not {stated} as it states: it was changed")]
    Hash {
        /// The hash in the line.
        stated: Hash,
        /// The hash of the line.
        found: Hash,
    },
    /// A line is missing, doubled or out of place.
    #[error("it has index {found} where {expected} belongs: a line is missing or out of place")]
    Index {
        /// The index in the line.
        found: u64,
        /// The index that its place gives.
        expected: u64,
    },
    /// The line before is not the one that it was written after.
    #[error("it follows an entry {stated}, but the line before is {found}")]
    Previous {
        /// The predecessor that the line names.
        stated: Hash,
        /// The predecessor in the file.
        found: Hash,
    },
    /// It says what no entry may say there.
    #[error(transparent)]
    Rule(#[from] RuleError),
}

/// A write that was cut short, at the end of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Torn {
    /// The line, counted from 1.
    pub line: usize,
    /// How many bytes of it there are.
    pub bytes: usize,
    /// Whether the entry is all there and only its line end is missing. Then it counts, and the
    /// next append ends the line; otherwise the next append removes the fragment.
    pub whole: bool,
}

/// The entries of a ledger and what a killed writer may have left after them.
#[derive(Default, Debug)]
pub(crate) struct Chain {
    pub(crate) entries: Vec<Entry>,
    pub(crate) torn: Option<Torn>,
}

impl Chain {
    /// Reads a whole file; on the first bad line, its number (from 1) and what is wrong with it.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, (usize, Fault)> {
        let mut chain = Self::default();
        for (i, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let number = i + 1;
            let (text, ended) = match line.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (line, false),
            };
            if !ended && is_fragment(text) {
                chain.torn = Some(Torn { line: number, bytes: text.len(), whole: false });
                break;
            }
            let entry = chain.check(text).map_err(|fault| (number, fault))?;
            chain.entries.push(entry);
            if !ended {
                chain.torn = Some(Torn { line: number, bytes: text.len(), whole: true });
            }
        }
        Ok(chain)
    }

    pub(crate) fn head(&self) -> Hash {
        self.entries.last().map_or(Hash::ZERO, |entry| entry.hash)
    }

    /// The next entry, if the line is one.
    fn check(&self, line: &[u8]) -> Result<Entry, Fault> {
        let value: Value =
            serde_json::from_slice(line).map_err(|error| Fault::NotJson(error.to_string()))?;
        // Before the form: a newer version may have any.
        match value.get("version").and_then(Value::as_u64) {
            Some(version) if version > u64::from(VERSION) => return Err(Fault::Newer(version)),
            Some(version) if version < u64::from(OLDEST) => {
                return Err(Fault::Form(format!("there is no version {version}")));
            }
            _ => {}
        }
        if value["body"]["kind"] == "timestamp" {
            return Err(Fault::Stamp);
        }
        let form = |error: serde_json::Error| Fault::Form(error.to_string());
        let entry: Entry = serde_json::from_value(value).map_err(form)?;
        if canonical(&entry).map_err(form)?.as_bytes() != line {
            return Err(Fault::Spelling);
        }
        let found = Hash::of(entry.sealed_text().map_err(form)?.as_bytes());
        if found != entry.hash {
            return Err(Fault::Hash { stated: entry.hash, found });
        }
        let expected = self.entries.len() as u64;
        if entry.index != expected {
            return Err(Fault::Index { found: entry.index, expected });
        }
        if entry.previous != self.head() {
            return Err(Fault::Previous { stated: entry.previous, found: self.head() });
        }
        rules::check(&self.entries, &entry.body)?;
        Ok(entry)
    }
}

/// Whether an unended line is the beginning of an entry, as a kill inside a write leaves it.
/// Anything else without a line end is damage, and damage is never removed.
fn is_fragment(text: &[u8]) -> bool {
    const OPENING: &[u8] = b"{\"body\":{";
    let common = text.len().min(OPENING.len());
    text[..common] == OPENING[..common]
        && serde_json::from_slice::<Value>(text).is_err_and(|error| error.is_eof())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::draw::Draw;
    use crate::ledger::entry::{Body, Contrast, Frozen};

    /// Two studies, as bytes.
    fn two_entries() -> Vec<u8> {
        let (mut bytes, mut previous) = (Vec::new(), Hash::ZERO);
        for (index, study) in ["C5", "C6 \"é\""].into_iter().enumerate() {
            let mut frozen = Frozen::new(study, "{\"seeds\":16}", Hash::of(b"analysis"));
            frozen.new = vec![Hash::of(study.as_bytes())];
            frozen.contrasts = vec![Contrast {
                name: "H1".into(),
                family: "main".into(),
                expression: "F_SG - FF".into(),
                direction: Some("positive".into()),
                asks: None,
                sample: None,
                shared_by: None,
                idle: vec![],
            }];
            let utc = "2026-11-15T12:00:00Z".parse().unwrap();
            let body = Body::Freeze(frozen);
            let entry = Entry::seal(index as u64, previous, utc, body).unwrap();
            previous = entry.hash;
            bytes.extend(canonical(&entry).unwrap().bytes().chain([b'\n']));
        }
        bytes
    }

    #[test]
    fn every_bit_of_every_byte_is_guarded_and_its_line_named() {
        let sound = two_entries();
        assert_eq!(Chain::read(&sound).unwrap().entries.len(), 2);
        let second = sound.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for at in 0..sound.len() {
            for bit in 0..8 {
                let mut bytes = sound.clone();
                bytes[at] ^= 1 << bit;
                let (line, fault) = Chain::read(&bytes).expect_err("a changed bit");
                assert_eq!(line, 1 + usize::from(at >= second), "byte {at}, bit {bit}: {fault}");
            }
        }
    }

    #[test]
    fn what_was_stamped_is_refused_in_one_line() {
        let stamp = "{\"body\":{\"kind\":\"timestamp\",\"of\":\"\"},\"version\":2}\n";
        let (line, fault) = Chain::read(stamp.as_bytes()).expect_err("a stamp");
        assert!(line == 1 && fault.to_string().contains("kept beside a ledger"), "{fault}");
        let draw = serde_json::from_str::<Draw>("{\"sources\":2,\"stamped\":true}");
        assert!(draw.unwrap_err().to_string().contains("say `draw` alone"));
    }
}
