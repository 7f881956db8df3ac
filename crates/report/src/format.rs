//! How numbers are shown: few digits, one minus sign, never "NaN".

/// What stands where there is no number.
pub const NONE: &str = "\u{2013}";

/// A number with digits that fit its size; `NONE` if it is not finite.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let size = value.abs();
    let text = if size == 0.0 {
        "0".to_owned()
    } else if !(1e-6..1e6).contains(&size) {
        format!("{value:.2e}")
    } else {
        let decimals = (2.0 - size.log10().floor()).clamp(0.0, 8.0) as usize;
        format!("{value:.decimals$}")
    };
    minus(&text)
}

/// A number with a fixed count of decimals.
pub fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let text = format!("{value:.decimals$}");
    let zero = text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.');
    minus(if zero { text.trim_start_matches('-') } else { &text })
}

/// The hyphen of a negative number as a minus sign.
fn minus(text: &str) -> String {
    text.replace('-', "\u{2212}")
}

/// Decimals that show three digits of the largest magnitude or of an interval's width.
pub fn decimals_for(mean: f64, interval: Option<[f64; 2]>) -> usize {
    let width = interval.map_or(0.0, |[low, high]| (high - low).abs());
    let reference = if width > 0.0 && width.is_finite() { width } else { mean.abs() };
    if reference == 0.0 || !reference.is_finite() {
        return 2;
    }
    (2.0 - reference.log10().floor()).clamp(0.0, 9.0) as usize
}

/// A mean with its interval, digits chosen together.
pub fn estimate(mean: f64, interval: Option<[f64; 2]>) -> String {
    show(mean, interval, decimals_for(mean, interval))
}

fn show(mean: f64, interval: Option<[f64; 2]>, decimals: usize) -> String {
    let mean = fixed(mean, decimals);
    match interval {
        Some([low, high]) => {
            format!("{mean} [{}, {}]", fixed(low, decimals), fixed(high, decimals))
        }
        None => mean,
    }
}

/// A published mean with its interval: no more decimals than were published.
pub fn published(mean: f64, interval: Option<[f64; 2]>) -> String {
    let decimals = |value: f64| exact(value).split_once('.').map_or(0, |(_, after)| after.len());
    let [low, high] = interval.unwrap_or([mean, mean]);
    let written = decimals(mean).max(decimals(low)).max(decimals(high));
    let most =
        interval.map_or(written, |_| decimals_for(mean, interval).max(decimals_for(mean, None)));
    show(mean, interval, written.min(most))
}

/// A number as a file holds it: the shortest text that reads back to the same bits.
pub fn exact(value: f64) -> String {
    if value.is_finite() { format!("{value}") } else { String::new() }
}

/// A condition in words.
pub fn under(name: &str) -> String {
    if name == "hidden" {
        "Hidden velocity".to_owned()
    } else {
        format!("Velocity noise {}", condition(name))
    }
}

/// A condition with its unit.
pub fn condition(name: &str) -> String {
    match name.rsplit_once('/') {
        Some((study, rest)) => format!("{} ({study})", condition(rest)),
        None if name.parse::<f64>().is_ok() => format!("{name} m/s"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_prints_as_nan_or_minus_zero() {
        assert_eq!(number(f64::NAN), NONE);
        assert_eq!(fixed(f64::INFINITY, 2), NONE);
        assert_eq!(exact(f64::NAN), "");
        assert_eq!(fixed(-0.0001, 2), "0.00");
        assert_eq!(number(0.0), "0");
    }

    #[test]
    fn digits_follow_the_interval() {
        assert_eq!(estimate(42.912, Some([39.2, 46.61])), "42.91 [39.20, 46.61]");
        assert_eq!(
            estimate(0.002_576, Some([0.002_330, 0.002_829])),
            "0.002576 [0.002330, 0.002829]"
        );
        assert_eq!(estimate(-0.38, None), "\u{2212}0.380");
        assert_eq!(published(31.7, Some([28.0, 36.0])), "31.7 [28.0, 36.0]");
        assert_eq!(published(0.001_57, None), "0.00157");
        assert_eq!(condition("c2/0.05"), "0.05 m/s (c2)");
    }
}
