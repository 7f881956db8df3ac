//! Two plain figures as SVG: values by row, and lines over an axis. Nothing but shapes and text, so
//! any browser or editor opens them.

use std::fmt::Write as _;

use super::table::number;

const WIDTH: f64 = 720.0;
const LEFT: f64 = 190.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 64.0;
const ROW: f64 = 22.0;
/// Colours that stay apart for most eyes (Okabe and Ito).
const COLOURS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];

/// A value with the ends of its band.
pub type Point = (f64, Option<(f64, f64)>);

/// Named rows with one point per series.
pub struct Dots {
    /// Above the figure.
    pub title: String,
    /// Names of the series.
    pub series: Vec<String>,
    /// Row names with a point per series, where there is one.
    pub rows: Vec<(String, Vec<Option<Point>>)>,
}

impl Dots {
    /// The figure; the axis starts at 0.
    pub fn svg(&self) -> String {
        let values = self.rows.iter().flat_map(|(_, points)| points.iter().flatten());
        let largest = values.map(|(v, band)| band.map_or(*v, |(_, high)| high.max(*v)));
        let largest = nice(largest.fold(0.0, f64::max));
        let height = TOP + ROW * self.rows.len() as f64 + 40.0;
        let x = |value: f64| LEFT + value / largest * (WIDTH - LEFT - RIGHT);
        let mut out = open(&self.title, &self.series, height);
        let bottom = height - 30.0;
        for i in 0..=4 {
            let value = largest * f64::from(i) / 4.0;
            vertical(&mut out, x(value), TOP - 8.0, bottom);
            text(&mut out, x(value), bottom + 16.0, "middle", &tick(value));
        }
        for (i, (name, points)) in self.rows.iter().enumerate() {
            let y = TOP + ROW * (i as f64 + 0.5);
            text(&mut out, LEFT - 10.0, y + 4.0, "end", name);
            for (series, point) in points.iter().enumerate() {
                let Some((value, band)) = point else { continue };
                // Series side by side, so that equal values stay visible.
                let y = y + (series as f64 - (points.len() as f64 - 1.0) / 2.0) * 3.0;
                let colour = COLOURS[series % COLOURS.len()];
                if let Some((low, high)) = band {
                    let _ = writeln!(
                        out,
                        r#"<line x1="{:.1}" x2="{:.1}" y1="{y:.1}" y2="{y:.1}" stroke="{colour}"/>"#,
                        x(*low),
                        x(*high)
                    );
                }
                let _ = writeln!(
                    out,
                    r#"<circle cx="{:.1}" cy="{y:.1}" r="3.5" fill="{colour}"/>"#,
                    x(*value)
                );
            }
        }
        out + "</svg>\n"
    }
}

/// Lines over a common axis.
pub struct Lines {
    /// Above the figure.
    pub title: String,
    /// Below the axis.
    pub axis: String,
    /// Names of the points along the axis.
    pub at: Vec<String>,
    /// Names and values.
    pub series: Vec<(String, Vec<f64>)>,
}

impl Lines {
    /// The figure; the vertical axis starts at 0.
    pub fn svg(&self) -> String {
        let values = self.series.iter().flat_map(|(_, values)| values);
        let largest = nice(values.copied().fold(0.0, f64::max));
        let last = self.at.len().saturating_sub(1);
        let height = 380.0;
        let (left, bottom) = (70.0, height - 50.0);
        let x = |i: usize| left + i as f64 / last.max(1) as f64 * (WIDTH - left - RIGHT);
        let y = |value: f64| bottom - value / largest * (bottom - TOP);
        let names: Vec<String> = self.series.iter().map(|(name, _)| name.clone()).collect();
        let mut out = open(&self.title, &names, height);
        for i in 0..=4 {
            let value = largest * f64::from(i) / 4.0;
            let _ = writeln!(
                out,
                r##"<line x1="{left}" x2="{0:.1}" y1="{1:.1}" y2="{1:.1}" stroke="#ddd"/>"##,
                WIDTH - RIGHT,
                y(value)
            );
            text(&mut out, left - 8.0, y(value) + 4.0, "end", &tick(value));
        }
        // The first point, the last, and as many between as leave room for their names.
        let every = self.at.len().div_ceil(12).max(1);
        for (i, name) in self.at.iter().enumerate() {
            if i == last || (i % every == 0 && last - i >= every) {
                text(&mut out, x(i), bottom + 18.0, "middle", name);
            }
        }
        text(&mut out, f64::midpoint(left, WIDTH), bottom + 38.0, "middle", &self.axis);
        for (index, (_, values)) in self.series.iter().enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            let points = values.iter().enumerate();
            let points: Vec<String> =
                points.map(|(i, value)| format!("{:.1},{:.1}", x(i), y(*value))).collect();
            let _ = writeln!(
                out,
                r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="2"/>"#,
                points.join(" ")
            );
            for point in points.iter().filter_map(|point| point.split_once(',')) {
                let (cx, cy) = point;
                let _ = writeln!(out, r#"<circle cx="{cx}" cy="{cy}" r="3" fill="{colour}"/>"#);
            }
        }
        out + "</svg>\n"
    }
}

