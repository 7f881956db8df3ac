//! Colours that stay apart for colour-blind readers (Okabe and Ito), each with a shape of its own.

use std::fmt::Write as _;

/// Who a mark belongs to; colour and shape both tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Series {
    /// Blue circle.
    Blue,
    /// Vermilion square.
    Vermilion,
    /// Green triangle.
    Green,
    /// Orange diamond.
    Orange,
    /// Purple triangle on its tip.
    Purple,
    /// Sky-blue hexagon.
    Sky,
    /// Grey circle.
    Grey,
}

/// Light and dark colour of each series, in the order of the enum.
const COLOURS: [(&str, &str); 7] = [
    ("#0072B2", "#56A8E0"),
    ("#C44E00", "#FF8A4C"),
    ("#00805E", "#2BC59B"),
    ("#B37700", "#F0B840"),
    ("#A8487F", "#E39CC4"),
    ("#2E86B8", "#8AD0F5"),
    ("#5F6670", "#A3AAB5"),
];

/// Light and dark colour of everything else.
const ROLES: [(&str, &str, &str); 5] = [
    ("ink", "#1b1f24", "#e6e8eb"),
    ("soft", "#59616b", "#a2a9b3"),
    ("grid", "#e3e6ea", "#2d333b"),
    ("band", "#c9ced6", "#4a525d"),
    ("paper", "#ffffff", "#15181c"),
];

impl Series {
    /// The number in the class names.
    pub fn index(self) -> usize {
        self as usize
    }

    /// The series of an arm, the same in every figure.
    pub fn of_arm(arm: &str) -> Self {
        match arm {
            "FF" | "FF_b" => Self::Blue,
            "F_SG" | "F_SG_b" => Self::Vermilion,
            "w1" => Self::Green,
            "w2" => Self::Orange,
            "FD" | "F_SG_cont" => Self::Purple,
            arm if arm.starts_with("SEG-") => Self::Sky,
            _ => Self::Grey,
        }
    }

    /// The outline of a mark of half-size `r` around a point.
    pub fn shape(self, x: f64, y: f64, r: f64) -> String {
        let polygon = |points: &[(f64, f64)]| {
            let mut path = String::new();
            for (i, (dx, dy)) in points.iter().enumerate() {
                let letter = if i == 0 { 'M' } else { 'L' };
                let _ = write!(path, "{letter}{:.1} {:.1}", x + r * dx, y + r * dy);
            }
            path + "Z"
        };
        match self {
            Self::Blue | Self::Grey => format!(
                "M{:.1} {y:.1}a{r:.1} {r:.1} 0 1 0 {:.1} 0a{r:.1} {r:.1} 0 1 0 -{:.1} 0Z",
                x - r,
                2.0 * r,
                2.0 * r
            ),
            Self::Vermilion => polygon(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
            Self::Green => polygon(&[(0.0, -1.15), (1.05, 0.8), (-1.05, 0.8)]),
            Self::Orange => polygon(&[(0.0, -1.2), (1.2, 0.0), (0.0, 1.2), (-1.2, 0.0)]),
            Self::Purple => polygon(&[(0.0, 1.15), (1.05, -0.8), (-1.05, -0.8)]),
            Self::Sky => polygon(&[
                (-1.1, 0.0),
                (-0.55, -0.95),
                (0.55, -0.95),
                (1.1, 0.0),
                (0.55, 0.95),
                (-0.55, 0.95),
            ]),
        }
    }

    /// The dashes of its lines.
    pub fn dashes(self) -> Option<&'static str> {
        match self {
            Self::Blue | Self::Vermilion | Self::Grey => None,
            Self::Green => Some("6 3"),
            Self::Orange => Some("2 2.5"),
            Self::Purple => Some("7 2.5 1.5 2.5"),
            Self::Sky => Some("4 2"),
        }
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
