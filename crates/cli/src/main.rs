//! The `backcut` binary: the command line over every system of the project, with the paper beside
//! it.

use std::process::ExitCode;

use backcut::App;
use backcut::prelude::Catalogue;
use backcut_paper::analytic::system::AnalyticConfig;
use backcut_paper::{Paper, studies};
use backcut_vessel::system::VesselConfig;

fn main() -> ExitCode {
    let systems = Catalogue::builtin().with::<AnalyticConfig>().with::<VesselConfig>();
    App::new(&systems.with_studies(studies::STUDIES))
        .with(backcut_paper::commands())
        .with([backcut_vessel::command()])
        .beside(&Paper)
        .run()
}
