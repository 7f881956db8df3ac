//! The study file that comes with every copy of the program.

/// A commented study file to start from.
pub const TEMPLATE: &str = include_str!("../studies/template.toml");
