//! Lines over 100 columns, in Rust and in Markdown. `rustfmt` wraps code and leaves comments and
//! texts alone; this is what holds those.
//!
//! Exempt is what cannot wrap: rows of tables, code within Markdown (transcripts show what a
//! terminal showed), pages that a command writes, a word without a space, and the literals of
//! [`LITERALS`].

use std::path::{Path, PathBuf};

use crate::imports;

/// The most columns of a line.
const COLUMNS: usize = 100;

/// Folders whose Rust is looked at.
const RUST: [&str; 5] = ["crates", "xtask", "examples", "fuzz", "python/src"];

/// Markdown that no command writes.
const MARKDOWN: [&str; 5] =
    ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs"];

/// Pages that a command writes, whose paragraphs are one line each.
const WRITTEN: [&str; 1] = ["docs/reproduction.md"];

/// Files with lines of another language in a literal: a table's header, a row of settings, a
/// stylesheet.
const LITERALS: [&str; 0] = [];

/// A line that is too long, as `file:line`.
pub fn lines(root: &Path) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for file in sources(root)? {
        let text = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
        let name = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        if WRITTEN.contains(&name.as_str()) || LITERALS.contains(&name.as_str()) {
            continue;
        }
        let is_markdown = file.extension().is_some_and(|kind| kind == "md");
        let (mut is_code, mut is_made) = (false, false);
        for (number, line) in text.lines().enumerate() {
            if is_markdown && line.trim_start().starts_with("```") {
                is_code = !is_code;
            }
            if is_markdown && line.starts_with("<!-- ") {
                is_made = line != "<!-- end -->";
            }
            if line.chars().count() > COLUMNS && !is_code && !is_made && !is_exempt(line) {
                found.push(format!("{name}:{}", number + 1));
            }
        }
    }
    Ok(found)
}

/// A row of a table, or a line with a word that fits nowhere.
fn is_exempt(line: &str) -> bool {
    let text = line.trim_start().trim_start_matches(['/', '!']).trim_start();
    let indent = line.chars().count() - line.trim_start().chars().count();
    let longest = text.split(' ').map(|word| word.chars().count()).max().unwrap_or(0);
    text.starts_with('|') || indent + longest > COLUMNS - 5
}

fn sources(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for folder in RUST {
        found.extend(imports::files(&root.join(folder), "rs")?);
    }
    for name in MARKDOWN {
        let path = root.join(name);
        if path.is_dir() { found.extend(imports::files(&path, "md")?) } else { found.push(path) }
    }
    found.retain(|file| !file.iter().any(|part| part == "target" || part == "fixtures"));
    Ok(found)
}
