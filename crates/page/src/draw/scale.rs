//! From values to places: ranges and round ticks.

/// A range of values laid over a range of places.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    values: [f64; 2],
    places: [f64; 2],
}

impl Scale {
    /// A scale; an empty range of values is widened.
    pub fn new(values: [f64; 2], places: [f64; 2]) -> Self {
        let [low, high] = values;
        let values = if high > low { values } else { [low - 0.5, low + 0.5] };
        Self { values, places }
    }

    /// Where a value lies; values beyond the range stay at its ends.
    pub fn at(&self, value: f64) -> f64 {
        let [low, high] = self.values;
        let share = ((value - low) / (high - low)).clamp(-0.02, 1.02);
        self.places[0] + share * (self.places[1] - self.places[0])
    }
}

/// Round numbers that cover a range: about `count` of them, with the decimals they need.
pub fn ticks(low: f64, high: f64, count: usize) -> (Vec<f64>, usize) {
    let span = (high - low).max(f64::MIN_POSITIVE);
    let raw = span / count.max(1) as f64;
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|m| m * power >= raw * 0.999);
    let step = step.unwrap_or(10.0) * power;
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    let values = (first..=last.min(first + 50)).map(|i| i as f64 * step).collect();
    let mut decimals = (-step.log10().floor()).max(0.0) as usize;
    let shown = step * 10f64.powi(decimals as i32);
    if (shown - shown.round()).abs() > 1e-6 {
        decimals += 1;
    }
    (values, decimals.min(9))
}

/// A range that holds every value, with a little room at both ends, and zero if it is near.
pub fn range(values: impl IntoIterator<Item = f64>) -> Option<[f64; 2]> {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for value in values.into_iter().filter(|v| v.is_finite()) {
        low = low.min(value);
        high = high.max(value);
    }
    if low > high {
        return None;
    }
    // What differs by rounding alone is one value: its digits would make an axis of noise.
    let size = low.abs().max(high.abs());
    let span = if high - low > 1e-9 * size { high - low } else { size.max(1e-12) };
    Some([low - 0.06 * span, high + 0.06 * span])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_has_no_axis() {
        let [low, high] = range([1.0, 1.0 - 1e-14]).unwrap();
        assert!(high - low > 0.1, "{low} {high}");
        let [low, high] = range([1.0, 1.0 + 1e-6]).unwrap();
        assert!(high - low < 1e-5, "{low} {high}");
    }

    #[test]
    fn ticks_are_round_and_inside() {
        let (values, decimals) = ticks(-3.0, 103.0, 5);
        assert_eq!((values, decimals), (vec![0.0, 25.0, 50.0, 75.0, 100.0], 0));
        let (values, decimals) = ticks(0.004_2, 0.009_1, 4);
        assert_eq!(decimals, 3);
        assert!(values.iter().all(|v| (0.004_2..=0.009_1).contains(v)) && values.len() >= 2);
        let (_, decimals) = ticks(0.0, 0.1, 4);
        assert_eq!(decimals, 3);
    }

    #[test]
    fn a_single_value_still_has_a_range() {
        let [low, high] = range([0.0]).unwrap();
        assert!(low < 0.0 && high > 0.0);
        assert_eq!(range([f64::NAN]), None);
        let scale = Scale::new([1.0, 1.0], [0.0, 10.0]);
        assert_eq!(scale.at(1.0), 5.0);
    }
}
