//! Colours that stay apart for colour-blind readers (after Okabe and Ito, moved apart in
//! lightness), each with a shape of its own, and who gets which.

use std::fmt::Write as _;

/// Who a mark belongs to; colour and shape both tell.
///
/// The first round has one shape per colour; a further round moves every colour to the next shape
/// and the next dashes, so that 36 names stay apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Series {
    colour: usize,
    round: usize,
}

/// Colours that names are given; the one behind them is for what belongs to nobody.
const GIVEN: usize = 6;

/// Light and dark colour of each series.
const COLOURS: [(&str, &str); GIVEN + 1] = [
    ("#0072B2", "#3F95D6"),
    ("#C44E00", "#F2733A"),
    ("#00966B", "#1FB58A"),
    ("#CC8700", "#FFD166"),
    ("#7A2E73", "#E57AB8"),
    ("#3C9DD5", "#A8DDFB"),
    ("#5F6670", "#757C88"),
];

/// Dashes of lines, and which of them a colour starts with.
const DASHES: [Option<&str>; 5] =
    [None, Some("6 3"), Some("2 2.5"), Some("7 2.5 1.5 2.5"), Some("4 2")];
const FIRST_DASHES: [usize; GIVEN + 1] = [0, 0, 1, 2, 3, 4, 0];

/// Light and dark colour of everything else.
const ROLES: [(&str, &str, &str); 5] = [
    ("ink", "#1b1f24", "#e6e8eb"),
    ("soft", "#59616b", "#a2a9b3"),
    ("grid", "#e3e6ea", "#2d333b"),
    ("band", "#c9ced6", "#4a525d"),
    ("paper", "#ffffff", "#15181c"),
];

impl Series {
    /// Blue circle.
    pub const BLUE: Self = Self::first(0);
    /// Vermilion square.
    pub const VERMILION: Self = Self::first(1);
    /// Green triangle.
    pub const GREEN: Self = Self::first(2);
    /// Orange diamond.
    pub const ORANGE: Self = Self::first(3);
    /// Purple triangle on its tip.
    pub const PURPLE: Self = Self::first(4);
    /// Sky-blue hexagon.
    pub const SKY: Self = Self::first(5);
    /// Grey circle: nobody's.
    pub const GREY: Self = Self::first(GIVEN);

    const fn first(colour: usize) -> Self {
        Self { colour, round: 0 }
    }

    /// The same colour with the shape and the dashes of another round: a relative.
    #[must_use]
    pub const fn relative(self, round: usize) -> Self {
        Self { colour: self.colour, round: (self.round + round) % GIVEN }
    }

    /// The series that the n-th name is given.
    pub fn nth(n: usize) -> Self {
        Self { colour: n % GIVEN, round: n / GIVEN % GIVEN }
    }

    /// The number in the class names.
    pub fn index(self) -> usize {
        self.colour
    }

    /// The outline of a mark of half-size `r` around a point.
    pub fn shape(self, x: f64, y: f64, r: f64) -> String {
        let points: &[(f64, f64)] = match (self.colour + self.round) % GIVEN {
            0 => {
                return format!(
                    "M{:.1} {y:.1}a{r:.1} {r:.1} 0 1 0 {:.1} 0a{r:.1} {r:.1} 0 1 0 -{:.1} 0Z",
                    x - r,
                    2.0 * r,
                    2.0 * r
                );
            }
            1 => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            2 => &[(0.0, -1.15), (1.05, 0.8), (-1.05, 0.8)],
            3 => &[(0.0, -1.2), (1.2, 0.0), (0.0, 1.2), (-1.2, 0.0)],
            4 => &[(0.0, 1.15), (1.05, -0.8), (-1.05, -0.8)],
            _ => &[
                (-1.1, 0.0),
                (-0.55, -0.95),
                (0.55, -0.95),
                (1.1, 0.0),
                (0.55, 0.95),
                (-0.55, 0.95),
            ],
        };
        let mut path = String::new();
        for (i, (dx, dy)) in points.iter().enumerate() {
            let letter = if i == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{letter}{:.1} {:.1}", x + r * dx, y + r * dy);
        }
        path + "Z"
    }

