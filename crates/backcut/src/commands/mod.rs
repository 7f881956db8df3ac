//! One module per subcommand: its arguments as typed, and what it does.

pub mod advise;
pub mod bench;
pub mod check;
pub mod completions;
pub mod evaluate;
pub mod explain;
pub mod export;
pub mod inspect;
pub mod man;
pub mod measure;
pub mod report;
pub mod stats;
pub mod study;
pub mod train;
