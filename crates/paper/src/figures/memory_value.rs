//! Value of memory and cost of the cut by condition: the headline.

use super::{excess, first_of, series_of};
use crate::paper::Paper;
use backcut_draw::{Axis, Drawing, Key, Plot, PlotSpec};
use backcut_report::Results;
use backcut_report::data::Data;
use backcut_report::results::canonical_condition;
use backcut_report::{ReportError, ShowEstimate as _};

use crate::words::condition;

const NAME: &str = "memory-value";

/// Arms, with what their excess over FF means.
const ARMS: [(&str, &str); 4] = [
    ("w1", "value of memory, w = 1"),
    ("w2", "value of memory, w = 2"),
    ("F_SG", "cost of F_SG from the start"),
    ("F_SG_cont", "cost of F_SG from update 800"),
];

/// Noise levels that share a scale; the others get a panel of their own.
const LOW: [&str; 2] = ["0.00", "0.05"];

pub fn draw(results: &Results, paper: &Paper) -> Result<Drawing, ReportError> {
    let study = first_of(results, NAME, &["c5", "quick"])?;
    let tables = results.study(study);
    let conditions: Vec<&str> = tables.map(|s| s.conditions()).unwrap_or_default();
    let mut data = Data::default();
    let mut panels = Vec::new();
    let mut arms_seen = Vec::new();
    let (low, high): (Vec<&str>, Vec<&str>) =
        conditions.into_iter().partition(|c| LOW.contains(&canonical_condition(c).as_str()));
    for (title, conditions) in [("Well observed velocity", low), ("Noisy or hidden velocity", high)]
    {
        let mut estimates = Vec::new();
        for (i, condition) in conditions.iter().enumerate() {
            for (j, (arm, label)) in ARMS.iter().enumerate() {
                match results.estimate(study, &excess(arm, condition)) {
                    Ok(e) => {
                        let e = e.scaled(100.0);
                        data.estimate(title, label, condition, &e, "% above FF");
                        if !arms_seen.contains(&j) {
                            arms_seen.push(j);
                        }
                        estimates.push((i, j, e));
                    }
                    Err(why) => data.gap(why),
                }
            }
        }
        let all = estimates.iter().flat_map(|(_, _, e)| e.values.iter().map(|(_, v)| *v));
        let Some(range) = backcut_draw::range(all.chain([0.0])) else { continue };
        if estimates.is_empty() {
            continue;
        }
        let names = conditions.iter().map(|c| (*c).to_owned()).collect();
        let mut plot = Plot::new(&PlotSpec {
            title,
            x: Axis::Names(names),
            x_label: "velocity noise (m/s)",
            y: range,
            y_is_log: false,
            y_label: "error above FF (%)",
            height: 270.0,
        });
        let places = arms_seen.len().max(1) as f64;
        for behind in [true, false] {
            for (i, j, e) in &estimates {
                let (arm, label) = ARMS[*j];
                let place = arms_seen.iter().position(|k| k == j).unwrap_or(0) as f64;
                let share = (place + 0.5) / places * 0.8 - 0.4;
                let (x, series) = (plot.slot(*i, share), series_of(arm));
                let what = format!("{label}, {}", condition(conditions[*i]));
                if behind {
                    plot.sources(series, x, e, &what, "%");
                } else {
                    plot.mean(series, x, e, &what, "%", false);
                }
            }
        }
        for (i, j, _) in &estimates {
            let (arm, label) = ARMS[*j];
            let place = arms_seen.iter().position(|k| k == j).unwrap_or(0) as f64;
            let x = plot.slot(*i, (place + 0.5) / places * 0.8 - 0.4);
            let expression = excess(arm, conditions[*i]);
            if let Some((value, interval)) = paper.published("c5", &expression) {
                let what = format!("the paper's, {label}, {}", condition(conditions[*i]));
                plot.published(x + 7.0, value, interval, &what, "%");
            }
        }
        panels.push(plot.finish());
    }
    if panels.is_empty() {
        return Err(ReportError::missing(
            NAME,
            format!("no arm of {study} can be compared with FF"),
        ));
    }
    arms_seen.sort_unstable();
    let mut legend: Vec<Key> =
        arms_seen.iter().map(|j| Key::mark(series_of(ARMS[*j].0), ARMS[*j].1)).collect();
    legend.push(Key::reference("the paper's mean and interval"));
    Ok(Drawing {
        title: "What memory is worth, and what cutting its gradients costs".into(),
        caption: format!(
            "Study {study}: policies trained from initialization, error relative to FF at the last update, \
             in percent. Large marks: means over sources with pointwise 95% source-bootstrap intervals \
             (descriptive); small marks: single sources; grey, to the \
             right of ours: the paper's means with its intervals. The two panels have scales of their own.{}",
            data.gap_sentence()
        ),
        legend,
        panels,
        alt: "Value of memory for windows of one and two steps, and cost of F_SG from the start and from update 800, by velocity noise.".into(),
        csv: data.csv(),
    })
}
