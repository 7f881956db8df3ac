//! Every seed's excess at 0.05 m/s against the margin.

use super::make::first_of;
use super::spec::Figure;
use crate::words::excess;
use backcut_page::draw::{Axis, Drawing, Key, Plot, PlotSpec, Series, range};
use backcut_page::report::ReportError;
use backcut_page::report::Results;
use backcut_page::report::data::Data;
use backcut_page::report::estimate::same_contrast;
use backcut_text::format;

const CONDITION: &str = "0.05";
const MARGIN: f64 = 5.0;

pub fn draw(results: &Results, figure: &Figure) -> Result<Drawing, ReportError> {
    let study = first_of(results, figure)?;
    let mut data = Data::default();
    let a = results
        .estimate(study, &excess("F_SG", CONDITION))
        .map_err(|why| ReportError::missing(&figure.name, why))?
        .scaled(100.0);
    let cell = format!("a6/{CONDITION}");
    let on_b = format!("([F_SG_b@{cell}] - [FF_b@{cell}]) / [FF_b@{cell}]");
    let b = results.estimate("c4", &on_b).map(|e| e.scaled(100.0));
    let noise = results.estimate("c4", &format!("([FF_b@{cell}] - [FF@{cell}]) / [FF@{cell}]"));
    let deviation = noise.ok().and_then(|e| e.deviation()).map(|d| 100.0 * d);
    data.estimate("", "stream a", CONDITION, &a, "%");
    match &b {
        Ok(b) => data.estimate("", "stream b", CONDITION, b, "%"),
        Err(why) => data.gap(format!("stream b: {why}")),
    }
    let judged = results.study(study).and_then(|s| {
        s.analysis.iter().find(|row| same_contrast(&row.expression, &excess("F_SG", CONDITION)))
    });
    let bound = judged.and_then(|row| row.upper).map(|upper| 100.0 * upper);
    let mut order: Vec<&(String, f64)> = a.values.iter().collect();
    order.sort_by(|l, r| l.1.total_cmp(&r.1));
    let of_b = |source: &str| {
        let b = b.as_ref().ok()?;
        b.values.iter().find(|(s, _)| s == source).map(|(_, v)| *v)
    };
    let values = a.values.iter().map(|(_, v)| *v).chain(order.iter().filter_map(|(s, _)| of_b(s)));
    let extra =
        [0.0, MARGIN].into_iter().chain(bound).chain(deviation).chain(deviation.map(|d| -d));
    let y = range(values.chain(extra)).unwrap_or([-1.0, 6.0]);
    let count = order.len();
    let mut plot = Plot::new(&PlotSpec {
        title: "Relative excess of every seed at 0.05 m/s",
        x: Axis::Numbers([1.0, count.max(2) as f64]),
        x_label: "seeds, in the order of stream a",
        y,
        y_is_log: false,
        y_label: "relative excess r (%)",
        height: 280.0,
    });
    if let Some(d) = deviation {
        let (left, right) = plot.sides();
        let (top, bottom) = (plot.y(d), plot.y(-d));
        plot.canvas.rect("band veil", left, top, right - left, bottom - top);
    }
    for (i, (source, value)) in order.iter().enumerate() {
        let x = plot.x(i as f64 + 1.0);
        let text = |v: f64, name: &str| format!("{source}, {name}: {}%", format::fixed(v, 2));
        if let Some(other) = of_b(source) {
            let place = plot.y(other);
            plot.canvas.mark(Series::VERMILION, x, place, true, &text(other, "stream b"));
        }
        let place = plot.y(*value);
        plot.canvas.mark(Series::VERMILION, x, place, false, &text(*value, "stream a"));
    }
    // Last, so that no mark hides a label.
    plot.rule("ink-line", MARGIN, "margin 5%");
    if let Some(bound) = bound {
        plot.rule("s1", bound, &format!("upper bound {}%", format::fixed(bound, 2)));
    }
    let bound_words = bound.map_or_else(String::new, |bound| {
        format!("The drawn bound, {}%, is the family's and decides. ", format::fixed(bound, 2))
    });
    let decision = judged.map_or_else(
        || "The study has no judged row for this contrast.".to_owned(),
        |row| {
            format!(
                "Decision of family {} ({}, {}): {}.",
                row.family,
                row.kind(),
                row.status,
                row.decision()
            )
        },
    );
    let above = a.values.iter().filter(|(_, v)| *v > MARGIN).count();
    let mut legend = vec![Key::mark(Series::VERMILION, "stream a")];
    if b.is_ok() {
        legend.push(Key::open(Series::VERMILION, "stream b"));
    }
    if deviation.is_some() {
        legend.push(Key::band("FF against FF on two streams, one deviation"));
    }
    Ok(Drawing {
        title: "Noninferiority at low noise".into(),
        caption: format!(
            "Study a6: mean relative excess {}% (pointwise two-sided 95%) over {count} seeds, \
             {above} above the margin. {bound_words}{decision}{}",
            format::estimate(a.mean, a.interval),
            data.gap_sentence()
        ),
        legend,
        panels: vec![plot.finish()],
        alt: "Relative excess of every seed on two streams against the 5% margin and the upper \
              bound of the mean."
            .into(),
        csv: data.csv(),
    })
}
