//! Across states: does the placement of a cut move the update more where the history kept `W_V`
//! quiet?

use backcut_stats::correlation::spearman;

use crate::measure::finding::{Finding, Of};

/// Spearman's correlation, over states, between the placements' difference in applied updates and
/// the added `W_V` gradient relative to the second moment's scale. One finding per pair of cuts.
pub fn placement_follows_history(states: &[Vec<Finding>]) -> Vec<Finding> {
    const NAME: &str = "placement.spearman";
    let value = |findings: &[Finding], quantity: &str, pair: &Of, part: &str| {
        let is = |f: &&Finding| f.quantity == quantity && f.of == *pair && f.part == part;
        findings.iter().find(is).and_then(|f| f.value)
    };
    let report = |pair: &Of| {
        let points: Vec<(f64, f64)> = states
            .iter()
            .filter_map(|findings| {
                let ratio = value(findings, "added.ratio", pair, "w_v")?;
                Some((ratio, value(findings, "applied.placement", pair, "all")?))
            })
            .collect();
        let without = states.len() - points.len();
        let (x, y): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
        let mut finding = if points.len() < 3 {
            let why = format!("{} states with both values; at least 3 are needed", points.len());
            Finding::undefined(NAME, pair, "w_v", &why)
        } else {
            match spearman(&x, &y) {
                Ok(rho) => Finding::new(NAME, pair, "w_v", rho),
                Err(error) => Finding::undefined(NAME, pair, "w_v", &error.to_string()),
            }
        };
        if finding.note.is_empty() {
            finding.note = match without {
                0 => format!("descriptive, {} states", points.len()),
                _ => format!("descriptive, {} states, {without} without values", points.len()),
            };
        }
        finding
    };
    let mut pairs: Vec<&Of> = Vec::new();
    for finding in states.iter().flatten().filter(|f| f.quantity == "added.ratio") {
        if !pairs.contains(&&finding.of) {
            pairs.push(&finding.of);
        }
    }
    pairs.into_iter().map(report).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(ratio: f64, difference: f64) -> Vec<Finding> {
        vec![
            Finding::new("added.ratio", "F_SG - FD", "w_v", ratio),
            Finding::new("applied.placement", "F_SG - FD", "all", difference),
        ]
    }

    #[test]
    fn an_order_that_agrees_has_correlation_one() {
        let states = [state(0.3, 0.05), state(3.0, 0.2), state(5.0, 0.3)];
        let found = placement_follows_history(&states)[0].value.unwrap();
        assert!((found - 1.0).abs() < 1e-12, "{found}");
        let two = placement_follows_history(&states[..2]);
        assert_eq!(two[0].value, None);
        assert!(two[0].note.contains("at least 3"), "{:?}", two[0]);
    }
}
