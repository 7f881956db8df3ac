//! The only doors through which text of a file enters a page, a drawing or a table.
//!
//! Study names, notes and paths are written by others. Each output format has one function that
//! makes any string harmless in it; nothing else writes a foreign string. Characters that no
//! document may hold (most control characters) and those that reorder what surrounds them
//! (bidirectional controls) are shown by their code point instead of being obeyed.

use std::fmt::Write as _;

/// Whether a character acts on the text around it instead of being shown.
fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{061C}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}')
}

/// Text on one line: white space becomes a space, other controls their code point.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => out.push(' '),
            c if is_control(c) => {
                let _ = write!(out, "[U+{:04X}]", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// Text of several lines for a terminal: line breaks and tabs stay, other controls become their
/// code point.
pub fn lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_control(c) && !matches!(c, '\n' | '\t') {
            let _ = write!(out, "[U+{:04X}]", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// JSON for a terminal: the same value, with controls inside its texts escaped.
pub fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_control(c) && !matches!(c, '\n' | '\r' | '\t') {
            let _ = write!(out, "\\u{:04x}", u32::from(c)); // all of them fit four digits
        } else {
            out.push(c);
        }
    }
    out
}

/// Text for HTML and XML, in content and in quoted attributes.
pub fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in plain(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// Text for a cell of a Markdown table.
pub fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in plain(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '~' | '$' | '!' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

/// Text for LaTeX.
pub fn latex(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in plain(text).chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                out.push('\\');
                out.push(c);
            }
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '<' => out.push_str("\\textless{}"),
            '>' => out.push_str("\\textgreater{}"),
            '|' => out.push_str("\\textbar{}"),
            '²' => out.push_str("\\textsuperscript{2}"),
            '−' => out.push_str("\\textminus{}"),
            c => out.push(c),
        }
    }
    out
}

/// Text for a cell that whoever writes the CSV quotes. What a spreadsheet would run as a formula
/// gets an apostrophe.
pub fn cell(text: &str) -> String {
    let text = plain(text);
    let runs = text.starts_with(['=', '+', '@', '-']) && text.parse::<f64>().is_err();
    if runs { format!("'{text}") } else { text }
}

/// One field of a CSV file: a [`cell`], quoted.
pub fn csv(text: &str) -> String {
    let text = cell(text);
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

/// Bytes for the address of a `data:` link.
pub fn percent(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 5 / 4);
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b',' | b'/' => {
                out.push(byte as char);
            }
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

/// A file name that is one on every system.
pub fn file_name(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn markup_quotes_and_direction_marks_lose_their_power() {
        let hostile = "<script>alert(\"1\")</script>'&]]>\u{202E}abc\nnext\0";
        assert_eq!(
            xml(hostile),
            "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&#39;&amp;]]&gt;[U+202E]abc \
             next[U+0000]"
        );
        assert_eq!(lines("a\tb\n\u{1b}[2J\u{9b}\u{202E}"), "a\tb\n[U+001B][2J[U+009B][U+202E]");
        assert_eq!(json("{\n\"\u{9b}\u{202E}\"}"), "{\n\"\\u009b\\u202e\"}");
        assert_eq!(csv("=1+1"), "'=1+1");
        assert_eq!(csv("-0.5"), "-0.5");
        assert_eq!(csv("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(latex("50% of F_SG"), "50\\% of F\\_SG");
        assert_eq!(markdown("a|b<c>"), "a\\|b&lt;c&gt;");
        assert_eq!(percent("a b\n%"), "a%20b%0A%25");
        assert_eq!(file_name("../a b"), "..-a-b");
    }

    proptest! {
        #[test]
        fn nothing_of_a_tag_or_an_attribute_survives(text in any::<String>()) {
            let escaped = xml(&text);
            prop_assert!(!escaped.contains(['<', '>', '"', '\'', '\n', '\r', '\0']));
            prop_assert!(!markdown(&text).contains(['<', '\n']));
        }

        #[test]
        fn a_csv_field_reads_back_as_the_text_on_one_line(text in "[ -~]{0,20}") {
            let line = format!("{},x\n", csv(&text));
            let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes());
            let record = reader.records().next().unwrap().unwrap();
            prop_assert_eq!(record.len(), 2);
            prop_assert_eq!(record[0].trim_start_matches('\''), text.trim_start_matches('\''));
        }
    }
}
