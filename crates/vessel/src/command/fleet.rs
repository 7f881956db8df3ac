//! `backcut vessel fleet`: ships that nobody sailed, and how much they resemble those that somebody
//! did.

use std::fmt::Write as _;
use std::io::{BufWriter, IntoInnerError};
use std::path::{Path, PathBuf};

use crate::{Fleet, Reserved, Statistics, Tracks, store};
use anyhow::Result;
use backcut::command::{Told as _, Verdict, cannot_write, print, user, write};
use backcut_page::draw::{Axis, Drawing, Key, Plot, PlotSpec, Series};

use super::{RuleArgs, funnel};

/// Options of `backcut vessel fleet`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How many ships
    #[arg(long, default_value_t = Fleet::default().ships)]
    ships: u32,
    /// For how many days
    #[arg(long, default_value_t = Fleet::default().days)]
    days: u32,
    /// What everything follows from
    #[arg(long, default_value_t = Fleet::default().seed)]
    seed: u64,
    /// Write the cleaned tracks as a store
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write the raw reports as a MarineCadastre file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Print how the fleet moves beside the tracks of a store
    #[arg(long, value_name = "DIR")]
    compare: Option<PathBuf>,
    /// Draw that comparison
    #[arg(long, value_name = "FILE", requires = "compare")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    rules: RuleArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Verdict> {
    let fleet = Fleet { ships: args.ships, days: args.days, seed: args.seed };
    fleet.check().told()?;
    let mut out = String::new();
    if let Some(path) = &args.csv {
        write_csv(&fleet, path)?;
    }
    if let Some(folder) = &args.out {
        let manifest = fleet.write(folder, &args.rules.rules(), args.rules.reserve).told()?;
        out += &funnel::table(&manifest);
    }
    if let Some(folder) = &args.compare {
        let real = Statistics::of(&store::open(folder, Reserved::Excluded).told()?);
        let ours: Tracks =
            fleet.tracks(&args.rules.rules(), args.rules.reserve, Reserved::Excluded).told()?;
        let ours = Statistics::of(&ours);
        out += &table(&real, &ours);
        if let Some(path) = &args.svg {
            write(path, drawing(&real, &ours).svg())?;
        }
    }
    if args.csv.is_none() && args.out.is_none() && args.compare.is_none() {
        return Err(user("nothing is asked of the fleet", "add --out, --csv or --compare"));
    }
    print(out)
}

fn write_csv(fleet: &Fleet, path: &Path) -> Result<()> {
    let write = |file| {
        let mut out = BufWriter::new(file);
        fleet.write_csv(&mut out)?;
        out.into_inner().map_err(IntoInnerError::into_error)
    };
    backcut_study::replace(path, write).map_err(|error| cannot_write(path, &error))
}

/// Shares of both, bin by bin.
fn table(real: &Statistics, ours: &Statistics) -> String {
    let mut out = String::new();
    for ((name, unit, real), (_, _, ours)) in real.all().into_iter().zip(ours.all()) {
        let apart = real.distance(ours);
        let _ = writeln!(out, "{:<26} {:>8} {:>8}   apart {apart:.3}", name, "tracks", "fleet");
        let edges = real.edges();
        for (i, (a, b)) in real.shares().into_iter().zip(ours.shares()).enumerate() {
            let bin = bin(edges, i);
            let _ =
                writeln!(out, "  {:<24} {:>7.1}% {:>7.1}%", bin + " " + unit, 100.0 * a, 100.0 * b);
        }
    }
    out
}

fn bin(edges: &[u32], i: usize) -> String {
    match edges.get(i + 1) {
        Some(next) => format!("{} to {next}", edges[i]),
        None => format!("{} and more", edges[i]),
    }
}

fn drawing(real: &Statistics, ours: &Statistics) -> Drawing {
    let mut csv = String::from("quantity,unit,from,tracks,fleet\n");
    let panels =
        real.all().into_iter().zip(ours.all()).map(|((name, unit, real), (_, _, ours))| {
            let edges = real.edges();
            let shares = [real.shares(), ours.shares()];
            let most = shares.iter().flatten().fold(0.0f64, |most, share| most.max(*share));
            let mut plot = Plot::new(&PlotSpec {
                title: name,
                x: Axis::Names(edges.iter().map(ToString::to_string).collect()),
                x_label: unit,
                y: [0.0, (1.1 * most).max(0.01)],
                y_is_log: false,
                y_label: "share",
                height: 200.0,
            });
            for (series, shares) in [Series::BLUE, Series::ORANGE].into_iter().zip(&shares) {
                let points: Vec<_> = (shares.iter().enumerate())
                    .map(|(i, share)| (plot.slot(i, 0.0), plot.y(*share)))
                    .collect();
                let class = format!("s{} line", series.index());
                plot.canvas.polyline(&class, &points, series.dashes());
            }
            for (i, edge) in edges.iter().enumerate() {
                let _ = writeln!(csv, "{name},{unit},{edge},{},{}", shares[0][i], shares[1][i]);
            }
            plot.finish()
        });
    let panels = panels.collect();
    Drawing {
        title: "How ships move".into(),
        caption: "Shares of bins; a label is a bin's lower end.".into(),
        legend: vec![Key::line(Series::BLUE, "tracks"), Key::line(Series::ORANGE, "fleet")],
        panels,
        alt: "Histograms of speed, turns, distance in an hour and stops.".into(),
        csv,
    }
}
