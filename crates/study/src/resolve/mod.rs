//! From a study file as it is written to a study that can be planned, one idea per file.

mod arms;
pub(crate) mod canonical;
mod families;
mod grid;
mod measured;
mod program;
mod resolver;
mod reuse;

pub use arms::EVALUATE_EVERY;
pub(crate) use program::folder_file;
pub(crate) use resolver::Resolver;
