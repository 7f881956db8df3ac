//! The `backcut` command as a function: the command line over every system of the project, with the
//! paper beside it.
//!
//! **Does**: hands the paper and the vessel to the facade. **Refuses**: everything else.
//!
//! **One design decision.** It is a library with a binary of three lines, because the Python package
//! installs the same command: whoever has `pip` and no compiler loses nothing.

use backcut::App;
use backcut::prelude::Catalogue;
use backcut_paper::analytic::system::AnalyticConfig;
use backcut_paper::{Paper, studies};
use backcut_vessel::system::VesselConfig;

/// Hands the program to `run`, which lends it a line: `backcut::App::run`, or one of its kin.
pub fn with<T>(run: impl FnOnce(App<'_>) -> T) -> T {
    let systems = Catalogue::builtin().with::<AnalyticConfig>().with::<VesselConfig>();
    let systems = systems.with_studies(studies::STUDIES);
    run(App::new(&systems)
        .with(backcut_paper::commands())
        .with([backcut_vessel::command()])
        .beside(&Paper))
}
