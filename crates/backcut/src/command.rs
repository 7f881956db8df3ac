//! What a command of one's own is made of: the same parts as every other command.
//!
//! A command is [`Extra::new`] of a name, a line about it and a function from its arguments to a
//! [`Verdict`]; [`App::with`](crate::App::with) adds it to a program. It speaks through
//! [`say`](crate::say), so that a pipe, a terminal and a hostile file name are its reader's choice
//! and not its own.

pub use crate::app::Extra;
pub use crate::commands::measure::table::defined;
pub use crate::commands::study::OUT;
pub use crate::commands::study::whole::complete;
pub use crate::common::{cannot_write, load, print, print_document, print_judged, write};
pub use crate::exit::{Told, Verdict, user};
pub use crate::look::{VERDICTS, columns};
pub use crate::progress::{Counts, bar};
pub use crate::settings::SettingArgs;
pub use backcut_study::Tools;
