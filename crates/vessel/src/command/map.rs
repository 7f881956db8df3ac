//! `backcut vessel map`: where trained policies sail, beside where the ships went.

use backcut_engine::{Model, Rollout};
use std::fmt::Write as _;
use std::path::PathBuf;

use crate::model::Window;
use crate::sphere::{Position, RADIUS_KM, wrapped};
use crate::system::{Phase, Vessel, VesselConfig};
use anyhow::Result;
use backcut::command::{Told as _, Verdict, load, print, user, write};
use backcut_lab::training::Checkpoint;
use backcut_page::draw::{Anchor, Canvas, Drawing, Key, PANEL_WIDTH, Panel, Series};
use backcut_systems::System;

use super::land::{Frame, outlines};

/// Options of `backcut vessel map`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Checkpoints, or folders of runs; all on the same tracks
    #[arg(required = true, value_name = "CHECKPOINT")]
    checkpoints: Vec<PathBuf>,
    /// How many windows of the panel, evenly spread
    #[arg(long, value_name = "N", default_value_t = 6)]
    windows: usize,
    /// Where the map goes
    #[arg(long, value_name = "FILE", default_value = "map.svg")]
    svg: PathBuf,
}

/// Of policies; orange is constant velocity.
const COLOURS: [Series; 5] =
    [Series::BLUE, Series::VERMILION, Series::GREEN, Series::PURPLE, Series::SKY];

