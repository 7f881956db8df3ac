//! How text looks at a terminal: its width, whole words on every line, and colour.
//!
//! Nothing here prints; `say` does, and asks this file only where somebody looks. Colour is a
//! function of the text: a command lists the words that decide something ([`Tones`]), and they are
//! coloured after whatever could act on a terminal was made harmless, so no file can colour
//! anything by itself. Everything reads the same without colour.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use backcut_text::COLUMNS;
use terminal_size::{Width, terminal_size_of};

/// The widest line that is made on purpose: longer ones tire the eye.
const WIDEST: usize = 140;
/// Narrower terminals break lines by themselves.
const NARROWEST: usize = 40;

/// What a word means to its reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tone {
    /// As hoped for.
    Good,
    /// Wrong.
    Bad,
    /// Open, or worth a second look.
    Open,
    /// What to do next.
    Advice,
    /// Beside the point for whoever is in a hurry.
    Aside,
}

impl Tone {
    fn style(self) -> Style {
        match self {
            Self::Good => AnsiColor::Green.on_default(),
            Self::Bad => AnsiColor::Red.on_default().bold(),
            Self::Open => AnsiColor::Yellow.on_default(),
            Self::Advice => AnsiColor::Cyan.on_default(),
            Self::Aside => Style::new().dimmed(),
        }
    }

    fn paint(self, text: &str) -> String {
        let style = self.style();
        format!("{style}{text}{style:#}")
    }
}

/// Words that decide something in what a command prints, longer before shorter ones that they begin
/// with.
pub type Tones = &'static [(&'static str, Tone)];

/// What the intervals of a study decided. That an exact test does not confirm it is said in words
/// beside it.
pub const VERDICTS: Tones = &[
    ("supported", Tone::Good),
    ("noninferior", Tone::Good),
    ("contradicted", Tone::Bad),
    ("noninferiority not shown", Tone::Bad),
    ("not computed", Tone::Bad),
    ("unresolved", Tone::Open),
    ("not confirmed by the exact test", Tone::Open),
];

/// How messages begin.
const MESSAGES: Tones = &[
    ("error:", Tone::Bad),
    ("internal error:", Tone::Bad),
    ("FAILED", Tone::Bad),
    ("warning:", Tone::Open),
    ("hint:", Tone::Advice),
];
/// How lines of data begin that somebody should look at. `error:` is no such word: an error may be
/// what is measured.
const LINES: Tones = &[("problem:", Tone::Bad), ("FAILED", Tone::Bad), ("failed:", Tone::Bad)];
/// How lines begin that are dim as a whole.
const ASIDES: [&str; 2] = ["note:", "-: "];

/// The columns of the terminal behind a stream, if one is.
#[cfg(unix)]
pub fn terminal(stream: &impl std::os::fd::AsFd) -> Option<usize> {
    let (Width(columns), _) = terminal_size_of(stream)?;
    (columns > 0).then_some(columns as usize)
}

/// The columns of the terminal behind a stream, if one is.
#[cfg(windows)]
pub fn terminal(stream: &impl std::os::windows::io::AsHandle) -> Option<usize> {
    let (Width(columns), _) = terminal_size_of(stream)?;
    (columns > 0).then_some(columns as usize)
}

/// How wide tables and paragraphs on standard output are made: as the terminal, 80 elsewhere.
pub fn columns() -> usize {
    terminal(&std::io::stdout()).unwrap_or(COLUMNS).clamp(NARROWEST, WIDEST)
}

/// Breaks lines that are too long at spaces, never inside a word; what follows is indented a little
/// further.
pub fn fitted(text: &str, columns: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end_matches('\n');
        if bare.chars().count() <= columns {
            out.push_str(line);
            continue;
        }
        let indent = bare.len() - bare.trim_start_matches(' ').len() + 2;
        let broken = backcut_text::wrapped(bare, columns, indent);
        out.push_str(if line.ends_with('\n') { &broken } else { broken.trim_end_matches('\n') });
    }
    out
}

