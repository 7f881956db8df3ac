//! From several windows or states to one: medians with their 16th and 84th percentiles.
//!
//! A finding of the summary keeps its quantity's name for the median and adds `.p16` and `.p84`.
//! Where a value is undefined somewhere, the note says in how many of them: nothing is left out
//! silently.

use backcut_stats::quantile::quantiles;

use crate::measure::finding::Finding;

/// Suffixes of the percentiles beside a median.
pub const PERCENTILES: [(&str, f64); 2] = [(".p16", 0.16), (".p84", 0.84)];

/// One list as it is; of several, medians and percentiles. `over` names them in notes ("windows").
pub fn summarise(lists: &[Vec<Finding>], over: &str) -> Vec<Finding> {
    if let [only] = lists {
        return only.clone();
    }
    let mut order: Vec<&Finding> = Vec::new();
    for finding in lists.iter().flatten() {
        if !order.iter().any(|known| same(known, finding)) {
            order.push(finding);
        }
    }
    order.into_iter().flat_map(|like| across(lists, like, over)).collect()
}

fn same(a: &Finding, b: &Finding) -> bool {
    a.quantity == b.quantity && a.of == b.of && a.part == b.part
}

fn across(lists: &[Vec<Finding>], like: &Finding, over: &str) -> Vec<Finding> {
    let found: Vec<&Finding> = lists.iter().flatten().filter(|f| same(f, like)).collect();
    let mut values: Vec<f64> = found.iter().filter_map(|f| f.value).collect();
    let missing = lists.len() - values.len();
    let reason = found.iter().find(|f| f.value.is_none()).map_or("not measured", |f| &f.note);
    let Finding { quantity, of, part, .. } = like;
    if values.is_empty() {
        return vec![Finding::undefined(quantity, of, part, reason)];
    }
    let remark = found.iter().find(|f| f.value.is_some()).map_or("", |f| &f.note);
    let shared = found.iter().filter(|f| f.value.is_some()).all(|f| f.note == remark);
    let note = if missing > 0 {
        format!("undefined in {missing} of {} {over}: {reason}", lists.len())
    } else if shared {
        remark.to_owned()
    } else {
        String::new()
    };
    let levels: Vec<f64> = [0.5].into_iter().chain(PERCENTILES.map(|(_, level)| level)).collect();
    let found = quantiles(&mut values, &levels);
    let names = [""].into_iter().chain(PERCENTILES.map(|(suffix, _)| suffix));
    let mut summary: Vec<Finding> = names
        .zip(found)
        .map(|(suffix, value)| Finding::new(format!("{quantity}{suffix}"), of, part, value))
        .collect();
    summary[0].note = note;
    summary
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_stand_with_their_percentiles() {
        let lists: Vec<Vec<Finding>> =
            [3.0, 1.0, 2.0].map(|v| vec![Finding::new("x", "FD", "all", v)]).into();
        let summary = summarise(&lists, "windows");
        let named: Vec<(&str, f64)> =
            summary.iter().map(|f| (f.quantity.as_str(), f.value.unwrap())).collect();
        for ((name, value), (want, level)) in
            named.into_iter().zip([("x", 2.0), ("x.p16", 1.32), ("x.p84", 2.68)])
        {
            assert!(name == want && (value - level).abs() < 1e-12, "{name} {value}");
        }
        assert_eq!(summarise(&lists[..1], "windows"), lists[0]);
    }

    #[test]
    fn what_is_undefined_somewhere_is_said() {
        let some = vec![
            vec![Finding::new("x", "", "all", 1.0)],
            vec![Finding::undefined("x", "", "all", "zero")],
        ];
        let summary = summarise(&some, "windows");
        assert_eq!(summary[0].note, "undefined in 1 of 2 windows: zero");
        let none = vec![some[1].clone(), some[1].clone()];
        let summary = summarise(&none, "windows");
        assert_eq!((summary.len(), summary[0].value), (1, None));
    }
}
