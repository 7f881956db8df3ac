//! How numbers are shown: the digits that matter, never "NaN".
//!
//! Pages have a true minus sign and a dash where there is no number; terminals have plain
//! characters, which can be pasted and searched. Both round by the same rules.

/// What stands where there is no number.
pub const NONE: &str = "\u{2013}";

/// How single numbers are written.
struct Style {
    digits: f64,
    most_decimals: f64,
    /// Sizes outside this range are written with a power of ten.
    plain: std::ops::Range<f64>,
}

const PAGE: Style = Style { digits: 3.0, most_decimals: 8.0, plain: 1e-6..1e6 };
const COLUMN: Style = Style { digits: 4.0, most_decimals: 4.0, plain: 1e-3..1e5 };

impl Style {
    fn show(&self, value: f64) -> String {
        if !value.is_finite() {
            return NONE.to_owned();
        }
        if value == 0.0 {
            return "0".to_owned();
        }
        if !self.plain.contains(&value.abs()) {
            return format!("{value:.2e}");
        }
        let decimals = |size: f64| {
            (self.digits - 1.0 - size.log10().floor()).clamp(0.0, self.most_decimals) as usize
        };
        let first = decimals(value.abs());
        let text = format!("{value:.first$}");
        // What rounds to the next power of ten has one decimal less.
        let size: f64 = text.parse().map_or(value.abs(), f64::abs);
        if size == 0.0 {
            return text;
        }
        let then = decimals(size).min(first);
        format!("{value:.then$}")
    }
}

/// A number with three digits, for a page.
pub fn number(value: f64) -> String {
    minus(&PAGE.show(value))
}

/// A number with four digits at most, for a column of a terminal.
pub fn column(value: f64) -> String {
    COLUMN.show(value)
}

/// A number with a fixed count of decimals, for a page.
pub fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let text = format!("{value:.decimals$}");
    let zero = text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.');
    minus(if zero { text.trim_start_matches('-') } else { &text })
}

/// Hyphens of numbers as minus signs.
pub fn minus(text: &str) -> String {
    text.replace('-', "\u{2212}")
}

/// A p-value: three decimals, or an exponent when that would read zero.
pub fn p_value(p: f64) -> String {
    if p >= 0.001 { format!("{p:.3}") } else { format!("{p:.1e}") }
}

/// Decimals that show three digits of a size.
fn three_digits(size: f64) -> f64 {
    2.0 - size.log10().floor()
}

/// Decimals that show three digits of an interval's width, or of the mean if there is none.
pub fn decimals_for(mean: f64, interval: Option<[f64; 2]>) -> usize {
    let width = interval.map_or(0.0, |[low, high]| (high - low).abs());
    let reference = if width > 0.0 && width.is_finite() { width } else { mean.abs() };
    if reference == 0.0 || !reference.is_finite() {
        return 2;
    }
    three_digits(reference).clamp(0.0, 9.0) as usize
}

/// A mean with its interval for a page, digits chosen together.
pub fn estimate(mean: f64, interval: Option<[f64; 2]>) -> String {
    let [low, high] = interval.unwrap_or([mean, mean]);
    if three_digits(mean.abs().max(low.abs()).max(high.abs())) > 7.0
        && mean.is_finite()
        && mean != 0.0
    {
        let ends = interval.map(|ends| ends.map(|end| format!("{end:.2e}")).join(", "));
        let text = ends.map_or_else(String::new, |ends| format!(" [{ends}]"));
        return minus(&format!("{mean:.2e}{text}"));
    }
    with_decimals(mean, interval, decimals_for(mean, interval))
}

/// A mean with its interval for a page.
pub fn with_decimals(mean: f64, interval: Option<[f64; 2]>, decimals: usize) -> String {
    let mean = fixed(mean, decimals);
    match interval {
        Some([low, high]) => {
            format!("{mean} [{}, {}]", fixed(low, decimals), fixed(high, decimals))
        }
        None => mean,
    }
}

