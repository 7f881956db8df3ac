//! What a contrast is computed from, as a commitment holds it: which unit fills which place.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use backcut_ledger::{Contrast as Commitment, Entry, Frozen, Hash, Ledger, Sample};
use backcut_stats::Contrast;

use crate::commit::{commitments, draw_sources};
use crate::plan::{Place, Plan};
use crate::study::{Study, StudyFamily};

/// Whether a place holds what a family compares: errors, or a quantity measured at its update.
pub(crate) fn is_of(family: &StudyFamily, study: &Study, place: &Place) -> bool {
    let at = point(family, study, place);
    let is_program = study.arms[place.arm as usize].program.is_some();
    match place.measured {
        // What a program has found stands beside its values.
        None if is_program && family.table.quantity.is_some() => {
            at == study.arms[place.arm as usize].updates
        }
        None => family.table.quantity.is_none(),
        Some(m) => family.table.quantity.is_some() && study.measured[m as usize].update == at,
    }
}

/// The update that a family compares in a place.
fn point(family: &StudyFamily, study: &Study, place: &Place) -> u64 {
    family.table.at.unwrap_or(study.arms[place.arm as usize].updates)
}

/// The sample of a contrast: every place that it reads, with its unit.
pub fn sample(study: &Study, plan: &Plan, family: &StudyFamily, contrast: &Contrast) -> Sample {
    let cells = contrast.cells();
    let mut sample = Sample::default();
    for place in plan.places.iter().filter(|place| is_of(family, study, place)) {
        let (cell, _) = study.cell(place);
        if cells.iter().any(|name| cell.is_meant_by(name)) {
            let update = point(family, study, place);
            let point = match &family.table.quantity {
                Some(quantity) => format!("update {update}: {quantity}"),
                None => format!("update {update}"),
            };
            let grid = &study.grids[study.arms[place.arm as usize].grid];
            let source = grid.source_name(place.source as usize);
            sample.insert(cell.to_string(), point, source, plan.units[place.unit as usize].id);
        }
    }
    sample
}

/// What entries stand for that do not spell their samples out: read back from the study that they froze,
/// each study once.
pub(crate) struct Memory<'a> {
    ledger: &'a Ledger,
    recalled: RefCell<HashMap<Hash, Option<Rc<Vec<Commitment>>>>>,
}

impl<'a> Memory<'a> {
    pub(crate) fn new(ledger: &'a Ledger) -> Self {
        Self { ledger, recalled: RefCell::default() }
    }

    /// A contrast as an entry means it.
    pub(crate) fn recall(&self, entry: &Entry, contrast: &Commitment) -> Option<Commitment> {
        let known = self.recalled.borrow().get(&entry.hash).cloned();
        let commitments = known.unwrap_or_else(|| {
            let recalled = entry.frozen().and_then(|f| self.read_back(f)).map(Rc::new);
            self.recalled.borrow_mut().insert(entry.hash, recalled.clone());
            recalled
        })?;
        commitments.iter().find(|c| c.name == contrast.name).cloned()
    }

    /// The contrasts of a frozen study with their samples, if they are what the entry lists and spells.
    fn read_back(&self, frozen: &Frozen) -> Option<Vec<Commitment>> {
        let study = Study::from_canonical(&frozen.canonical).ok()?;
        let plan = Plan::new(&study);
        let planned: BTreeSet<Hash> = plan.units.iter().map(|unit| unit.id).collect();
        let listed = frozen.new.iter().chain(frozen.reused.iter().map(|r| &r.unit));
        if planned != listed.copied().collect() {
            return None;
        }
        let all = |study: &Study, plan: &Plan| -> Vec<Commitment> {
            study.families.iter().flat_map(|family| commitments(study, plan, family)).collect()
        };
        let spelled = all(&study, &plan);
        let is_kept = |c: &Commitment| {
            let there = frozen.contrast(&c.name);
            there.is_some_and(|there| there.sample.is_none() || there.sample == c.sample)
        };
        if !spelled.iter().all(is_kept) {
            return None;
        }
        if frozen.draw.is_none() {
            return Some(spelled);
        }
        let study = draw_sources(study, self.ledger);
        Some(all(&study, &Plan::new(&study)))
    }
}