/// Title and legend.
fn open(title: &str, series: &[String], height: f64) -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    text(&mut out, 10.0, 20.0, "start", title);
    let mut x = 10.0;
    for (i, name) in series.iter().enumerate() {
        let colour = COLOURS[i % COLOURS.len()];
        let _ = writeln!(out, r#"<circle cx="{:.1}" cy="36" r="4" fill="{colour}"/>"#, x + 4.0);
        text(&mut out, x + 12.0, 40.0, "start", name);
        x += 28.0 + 7.0 * name.chars().count() as f64;
    }
    out
}

fn vertical(out: &mut String, x: f64, top: f64, bottom: f64) {
    let _ = writeln!(
        out,
        r##"<line x1="{x:.1}" x2="{x:.1}" y1="{top:.1}" y2="{bottom:.1}" stroke="#ddd"/>"##
    );
}

fn text(out: &mut String, x: f64, y: f64, anchor: &str, content: &str) {
    let content = content.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(out, r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{content}</text>"#);
}

/// A number on an axis: four digits at most, no zeros at the end.
fn tick(value: f64) -> String {
    let text = number(value);
    match text.split_once('e') {
        None if text.contains('.') => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        _ => text,
    }
}

/// The next of 1, 2, 4, 5, 10 times a power of ten; 1 for nothing.
fn nice(value: f64) -> f64 {
    if !(value > 0.0 && value.is_finite()) {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 4.0, 5.0, 10.0];
    steps.iter().map(|s| s * power).find(|s| *s >= value).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers() {
        assert_eq!([0.0, 0.9, 1.0, 3.1, 47.0].map(nice), [1.0, 1.0, 1.0, 4.0, 50.0]);
    }

    #[test]
    fn ticks_are_short() {
        assert_eq!([0.0, 0.25, 1.5, 10.0, 375.0].map(tick), ["0", "0.25", "1.5", "10", "375"]);
    }

    #[test]
    fn names_along_the_axis_are_those_of_points() {
        let lines = |n: usize| Lines {
            title: String::new(),
            axis: String::new(),
            at: (1..=n).map(|i| format!("k{i}")).collect(),
            series: vec![("one".into(), vec![1.0; n])],
        };
        let few = lines(6).svg();
        assert!((1..=6).all(|i| few.contains(&format!(">k{i}<"))), "{few}");
        let many = lines(32).svg();
        assert!(many.contains(">k1<") && many.contains(">k32<") && !many.contains(">k31<"));
        // The legend's, and one for each point.
        assert_eq!(many.matches("<circle").count(), 33);
        assert!(!lines(1).svg().contains("NaN") && !lines(0).svg().contains("NaN"));
    }

    #[test]
    fn names_are_escaped_and_every_point_is_drawn() {
        let dots = Dots {
            title: "a < b".into(),
            series: vec!["FD".into(), "KD".into()],
            rows: vec![("x".into(), vec![Some((0.5, Some((0.4, 0.6)))), None])],
        };
        let svg = dots.svg();
        assert!(svg.contains("a &lt; b") && svg.ends_with("</svg>\n"));
        // Two of the legend, one of the point.
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }
}
