//! A tiny study, loaded from text.
#![allow(dead_code, reason = "each test file uses its own part")]

#[cfg(unix)]
pub mod program;

use std::io;
use std::path::Path;

use backcut_study::{Study, StudyError};
use backcut_systems::Catalogue;

/// Two sources of FF, of F_SG branching from it, and of a measurement.
pub const TINY: &str = r#"
name = "tiny"
title = "A tiny study"
evaluate_every = 20
[system]
name = "quadrotor"
settings = { policy = { steps = 8, width = 16, layers = 1, heads = 2, hidden = 16, initialisation = "gpt" } }
[sources]
first = 1
count = 2
[conditions]
"0.20" = { velocity = 0.2 }
[arms.FF]
cut = "FF"
updates = 40
keep = [40]
[arms.F_SG]
from = "FF"
at = 20
cut = "F_SG"
updates = 40
[[measurements]]
kind = "masking"
windows = [1, 2]
of = ["F_SG"]
[[families]]
name = "cost"
asks = "confirmatory"
contrasts = ["R = [F_SG@0.20] - [FF@0.20] > 0"]
"#;

pub fn study(text: &str) -> Result<Study, StudyError> {
    study_with(text, &[("s.toml", text)])
}

/// A study with other files beside it.
pub fn study_with(text: &str, others: &[(&str, &str)]) -> Result<Study, StudyError> {
    let read = |path: &Path| {
        let name = path.to_string_lossy().into_owned();
        if name == "s.toml" {
            return Ok(text.to_owned());
        }
        let found = others.iter().find(|(file, _)| *file == name);
        found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| io::ErrorKind::NotFound.into())
    };
    Study::load_with(Path::new("s.toml"), &Catalogue::builtin(), &read)
}
