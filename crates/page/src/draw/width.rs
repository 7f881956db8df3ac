//! How wide text may be. There is no font at hand, so every width errs on the wide side.

/// An upper estimate of the width of text at a font size.
pub fn width_of(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 0.33,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '-' | '/' => 0.42,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.95,
        c if c.is_ascii_uppercase() => 0.74,
        c if c.is_ascii() => 0.62,
        '\u{2212}' | '\u{2013}' | '²' => 0.62,
        _ => 1.05,
    };
    text.chars().map(em).sum::<f64>() * size
}

/// Text broken at spaces so that no line is wider than `width`; a word that is too long is cut.
pub fn wrap(text: &str, size: f64, width: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let word = shorten(word, size, width);
        let last = lines.last_mut().map_or("", |line| line.as_str()).to_owned();
        let joined = if last.is_empty() { word.clone() } else { format!("{last} {word}") };
        if width_of(&joined, size) <= width {
            lines.pop();
            lines.push(joined);
        } else {
            lines.push(word);
        }
    }
    lines
}

/// Text cut to a width, with an ellipsis if something was cut.
pub fn shorten(text: &str, size: f64, width: f64) -> String {
    if width_of(text, size) <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    for c in text.chars() {
        if width_of(&out, size) + width_of(&c.to_string(), size) + size > width {
            break;
        }
        out.push(c);
    }
    out + "…"
}
