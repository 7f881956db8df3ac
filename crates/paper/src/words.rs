//! The paper's conditions, numbers and questions in words.

use backcut_text::format::{decimals_for, exact, with_decimals};

/// A condition as a title.
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

/// What a condition of the quadrotor does to the velocity's reading, as a title.
pub fn velocity(name: &str) -> String {
    match condition(name) {
        name if name.ends_with(" m/s") => format!("Velocity noise {name}"),
        name => format!("Velocity {name}"),
    }
}

/// A published mean with its interval: no more decimals than were published.
pub fn published(mean: f64, interval: Option<[f64; 2]>) -> String {
    let decimals = |value: f64| exact(value).split_once('.').map_or(0, |(_, after)| after.len());
    let [low, high] = interval.unwrap_or([mean, mean]);
    let written = decimals(mean).max(decimals(low)).max(decimals(high));
    let most =
        interval.map_or(written, |_| decimals_for(mean, interval).max(decimals_for(mean, None)));
    with_decimals(mean, interval, written.min(most))
}

/// The relative excess of an arm over FF.
pub fn excess(arm: &str, condition: &str) -> String {
    format!("([{arm}@{condition}] - [FF@{condition}]) / [FF@{condition}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_numbers_keep_their_decimals() {
        assert_eq!(published(31.7, Some([28.0, 36.0])), "31.7 [28.0, 36.0]");
        assert_eq!(published(0.001_57, None), "0.00157");
        assert_eq!(condition("c2/0.05"), "0.05 m/s (c2)");
    }
}
