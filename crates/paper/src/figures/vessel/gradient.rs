//! What the memory cut does to the gradients of single windows, under full and one-step credit.

use backcut_page::draw::{Drawing, Key, Panel, Series};
use backcut_page::report::ReportError;
use backcut_page::report::data::Data;
use backcut_page::report::results::{Results, Study};

use super::super::first_of;
use super::{PRETRAINED, Spread, Which, names, needs, part, plot_of, record, rows};
use crate::paper::{Entry, Paper, Published};

pub const NAME: &str = "vessel-gradient";
const WINDOW: &str = "window ";
/// Cuts with their reference, and whose colour they have.
const CREDITS: [(&str, &str, &str, Series); 2] = [
    ("FD", "full credit", "full", Series::PURPLE),
    ("KD vs KF", "one-step credit", "one step", Series::GREEN),
];

pub fn draw(results: &Results, paper: &Paper) -> Result<Drawing, ReportError> {
    let study = results.one(Some(first_of(results, NAME, &["b1", "b1-quick"])?))?;
    let mut data = Data::default();
    let mut panels = Vec::new();
    for (quantity, claim, title, label) in [
        ("windows.difference", "difference", "Relative difference", "|g - g_ref| / |g_ref|"),
        ("windows.ratio", "norm", "Ratio of norms", "|g| / |g_ref|"),
        ("windows.cosine", "cosine", "Cosine", "cosine with g_ref"),
    ] {
        let mut spreads = Vec::new();
        for (cut, name, credit, series) in CREDITS {
            let published =
                paper.claim(&format!("B1 {claim}, {credit}")).and_then(Entry::published);
            let values = of_windows(study, quantity, cut, None);
            spreads.push((name, series, Spread::new(values), published));
        }
        panels.extend(panel(&mut data, title, label, false, &spreads));
    }
    let depth = [
        ("memory kept", Series::BLUE, of_windows(study, "windows.ratio", "KF", None), "kf/ff"),
        (
            "memory detached",
            Series::PURPLE,
            of_windows(study, "windows.ratio", "KD", Some("FD")),
            "kd/fd",
        ),
    ];
    let spreads: Vec<_> = depth
        .into_iter()
        .map(|(name, series, values, id)| {
            (name, series, Spread::new(values), paper.cell("b7", id, "pretrained"))
        })
        .collect();
    let title = "One-step credit against full credit";
    panels.extend(panel(&mut data, title, "|g one step| / |g full|", true, &spreads));
    if panels.is_empty() {
        let why = format!("study {} holds no window by itself", study.name);
        return Err(ReportError::missing(NAME, why));
    }
    Ok(Drawing {
        title: "The memory cut in gradient space, window by window (vessel)".into(),
        caption: format!(
            "Study {}: gradients of single windows of the evaluation panel at the pretrained state. The first three panels \
             compare detached memory with full memory under the same physical credit (FD with FF, KD with KF), the last \
             one-step with full physical credit. Small marks: windows; large marks: their medians, bars from the 16th to the \
             84th percentile; short bars: the paper's medians, of other ships. Descriptive.{}",
            study.name,
            data.gap_sentence()
        ),
        legend: vec![
            Key::mark(Series::PURPLE, "FD vs FF; KD vs FD"),
            Key::mark(Series::GREEN, "KD vs KF"),
            Key::mark(Series::BLUE, "KF vs FF"),
            Key::line(Series::GREY, "the paper's median"),
        ],
        panels,
        alt: "Relative difference, ratio of norms and cosine of window gradients under a memory cut, with full and one-step credit.".into(),
        csv: data.csv(),
    })
}

/// A quantity of every window, or its ratio to the same of another cut.
fn of_windows(study: &Study, quantity: &str, cut: &str, over: Option<&str>) -> Vec<(String, f64)> {
    let of_cut = |cut: &str| {
        let found = rows(study, Which { quantity, arm: PRETRAINED, cut, update: None });
        let windows = found.into_iter().filter(|(row, _)| part(row).starts_with(WINDOW));
        windows.map(|(row, value)| (part(row).to_owned(), value)).collect::<Vec<_>>()
    };
    let values = of_cut(cut);
    let Some(over) = over else { return values };
    let below = of_cut(over);
    let divided = values.into_iter().filter_map(|(window, value)| {
        let (_, below) = below.iter().find(|(other, below)| *other == window && *below != 0.0)?;
        Some((window, value / below))
    });
    divided.collect()
}

/// Name, colour, values and the paper's median of everything along the bottom.
type Column<'a> = (&'a str, Series, Option<Spread>, Option<Published>);

fn panel(
    data: &mut Data,
    title: &str,
    label: &str,
    is_log: bool,
    columns: &[Column<'_>],
) -> Option<Panel> {
    let values = columns.iter().flat_map(|(_, _, spread, _)| spread).flat_map(Spread::numbers);
    let published = columns.iter().flat_map(|(.., published)| needs(*published));
    let all: Vec<f64> = values.collect();
    if all.is_empty() {
        data.gap(title.to_owned());
        return None;
    }
    let along: Vec<&str> = columns.iter().map(|(name, ..)| *name).collect();
    let mut plot =
        plot_of(all.into_iter().chain(published), is_log, [title, "", label], names(&along))?;
    for (i, (name, series, spread, published)) in columns.iter().enumerate() {
        let Some(spread) = spread else { continue };
        spread.record(data, title, name, "", "ratio");
        let [left, middle] = [-0.12, 0.08].map(|share| plot.slot(i, share));
        spread.dots(&mut plot, *series, left, name, "");
        spread.middle(&mut plot, *series, middle, name, "");
        if let Some(theirs) = published {
            record(data, *theirs, [title, name, "", "the paper's median", "ratio"]);
            plot.published(plot.slot(i, 0.22), theirs.0, theirs.1, "the paper's median", "");
        }
    }
    Some(plot.finish())
}
