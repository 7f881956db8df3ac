//! Panels, a legend and a caption: one figure, for a page or on its own.

use std::fmt::Write as _;

use crate::draw::PANEL_WIDTH;
use crate::draw::canvas::{Anchor, Canvas};
use crate::draw::palette::{Series, rules};
use crate::draw::width::{width_of, wrap};
use backcut_text::escape::xml;

/// A part of a figure, 340 units wide.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Its markup.
    pub body: String,
    /// Its height.
    pub height: f64,
    /// Its title, for those who do not see it.
    pub title: String,
}

/// A line of a legend.
#[derive(Clone, Debug)]
pub struct Key {
    /// Whose it is.
    pub series: Series,
    /// What it says.
    pub label: String,
    /// Whether marks are open.
    pub open: bool,
    /// Whether it is a line with dashes rather than a mark.
    pub line: bool,
    /// A class that replaces the series' own, for what is neither.
    pub class: &'static str,
}

impl Key {
    /// A filled mark.
    pub fn mark(series: Series, label: impl Into<String>) -> Self {
        Self { series, label: label.into(), open: false, line: false, class: "" }
    }

    /// An open mark.
    pub fn open(series: Series, label: impl Into<String>) -> Self {
        Self { series, label: label.into(), open: true, line: false, class: "" }
    }

    /// A line.
    pub fn line(series: Series, label: impl Into<String>) -> Self {
        Self { series, label: label.into(), open: false, line: true, class: "" }
    }

    /// A thin line, as single sources are drawn.
    pub fn thin(series: Series, label: impl Into<String>) -> Self {
        Self { class: "thin", ..Self::line(series, label) }
    }

    /// A shaded band.
    pub fn band(label: impl Into<String>) -> Self {
        Self { class: "band veil", ..Self::line(Series::GREY, label) }
    }

    /// A value from elsewhere with its interval, as [`crate::draw::Plot::published`] draws it.
    pub fn reference(label: impl Into<String>) -> Self {
        Self { class: "tick", ..Self::line(Series::GREY, label) }
    }

    fn swatch(&self, x: f64, y: f64) -> String {
        let index = self.series.index();
        if self.line {
            match self.class {
                "thin" => {
                    return format!("<path class=\"s{index} thin\" d=\"M{x:.1} {y:.1}h18\"/>\n");
                }
                "band veil" => {
                    let top = y - 4.0;
                    return format!(
                        "<rect class=\"band veil\" x=\"{x:.1}\" y=\"{top:.1}\" width=\"18\" \
                         height=\"8\"/>\n"
                    );
                }
                "tick" => {
                    let mut canvas = Canvas::default();
                    canvas.tick(x + 9.0, y, Some([y - 5.0, y + 5.0]), "");
                    return canvas.body.replace(" data-v=\"\"", "");
                }
                _ => {}
            }
            let mut canvas = Canvas::default();
            canvas.line(&format!("s{index} line"), (x, y), (x + 18.0, y), self.series.dashes());
            return canvas.body;
        }
        let shape = self.series.shape(x + 9.0, y, 4.0);
        let class = if self.open { format!("s{index} bar") } else { format!("f{index}") };
        format!("<path class=\"{class}\" d=\"{shape}\"/>\n")
    }
}

/// A figure before it is written.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// The title.
    pub title: String,
    /// What is shown and how to read it: kinds of intervals, family, status.
    pub caption: String,
    /// The legend.
    pub legend: Vec<Key>,
    /// The panels.
    pub panels: Vec<Panel>,
    /// The same in words.
    pub alt: String,
    /// The data, as CSV.
    pub csv: String,
}

const GAP: f64 = 14.0;

impl Drawing {
    /// Panels and legend for a page: one drawing per panel, so that they flow.
    pub fn html(&self) -> String {
        let mut html = String::new();
        if !self.legend.is_empty() {
            html.push_str("<ul class=\"legend\">");
            for key in &self.legend {
                let _ = write!(
                    html,
                    "<li><svg viewBox=\"0 0 18 12\" width=\"18\" height=\"12\" \
                     aria-hidden=\"true\">{}</svg>{}</li>",
                    key.swatch(0.0, 6.0).trim_end(),
                    xml(&key.label)
                );
            }
            html.push_str("</ul>\n");
        }
        // One stop of the Tab key per figure: the page's script moves between marks.
        let by3 = if self.columns() == 3 { " by3" } else { "" };
        let _ = writeln!(
            html,
            "<div class=\"panels{by3}\" tabindex=\"0\" role=\"group\" aria-label=\"{}; arrow keys \
             go through its values\">",
            xml(&self.title)
        );
        for panel in &self.panels {
            let _ = writeln!(
                html,
                "<svg class=\"panel\" viewBox=\"0 0 {PANEL_WIDTH} {:.1}\" role=\"group\" \
                 aria-label=\"{}\"><desc>{}</desc>\n{}</svg>",
                panel.height,
                xml(&panel.title),
                xml(&self.alt),
                panel.body
            );
        }
        html.push_str("</div>\n");
        html
    }

    /// Panels in a row, where there is room: three of three, else two.
    fn columns(&self) -> usize {
        match self.panels.len() {
            3 | 5 | 6 | 9.. => 3,
            count => count.clamp(1, 2),
        }
    }

    /// One drawing with everything, in the light theme's colours.
    pub fn svg(&self) -> String {
        let columns = self.columns();
        let width = PANEL_WIDTH * columns as f64 + GAP * (columns - 1) as f64;
        let mut canvas = Canvas::default();
        let mut y = 18.0;
        for line in wrap(&self.title, 13.0, width - 12.0) {
            canvas.text("b ink", (6.0, y), Anchor::Start, false, &line);
            y += 17.0;
        }
        y = self.svg_legend(&mut canvas, y, width);
        let mut body = canvas.body;
        for row in self.panels.chunks(columns) {
            let height = row.iter().map(|p| p.height).fold(0.0, f64::max);
            for (i, panel) in row.iter().enumerate() {
                let x = i as f64 * (PANEL_WIDTH + GAP);
                let _ = writeln!(
                    body,
                    "<g transform=\"translate({x:.1} {y:.1})\">\n{}</g>",
                    panel.body
                );
            }
            y += height + GAP;
        }
        let mut canvas = Canvas::default();
        for line in wrap(&self.caption, 10.5, width - 12.0) {
            canvas.text("t soft", (6.0, y), Anchor::Start, false, &line);
            y += 14.0;
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.1} {y:.1}\" \
             width=\"{width:.1}\" height=\"{y:.1}\" \
             role=\"img\">\n<title>{}</title>\n<desc>{}</desc>\n<style>{}</style>\n<rect \
             class=\"paper\" width=\"{width:.1}\" height=\"{y:.1}\"/>\n{body}{}</svg>\n",
            xml(&self.title),
            xml(&self.alt),
            rules(true),
            canvas.body
        )
    }

    fn svg_legend(&self, canvas: &mut Canvas, mut y: f64, width: f64) -> f64 {
        let mut x = 6.0;
        for key in &self.legend {
            let needed = 26.0 + width_of(&key.label, 10.5) + 10.0;
            if x > 6.0 && x + needed > width {
                (x, y) = (6.0, y + 15.0);
            }
            canvas.body.push_str(&key.swatch(x, y - 3.5));
            canvas.text("t ink", (x + 23.0, y), Anchor::Start, false, &key.label);
            x += needed;
        }
        y + 12.0
    }
}