    /// The outline of a small mark around a point, in as few letters as it takes: a page has
    /// thousands of them.
    pub fn small_shape(self, x: f64, y: f64) -> String {
        let (dx, dy, rest) = match (self.colour + self.round) % GIVEN {
            0 => (-1.9, 0.0, "a1.9 1.9 0 1 0 3.8 0a1.9 1.9 0 1 0-3.8 0"),
            1 => (-1.7, -1.7, "h3.4v3.4h-3.4z"),
            2 => (0.0, -2.2, "l2 3.7h-4z"),
            3 => (0.0, -2.3, "l2.3 2.3-2.3 2.3-2.3-2.3z"),
            4 => (0.0, 2.2, "l2-3.7h-4z"),
            _ => (-2.1, 0.0, "l1-1.8h2.2l1 1.8-1 1.8h-2.2z"),
        };
        format!("M{:.1} {:.1}{rest}", x + dx, y + dy)
    }

    /// The dashes of its lines.
    pub fn dashes(self) -> Option<&'static str> {
        DASHES[(FIRST_DASHES[self.colour] + self.round) % DASHES.len()]
    }
}

/// Cuts have the same series wherever they are drawn. What limits physical credit has the colour of
/// the cut that does not, and another shape.
const KNOWN: [(&str, Series); 8] = [
    ("FF", Series::BLUE),
    ("F_SG", Series::VERMILION),
    ("FD", Series::PURPLE),
    ("SEG", Series::SKY),
    ("SEG-8", Series::SKY),
    ("KF", Series::BLUE.relative(1)),
    ("K_SG", Series::VERMILION.relative(1)),
    ("KD", Series::PURPLE.relative(1)),
];

/// The arm that a name says it is a variant of: a policy's cut (`gru-cut`), or a cut with limited
/// physical credit (`K4_SG`, `K4_SEG-8`).
fn relative_of(name: &str) -> Option<String> {
    if let Some(policy) = name.strip_suffix("-cut") {
        return Some(policy.to_owned());
    }
    let memory = name.strip_prefix('K')?.trim_start_matches(|c: char| c.is_ascii_digit());
    Some(match memory.strip_prefix("_SEG") {
        Some(length) => format!("SEG{length}"),
        None => format!("F{memory}"),
    })
}

/// Which series a name has, everywhere on a page.
#[derive(Clone, Debug, Default)]
pub struct Palette {
    given: Vec<(String, Series)>,
}

impl Palette {
    /// Gives every name a series of its own, in the order in which they come: a name that is added
    /// behind the others changes none of theirs. Names in `kept` have the series that stands there.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>, kept: &[(&str, Series)]) -> Self {
        let mut given: Vec<(String, Series)> =
            kept.iter().map(|(name, series)| ((*name).to_owned(), *series)).collect();
        let mut free = (0..).map(Series::nth).filter(|s| kept.iter().all(|(_, k)| k != s));
        for name in names {
            if given.iter().all(|(known, _)| known != name) {
                // Beyond 36 names colours repeat; with all of them kept there is nothing to wait
                // for.
                let next = if kept.len() < GIVEN * GIVEN { free.next() } else { None };
                given.push((name.to_owned(), next.unwrap_or(Series::GREY)));
            }
        }
        Self { given }
    }

    /// The same where cuts are among the names: a cut has its own series in every drawing, and an
    /// arm and its relative share a colour.
    pub fn of_arms<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let names: Vec<&str> = names.into_iter().collect();
        let is_there = |(known, _): &&(&str, Series)| names.contains(known);
        let kept: Vec<(&str, Series)> = KNOWN.iter().filter(is_there).copied().collect();
        let base = |name: &str| relative_of(name).filter(|base| names.contains(&base.as_str()));
        let (relatives, heads): (Vec<&str>, Vec<&str>) =
            names.iter().copied().partition(|name| base(name).is_some());
        let mut palette = Self::new(heads, &kept);
        for name in relatives {
            let head = palette.series(&base(name).unwrap_or_default());
            let is_free = |series: &Series| palette.given.iter().all(|(_, other)| other != series);
            match (1..GIVEN).map(|round| head.relative(round)).find(is_free) {
                Some(series) if palette.given.iter().all(|(known, _)| known != name) => {
                    palette.given.push((name.to_owned(), series));
                }
                _ => palette = palette.and([name]),
            }
        }
        palette
    }

    /// The series of a cut, if it is one that has its own; all segment lengths share one.
    pub fn of_cut(name: &str) -> Option<Series> {
        let name = if name.starts_with("SEG-") { "SEG" } else { name };
        KNOWN.iter().find(|(known, _)| *known == name).map(|(_, series)| *series)
    }

    /// The same with more names; those that have a series keep it.
    #[must_use]
    pub fn and<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Self {
        let kept: Vec<(&str, Series)> = self.given.iter().map(|(n, s)| (n.as_str(), *s)).collect();
        Self::new(names, &kept)
    }

    /// A name's series; grey for one that the palette has not seen.
    pub fn series(&self, name: &str) -> Series {
        self.given.iter().find(|(known, _)| known == name).map_or(Series::GREY, |(_, s)| *s)
    }
}

