//! Two plain figures as SVG: values by row, and lines over an axis.

use backcut_page::draw::{
    Axis, Drawing, Key, Mark, Palette, Panel, Plot, PlotSpec, Row, Rows, range,
};
use backcut_text::format::column;

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
        let palette = Palette::of_arms(self.series.iter().map(String::as_str));
        let mark = |(name, point): (&String, &Option<Point>)| {
            let (value, band) = (*point)?;
            let text = match band {
                Some((low, high)) => {
                    format!("{name}: {} [{}, {}]", column(value), column(low), column(high))
                }
                None => format!("{name}: {}", column(value)),
            };
            let wide = band.map(|(low, high)| [low, high]);
            Some(Mark {
                series: palette.series(name),
                value,
                wide,
                narrow: None,
                open: false,
                text,
            })
        };
        let row = |(name, points): &(String, Vec<Option<Point>>)| Row {
            name: name.clone(),
            note: String::new(),
            marks: self.series.iter().zip(points).filter_map(mark).collect(),
            band: None,
        };
        let rows: Vec<Row> = self.rows.iter().map(row).collect();
        let panel =
            Rows { title: "", axis: "", rules: &[(0.0, String::new())], rows: &rows, reach: None };
        drawing(&self.title, &palette, &self.series, panel.panel(), |s, n| Key::mark(s, n))
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
        let names: Vec<String> = self.series.iter().map(|(name, _)| name.clone()).collect();
        let palette = Palette::of_arms(names.iter().map(String::as_str));
        let values = self.series.iter().flat_map(|(_, values)| values.iter().copied());
        let mut plot = Plot::new(&PlotSpec {
            title: "",
            x: Axis::Names(self.at.clone()),
            x_label: &self.axis,
            y: range(values.chain([0.0])).unwrap_or([0.0, 1.0]),
            y_is_log: false,
            y_label: "",
            height: 260.0,
        });
        for (name, values) in &self.series {
            let series = palette.series(name);
            let points = values.iter().zip(&self.at).enumerate();
            let places: Vec<(f64, f64)> =
                points.clone().map(|(i, (value, _))| (plot.slot(i, 0.0), plot.y(*value))).collect();
            let class = format!("s{} line", series.index());
            plot.canvas.polyline(&class, &places, series.dashes());
            for ((x, y), (_, (value, at))) in places.into_iter().zip(points) {
                let text = format!("{name} at {at}: {}", column(*value));
                plot.canvas.mark(series, x, y, false, &text);
            }
        }
        drawing(&self.title, &palette, &names, plot.finish(), |s, n| Key::line(s, n))
    }
}

/// One panel under its title and legend.
fn drawing(
    title: &str,
    palette: &Palette,
    series: &[String],
    panel: Panel,
    key: impl Fn(backcut_page::draw::Series, &str) -> Key,
) -> String {
    Drawing {
        title: title.to_owned(),
        caption: String::new(),
        legend: series.iter().map(|name| key(palette.series(name), name)).collect(),
        panels: vec![panel],
        alt: title.to_owned(),
        csv: String::new(),
    }
    .svg()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Marks that a pointer can ask; the legend has none of them.
    fn marks(svg: &str) -> usize {
        svg.matches("data-v=").count()
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
        assert_eq!(marks(&many), 32);
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
        assert!(svg.contains(">FD<") && svg.contains(">KD<"));
        assert_eq!(marks(&svg), 1);
        assert!(svg.contains(">0.0<"), "the axis starts at 0");
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }
}
