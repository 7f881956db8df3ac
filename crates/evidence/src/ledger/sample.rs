//! What a contrast is computed from: which unit fills which place.
//!
//! A wording says little. `[F_SG@hidden] - [FF@hidden] > 0` reads the same over eight sources and
//! over the five that suit, with the arms' cuts exchanged, at update 400 and at 800. So a
//! commitment holds the whole mapping, and a row is granted only if it uses exactly that.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use backcut_files::Hash;

/// Cell -> point -> source -> units. The texts mean nothing here; they are compared.
///
/// One place may be filled by several units, in an order that matters: a quantity that one
/// measurement of a state does not find may stand in another.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sample {
    cells: BTreeMap<String, BTreeMap<String, BTreeMap<String, Vec<Hash>>>>,
}

impl Sample {
    /// Lets a unit fill a place.
    pub fn insert(
        &mut self,
        cell: impl Into<String>,
        point: impl Into<String>,
        source: impl Into<String>,
        unit: Hash,
    ) {
        let points = self.cells.entry(cell.into()).or_default();
        let sources = points.entry(point.into()).or_default();
        sources.entry(source.into()).or_default().push(unit);
    }

    /// Every unit with the cell that it stands in.
    pub fn units(&self) -> impl Iterator<Item = (&str, Hash)> {
        self.cells.iter().flat_map(|(cell, points)| {
            let units = points.values().flat_map(BTreeMap::values).flatten();
            units.map(move |unit| (cell.as_str(), *unit))
        })
    }

    /// What is read of them, each once: an update, or a quantity at an update.
    pub fn points(&self) -> BTreeSet<&str> {
        self.cells.values().flat_map(|points| points.keys().map(String::as_str)).collect()
    }

    /// The units, each once, in the order of their hashes.
    pub fn set(&self) -> BTreeSet<Hash> {
        self.units().map(|(_, unit)| unit).collect()
    }

    /// The sources, each once.
    pub(crate) fn sources(&self) -> BTreeSet<&str> {
        let points = self.cells.values().flat_map(BTreeMap::values);
        points.flat_map(|sources| sources.keys().map(String::as_str)).collect()
    }

    /// Cells in which one unit stands for several sources: whatever they are, they are no sample.
    pub(crate) fn one_for_many(&self) -> BTreeSet<&str> {
        let repeats = |sources: &BTreeMap<String, Vec<Hash>>| {
            let each = sources.values().map(|units| units.iter().collect::<BTreeSet<_>>());
            let mut seen = BTreeSet::new();
            each.flatten().any(|unit| !seen.insert(unit))
        };
        let cells = self.cells.iter().filter(|(_, points)| points.values().any(repeats));
        cells.map(|(cell, _)| cell.as_str()).collect()
    }

    /// How `here` departs from this frozen sample, in words; none if it does not.
    pub(crate) fn departure(&self, here: &Self) -> Option<String> {
        let (frozen, here) = (self.places(), here.places());
        let lost: Vec<&Place> = frozen.keys().filter(|p| !here.contains_key(*p)).collect();
        let added: Vec<&Place> = here.keys().filter(|p| !frozen.contains_key(*p)).collect();
        let changed: Vec<&Place> = (frozen.iter())
            .filter(|(place, units)| here.get(*place).is_some_and(|other| other != *units))
            .map(|(place, _)| place)
            .collect();
        let say = |places: &[&Place], what: &str| {
            let (cell, point, source) = places.first()?;
            let more = match places.len() - 1 {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            Some(format!("{cell} of source {source} at {point}{more} {what}"))
        };
        let parts = [
            say(&lost, "is left out"),
            say(&added, "was not in it"),
            say(&changed, "is another result now"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    fn places(&self) -> BTreeMap<Place<'_>, &[Hash]> {
        let mut places = BTreeMap::new();
        for (cell, points) in &self.cells {
            for (point, sources) in points {
                for (source, units) in sources {
                    places.insert((&**cell, &**point, &**source), &**units);
                }
            }
        }
        places
    }
}

type Place<'a> = (&'a str, &'a str, &'a str);

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(places: &[(&str, &str, &str, &str)]) -> Sample {
        let mut sample = Sample::default();
        for (cell, point, source, unit) in places {
            sample.insert(*cell, *point, *source, Hash::of(unit.as_bytes()));
        }
        sample
    }

    #[test]
    fn every_departure_is_said() {
        let frozen =
            sample(&[("A@x", "8", "1", "a"), ("A@x", "8", "2", "b"), ("B@x", "8", "1", "c")]);
        assert_eq!(frozen.departure(&frozen.clone()), None);
        let fewer = sample(&[("A@x", "8", "1", "a")]);
        assert_eq!(
            frozen.departure(&fewer).unwrap(),
            "A@x of source 2 at 8 and 1 more is left out"
        );
        assert_eq!(
            fewer.departure(&frozen).unwrap(),
            "A@x of source 2 at 8 and 1 more was not in it"
        );
        let exchanged =
            sample(&[("A@x", "8", "1", "c"), ("A@x", "8", "2", "b"), ("B@x", "8", "1", "a")]);
        assert_eq!(exchanged.set(), frozen.set());
        assert_eq!(
            frozen.departure(&exchanged).unwrap(),
            "A@x of source 1 at 8 and 1 more is another result now"
        );
        let later =
            sample(&[("A@x", "9", "1", "a"), ("A@x", "8", "2", "b"), ("B@x", "8", "1", "c")]);
        assert_eq!(
            frozen.departure(&later).unwrap(),
            "A@x of source 1 at 8 is left out; A@x of source 1 at 9 was not in it"
        );
    }

    #[test]
    fn the_order_of_units_in_one_place_matters() {
        let one = sample(&[("A@x", "8", "1", "a"), ("A@x", "8", "1", "b")]);
        let other = sample(&[("A@x", "8", "1", "b"), ("A@x", "8", "1", "a")]);
        assert!(one.departure(&other).is_some());
    }
}
