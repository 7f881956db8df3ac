//! `cargo xtask size`: numbers of the house that a maintainer should see. None is a limit.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use proc_macro2::{TokenStream, TokenTree};

use crate::imports::{files, knots};
use crate::wide;

/// Crates that only this paper needs; all others are the instrument.
const OF_THE_PAPER: [&str; 3] = ["cli", "paper", "vessel"];

/// The crate that a system of one's own is written against.
const FOR_SYSTEMS: &str = "backcut-systems";

/// Files that were touched by stories made for real, and that a number passes; by hand, see there.
const WALKS: &str = include_str!("walks.txt");

/// Prints the table.
pub fn print(root: &Path) -> Result<(), String> {
    let crates = crates(root)?;
    let mut all: BTreeMap<&str, Lines> = BTreeMap::new();
    for (name, src) in &crates {
        all.insert(name, Lines::of(src)?);
    }
    println!("{:<10} {:>7} {:>7} {:>9} {:>9}", "crate", "lines", "files", "longest", "knot");
    for (name, lines) in &all {
        let knot = knots(&crates[*name])?.iter().map(|knot| knot.modules.len()).max();
        let knot = knot.map_or("none".to_owned(), |size| size.to_string());
        let Lines { all, files, longest, .. } = lines;
        println!("{name:<10} {all:>7} {files:>7} {longest:>9} {knot:>9}");
    }
    let total = |of: &dyn Fn(&str) -> bool| -> Lines {
        let parts = all.iter().filter(|(name, _)| of(name)).map(|(_, lines)| lines);
        parts.fold(Lines::default(), Lines::and)
    };
    let whole = total(&|_| true);
    let instrument = total(&|name| !OF_THE_PAPER.contains(&name));
    println!();
    let row = |what: &str, value: String| println!("{what:<60} {value:>12}");
    row("lines below crates/*/src", whole.all.to_string());
    row("of the instrument", instrument.all.to_string());
    row("crates", all.len().to_string());
    row("crates below a system of one's own", crates_below(root, FOR_SYSTEMS)?.to_string());
    let comments = 100.0 * whole.comments as f64 / whole.all.max(1) as f64;
    row("`//` lines per 100", format!("{comments:.1}"));
    row("lines over 100 columns", wide::lines(root)?.len().to_string());
    let (alone, public) = public_items(root, &crates)?;
    row("public items that only their own crate names", format!("{alone} of {public}"));
    for (what, names) in walks() {
        row(&what, names.len().to_string());
    }
    Ok(())
}

/// Lines of a crate.
#[derive(Default)]
struct Lines {
    all: usize,
    files: usize,
    /// Lines of the longest file.
    longest: usize,
    comments: usize,
}

impl Lines {
    fn of(src: &Path) -> Result<Self, String> {
        let mut found = Self::default();
        for file in files(src, "rs")? {
            let text = read(&file)?;
            let count = text.lines().count();
            let is_comment = |line: &&str| {
                let line = line.trim_start();
                line.starts_with("// ") || line == "//"
            };
            found = found.and(&Self {
                all: count,
                files: 1,
                longest: count,
                comments: text.lines().filter(is_comment).count(),
            });
        }
        Ok(found)
    }

    fn and(self, other: &Self) -> Self {
        Self {
            all: self.all + other.all,
            files: self.files + other.files,
            longest: self.longest.max(other.longest),
            comments: self.comments + other.comments,
        }
    }
}

/// Every crate's folder of sources, by its folder's name.
pub fn crates(root: &Path) -> Result<BTreeMap<String, PathBuf>, String> {
    let folder = root.join("crates");
    let entries = std::fs::read_dir(&folder).map_err(|error| error.to_string())?;
    let mut found = BTreeMap::new();
    for entry in entries.flatten() {
        let src = entry.path().join("src");
        if src.is_dir() {
            found.insert(entry.file_name().to_string_lossy().into_owned(), src);
        }
    }
    Ok(found)
}