/// The variables of one theme, for a page's style sheet.
pub fn page_variables(dark: bool) -> String {
    let mut css = String::new();
    let choose = |light: &'static str, night: &'static str| if dark { night } else { light };
    for (i, (light, night)) in COLOURS.iter().enumerate() {
        let _ = write!(css, "--c{i}:{};", choose(light, night));
    }
    for (name, light, night) in ROLES {
        let _ = write!(css, "--{name}:{};", choose(light, night));
    }
    css
}

/// The rules of the classes: by variable for a page, by the light theme's value for a drawing
/// alone.
pub fn rules(standalone: bool) -> String {
    let mut css = String::new();
    let value = |name: &str, light: &str| {
        if standalone { light.to_owned() } else { format!("var(--{name})") }
    };
    for (i, (light, _)) in COLOURS.iter().enumerate() {
        let colour = value(&format!("c{i}"), light);
        let _ = write!(
            css,
            ".f{i}{{fill:{colour}}}.s{i}{{stroke:{colour};fill:none}}\
             .hollow{i}{{stroke:{colour};stroke-width:1.7}}"
        );
    }
    for (name, light, _) in ROLES {
        let colour = value(name, light);
        let _ = write!(css, ".{name}{{fill:{colour}}}.{name}-line{{stroke:{colour};fill:none}}");
    }
    let paper = value("paper", "#ffffff");
    let _ = write!(
        css,
        ".rim{{stroke:{paper};stroke-width:.8}}.halo{{stroke:{paper};stroke-width:3;paint-order:stroke;stroke-linejoin:round}}"
    );
    css.push_str(
        ".dot{fill-opacity:.38}.thin{stroke-opacity:.3;stroke-width:.8}.line{stroke-width:1.8}\
         .bar{stroke-width:1.6}.veil{fill-opacity:.35}.fine{stroke-width:1}\
         .t{font-size:10.5px}.h{font-size:11.5px;font-weight:600}.b{font-size:13px;font-weight:600}\
         text{font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,\"Liberation \
         Sans\",Arial,sans-serif}",
    );
    css
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_series_of_its_own_and_keeps_it() {
        let names: Vec<String> = (0..36).map(|i| format!("arm {i}")).collect();
        let few = Palette::new(names[..4].iter().map(String::as_str), &[]);
        let many = Palette::new(names.iter().map(String::as_str), &[]);
        for (i, name) in names.iter().enumerate() {
            assert!(
                names[..i].iter().all(|other| many.series(other) != many.series(name)),
                "{name}"
            );
            // Same colour, other dashes: lines have no shape to tell them apart.
            let alike = |other: &&String| {
                let (a, b) = (many.series(other), many.series(name));
                (a.index(), a.dashes()) == (b.index(), b.dashes())
            };
            assert!(names[..i].iter().filter(alike).count() <= 1, "{name}");
        }
        for name in &names[..4] {
            assert_eq!(few.series(name), many.series(name));
        }
        assert_eq!(many.series("a stranger"), Series::GREY);
    }

    /// Lightness and opponent colours (CIE Lab) of a colour seen through a matrix that takes linear
    /// red, green and blue.
    fn seen(hex: &str, eye: [[f64; 3]; 3]) -> [f64; 3] {
        let channel = |at: usize| {
            let part = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
            if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        let rgb = [channel(1), channel(3), channel(5)];
        let dot = |row: [f64; 3], v: [f64; 3]| row[0] * v[0] + row[1] * v[1] + row[2] * v[2];
        let rgb = eye.map(|row| dot(row, rgb).clamp(0.0, 1.0));
        let xyz = [
            dot([0.4124, 0.3576, 0.1805], rgb) / 0.9505,
            dot([0.2126, 0.7152, 0.0722], rgb),
            dot([0.0193, 0.1192, 0.9505], rgb) / 1.089,
        ];
        let [x, y, z] =
            xyz.map(|v| if v > 0.008_856 { v.cbrt() } else { 7.787 * v + 16.0 / 116.0 });
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    #[test]
    fn colours_stay_apart_for_every_eye() {
        // Machado, Oliveira and Fernandes (2009), full severity.
        let eyes = [
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
            [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
            [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
        ];
        for (theme, pick) in [("light", 0), ("dark", 1)] {
            let colours = COLOURS.map(|(light, dark)| if pick == 0 { light } else { dark });
            for eye in eyes {
                for (i, one) in colours.iter().enumerate() {
                    for other in &colours[..i] {
                        let (a, b) = (seen(one, eye), seen(other, eye));
                        let far = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                        assert!(far > 11.0, "{theme}: {one} and {other}, {far:.1}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_cut_is_drawn_alike_everywhere_and_no_two_are() {
        for (i, (name, series)) in KNOWN.iter().enumerate() {
            let same = |other: &&(&str, Series)| other.1 == *series && !name.starts_with("SEG");
            assert_eq!(KNOWN[..i].iter().find(same), None, "{name}");
            assert_eq!(Palette::of_arms(["mine", name]).series(name), *series);
            assert_ne!(Palette::of_arms(["mine", name]).series("mine"), *series);
        }
        assert_eq!(Palette::of_cut("SEG-4"), Palette::of_cut("SEG-8"));
        assert_eq!(Palette::of_cut("mine"), None);
    }

    #[test]
    fn an_arm_and_its_variants_share_a_colour_and_nothing_else() {
        let alike = |names: &[&str], pairs: &[(&str, &str)]| {
            let palette = Palette::of_arms(names.iter().copied());
            for (one, other) in pairs {
                let colour = |name: &str| palette.series(name).index();
                assert_eq!(colour(one), colour(other), "{one} and {other}");
            }
            for (i, name) in names.iter().enumerate() {
                let same = |other: &&&str| palette.series(other) == palette.series(name);
                assert_eq!(names[..i].iter().find(same), None, "{name}");
            }
            palette
        };
        let policies = ["ssm", "ssm-cut", "none", "gru-cut", "gru", "K-cut"];
        let palette = alike(&policies, &[("ssm", "ssm-cut"), ("gru", "gru-cut")]);
        let heads = ["ssm", "none", "gru", "K-cut"].map(|name| palette.series(name).index());
        assert!((1..4).all(|i| !heads[..i].contains(&heads[i])), "{heads:?}");
        let depths = ["F", "K", "K2", "K4", "K8", "K16"];
        let cuts = depths.iter().flat_map(|k| ["F", "_SG", "D"].map(|m| format!("{k}{m}")));
        let cuts: Vec<String> = cuts.chain(["SEG-8".into(), "K4_SEG-8".into()]).collect();
        let cuts: Vec<&str> = cuts.iter().map(String::as_str).collect();
        alike(&cuts, &[("FF", "K16F"), ("F_SG", "K2_SG"), ("FD", "KD"), ("SEG-8", "K4_SEG-8")]);
    }

    #[test]
    fn a_name_can_keep_its_series_and_nobody_else_has_it() {
        let palette = Palette::new(["new", "old"], &[("old", Series::BLUE)]);
        assert_eq!(
            (palette.series("old"), palette.series("new")),
            (Series::BLUE, Series::VERMILION)
        );
    }
}
