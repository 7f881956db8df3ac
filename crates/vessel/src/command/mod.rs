//! `backcut vessel`: ships' tracks, from files or from a synthetic fleet, as a store to learn from.

use crate::{RESERVED_VESSELS, Rules};
use anyhow::Result;
use backcut::command::{Extra, Tools, Verdict};
use clap::Subcommand;

mod fleet;
mod funnel;
mod import;
mod land;
mod map;
mod show;

/// The command, for a program to add.
pub fn command() -> Extra {
    let about = "Ships' tracks: import files, make a synthetic fleet, show a store";
    Extra::new("vessel", about, run).quick()
}

#[derive(clap::Args)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Clean and resample files of positions into a store.
    Import(import::Args),
    /// Make a synthetic fleet: a store, a CSV file, or its statistics beside real ones.
    Fleet(fleet::Args),
    /// Show a store: its funnel, its hash, its split and panels.
    Show(show::Args),
    /// Draw where trained policies sail, beside where the ships went.
    Map(map::Args),
}

fn run(args: &Args, _: Tools) -> Result<Verdict> {
    match &args.command {
        Command::Import(args) => import::run(args),
        Command::Fleet(args) => fleet::run(args),
        Command::Show(args) => show::run(args),
        Command::Map(args) => map::run(args),
    }
}

/// The rules of cleaning, as options.
#[derive(Debug, clap::Args)]
struct RuleArgs {
    /// Cut a track where it is silent for longer
    #[arg(long, value_name = "MINUTES", default_value_t = Rules::default().gap_minutes)]
    gap: f64,
    /// Drop reports that imply more than this speed
    #[arg(long, value_name = "KNOTS", default_value_t = Rules::default().fastest_knots)]
    fastest: f64,
    /// Take out stays within --stay-km of a place for so long; 0 keeps them
    #[arg(long, value_name = "HOURS", default_value_t = Rules::default().stationary_hours)]
    stay: f64,
    /// How far a vessel that stays may move
    #[arg(long, value_name = "KM", default_value_t = Rules::default().stationary_km)]
    stay_km: f64,
    /// Drop segments with fewer steps
    #[arg(long, value_name = "STEPS", default_value_t = Rules::default().shortest_steps)]
    shortest: usize,
    /// Keep what is no ship by its MMSI: stations, aircraft, buoys
    #[arg(long)]
    all_stations: bool,
    /// Set so many vessels apart, to be read by nobody who does not ask for them
    #[arg(long, value_name = "N", default_value_t = RESERVED_VESSELS)]
    reserve: usize,
}

impl RuleArgs {
    fn rules(&self) -> Rules {
        let defaults = Rules::default();
        Rules {
            gap_minutes: self.gap,
            fastest_knots: self.fastest,
            stationary_hours: self.stay,
            stationary_km: self.stay_km,
            shortest_steps: self.shortest,
            longest_steps: defaults.longest_steps.max(self.shortest),
            ships_only: !self.all_stations,
            ..defaults
        }
    }
}
