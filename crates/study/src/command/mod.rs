//! Studies of programs: a unit that is computed by a command of the user's own.
//!
//! What is run and what identifies it is in [`crate::program`].
//!
//! | file | holds |
//! | --- | --- |
//! | `handover` | the file that a program gets |
//! | `answer` | the file that it gives back |
//! | `process` | one process group: started, listened to, ended |
//! | `output` | what it printed, within a bound |
//! | `unit` | all of it together: a unit computed |
//!
//! **One design decision.** Whatever a program is told is part of its unit's name, and nothing else
//! can be told to it: settings travel in one file, never as words of a shell. So equal names mean
//! that the program was asked the same question, and a changed script is another unit.

mod answer;
mod handover;
mod output;
mod process;
mod unit;

pub use handover::VARIABLE;

pub(crate) use unit::execute;