fn read(file: &Path) -> Result<String, String> {
    std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
}

/// How many crates a crate brings along, itself included.
fn crates_below(root: &Path, package: &str) -> Result<usize, String> {
    let mut tree = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    tree.args(["tree", "--locked", "-p", package, "-e", "normal", "--prefix", "none"]);
    let output = tree.current_dir(root).output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let names: BTreeSet<&str> = text.lines().filter_map(|line| line.split(' ').next()).collect();
    Ok(names.into_iter().filter(|name| !name.is_empty()).count())
}

/// Public items whose name no other crate, test, example or binding says, and all of them. A method
/// or a type that others reach through a value without naming it counts as unnamed: an upper bound.
fn public_items(root: &Path, crates: &BTreeMap<String, PathBuf>) -> Result<(usize, usize), String> {
    let mut said: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut defined: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (name, src) in crates {
        let (words, public) = (said.entry(name).or_default(), defined.entry(name).or_default());
        for file in files(src, "rs")? {
            note(read(&file)?.parse().map_err(|error| format!("{error}"))?, words, public);
        }
    }
    let mut outside = BTreeSet::new();
    let beside = crates.values().filter_map(|src| src.parent());
    let folders = beside.flat_map(|own| ["tests", "benches", "examples"].map(|f| own.join(f)));
    let others = ["python/src", "examples", "fuzz"].map(|folder| root.join(folder));
    for folder in folders.chain(others).filter(|folder| folder.is_dir()) {
        for file in files(&folder, "rs")? {
            let tokens = read(&file)?.parse().map_err(|error| format!("{error}"))?;
            note(tokens, &mut outside, &mut BTreeSet::new());
        }
    }
    let is_said = |own: &str, item: &String| {
        outside.contains(item)
            || said.iter().any(|(name, words)| *name != own && words.contains(item))
    };
    let alone = |(own, items): (&&str, &BTreeSet<String>)| {
        items.iter().filter(|item| !is_said(own, item)).count()
    };
    Ok((defined.iter().map(alone).sum(), defined.values().map(BTreeSet::len).sum()))
}

/// Every word of a crate's sources.
#[cfg(test)]
pub fn words(src: &Path) -> Result<BTreeSet<String>, String> {
    let mut words = BTreeSet::new();
    for file in files(src, "rs")? {
        let tokens = read(&file)?.parse().map_err(|error| format!("{error}"))?;
        note(tokens, &mut words, &mut BTreeSet::new());
    }
    Ok(words)
}

/// Notes every word, and the names of items that are plainly `pub`.
fn note(tokens: TokenStream, words: &mut BTreeSet<String>, public: &mut BTreeSet<String>) {
    const KINDS: [&str; 7] = ["fn", "struct", "enum", "trait", "type", "const", "static"];
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, tree) in trees.iter().enumerate() {
        match tree {
            TokenTree::Group(group) => note(group.stream(), words, public),
            TokenTree::Ident(ident) => {
                words.insert(ident.to_string());
                let next = |ahead: usize| trees.get(at + ahead).map(ToString::to_string);
                let mut kind = 1;
                // `pub const fn`, `pub unsafe fn`
                while next(kind + 1).is_some_and(|word| KINDS.contains(&word.as_str())) {
                    kind += 1;
                }
                if ident == "pub" && next(kind).is_some_and(|k| KINDS.contains(&k.as_str())) {
                    public.extend(next(kind + 1));
                }
            }
            _ => {}
        }
    }
}

/// The lists of [`WALKS`]: a title, and what is listed below it.
pub fn walks() -> Vec<(String, Vec<&'static str>)> {
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    for line in WALKS.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        match (line.strip_prefix("  "), found.last_mut()) {
            (Some(name), Some((_, names))) => names.push(name.trim()),
            _ => found.push((line.trim_end_matches(':').to_owned(), Vec::new())),
        }
    }
    found
}
