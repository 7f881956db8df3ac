//! One module per subcommand: its arguments as typed, and what it does.

pub mod bench;
pub mod check;
pub mod completions;
pub mod explain;
pub mod man;
pub mod stats;
