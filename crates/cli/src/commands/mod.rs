//! One module per subcommand: its arguments as typed, and what it does.

pub mod stats;
