//! Colours that stay apart for colour-blind readers (Okabe and Ito), each with a shape of its own, and who gets which.

use std::fmt::Write as _;

/// Who a mark belongs to; colour and shape both tell.
///
/// The first round has one shape per colour; a further round moves every colour to the next shape and the next
/// dashes, so that 36 names stay apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Series {
    colour: usize,
    round: usize,
}

/// Colours that names are given; the one behind them is for what belongs to nobody.
const GIVEN: usize = 6;

/// Light and dark colour of each series.
const COLOURS: [(&str, &str); GIVEN + 1] = [
    ("#0072B2", "#56A8E0"),
    ("#C44E00", "#FF8A4C"),
    ("#00805E", "#2BC59B"),
    ("#B37700", "#F0B840"),
    ("#A8487F", "#E39CC4"),
    ("#2E86B8", "#8AD0F5"),
    ("#5F6670", "#A3AAB5"),
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

    /// The dashes of its lines.
    pub fn dashes(self) -> Option<&'static str> {
        DASHES[(FIRST_DASHES[self.colour] + self.round) % DASHES.len()]
    }
}

/// Which series a name has, everywhere on a page.
#[derive(Clone, Debug, Default)]
pub struct Palette {
    given: Vec<(String, Series)>,
}

impl Palette {
    /// Gives every name a series of its own, in the order in which they come: a name that is added behind the others
    /// changes none of theirs. Names in `kept` have the series that stands there.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>, kept: &[(&str, Series)]) -> Self {
        let mut given: Vec<(String, Series)> =
            kept.iter().map(|(name, series)| ((*name).to_owned(), *series)).collect();
        let mut free = (0..).map(Series::nth).filter(|s| kept.iter().all(|(_, k)| k != s));
        for name in names {
            if given.iter().all(|(known, _)| known != name) {
                // Beyond 36 names colours repeat; with all of them kept there is nothing to wait for.
                let next = if kept.len() < GIVEN * GIVEN { free.next() } else { None };
                given.push((name.to_owned(), next.unwrap_or(Series::GREY)));
            }
        }
        Self { given }
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

/// The rules of the classes: by variable for a page, by the light theme's value for a drawing alone.
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
    let _ = write!(css, ".rim{{stroke:{};stroke-width:.8}}", value("paper", "#ffffff"));
    css.push_str(
        ".dot{fill-opacity:.38}.thin{stroke-opacity:.3;stroke-width:.8}.line{stroke-width:1.8}\
         .bar{stroke-width:1.6}.veil{fill-opacity:.35}\
         .t{font-size:10.5px}.h{font-size:11.5px;font-weight:600}.b{font-size:13px;font-weight:600}\
         text{font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,\"Liberation Sans\",Arial,sans-serif}",
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

    #[test]
    fn a_name_can_keep_its_series_and_nobody_else_has_it() {
        let palette = Palette::new(["new", "old"], &[("old", Series::BLUE)]);
        assert_eq!(
            (palette.series("old"), palette.series("new")),
            (Series::BLUE, Series::VERMILION)
        );
    }
}
