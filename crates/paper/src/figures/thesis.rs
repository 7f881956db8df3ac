//! Value of memory against cost of the cut, one point per condition: what the paper says, in one picture.

use super::make::first_of;
use super::spec::Figure;
use crate::paper::Paper;
use crate::words::condition;
use crate::words::excess;
use backcut_page::draw::{Anchor, Axis, Drawing, Key, Plot, PlotSpec, Series, range};
use backcut_page::report::data::Data;
use backcut_page::report::estimate::Estimate;
use backcut_page::report::{ReportError, Results};
use backcut_text::format;

const UNIT: &str = "% above FF";

/// One condition: what having no memory costs, and what the cut costs.
struct Point<'a> {
    condition: &'a str,
    worth: Estimate,
    cost: Estimate,
}

pub fn draw(results: &Results, paper: &Paper, figure: &Figure) -> Result<Drawing, ReportError> {
    let study = first_of(results, figure)?;
    let mut data = Data::default();
    let mut points = Vec::new();
    for condition in results.study(study).map(|s| s.conditions()).unwrap_or_default() {
        let estimate = |arm: &str| {
            let found = results.estimate(study, &excess(arm, condition));
            found.map(|e| e.scaled(100.0))
        };
        match (estimate("w1"), estimate("F_SG")) {
            (Ok(worth), Ok(cost)) => {
                data.estimate("", "value of memory, w = 1", condition, &worth, UNIT);
                data.estimate("", "cost of F_SG from the start", condition, &cost, UNIT);
                points.push(Point { condition, worth, cost });
            }
            (worth, cost) => {
                worth.err().into_iter().chain(cost.err()).for_each(|why| data.gap(why));
            }
        }
    }
    if points.is_empty() {
        return Err(ReportError::missing(
            &figure.name,
            format!("{study} has no condition with FF, F_SG and w1"),
        ));
    }
    let published = |arm: &str, at: &str| paper.published("c5", &excess(arm, at)).map(|(v, _)| v);
    let theirs: Vec<(&str, f64, f64)> = points
        .iter()
        .filter_map(|p| {
            Some((p.condition, published("w1", p.condition)?, published("F_SG", p.condition)?))
        })
        .collect();
    for (at, worth, cost) in &theirs {
        data.value("", "the paper's value of memory, w = 1", at, "published", *worth, UNIT);
        data.value("", "the paper's cost of F_SG from the start", at, "published", *cost, UNIT);
    }
    let mut legend = vec![Key::mark(Series::VERMILION, "ours, with both intervals")];
    if !theirs.is_empty() {
        legend.push(Key::open(Series::GREY, "the paper's mean"));
    }
    Ok(Drawing {
        title: "What cutting memory costs against what memory is worth".into(),
        caption: format!(
            "Study {study}, one point per condition: to the right, what having no memory (w = 1) costs; upwards, what cutting \
             its gradients from the start (F_SG) costs, both as error above FF. On the dashed diagonal a cut memory is \
             worth nothing; on the bottom line the cut is free. Means over sources with pointwise 95% source-bootstrap \
             intervals (descriptive).{}",
            data.gap_sentence()
        ),
        legend,
        panels: vec![panel(&points, &theirs)],
        alt: "Cost of the cut against the value of memory, by velocity noise, with the diagonal on which they are equal."
            .into(),
        csv: data.csv(),
    })
}

fn panel(points: &[Point<'_>], theirs: &[(&str, f64, f64)]) -> backcut_page::draw::Panel {
    let ends = |e: &Estimate| e.interval.into_iter().flatten().chain([e.mean]).collect::<Vec<_>>();
    let worth = points.iter().flat_map(|p| ends(&p.worth)).chain(theirs.iter().map(|t| t.1));
    let cost = points.iter().flat_map(|p| ends(&p.cost)).chain(theirs.iter().map(|t| t.2));
    let x = range(worth.chain([0.0])).unwrap_or([0.0, 1.0]);
    let y = range(cost.chain([0.0])).unwrap_or([0.0, 1.0]);
    let mut plot = Plot::new(&PlotSpec {
        title: "One point per velocity noise",
        x: Axis::Numbers(x),
        x_label: "no memory: error above FF (%)",
        y,
        y_is_log: false,
        y_label: "cut: error above FF (%)",
        height: 300.0,
    });
    let (from, to) = (x[0].max(y[0]), x[1].min(y[1]));
    if to > from {
        let at = |v: f64| (plot.x(v), plot.y(v));
        let (start, end) = (at(from), at(to));
        plot.canvas.line("soft-line", start, end, Some("4 3"));
        plot.canvas.text(
            "t soft halo",
            (end.0 - 8.0, end.1 + 12.0),
            Anchor::End,
            false,
            "cut = no memory",
        );
    }
    for (at, worth, cost) in theirs {
        let text = format!(
            "the paper's, {}: no memory {}%, cut {}%",
            condition(at),
            format::number(*worth),
            format::number(*cost)
        );
        let (x, y) = (plot.x(*worth), plot.y(*cost));
        plot.canvas.mark(Series::GREY, x, y, true, &text);
    }
    for Point { condition: at, worth, cost } in points {
        let (x, y) = (plot.x(worth.mean), plot.y(cost.mean));
        if let Some([low, high]) = cost.interval {
            let (low, high) = (plot.y(low), plot.y(high));
            plot.canvas.interval(Series::VERMILION, x, low, high);
        }
        if let Some([low, high]) = worth.interval {
            let class = format!("s{} bar", Series::VERMILION.index());
            let (from, to) = ((plot.x(low), y), (plot.x(high), y));
            plot.canvas.line(&class, from, to, None);
        }
        let text = format!(
            "{}: no memory {}%, cut {}%, pointwise 95%, {} sources",
            condition(at),
            format::estimate(worth.mean, worth.interval),
            format::estimate(cost.mean, cost.interval),
            cost.n()
        );
        plot.canvas.mark(Series::VERMILION, x, y, false, &text);
    }
    label(&mut plot, points);
    plot.finish()
}

/// Names beside the points, on top of everything; points that lie together share one.
fn label(plot: &mut Plot, points: &[Point<'_>]) {
    let (_, right) = plot.sides();
    let mut groups: Vec<(f64, f64, Vec<String>)> = Vec::new();
    for point in points {
        let (x, y) = (plot.x(point.worth.mean), plot.y(point.cost.mean));
        let near = |(gx, gy, _): &&mut (f64, f64, Vec<String>)| {
            (*gx - x).abs() < 60.0 && (*gy - y).abs() < 14.0
        };
        match groups.iter_mut().find(near) {
            Some((_, _, names)) => names.push(condition(point.condition)),
            None => groups.push((x, y, vec![condition(point.condition)])),
        }
    }
    let mut taken: Vec<(f64, f64, f64)> = Vec::new();
    for (x, y, names) in groups {
        let text = names.join(", ");
        let width = backcut_page::draw::width_of(&text, 10.5);
        let is_left = x + 8.0 + width > right;
        let from = if is_left { x - 7.0 - width } else { x + 7.0 };
        // Above its point, or below where another name stands already.
        let is_free = |y: f64| {
            taken
                .iter()
                .all(|(l, r, other)| from > *r || from + width < *l || (other - y).abs() > 13.0)
        };
        let y = if is_free(y - 7.0) { y - 7.0 } else { y + 17.0 };
        taken.push((from, from + width, y));
        let (x, anchor) = if is_left { (x - 7.0, Anchor::End) } else { (x + 7.0, Anchor::Start) };
        plot.canvas.text("t ink halo", (x, y), anchor, false, &text);
    }
}
