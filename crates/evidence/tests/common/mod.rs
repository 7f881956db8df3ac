//! Small studies to freeze.

#![allow(dead_code, reason = "each test file uses its part")]

pub mod diary;

use backcut_files::{Hash, Utc, canonical};

use backcut_evidence::ledger::{
    Amendment, Body, Contrast, Entry, Frozen, Ledger, Reused, Sample, Status,
};

/// The minute of a fictitious day.
pub fn utc(minute: u64) -> Utc {
    Utc::from_unix(1_794_700_000 + 60 * minute).unwrap()
}

pub fn unit(name: &str) -> Hash {
    Hash::of(name.as_bytes())
}

/// What the result of a unit holds.
pub fn content(name: &str) -> Hash {
    Hash::of(format!("result of {name}").as_bytes())
}

pub fn reused(name: &str) -> Reused {
    Reused { unit: unit(name), content: content(name) }
}

pub fn contrast(name: &str) -> Contrast {
    Contrast {
        name: name.into(),
        family: "main, two-sided".into(),
        expression: format!("{name}: F_SG - FF"),
        direction: Some("positive".into()),
        asks: None,
        sample: None,
        shared_by: None,
        idle: vec![],
    }
}

/// The contrast over these units; the part of a name before a dot is its cell.
pub fn using(contrast: &Contrast, units: &[&str]) -> Contrast {
    let mut sample = Sample::default();
    for name in units {
        let cell = name.split('.').next().unwrap();
        sample.insert(format!("{cell}@x"), "800", *name, unit(name));
    }
    Contrast { sample: Some(sample), ..contrast.clone() }
}

/// Entries without a sample of their own froze whatever is claimed: their lists decide alone.
#[allow(clippy::unnecessary_wraps, reason = "whoever recalls may not remember")]
pub fn by_lists(_: &Entry, claimed: &Contrast) -> Option<Contrast> {
    Some(claimed.clone())
}

pub fn asking(name: &str, status: Status) -> Contrast {
    Contrast { asks: Some(status), ..contrast(name) }
}

pub fn study(name: &str, new: &[&str], contrasts: &[Contrast]) -> Frozen {
    let text = canonical(&serde_json::json!({"name": name, "units": new.len()})).unwrap();
    let mut frozen = Frozen::new(name, text, Hash::of(b"analysis"));
    frozen.new = new.iter().map(|unit| self::unit(unit)).collect();
    frozen.contrasts = contrasts.to_vec();
    frozen
}

pub fn amendment(ledger: &Ledger, frozen: Frozen) -> Body {
    let amends = ledger.latest_entry(&frozen.study).unwrap().hash;
    Body::Amend(Amendment { amends, reason: "a reason".into(), frozen })
}

/// Three entries: two studies and an amendment.
pub fn three_entries(path: &std::path::Path) -> Ledger {
    let mut ledger = Ledger::open(path).unwrap();
    ledger.append(utc(0), Body::Freeze(study("C5", &["a", "b"], &[contrast("H1")]))).unwrap();
    let mut second = study("C6 \"é\"", &["c"], &[contrast("H2")]);
    second.reused = vec![reused("a")];
    second.existing = vec![unit("a")];
    ledger.append(utc(1), Body::Freeze(second)).unwrap();
    let amended = study("C5", &["a", "b", "d"], &[contrast("H1"), contrast("H3")]);
    let body = amendment(&ledger, amended);
    ledger.append(utc(2), body).unwrap();
    ledger
}