/// Colours what a command prints: how lines begin, asides, and the command's own words.
pub fn painted(text: &str, tones: Tones) -> String {
    coloured(text, LINES, tones)
}

/// Colours a message.
pub fn message(text: &str) -> String {
    coloured(text, MESSAGES, &[])
}

fn coloured(text: &str, leads: Tones, tones: Tones) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    let mut aside: Option<usize> = None; // how far a note is indented that may go on
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end_matches('\n');
        let body = bare.trim_start_matches(' ');
        let indent = bare.len() - body.len();
        let starts = ASIDES.iter().any(|lead| body.starts_with(lead));
        let goes_on = !body.is_empty() && aside.is_some_and(|note| indent > note);
        aside = if starts { Some(indent) } else { aside.filter(|_| goes_on) };
        let lead = leads.iter().find(|(lead, _)| body.starts_with(lead));
        let shown = if aside.is_some() {
            Tone::Aside.paint(body)
        } else if let Some((lead, tone)) = lead {
            tone.paint(lead) + &words(&body[lead.len()..], tones)
        } else {
            words(body, tones)
        };
        let _ = write!(out, "{}{shown}{}", &bare[..indent], &line[bare.len()..]);
    }
    out
}

/// Colours whole words.
fn words(text: &str, tones: Tones) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let mut out = String::new();
    let (mut rest, mut before) = (text, ' ');
    while let Some(first) = rest.chars().next() {
        let whole = |word: &str| {
            rest.starts_with(word) && !rest[word.len()..].chars().next().is_some_and(is_part)
        };
        let found = tones.iter().find(|(word, _)| !is_part(before) && whole(word));
        if let Some((word, tone)) = found {
            out += &tone.paint(word);
            (rest, before) = (&rest[word.len()..], word.chars().last().unwrap_or(' '));
        } else {
            out.push(first);
            (rest, before) = (&rest[first.len_utf8()..], first);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TONES: Tones = &[("not sound", Tone::Bad), ("sound", Tone::Good)];

    /// Colours as letters in angle brackets.
    fn seen(text: &str) -> String {
        letters(&painted(text, TONES))
    }

    fn letters(text: &str) -> String {
        text.replace("\x1b[32m", "<g>")
            .replace("\x1b[1m\x1b[31m", "<r>")
            .replace("\x1b[36m", "<c>")
            .replace("\x1b[2m", "<d>")
            .replace("\x1b[0m", "</>")
    }

    #[test]
    fn words_are_coloured_whole_or_not_at_all() {
        assert_eq!(seen("sound, soundly re-sound\n"), "<g>sound</>, soundly re-sound\n");
        assert_eq!(seen("it is not sound"), "it is <r>not sound</>");
        assert_eq!(
            seen("error: 0.5 m\nproblem: sound\n"),
            "error: 0.5 m\n<r>problem:</> <g>sound</>\n"
        );
        assert_eq!(letters(&message("error: sound\nhint: x")), "<r>error:</> sound\n<c>hint:</> x");
    }

    #[test]
    fn a_note_is_dim_to_its_end() {
        let text = "  note: sound\n    and on\n  sound\n";
        assert_eq!(seen(text), "  <d>note: sound</>\n    <d>and on</>\n  <g>sound</>\n");
        assert_eq!(seen("note: a\n\n  sound"), "<d>note: a</>\n\n  <g>sound</>");
    }

    #[test]
    fn no_word_is_split_and_no_short_line_is_touched() {
        let text = format!("  a  b\n  {}\nend", "word ".repeat(30).trim_end());
        for columns in [40, 80, 140] {
            let fitted = fitted(&text, columns);
            assert!(fitted.lines().all(|line| line.chars().count() <= columns), "{fitted}");
            assert!(fitted.starts_with("  a  b\n  word") && fitted.ends_with("\nend"), "{fitted}");
            assert_eq!(fitted.matches("word").count(), 30);
        }
        assert_eq!(super::fitted(&text, 400), text);
        assert_eq!(super::fitted("one two", 4), "one\n  two");
    }
}
