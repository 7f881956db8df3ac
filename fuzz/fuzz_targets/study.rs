//! Any text as a study file: refused, or a study whose canonical form reads back to the same.
#![no_main]

use std::io;
use std::path::Path;

use backcut_study::{Plan, Study};
use backcut_systems::Catalogue;

const BASE: &str = include_str!("../../studies/quick.toml");

libfuzzer_sys::fuzz_target!(|text: &str| {
    let read = |path: &Path| match path.to_str() {
        Some("fuzz.toml") => Ok(text.to_owned()),
        Some("base.toml") => Ok(BASE.to_owned()),
        _ => Err(io::ErrorKind::NotFound.into()),
    };
    let catalogue = Catalogue::builtin();
    let Ok(study) = Study::load_with(Path::new("fuzz.toml"), &catalogue, &read) else { return };
    let again = Study::from_canonical(&study.canonical).expect("a canonical form reads back");
    assert_eq!(again.canonical, study.canonical);
    let (plan, same) = (Plan::new(&study), Plan::new(&again));
    assert!(plan.units.iter().map(|unit| &unit.id).eq(same.units.iter().map(|unit| &unit.id)));
});
