//! Findings as data: a tidy table, JSON, and definitions.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Result;
use backcut_measure::{Finding, definitions};

use crate::quadrotor::user;

/// Findings of one state, by its label.
pub type Measured = (String, Vec<Finding>);

/// Columns `state,quantity,cut,part,value,note`; an undefined value is empty and its note says why.
pub fn csv(measured: &[Measured]) -> String {
    let mut text = String::from("state,quantity,cut,part,value,note\n");
    for (label, findings) in measured {
        for f in findings {
            let value = f.value.map_or_else(String::new, |v| v.to_string());
            let fields = [label, &f.quantity, &f.cut, &f.part, &value, &f.note];
            let fields = fields.map(|field| quote(field));
            let _ = writeln!(text, "{}", fields.join(",")); // strings take any write
        }
    }
    text
}

/// A field of a CSV file, quoted where it must be.
pub fn quote(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

/// Writes a file into the folder of `--out` and says so.
pub fn write(folder: &Path, name: &str, text: &str) -> Result<()> {
    let path = folder.join(name);
    let written = std::fs::create_dir_all(folder)
        .and_then(|()| backcut_training::write_atomically(&path, text.as_bytes()));
    written.map_err(|e| user(format!("{}: {e}", path.display()), "choose another --out"))?;
    eprintln!("wrote {}", path.display());
    Ok(())
}

/// All findings as one JSON value.
pub fn json(measured: &[Measured]) -> serde_json::Value {
    let of =
        |(label, findings): &Measured| serde_json::json!({"state": label, "findings": findings});
    measured.iter().map(of).collect()
}

/// Prints the quantities of a command and what they are, folded at 80 columns.
pub fn print_definitions(command: &str) {
    for definition in definitions(command) {
        println!("{}", definition.quantity);
        for line in fold(definition.text, 76) {
            println!("    {line}");
        }
    }
}

/// Lines of at most `width` characters, broken between words.
pub fn fold(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
