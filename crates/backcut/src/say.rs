//! What a command says: data to standard output, messages to standard error.
//!
//! The only place that prints. Data that can not be written is an error, [`Unsaid`], because
//! whoever asked for it does not have it; a message that can not be written is not, because the
//! work does not depend on it. Text of files (titles, names, notes) may reach a terminal from here,
//! so whatever would act on it is shown by its code point instead
//! ([`backcut_text::escape::lines`]).
//!
//! At a terminal, and only there, lines are broken between words and words have colours
//! (`crate::look`). Whether there is colour is `anstream`'s decision: none in a pipe, under
//! `NO_COLOR` and where `TERM=dumb`.

use std::fmt;
use std::io::{self, Write as _};

use anstream::{AutoStream, ColorChoice, stream::RawStream};
use anyhow::Result;
use backcut_text::escape;

use crate::look::{self, Tones};

/// Standard output did not take what was written to it.
#[derive(Debug)]
pub struct Unsaid(io::Error);

impl Unsaid {
    /// Whether the reader has left, as `head` does: no failure.
    pub fn is_closed_pipe(&self) -> bool {
        self.0.kind() == io::ErrorKind::BrokenPipe
    }
}

impl fmt::Display for Unsaid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to write to standard output: {}", self.0)
    }
}

impl std::error::Error for Unsaid {}

impl From<io::Error> for Unsaid {
    fn from(error: io::Error) -> Self {
        Self(error)
    }
}

/// Writes bytes that are a file's content, such as a page or a script, as they are.
pub fn raw(bytes: impl AsRef<[u8]>) -> Result<()> {
    Ok(io::stdout().write_all(bytes.as_ref()).map_err(Unsaid)?)
}

/// Writes text. Use [`out!`] and [`outln!`].
pub fn text(text: fmt::Arguments<'_>, end: &str) -> Result<()> {
    toned(text, end, &[])
}

/// Writes text whose words mean something. Use [`judged!`].
pub fn toned(text: fmt::Arguments<'_>, end: &str, tones: Tones) -> Result<()> {
    let text = escape::lines(&text.to_string()) + end;
    let columns = look::terminal(&io::stdout());
    let shown = shown(&text, columns, &io::stdout(), |text| look::painted(text, tones));
    if shown == text {
        raw(text)
    } else {
        Ok(anstream::stdout().write_all(shown.as_bytes()).map_err(Unsaid)?)
    }
}

/// Harmless text as a stream shows it.
fn shown(
    text: &str,
    columns: Option<usize>,
    stream: &impl RawStream,
    paint: impl Fn(&str) -> String,
) -> String {
    let text = columns.map_or_else(|| text.to_owned(), |columns| look::fitted(text, columns));
    let is_plain = AutoStream::choice(stream) == ColorChoice::Never;
    if is_plain { text } else { paint(&text) }
}

/// Writes a line of JSON; characters that would act on a terminal are escaped as JSON has it.
pub fn json(json: impl fmt::Display) -> Result<()> {
    raw(escape::json(&json.to_string()) + "\n")
}

/// Writes a message, if anybody listens. Use [`note!`].
pub fn message(text: fmt::Arguments<'_>) {
    let text = escape::lines(&text.to_string()) + "\n";
    let shown = beside_a_bar(&text);
    // A closed terminal or a full log ends no work.
    let _ = if shown == text {
        io::stderr().write_all(text.as_bytes())
    } else {
        anstream::stderr().write_all(shown.as_bytes())
    };
}

/// A message as it looks at the terminal, for whoever draws there and must print it above a bar.
pub fn beside_a_bar(text: &str) -> String {
    let text = escape::lines(text);
    shown(&text, look::terminal(&io::stderr()), &io::stderr(), look::message)
}

/// What is still held back goes out.
pub fn flush() -> Result<()> {
    Ok(io::stdout().flush().map_err(Unsaid)?)
}

/// `print!`, as a `Result`.
#[macro_export]
macro_rules! out {
    ($($words:tt)*) => { $crate::say::text(format_args!($($words)*), "") };
}

/// `println!`, as a `Result`.
#[macro_export]
macro_rules! outln {
    () => { $crate::say::text(format_args!(""), "\n") };
    ($($words:tt)*) => { $crate::say::text(format_args!($($words)*), "\n") };
}

/// `println!` with words that mean something.
#[macro_export]
macro_rules! judged {
    ($tones:expr, $($words:tt)*) => { $crate::say::toned(format_args!($($words)*), "\n", $tones) };
}

/// `eprintln!` that never fails.
#[macro_export]
macro_rules! note {
    ($($words:tt)*) => { $crate::say::message(format_args!($($words)*)) };
}

pub use crate::{judged, note, out, outln};
