//! One module per subcommand: its arguments as typed, and what it does.

pub mod calibrate;
pub mod evaluate;
pub mod export;
pub mod inspect;
pub mod stats;
pub mod train;
