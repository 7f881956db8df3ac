//! Shapes to markup.

use std::fmt::Write as _;

use crate::draw::palette::Series;
use backcut_text::escape::xml;

/// Where text is anchored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Anchor {
    /// At its start.
    Start,
    /// At its middle.
    Middle,
    /// At its end.
    End,
}

/// Markup that grows.
#[derive(Clone, Default, Debug)]
pub struct Canvas {
    /// What was drawn so far.
    pub body: String,
}

impl Canvas {
    /// A straight line.
    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64), dashes: Option<&str>) {
        let dashes = dashes.map_or_else(String::new, |d| format!(" stroke-dasharray=\"{d}\""));
        let _ = writeln!(
            self.body,
            "<path class=\"{class}\"{dashes} d=\"M{:.1} {:.1}L{:.1} {:.1}\"/>",
            from.0, from.1, to.0, to.1
        );
    }

    /// A line through points.
    pub fn polyline(&mut self, class: &str, points: &[(f64, f64)], dashes: Option<&str>) {
        if points.len() < 2 {
            return;
        }
        let dashes = dashes.map_or_else(String::new, |d| format!(" stroke-dasharray=\"{d}\""));
        let _ = write!(self.body, "<path class=\"{class}\"{dashes} d=\"");
        for (i, (x, y)) in points.iter().enumerate() {
            let _ = write!(self.body, "{}{x:.1} {y:.1}", if i == 0 { 'M' } else { 'L' });
        }
        self.body.push_str("\"/>\n");
    }

    /// A line through points whose values a pointer finds along its whole length: `name` says what
    /// they are, and every point brings its own place along the bottom and its value in words.
    pub fn curve(
        &mut self,
        class: &str,
        points: &[(f64, f64)],
        dashes: Option<&str>,
        name: &str,
        values: &[(String, String)],
    ) {
        debug_assert_eq!(points.len(), values.len(), "one value per point");
        let start = self.body.len();
        self.polyline(class, points, dashes);
        if self.body.len() > start {
            let words: Vec<String> = values.iter().map(|(x, y)| format!("{x}={y}")).collect();
            let along =
                format!("<path data-c=\"{}\" data-p=\"{}\"", xml(name), xml(&words.join(" ")));
            self.body.replace_range(start..start + "<path".len(), &along);
        }
    }

    /// A filled polygon.
    pub fn polygon(&mut self, class: &str, points: &[(f64, f64)]) {
        self.region(class, &[points]);
    }

    /// A filled region: what lies within an odd number of the rings.
    pub fn region(&mut self, class: &str, rings: &[&[(f64, f64)]]) {
        let rings: Vec<_> = rings.iter().filter(|ring| ring.len() >= 3).collect();
        if rings.is_empty() {
            return;
        }
        let rule = if rings.len() > 1 { " fill-rule=\"evenodd\"" } else { "" };
        let _ = write!(self.body, "<path class=\"{class}\"{rule} d=\"");
        for ring in rings {
            for (i, (x, y)) in ring.iter().enumerate() {
                let _ = write!(self.body, "{}{x:.1} {y:.1}", if i == 0 { 'M' } else { 'L' });
            }
            self.body.push('Z');
        }
        self.body.push_str("\"/>\n");
    }

    /// A filled rectangle.
    pub fn rect(&mut self, class: &str, x: f64, y: f64, width: f64, height: f64) {
        let _ = writeln!(
            self.body,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
            width.max(0.0),
            height.max(0.0)
        );
    }

    /// Text; `turned` runs it upwards.
    pub fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, turned: bool, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let (x, y) = at;
        let turn = if turned {
            format!(" transform=\"rotate(-90 {x:.1} {y:.1})\"")
        } else {
            String::new()
        };
        let _ = writeln!(
            self.body,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\"{anchor}{turn}>{}</text>",
            xml(text)
        );
    }

    /// Small marks behind the means, each with its value for a pointer; `what` they are is said
    /// once.
    pub fn dots(
        &mut self,
        series: Series,
        what: &str,
        dots: impl IntoIterator<Item = ((f64, f64), String)>,
    ) {
        let (class, what) = (series.index(), xml(what));
        let _ = writeln!(self.body, "<g class=\"f{class} dot\" data-g=\"{what}\">");
        for ((x, y), value) in dots {
            let (value, shape) = (xml(value.trim_end()), series.small_shape(x, y));
            let _ = writeln!(self.body, "<path data-v=\"{value}\" d=\"{shape}\"/>");
        }
        self.body.push_str("</g>\n");
    }

    /// A mark that a keyboard can reach, with its value in words; a page's script names it to those
    /// who do not see it.
    pub fn mark(&mut self, series: Series, x: f64, y: f64, open: bool, value: &str) {
        let value = xml(value);
        let index = series.index();
        let class = if open { format!("paper hollow{index}") } else { format!("f{index} rim") };
        let _ = writeln!(
            self.body,
            "<path tabindex=\"-1\" class=\"{class}\" data-v=\"{value}\" d=\"{}\"/>",
            series.shape(x, y, 3.8)
        );
    }

    /// Equal cells with their upper left corners at these places, `inset` smaller on every side, as
    /// one shape with one text.
    pub fn cells(
        &mut self,
        series: Series,
        corners: &[(f64, f64)],
        [width, height]: [f64; 2],
        inset: f64,
        value: &str,
    ) {
        if corners.is_empty() {
            return;
        }
        let [width, height] = [width, height].map(|side| (side - 2.0 * inset).max(0.5));
        // A stroke as wide as the cells are high takes half of the letters that outlines take.
        let _ = write!(
            self.body,
            "<path class=\"s{}\" stroke-width=\"{height:.1}\" data-v=\"{}\" d=\"",
            series.index(),
            xml(value)
        );
        for (x, y) in corners {
            let (x, y) = (x + inset, y + inset + height / 2.0);
            let _ = write!(self.body, "M{x:.1} {y:.1}h{width:.1}");
        }
        self.body.push_str("\"/>\n");
    }

    /// A mark that moves along points again and again, in so many seconds; where nothing moves it
    /// stays at the last one.
    pub fn mover(&mut self, series: Series, points: &[(f64, f64)], seconds: f64) {
        let Some((x, y)) = points.last() else { return };
        let places: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        let _ = writeln!(
            self.body,
            "<path class=\"f{} rim\" transform=\"translate({x:.1} {y:.1})\" \
             d=\"{}\"><animateTransform attributeName=\"transform\" type=\"translate\" \
             dur=\"{seconds:.1}s\" repeatCount=\"indefinite\" values=\"{}\"/></path>",
            series.index(),
            series.shape(0.0, 0.0, 4.6),
            places.join(";")
        );
    }

    /// A short horizontal bar, with its interval as a thin line through it, and its value for a
    /// pointer.
    pub fn tick(&mut self, x: f64, y: f64, ends: Option<[f64; 2]>, value: &str) {
        let (grey, value) = (Series::GREY.index(), xml(value));
        if let Some([low, high]) = ends {
            let _ = writeln!(
                self.body,
                "<path class=\"s{grey} fine\" data-v=\"{value}\" d=\"M{:.1} {low:.1}h5m-2.5 \
                 0V{high:.1}m-2.5 0h5\"/>",
                x - 2.5
            );
        }
        let _ = writeln!(
            self.body,
            "<path class=\"s{grey} line\" data-v=\"{value}\" d=\"M{:.1} {y:.1}h10\"/>",
            x - 5.0
        );
    }

    /// An interval: a bar with caps.
    pub fn interval(&mut self, series: Series, x: f64, low: f64, high: f64) {
        let _ = writeln!(
            self.body,
            "<path class=\"s{} bar\" d=\"M{x:.1} {low:.1}V{high:.1}M{:.1} {low:.1}h5M{:.1} \
             {high:.1}h5\"/>",
            series.index(),
            x - 2.5,
            x - 2.5
        );
    }
}
