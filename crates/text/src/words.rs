//! Lines, counts, hints.

use std::borrow::Cow;

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// The width that everything printed to a terminal fits.
pub const COLUMNS: usize = 80;

/// An error that says what to do about it.
pub trait Hinted: std::error::Error {
    /// One sentence without a full stop, for the line that starts with `hint:`.
    fn hint(&self) -> Cow<'_, str>;

    /// Whether it is a defect of the program, which nobody who asked for something can act on.
    fn is_bug(&self) -> bool {
        false
    }
}

/// The first letter as a capital.
pub fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

/// A line broken at spaces so that it fits; later lines are indented. Leading spaces and padding
/// inside a line stay, a word longer than a line is not broken, and the text ends with a line
/// break.
pub fn wrapped(text: &str, columns: usize, indent: usize) -> String {
    let words = text.trim_start_matches(' ');
    let (lead, indent) = (&text[..text.len() - words.len()], " ".repeat(indent));
    let options = Options::new(columns)
        .initial_indent(lead)
        .subsequent_indent(&indent)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::fill(words, options) + "\n"
}

/// The known name nearest to one that is not known, if one is near.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let candidate = known.into_iter().map(|k| (strsim::levenshtein(name, k), k)).min()?;
    (candidate.0 <= (name.len() / 2).max(2)).then_some(candidate.1)
}

/// A text cut to so many columns, with an ellipsis if something was cut.
pub fn shortened(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    text.chars().take(columns.saturating_sub(1)).chain(['…']).collect()
}

/// `1 unit`, `2 units`, `2 entries`.
pub fn counted(n: usize, what: &str) -> String {
    let n_words = thousands(n);
    match what.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u'])) {
        _ if n == 1 => format!("{n_words} {what}"),
        Some(stem) => format!("{n_words} {stem}ies"),
        None => format!("{n_words} {what}s"),
    }
}

/// A count with thousands set apart.
pub fn thousands(n: usize) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap_or_default())
        .collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapping_keeps_padding_and_width() {
        let text = wrapped(&format!("name      {}", "word ".repeat(40)), COLUMNS, 10);
        for line in text.lines() {
            assert!(line.chars().count() <= COLUMNS && !line.ends_with(' '), "{line}");
            assert!(line.starts_with("name      ") || line.starts_with("          "));
        }
        assert_eq!(wrapped("    a-b\u{2013}c d", 8, 2), "    a-b\u{2013}c\n  d\n");
        assert_eq!(
            wrapped("a-word-longer-than-the-line b", 8, 0),
            "a-word-longer-than-the-line\nb\n"
        );
        assert_eq!(wrapped("", 8, 2), "\n");
    }

    #[test]
    fn a_slip_of_the_keyboard_finds_its_key() {
        let known = ["updates", "cut", "window", "conditions"];
        assert_eq!(nearest("updats", known), Some("updates"));
        assert_eq!(nearest("condition", known), Some("conditions"));
        assert_eq!(nearest("xyzzy", known), None);
    }

    #[test]
    fn one_of_a_thing_is_singular() {
        let words = [counted(1, "source"), counted(0, "source"), counted(1200, "source")];
        assert_eq!(words, ["1 source", "0 sources", "1,200 sources"]);
        assert_eq!(
            [counted(1, "entry"), counted(2, "entry"), counted(2, "day")],
            ["1 entry", "2 entries", "2 days"]
        );
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(
            [7, 999, 1000, 94_324, 1_234_567].map(thousands),
            ["7", "999", "1,000", "94,324", "1,234,567"]
        );
    }
}
