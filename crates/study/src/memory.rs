//! A study's contrasts as the ledger holds them, and what its entries mean by them.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use backcut_files::{Hash, canonical_value};

use backcut_evidence::ledger::{Contrast as Commitment, Entry, Frozen, Ledger};
use backcut_stats::Contrast;
use serde_json::json;

use crate::plan::Plan;
use crate::sample::sample;
use crate::study::{Study, StudyFamily, draw_sources};

/// A family's contrasts as the ledger holds them. What decides a row besides its expression
/// (margin, bound, size, level, quantity) is part of the family's name there.
pub fn commitments(study: &Study, plan: &Plan, family: &StudyFamily) -> Vec<Commitment> {
    let table = &family.table;
    let settings = canonical_value(&json!({
        "size": table.size, "alpha": table.alpha, "bound": table.bound,
        "margin": table.margin, "quantity": table.quantity, "at": table.at,
    }));
    let commitment = |contrast: &Contrast| {
        let sample = sample(study, plan, family, contrast);
        let cells: BTreeSet<&str> = sample.units().map(|(cell, _)| cell).collect();
        let cells: Vec<String> = cells.into_iter().map(str::to_owned).collect();
        Commitment {
            name: format!("{}: {}", table.name, contrast.name),
            family: format!("{} {settings}", table.name),
            expression: contrast.text.clone(),
            direction: match (contrast.direction, table.margin) {
                (Some(direction), _) => Some(format!("{direction:?}").to_lowercase()),
                (None, Some(margin)) => Some(format!("below {margin}")),
                (None, None) => None,
            },
            asks: Some(family.asks),
            idle: contrast.idle_cells(&cells),
            shared_by: Some(family.params.size.unwrap_or(family.params.contrasts.len()) as u64),
            sample: Some(sample),
        }
    };
    family.params.contrasts.iter().map(commitment).collect()
}

/// What entries stand for that do not spell their samples out: read back from the study that they
/// froze, each study once.
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

    /// The contrasts of a frozen study with their samples, if they are what the entry lists and
    /// spells.
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