/// A number as a file holds it: the shortest text that reads back to the same bits.
pub fn exact(value: f64) -> String {
    if value.is_finite() { format!("{value}") } else { String::new() }
}

/// How the numbers of one row of a terminal are printed: decimals or mantissa digits, the same for
/// all of them.
#[derive(Clone, Copy, Debug)]
pub struct Digits {
    decimals: usize,
    scientific: bool,
}

impl Digits {
    /// Three digits of a range's width, because more would report noise and fewer would hide it.
    pub fn of_range(low: f64, high: f64) -> Self {
        let width = (high - low).abs();
        let largest = low.abs().max(high.abs());
        let reference = if width > 0.0 { width } else { largest };
        if reference == 0.0 {
            return Self { decimals: 3, scientific: false };
        }
        let decimals = three_digits(reference);
        let scientific = largest >= 1e7 || decimals > 7.0;
        let decimals = if scientific { 3 } else { decimals.max(0.0) as usize };
        Self { decimals, scientific }
    }

    /// A number.
    pub fn number(self, value: f64) -> String {
        let decimals = self.decimals;
        if self.scientific { format!("{value:.decimals$e}") } else { format!("{value:.decimals$}") }
    }

    /// An interval.
    pub fn interval(self, ends: [f64; 2]) -> String {
        format!("[{}, {}]", self.number(ends[0]), self.number(ends[1]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_prints_as_nan_or_minus_zero() {
        assert_eq!(number(f64::NAN), NONE);
        assert_eq!(column(f64::NEG_INFINITY), NONE);
        assert_eq!(fixed(f64::INFINITY, 2), NONE);
        assert_eq!(exact(f64::NAN), "");
        assert_eq!(fixed(-0.0001, 2), "0.00");
        assert_eq!(number(0.0), "0");
    }

    #[test]
    fn numbers_of_columns_are_short() {
        let shown =
            [0.0, 0.999_99, 0.5, 0.012_345, 12.3456, 4311.62, 99_999.4, 1e5, -3.2e-7].map(column);
        let want =
            ["0", "1.000", "0.5000", "0.0123", "12.35", "4312", "99999", "1.00e5", "-3.20e-7"];
        assert_eq!(shown, want);
        assert_eq!([1.0, 0.9996, -1.5e-7].map(number), ["1.00", "1.00", "\u{2212}1.50e\u{2212}7"]);
    }

    #[test]
    fn digits_follow_the_interval() {
        assert_eq!(estimate(42.912, Some([39.2, 46.61])), "42.91 [39.20, 46.61]");
        assert_eq!(
            estimate(0.002_576, Some([0.002_330, 0.002_829])),
            "0.002576 [0.002330, 0.002829]"
        );
        assert_eq!(estimate(-0.38, None), "\u{2212}0.380");
        assert_eq!(
            estimate(1.5e-6, Some([-2e-6, 4e-6])),
            "1.50e\u{2212}6 [\u{2212}2.00e\u{2212}6, 4.00e\u{2212}6]"
        );
    }

    #[test]
    fn digits_follow_the_width() {
        assert_eq!(
            Digits::of_range(0.000_152, 0.000_942).interval([0.000_152, 0.000_942]),
            "[0.000152, 0.000942]"
        );
        assert_eq!(
            Digits::of_range(-17_801.2, 11_966.1).interval([-17_801.2, 11_966.1]),
            "[-17801, 11966]"
        );
        assert_eq!(Digits::of_range(0.0060, 0.0254).number(0.015_144), "0.0151");
        assert_eq!(Digits::of_range(1e-9, 2e-9).number(1.5e-9), "1.500e-9");
        assert_eq!(Digits::of_range(0.0, 0.0).number(0.0), "0.000");
    }

    #[test]
    fn p_values_never_read_zero() {
        assert_eq!(p_value(0.0469), "0.047");
        assert_eq!(p_value(2.0 / 65536.0), "3.1e-5");
        assert_eq!(p_value(1.0), "1.000");
    }
}
