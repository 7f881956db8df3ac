//! What was measured, by place: everything that a measured number can depend on but its source.

use std::collections::BTreeMap;

use crate::report::estimate::{BySource, Estimate};
use crate::report::results::{Results, Study, distinct, in_order};

/// What a number can depend on, in the order of [`Place`].
pub const WORDS: [&str; 4] = ["condition", "arm", "cut", "part"];

/// Where a number was measured: condition, arm, cut, part.
pub type Place<'s> = [&'s str; 4];

/// A measured quantity with its means over sources, in the order of the table.
#[derive(Clone, Debug)]
pub struct Quantity<'s> {
    pub name: &'s str,
    pub means: Vec<(Place<'s>, Estimate)>,
    /// Places at which no source has a value.
    pub empty: usize,
}

impl<'s> Quantity<'s> {
    /// The different names along one of the four, in order.
    pub fn names(&self, along: usize) -> Vec<&'s str> {
        let names = self.means.iter().map(|(place, _)| place[along]);
        if along == 0 { in_order(names) } else { distinct(names) }
    }

    /// Names of the quantity's places, without what all of them share.
    pub fn words(place: &Place<'_>, along: &[usize]) -> String {
        let words = along.iter().map(|i| place[*i]).filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join(", ")
    }
}

/// Every quantity of a study.
pub fn quantities<'s>(results: &Results, study: &'s Study) -> Vec<Quantity<'s>> {
    let mut places: BTreeMap<(&str, Place<'_>), usize> = BTreeMap::new();
    let mut found: Vec<(&str, Place<'_>, BySource)> = Vec::new();
    for row in study.measurements() {
        let quantity = row.quantity.as_str();
        let [cut, part] = [&row.of, &row.part].map(|text| text.as_deref().unwrap_or_default());
        let place: Place<'_> = [&row.condition, &row.arm, cut, part];
        let at = *places.entry((quantity, place)).or_insert_with(|| {
            found.push((quantity, place, BySource::default()));
            found.len() - 1
        });
        found[at].2.add(row);
    }
    let mut quantities: Vec<Quantity<'_>> = Vec::new();
    let mut index: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, place, by_source) in found {
        let at = *index.entry(name).or_insert_with(|| {
            quantities.push(Quantity { name, means: Vec::new(), empty: 0 });
            quantities.len() - 1
        });
        let values: Vec<(String, f64)> = by_source.means().into_iter().collect();
        if values.is_empty() {
            quantities[at].empty += 1;
        } else {
            quantities[at].means.push((place, results.from_values(values, Vec::new())));
        }
    }
    quantities
}