/// A way over the sea, with what it is called.
struct Way {
    label: String,
    /// As a table's head says it.
    short: String,
    series: Series,
    /// One for each window.
    positions: Vec<Vec<Position>>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Verdict> {
    let mut all = Vec::with_capacity(args.checkpoints.len());
    for path in &args.checkpoints {
        let checkpoint = load(path)?;
        all.push((path, vessel_of(&checkpoint)?, checkpoint));
    }
    let Some((_, first, _)) = all.first() else { return Ok(Verdict::Fine) };
    let total = System::<f32>::panel_rows(first);
    let count = args.windows.clamp(1, total);
    let rows: Vec<usize> = (0..count).map(|i| i * total / count).collect();
    let window = |row: &usize| Ok(first.panel(*row, 1)?.windows.remove(0));
    let windows = rows.iter().map(window).collect::<Result<Vec<Window>>>()?;
    let mut ways = vec![Way {
        label: "constant velocity".to_owned(),
        short: "constant".to_owned(),
        series: Series::ORANGE,
        positions: windows.iter().map(|window| first.sailing_on(window)).collect(),
    }];
    for (index, (path, vessel, checkpoint)) in all.iter().enumerate() {
        let tracks = |vessel: &Vessel| (System::<f32>::data_hash(vessel), vessel.config().steps());
        if tracks(vessel) != tracks(first) {
            let what = format!("{} sails on other tracks than the first one", path.display());
            return Err(user(what, "map runs with the same data and preset together"));
        }
        let header = checkpoint.header();
        ways.push(Way {
            label: format!("{} after {} updates", header.config.cut, header.update),
            short: format!("{}@{}", header.config.cut, header.update),
            series: COLOURS[index % COLOURS.len()],
            positions: sail(vessel, checkpoint, &rows)?,
        });
    }
    write(&args.svg, drawing(&rows, &windows, &ways).svg())?;
    print(table(&rows, &windows, &ways) + &format!("\nmap: {}\n", args.svg.display()))
}

/// The vessel that a checkpoint belongs to, as it sails.
fn vessel_of(checkpoint: &Checkpoint) -> Result<Vessel> {
    let choice = &checkpoint.header().config.system;
    if choice.name != "vessel" {
        let what = format!("the checkpoint is of the system `{}`", choice.name);
        return Err(user(what, "only vessels sail"));
    }
    let mut config: VesselConfig = serde_json::from_value(choice.settings.clone())?;
    config.phase = Phase::Rollout;
    config.check().told()
}

/// Where the policy of a checkpoint sails in windows of the panel.
fn sail(vessel: &Vessel, checkpoint: &Checkpoint, rows: &[usize]) -> Result<Vec<Vec<Position>>> {
    let system: &dyn System<f32> = vessel;
    let state = checkpoint.state(system.program().layout()).told()?;
    let model = Model::new(system.program(), state.params)?;
    let mut rollout = Rollout::new(system.program(), 1, system.steps(), system.spec()).told()?;
    let mut sailed = Vec::with_capacity(rows.len());
    for &row in rows {
        system.fill_panel(row, &mut rollout)?;
        let hint = "the policy leaves its range on this window";
        model.roll(&mut rollout).map_err(|error| user(error, hint))?;
        sailed.push(vessel.sailed(&rollout, 0, &vessel.panel(row, 1)?.windows[0]));
    }
    Ok(sailed)
}

fn distance_km(a: Position, b: Position) -> f64 {
    let north = RADIUS_KM * (a[0] - b[0]);
    let east = RADIUS_KM * b[0].cos() * wrapped(a[1] - b[1]);
    north.hypot(east)
}

/// How far off each way ends.
fn table(rows: &[usize], windows: &[Window], ways: &[Way]) -> String {
    let mut out = String::from("how far off each ends, km\n  window");
    for way in ways {
        let _ = write!(out, "  {:>8}", way.short);
    }
    out.push('\n');
    for (i, (row, window)) in rows.iter().zip(windows).enumerate() {
        let _ = write!(out, "  {row:>6}");
        for way in ways {
            let ends = way.positions[i].last().zip(window.positions.last());
            let off = ends.map_or(0.0, |(ours, truth)| distance_km(*ours, *truth));
            let _ = write!(out, "  {off:>width$.0}", width = way.short.len().max(8));
        }
        out.push('\n');
    }
    out
}

const HEIGHT: f64 = 250.0;
const MARGIN: f64 = 14.0;
const HEAD: f64 = 24.0;

fn drawing(rows: &[usize], windows: &[Window], ways: &[Way]) -> Drawing {
    let mut csv = String::from("window,way,step,latitude,longitude\n");
    let mut panels = Vec::new();
    for (i, (row, window)) in rows.iter().zip(windows).enumerate() {
        panels.push(panel(*row, window, i, ways));
        let truth = ("the ship", &window.positions[window.observed - 1..]);
        let others = ways.iter().map(|way| (way.label.as_str(), way.positions[i].as_slice()));
        for (name, positions) in std::iter::once(truth).chain(others) {
            for (step, [latitude, longitude]) in positions.iter().enumerate() {
                let (latitude, longitude) = (latitude.to_degrees(), longitude.to_degrees());
                let _ = writeln!(csv, "{row},{name},{step},{latitude:.5},{longitude:.5}");
            }
        }
    }
    let mut legend =
        vec![Key::line(Series::GREY, "the ship"), Key::open(Series::GREY, "key points")];
    legend.extend(ways.iter().map(|way| Key::line(way.series, &way.label)));
    Drawing {
        title: "Where the policy sails".into(),
        caption:
            "Windows of the held-out panel: the last observed position is the filled mark, and \
                  from there on the policy feeds back its own velocity. North is up; every panel \
                  has a scale of its own. Land where there is any: made with Natural Earth."
                .into(),
        legend,
        panels,
        alt: "Maps of predicted and true tracks.".into(),
        csv,
    }
}

/// One window: everything seen from its last observed position, in kilometres.
fn panel(row: usize, window: &Window, index: usize, ways: &[Way]) -> Panel {
    let pivot = window.positions[window.observed - 1];
    let km = |position: &Position| {
        let east = RADIUS_KM * pivot[0].cos() * wrapped(position[1] - pivot[1]);
        (east, RADIUS_KM * (position[0] - pivot[0]))
    };
    let truth: Vec<(f64, f64)> = window.positions.iter().map(km).collect();
    let others: Vec<Vec<(f64, f64)>> =
        ways.iter().map(|way| way.positions[index].iter().map(km).collect()).collect();
    let all = || truth.iter().chain(others.iter().flatten());
    let ends = |of: &dyn Fn(&(f64, f64)) -> f64| {
        all()
            .map(of)
            .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| [low.min(x), high.max(x)])
    };
    let ([west, east], [south, north]) = (ends(&|p| p.0), ends(&|p| p.1));
    let (wide, high) = (PANEL_WIDTH - 2.0 * MARGIN, HEIGHT - HEAD - MARGIN - 16.0);
    let scale = (wide / (east - west).max(1.0)).min(high / (north - south).max(1.0));
    let (middle_x, middle_y) = (0.5 * (west + east), 0.5 * (south + north));
    let at = |(x, y): &(f64, f64)| {
        (0.5 * PANEL_WIDTH + (x - middle_x) * scale, HEAD + 0.5 * high - (y - middle_y) * scale)
    };
    let title = format!(
        "window {row}, {:.1}° {:.1}°",
        pivot[0].to_degrees(),
        wrapped(pivot[1]).to_degrees()
    );
    let mut canvas = Canvas::default();
    let frame = Frame { x: [0.0, PANEL_WIDTH], y: [HEAD - 4.0, HEIGHT] };
    let land = outlines(wrapped(pivot[1]), frame, |[latitude, east]| {
        at(&(RADIUS_KM * pivot[0].cos() * east, RADIUS_KM * (latitude - pivot[0])))
    });
    canvas.region("grid", &land.iter().map(Vec::as_slice).collect::<Vec<_>>());
    canvas.text("h ink", (MARGIN, 14.0), Anchor::Start, false, &title);
    let grey = format!("s{} line", Series::GREY.index());
    canvas.polyline(&grey, &truth.iter().map(at).collect::<Vec<_>>(), None);
    for (way, points) in ways.iter().zip(&others) {
        let class = format!("s{} line", way.series.index());
        canvas.polyline(&class, &points.iter().map(at).collect::<Vec<_>>(), way.series.dashes());
    }
    for point in window.route().iter().map(km) {
        let (x, y) = at(&point);
        canvas.mark(Series::GREY, x, y, true, "key point");
    }
    let (x, y) = at(&(0.0, 0.0));
    canvas.mark(Series::GREY, x, y, false, "last observed position");
    let length = nice(0.25 * wide / scale);
    let y = HEIGHT - 8.0;
    canvas.line("ink-line line", (MARGIN, y), (MARGIN + length * scale, y), None);
    canvas.text("t ink", (MARGIN, y - 5.0), Anchor::Start, false, &format!("{length} km"));
    Panel { body: canvas.body, height: HEIGHT, title }
}

/// The largest of 1, 2, 5, 10, ... that is no longer.
fn nice(length: f64) -> f64 {
    let power = 10f64.powf(length.max(0.1).log10().floor());
    [5.0, 2.0, 1.0].into_iter().map(|x| x * power).find(|x| *x <= length).unwrap_or(power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_round_numbers() {
        assert_eq!([nice(73.0), nice(20.0), nice(1.4), nice(0.3)], [50.0, 20.0, 1.0, 0.2]);
    }
}
