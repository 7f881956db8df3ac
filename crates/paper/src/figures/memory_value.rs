//! Value of memory and cost of the cut by condition: the headline.

use super::{excess, first_of, series_of};
use crate::paper::Paper;
use backcut_page::draw::{Axis, Drawing, Key, Panel, Plot, PlotSpec};
use backcut_page::report::Results;
use backcut_page::report::data::Data;
use backcut_page::report::estimate::Estimate;
use backcut_page::report::results::canonical_condition;
use backcut_page::report::{ReportError, ShowEstimate as _};
use backcut_text::format::fixed;

use crate::words::condition;

const NAME: &str = "memory-value";

/// Arms, with what their excess over FF means.
const ARMS: [(&str, &str); 4] = [
    ("w1", "value of memory, w = 1"),
    ("w2", "value of memory, w = 2"),
    ("F_SG", "cost of F_SG from the start"),
    ("F_SG_cont", "cost of F_SG from update 800"),
];

/// Noise levels whose costs are small: they have a panel of their own, and once more enlarged.
const LOW: [&str; 2] = ["0.00", "0.05"];

/// What one panel shows: condition, arm and estimate.
type Shown = Vec<(usize, usize, Estimate)>;

pub fn draw(results: &Results, paper: &Paper) -> Result<Drawing, ReportError> {
    let study = first_of(results, NAME, &["c5", "quick"])?;
    let tables = results.study(study);
    let conditions: Vec<&str> = tables.map(|s| s.conditions()).unwrap_or_default();
    let mut data = Data::default();
    let (low, high): (Vec<&str>, Vec<&str>) =
        conditions.into_iter().partition(|c| LOW.contains(&canonical_condition(c).as_str()));
    let groups: Vec<(&str, Vec<&str>, Shown)> =
        [("Well observed velocity", low), ("Noisy or hidden velocity", high)]
            .into_iter()
            .map(|(title, conditions)| {
                let shown = estimates(results, study, title, &conditions, &mut data);
                (title, conditions, shown)
            })
            .filter(|(.., shown)| !shown.is_empty())
            .collect();
    let range_of = |groups: &[(&str, Vec<&str>, Shown)]| {
        let shown = groups.iter().flat_map(|(.., shown)| shown);
        let values = shown.flat_map(|(_, _, e)| e.values.iter().map(|(_, v)| *v));
        backcut_page::draw::range(values.chain([0.0]))
    };
    let seen = |j: &usize| groups.iter().any(|(.., shown)| shown.iter().any(|(_, k, _)| k == j));
    let arms: Vec<usize> = (0..ARMS.len()).filter(seen).collect();
    let mut panels = Vec::new();
    let mut enlarged = String::new();
    if let Some(range) = range_of(&groups) {
        for (title, conditions, shown) in &groups {
            panels.push(panel(paper, title, conditions, shown, (range, &arms)));
        }
        // On the common scale small costs are one heap: they are shown again, and the title says how much larger.
        if let ([(title, conditions, shown), _], Some(own)) =
            (&groups[..], groups.get(..1).and_then(range_of))
        {
            let times = (range[1] - range[0]) / (own[1] - own[0]);
            let title = format!("{title}, {} times enlarged", fixed(times, 0));
            if times > 2.0 {
                panels.push(panel(paper, &title, conditions, shown, (own, &arms)));
                enlarged =
                    " The last panel is the first one enlarged; the others have one scale.".into();
            }
        }
    }
    if panels.is_empty() {
        return Err(ReportError::missing(
            NAME,
            format!("no arm of {study} can be compared with FF"),
        ));
    }
    let key = |j: &usize| Key::mark(series_of(ARMS[*j].0), ARMS[*j].1);
    let mut legend: Vec<Key> = arms.iter().map(key).collect();
    legend.push(Key::reference("the paper's mean and interval"));
    Ok(Drawing {
        title: "What memory is worth, and what cutting its gradients costs".into(),
        caption: format!(
            "Study {study}: policies trained from initialization, error relative to FF at the last update, \
             in percent. Large marks: means over sources with pointwise 95% source-bootstrap intervals \
             (descriptive); small marks: single sources; grey, to the \
             right of ours: the paper's means with its intervals.{enlarged}{}",
            data.gap_sentence()
        ),
        legend,
        panels,
        alt: "Value of memory for windows of one and two steps, and cost of F_SG from the start and from update 800, by velocity noise.".into(),
        csv: data.csv(),
    })
}

fn estimates(
    results: &Results,
    study: &str,
    title: &str,
    conditions: &[&str],
    data: &mut Data,
) -> Shown {
    let mut shown = Vec::new();
    for (i, condition) in conditions.iter().enumerate() {
        for (j, (arm, label)) in ARMS.iter().enumerate() {
            match results.estimate(study, &excess(arm, condition)) {
                Ok(e) => {
                    let e = e.scaled(100.0);
                    data.estimate(title, label, condition, &e, "% above FF");
                    shown.push((i, j, e));
                }
                Err(why) => data.gap(why),
            }
        }
    }
    shown
}

fn panel(
    paper: &Paper,
    title: &str,
    conditions: &[&str],
    shown: &Shown,
    (y, arms): ([f64; 2], &[usize]),
) -> Panel {
    let mut plot = Plot::new(&PlotSpec {
        title,
        x: Axis::Names(conditions.iter().map(|c| (*c).to_owned()).collect()),
        x_label: "velocity noise (m/s)",
        y,
        y_is_log: false,
        y_label: "error above FF (%)",
        height: 270.0,
    });
    let places = arms.len().max(1) as f64;
    let x = |plot: &Plot, i: usize, j: usize| {
        let place = arms.iter().position(|k| *k == j).unwrap_or(0) as f64;
        plot.slot(i, (place + 0.5) / places * 0.8 - 0.4)
    };
    for behind in [true, false] {
        for (i, j, e) in shown {
            let (arm, label) = ARMS[*j];
            let (x, series) = (x(&plot, *i, *j), series_of(arm));
            let what = format!("{label}, {}", condition(conditions[*i]));
            if behind {
                plot.sources(series, x, e, &what, "%");
            } else {
                plot.mean(series, x, e, &what, "%", false);
            }
        }
    }
    for (i, j, _) in shown {
        let (arm, label) = ARMS[*j];
        if let Some((value, interval)) = paper.published("c5", &excess(arm, conditions[*i])) {
            let what = format!("the paper's, {label}, {}", condition(conditions[*i]));
            plot.published(x(&plot, *i, *j) + 7.0, value, interval, &what, "%");
        }
    }
    plot.finish()
}
