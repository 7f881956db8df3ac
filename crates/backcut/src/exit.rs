//! How a command ends: exit codes and the one error message a user sees.

use std::fmt;
use std::process::ExitCode;

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
pub struct UserError {
    what: String,
    hint: Option<String>,
}

impl UserError {
    /// An error that says what is wrong and where.
    pub fn new(what: impl fmt::Display) -> Self {
        Self { what: what.to_string(), hint: None }
    }

    /// Adds the line that says what to do about it.
    pub fn hint(mut self, hint: impl fmt::Display) -> Self {
        self.hint = Some(hint.to_string());
        self
    }
}

impl fmt::Display for UserError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for UserError {}

/// An error that the user can act on.
pub fn user(what: impl fmt::Display, hint: impl fmt::Display) -> anyhow::Error {
    UserError::new(what).hint(hint).into()
}

/// Prints an error once, to stderr, and turns the outcome into an exit code.
pub fn report(outcome: anyhow::Result<Verdict>) -> ExitCode {
    match outcome {
        Ok(Verdict::Fine) => ExitCode::SUCCESS,
        Ok(Verdict::Failed) => ExitCode::from(1),
        Ok(Verdict::Interrupted) => ExitCode::from(130),
        Err(error) => {
            let Some(user) = error.downcast_ref::<UserError>() else {
                eprintln!("internal error: {error:#}");
                return ExitCode::from(3);
            };
            eprintln!("error: {error:#}");
            if let Some(hint) = &user.hint {
                eprintln!("hint: {hint}");
            }
            ExitCode::from(2)
        }
    }
}

/// `backcut ... | head` closes our stdout: that is no bug, so it ends the process without a message.
/// The standard library reports it as a panic of `println!`, which is the one place to catch it.
pub fn end_quietly_on_a_closed_pipe() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let message = info.payload().downcast_ref::<String>().map_or("", String::as_str);
        if message.starts_with("failed printing to stdout") {
            std::process::exit(141); // what a shell reports for a closed pipe
        }
        report(info);
    }));
}
