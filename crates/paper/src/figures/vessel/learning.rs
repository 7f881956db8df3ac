//! Four graphs after 400 and 800 updates of rollouts, stream by stream.

use backcut_page::draw::{Drawing, Key, Panel};
use backcut_page::report::data::Data;
use backcut_page::report::estimate::Estimate;
use backcut_page::report::results::Results;
use backcut_page::report::{ReportError, ShowEstimate as _};

use super::super::{first_of, series_of};
use super::{PATHS, names, needs, plot_of, record};
use crate::measured::{at_update, plain_error};
use crate::paper::{Paper, Published};

pub const NAME: &str = "vessel-learning";
const CONDITION: &str = "default";
/// Updates of rollouts, and updates in all.
const TIMES: [(&str, u64); 2] = [("400", 4400), ("800", 4800)];
/// Where the error of constant velocity on the same panel was measured.
const PLAIN: [(&str, &str); 2] = [("b5", "rollout-4000"), ("b7", "FF")];
/// Pairs of graphs whose difference the paper publishes, after 400 updates with an interval.
const PAIRS: [[&str; 2]; 2] = [["FD", "FF"], ["FD", "KD"]];

/// A graph, its error, and the paper's.
type Means = Vec<(usize, Estimate, Option<Published>)>;

pub fn draw(results: &Results, paper: &Paper) -> Result<Drawing, ReportError> {
    let study = first_of(results, NAME, &["b3"])?;
    let mut data = Data::default();
    let plain = PLAIN.iter().find_map(|(study, arm)| plain_error(results, study, arm).ok());
    if plain.is_none() {
        data.gap("constant velocity, which study b5 measures".into());
    }
    let mut panels = Vec::new();
    let shown = TIMES.map(|(time, update)| {
        (time, errors(&mut data, results, (study, time, update), plain, paper))
    });
    // Both times on one scale.
    let all = shown.iter().flat_map(|(_, means)| means).flat_map(|(_, e, theirs)| {
        e.values.iter().map(|(_, v)| *v).chain(needs(*theirs)).collect::<Vec<f64>>()
    });
    let all: Vec<f64> = all.chain(plain.map(|_| 1.0)).collect();
    for (time, means) in shown.iter().filter(|(_, means)| !means.is_empty()) {
        panels.extend(panel(&mut data, time, means, (&all, plain.is_some())));
    }
    panels.extend(differences(&mut data, results, study));
    panels.extend(plain.and_then(|plain| pairs(&mut data, results, study, plain, paper)));
    if panels.is_empty() {
        return Err(ReportError::missing(NAME, format!("no graph of {study} was evaluated")));
    }
    Ok(Drawing {
        title: "Learning under four graphs (vessel)".into(),
        caption: format!(
            "Study {study}: rollout error on the evaluation panel after 400 and 800 updates from one pretrained state, on \
             all streams; {}. Third panel: each graph against FF on the same stream.{} Means with pointwise 95% source-bootstrap \
             intervals (the study's own families decide), single streams as small marks.{}",
            match plain {
                Some(_) =>
                    "1 is constant velocity, short bars are the paper's means, of other ships",
                None => "in km², so the paper's values do not compare",
            },
            match plain {
                Some(_) =>
                    " Last panel: two differences in constant velocity's error, the paper's brought to it by its own means.",
                None => "",
            },
            data.gap_sentence()
        ),
        legend: PATHS
            .iter()
            .map(|path| Key::mark(series_of(path), *path))
            .chain(
                plain.map(|_| {
                    Key::reference("the paper's mean, with its interval where it prints one")
                }),
            )
            .collect(),
        panels,
        alt: "Rollout error of four graphs after 400 and 800 updates, by stream.".into(),
        csv: data.csv(),
    })
}

fn errors(
    data: &mut Data,
    results: &Results,
    (study, time, update): (&str, &str, u64),
    plain: Option<f64>,
    paper: &Paper,
) -> Means {
    let mut means = Vec::new();
    for (i, arm) in PATHS.iter().enumerate() {
        match at_update(results, study, arm, CONDITION, update) {
            Ok(values) => {
                let e = results.from_values(values.into_iter().collect(), Vec::new());
                let e = e.scaled(plain.map_or(1.0, |plain| 1.0 / plain));
                data.estimate(&title_of(time), arm, time, &e, unit_of(plain.is_some()));
                let theirs = plain.and_then(|_| mean_of(paper, arm, time));
                means.push((i, e, theirs));
            }
            Err(why) => data.gap(why),
        }
    }
    means
}

fn title_of(time: &str) -> String {
    format!("After {time} updates")
}

fn unit_of(is_relative: bool) -> &'static str {
    if is_relative { "times constant velocity's" } else { "km²" }
}

