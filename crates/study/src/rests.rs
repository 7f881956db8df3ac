//! What a row on results of programs rests on, beside the ledger. Of a system everything that
//! decides is in a unit's name and comes out again bit by bit; of a program only what was declared.

use std::collections::{BTreeMap, BTreeSet};

use backcut_evidence::ledger::Sample;
use backcut_files::Hash;

use crate::program::{Program, Replay};
use crate::results::Results;
use crate::study::StudyFamily;

impl Results<'_> {
    /// What a sample rests on, in words that follow a reason; none for what no program computed.
    pub(crate) fn rests_on(&self, family: &StudyFamily, sample: &Sample) -> String {
        let units = sample.set();
        let of_programs = self.plan.places.iter().filter_map(|place| {
            let id = self.plan.units[place.unit as usize].id;
            let program = self.study.arms[place.arm as usize].program.as_deref()?;
            (place.measured.is_none() && units.contains(&id)).then_some((place, id, program))
        });
        let mut said: BTreeSet<String> = BTreeSet::new();
        let mut ran: BTreeSet<Hash> = BTreeSet::new();
        // Per cell, how many results there are and which: equal curves and values are one.
        let mut cells: BTreeMap<String, (usize, BTreeSet<Vec<u64>>)> = BTreeMap::new();
        for (place, id, program) in of_programs {
            said.insert(words(program));
            if ran.insert(id) {
                let value = match &family.table.quantity {
                    None => self.error(place, family.table.at),
                    Some(quantity) => self.quantity(place, quantity, None).flatten(),
                };
                let Some(value) = value else { continue };
                let curve = self.curve(place).iter().map(|known| known.mean.to_bits());
                let (all, different) =
                    cells.entry(self.study.cell(place).0.to_string()).or_default();
                *all += 1;
                different.insert(curve.chain([value.to_bits()]).collect());
            }
        }
        let equal = cells.iter().filter(|(_, (all, different))| different.len() < *all);
        let equal: Vec<String> = equal
            .map(|(cell, (all, different))| format!("{cell} has {} in {all}", different.len()))
            .collect();
        let mut text = String::new();
        for words in said {
            text += &format!("; {words}");
        }
        let again = ran.iter().filter(|id| self.runs.get(id).is_some_and(|runs| *runs > 1)).count();
        if again > 0 {
            text += &format!("; {again} of its {} units ran more than once", ran.len());
        }
        if !equal.is_empty() {
            let equal = equal.join(", ");
            text += &format!("; different sources have equal results: {equal} different ones");
        }
        text
    }
}

fn words(program: &Program) -> String {
    let files = match program.files.len() {
        0 => "no file declared, so a changed one goes unnoticed".to_owned(),
        1 => "1 file declared".to_owned(),
        many => format!("{many} files declared"),
    };
    let replay = match program.replay {
        Replay::Bitwise => "replay bit by bit".to_owned(),
        Replay::Tolerance(tolerance) => format!("replay within {tolerance:e}"),
        Replay::Impossible => "replay declared impossible".to_owned(),
    };
    format!("of a program: {files}, {replay}")
}
