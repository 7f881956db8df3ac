//! How a command ends: exit codes and the one error message a user sees.

use std::fmt;

use backcut_text::Hinted;

use crate::say::{self, Unsaid, note};

/// What a command that ran to its end found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Everything is fine: exit code 0.
    Fine,
    /// A check or a prediction failed: exit code 1.
    Failed,
    /// Stopped by the user, with a state that continues: exit code 130.
    Interrupted,
}

/// The user's input is wrong: exit code 2, with a hint.
#[derive(Debug)]
struct UserError {
    what: String,
    hint: String,
}

impl fmt::Display for UserError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for UserError {}

/// An error that the user can act on.
pub fn user(what: impl fmt::Display, hint: impl fmt::Display) -> anyhow::Error {
    UserError { what: what.to_string(), hint: hint.to_string() }.into()
}

/// Turns an error of a library into the user's, with its hint, or into an internal one if it is a
/// bug.
pub trait Told<T>: Sized {
    /// The error with words before it.
    fn told_after(self, lead: impl fmt::Display) -> anyhow::Result<T>;

    /// The error as it is.
    fn told(self) -> anyhow::Result<T> {
        self.told_after("")
    }

    /// The error with the place where it was met.
    fn told_at(self, place: impl fmt::Display) -> anyhow::Result<T> {
        self.told_after(format_args!("{place}: "))
    }
}

impl<T, E: Hinted> Told<T> for Result<T, E> {
    fn told_after(self, lead: impl fmt::Display) -> anyhow::Result<T> {
        self.map_err(|error| {
            let what = format!("{lead}{error}");
            if error.is_bug() { anyhow::Error::msg(what) } else { user(what, error.hint()) }
        })
    }
}

/// Prints an error once, to stderr, and turns the outcome into an exit code.
pub fn report(outcome: anyhow::Result<Verdict>) -> u8 {
    match outcome.and_then(|verdict| say::flush().map(|()| verdict)) {
        Ok(Verdict::Fine) => 0,
        Ok(Verdict::Failed) => 1,
        Ok(Verdict::Interrupted) => 130,
        Err(error) => failed(&error),
    }
}

/// Prints what the command line itself answers: help, a version, or what is wrong with it.
pub fn answer(answer: &clap::Error) -> u8 {
    match answer.print() {
        Err(error) if !answer.use_stderr() => failed(&Unsaid::from(error).into()),
        _ => u8::try_from(answer.exit_code()).unwrap_or(2),
    }
}

/// What a shell reports for a closed pipe: `backcut ... | head` is no failure and needs no words.
const CLOSED_PIPE: u8 = 141;

fn failed(error: &anyhow::Error) -> u8 {
    if let Some(unsaid) = error.downcast_ref::<Unsaid>() {
        if unsaid.is_closed_pipe() {
            return CLOSED_PIPE;
        }
        note!(
            "error: {error:#}\nhint: what was computed or written is kept; send the output \
             elsewhere"
        );
        return 2;
    }
    if let Some(user) = error.downcast_ref::<UserError>() {
        note!("error: {error:#}\nhint: {}", user.hint);
        return 2;
    }
    note!("internal error: {error:#}");
    3
}

#[cfg(test)]
mod tests {
    use std::io;

    use backcut_study::StudyError;

    use super::*;

    #[test]
    fn a_bug_is_no_error_of_the_user() {
        let told = |error| Err::<(), _>(error).told_at("here").unwrap_err();
        let wrong = told(StudyError::invalid("updats", "updates"));
        assert_eq!(wrong.to_string(), "here: updats");
        assert_eq!(wrong.downcast::<UserError>().unwrap().hint, "updates");
        let bug = told(StudyError::bug("a panic"));
        assert_eq!(bug.to_string(), "here: a panic (this is a bug)");
        assert!(!bug.is::<UserError>());
    }

    #[test]
    fn a_closed_pipe_is_no_failure() {
        let broken = |kind: io::ErrorKind| anyhow::Error::from(Unsaid::from(io::Error::from(kind)));
        assert_eq!(report(Err(broken(io::ErrorKind::BrokenPipe).context("in vain"))), 141);
        assert_eq!(report(Err(broken(io::ErrorKind::StorageFull))), 2);
        assert_eq!(report(Err(anyhow::anyhow!("a panic"))), 3);
    }
}