fn panel(
    data: &mut Data,
    time: &str,
    means: &Means,
    (all, is_relative): (&[f64], bool),
) -> Option<Panel> {
    let (title, unit) = (title_of(time), unit_of(is_relative));
    let label = if is_relative { "error / constant velocity's" } else { "error (km²)" };
    let labels = [&title, "graph", label];
    let mut plot = plot_of(all.iter().copied(), false, labels, names(&PATHS))?;
    if is_relative {
        plot.rule("s6", 1.0, "constant velocity");
    }
    for (i, e, theirs) in means {
        let arm = PATHS[*i];
        plot.estimate(series_of(arm), plot.slot(*i, -0.05), e, arm, unit, false);
        if let Some(theirs) = theirs {
            record(data, *theirs, [&title, arm, time, "the paper's mean", unit]);
            let what = format!("the paper's mean, {arm}");
            plot.published(plot.slot(*i, 0.25), theirs.0, theirs.1, &what, unit);
        }
    }
    Some(plot.finish())
}

/// Every graph against FF on the same stream.
fn differences(data: &mut Data, results: &Results, study: &str) -> Option<Panel> {
    let title = "Against FF on the same stream";
    let mut means: Vec<(usize, usize, Estimate)> = Vec::new();
    for (i, (time, update)) in TIMES.into_iter().enumerate() {
        let full = at_update(results, study, PATHS[0], CONDITION, update).ok()?;
        for (j, arm) in PATHS.iter().enumerate().skip(1) {
            let own = at_update(results, study, arm, CONDITION, update).ok()?;
            let change = |(source, value): (String, f64)| {
                let full = full.get(&source)?;
                Some((source, 100.0 * (value - full) / full))
            };
            let e = results.from_values(own.into_iter().filter_map(change).collect(), Vec::new());
            data.estimate(title, arm, time, &e, "% of FF");
            means.push((i, j, e));
        }
    }
    let values = means.iter().flat_map(|(_, _, e)| e.values.iter().map(|(_, v)| *v));
    let labels = [title, "updates of rollouts", "error above FF (%)"];
    let axis = names(&TIMES.map(|(time, _)| time));
    let mut plot = plot_of(values.chain([0.0]), false, labels, axis)?;
    for (i, j, e) in &means {
        let what = format!("{} - FF, {} updates", PATHS[*j], TIMES[*i].0);
        let x = plot.slot(*i, *j as f64 * 0.22 - 0.44);
        plot.estimate(series_of(PATHS[*j]), x, e, &what, "%", false);
    }
    Some(plot.finish())
}

/// The paper's mean error of a graph, in constant velocity's.
fn mean_of(paper: &Paper, arm: &str, time: &str) -> Option<Published> {
    paper.cell("b5", &format!("{arm} {time}"), &format!("{time} updates of rollouts"))
}

/// The paper's difference of two graphs in constant velocity's error. It is printed in km²; the means that it prints in both
/// units say what one is in the other.
fn published(paper: &Paper, [one, other]: [&str; 2], time: &str) -> Option<Published> {
    let (value, interval) = paper.claim(&format!("B3 {one} - {other}, {time}"))?.published()?;
    let scaled = mean_of(paper, one, time)?.0 - mean_of(paper, other, time)?.0;
    let unit = scaled / value;
    Some((scaled, interval.map(|ends| ends.map(|end| end * unit))))
        .filter(|_| unit.is_finite() && unit > 0.0)
}

/// Differences that the paper publishes, in constant velocity's error.
fn pairs(
    data: &mut Data,
    results: &Results,
    study: &str,
    plain: f64,
    paper: &Paper,
) -> Option<Panel> {
    let title = "Differences beside the paper's";
    let unit = "times constant velocity's";
    let mut columns: Vec<(String, &str, Estimate, Option<Published>)> = Vec::new();
    for (time, update) in TIMES {
        for pair @ [one, other] in PAIRS {
            let own = at_update(results, study, one, CONDITION, update).ok()?;
            let base = at_update(results, study, other, CONDITION, update).ok()?;
            let change = |(source, value): (String, f64)| {
                let base = base.get(&source)?;
                Some((source, (value - base) / plain))
            };
            let e = results.from_values(own.into_iter().filter_map(change).collect(), Vec::new());
            let name = format!("{one} - {other}, {time}");
            data.estimate(title, &name, time, &e, unit);
            columns.push((name, one, e, published(paper, pair, time)));
        }
    }
    let values = columns.iter().flat_map(|(_, _, e, theirs)| {
        e.values.iter().map(|(_, v)| *v).chain(needs(*theirs)).collect::<Vec<f64>>()
    });
    let along: Vec<&str> = columns.iter().map(|(name, ..)| name.as_str()).collect();
    let labels = [title, "graphs, updates of rollouts", "in constant velocity's error"];
    let mut plot = plot_of(values.chain([0.0]), false, labels, names(&along))?;
    for (i, (name, arm, e, theirs)) in columns.iter().enumerate() {
        plot.estimate(series_of(arm), plot.slot(i, -0.12), e, name, unit, false);
        if let Some(theirs) = theirs {
            record(data, *theirs, [title, name, "", "the paper's mean", unit]);
            let what = format!("the paper's, {name}");
            plot.published(plot.slot(i, 0.18), theirs.0, theirs.1, &what, unit);
        }
    }
    Some(plot.finish())
}
