//! From unit files to tidy tables, with missing and failed units as rows.
//!
//! What depends on the moment (seconds, the ledger's head) stands in `provenance.csv` and
//! `about.json`; the other tables are a function of the definitions alone: however often a run was
//! killed, they come out byte for byte the same.

mod files;

use std::collections::BTreeMap;

use backcut_evidence::tables::rows::{
    AnalysisRow, ComparisonRow, ERROR, Observation, PlanRow, ProvenanceRow, UnitRow,
};
use backcut_evidence::tables::{UnitState, Work};
use backcut_lab::measure::Finding;
use serde_json::{Value as Json, json};

use crate::analyse;
use crate::commit;
use crate::error::StudyError;
use crate::plan::Place;
use crate::results::RAN_AGAIN;
pub use crate::results::Results;
use crate::status::counts;
use crate::store::Store;
use crate::summary::Summary;

pub(crate) use files::Files;
pub use files::{frozen_here, write};

impl Results<'_> {
    /// All tables. `parts` narrows what was measured to findings of these parts; none means all.
    pub fn tables(&self, store: &Store, parts: &[String]) -> Result<Tables, StudyError> {
        Ok(Tables {
            observations: self.observations(parts),
            units: self.units(),
            provenance: self.provenance(),
            analysis: analyse::analysis(self, &commit::ledger(store)?),
            plans: analyse::plans(self),
            comparisons: analyse::comparisons(self),
        })
    }

    /// Errors along training, place by place, then what was measured.
    fn observations(&self, parts: &[String]) -> Vec<Observation> {
        let mut rows = Vec::new();
        for place in self.trained() {
            let arm = &self.study.arms[place.arm as usize];
            let outcome = self.outcome(place).filter(|outcome| !outcome.evaluations.is_empty());
            // A program may answer with more points than it was asked for.
            let updates: Vec<u64> = match outcome.filter(|_| arm.program.is_some()) {
                Some(outcome) => outcome.evaluations.iter().map(|known| known.update).collect(),
                None => arm.evaluations.clone(),
            };
            rows.extend(updates.into_iter().map(|update| {
                let value = self.error(place, Some(update));
                Observation { update, value, ..self.observed(place, ERROR) }
            }));
        }
        let found = |place: &Place| {
            self.outcome(place).map(|outcome| outcome.findings.as_slice()).unwrap_or_default()
        };
        // Programs that found nothing anywhere were asked for nothing else.
        let mut places = self.plan.places.iter();
        let measures = places.any(|p| p.measured.is_some() || !found(p).is_empty());
        for place in self.plan.places.iter().filter(|_| measures) {
            let Some(update) = self.measured_at(place) else { continue };
            let kind =
                place.measured.map_or("findings", |m| self.study.measured[m as usize].what.kind());
            let nothing = Observation { update, ..self.observed(place, kind) };
            let is_wanted = |f: &&Finding| parts.is_empty() || parts.contains(&f.part);
            rows.extend(found(place).iter().filter(is_wanted).map(|finding| Observation {
                quantity: finding.quantity.clone(),
                of: Some(finding.of.to_string()).filter(|of| !of.is_empty()),
                part: Some(finding.part.clone()).filter(|part| !part.is_empty()),
                value: finding.value,
                note: finding.note.clone(),
                ..nothing.clone()
            }));
            if found(place).is_empty() {
                rows.push(nothing);
            }
        }
        rows
    }

    /// A row of a place, without what was observed.
    fn observed(&self, place: &Place, quantity: &str) -> Observation {
        let (cell, source) = self.study.cell(place);
        let (state, note) = self.state(place);
        Observation {
            source: source.to_string(),
            arm: cell.arm.to_owned(),
            condition: cell.condition.to_owned(),
            update: 0,
            quantity: quantity.to_owned(),
            of: None,
            part: None,
            value: None,
            state,
            unit: self.unit(place).short(),
            note,
        }
    }

    fn units(&self) -> Vec<UnitRow> {
        self.plan.places.iter().map(|place| self.unit_row(place)).collect()
    }

    fn unit_row(&self, place: &Place) -> UnitRow {
        let arm = &self.study.arms[place.arm as usize];
        let (cell, source) = self.study.cell(place);
        let (state, note) = self.state(place);
        let (what, from, to) = match place.measured {
            Some(m) => {
                let item = &self.study.measured[m as usize];
                (Work::Measure(item.what.kind().to_owned()), item.update, item.update)
            }
            None => (Work::Train, arm.from.map_or(0, |(_, at)| at), arm.updates),
        };
        let clipped = self.outcome(place).and_then(|outcome| outcome.clipped);
        // A measurement is this study's own, whoever trained the state.
        let origin = arm.origin.clone().filter(|_| what == Work::Train).unwrap_or_default();
        UnitRow {
            unit: self.unit(place),
            what,
            arm: cell.arm.to_owned(),
            condition: cell.condition.to_owned(),
            source: source.to_string(),
            from,
            to,
            state,
            updates: to - from,
            clipped,
            origin,
            note,
        }
    }

    fn provenance(&self) -> Vec<ProvenanceRow> {
        let units = self.plan.units.iter().zip(&self.summaries);
        let row = |(unit, summary): (&crate::plan::Unit, &Option<Summary>)| {
            let &Summary { content, head, seconds, .. } = summary.as_ref()?;
            Some(ProvenanceRow { unit: unit.id, content, head, seconds })
        };
        units.filter_map(row).collect()
    }

    /// `about.json`: what a reader must know beside the tables.
    pub fn about(&self, store: &Store, parts: &[String]) -> Result<Json, StudyError> {
        let ledger = commit::ledger(store)?;
        let entry = ledger.freezing_entry(&self.study.name);
        let states = counts(&self.states);
        let states: serde_json::Map<String, Json> = UnitState::ALL
            .iter()
            .zip(states)
            .map(|(state, count)| (state.word().to_owned(), json!(count)))
            .collect();
        let seconds: f64 = self.summaries.iter().flatten().map(|s| s.seconds).sum();
        let updates: u64 =
            (0..self.plan.units.len() as u32).map(|u| self.plan.work(self.study, u)).sum();
        let mut about = json!({
            "study": self.study.name,
            "title": self.study.title,
            "error": self.study.error.name,
            "unit": self.study.error.unit,
            "study file sha256": self.study.hash(),
            "numerics": backcut_kernels::NUMERICS_VERSION,
            "program": format!("backcut {}", env!("CARGO_PKG_VERSION")),
            "ledger head": ledger.head().to_string(),
            "frozen at": entry.map(|e| e.utc.to_string()),
            "frozen by entry": entry.map(|e| e.hash.to_string()),
            "units": self.plan.units.len(),
            "unit states": states,
            "updates": updates,
            "core seconds": (seconds * 10.0).round() / 10.0,
        });
        if !parts.is_empty() {
            about["measurement parts"] = json!(parts);
        }
        if self.study.arms.iter().any(|arm| arm.program.is_some()) {
            about["programs"] = self.programs();
        }
        if !self.runs.is_empty() {
            about[RAN_AGAIN] = json!(self.runs);
        }
        Ok(about)
    }
}

impl Results<'_> {
    /// What programs reported of themselves, with the number of units that did.
    fn programs(&self) -> Json {
        let mut seen: BTreeMap<String, (usize, Json)> = BTreeMap::new();
        for summary in self.summaries.iter().flatten().filter(|s| !s.provenance.is_empty()) {
            let value = Json::Object(summary.provenance.clone());
            let key = backcut_files::canonical_value(&value);
            seen.entry(key).or_insert((0, value)).0 += 1;
        }
        seen.into_values()
            .map(|(units, said)| json!({ "units": units, "provenance": said }))
            .collect()
    }
}

/// The tables of a study.
#[derive(Clone, PartialEq, Debug)]
pub struct Tables {
    /// Every number.
    pub observations: Vec<Observation>,
    /// Units of work, in every place that they fill.
    pub units: Vec<UnitRow>,
    /// Where results come from.
    pub provenance: Vec<ProvenanceRow>,
    /// Contrasts, judged.
    pub analysis: Vec<AnalysisRow>,
    /// Sources that a noninferiority study would need.
    pub plans: Vec<PlanRow>,
    /// Endpoints of unpaired sources.
    pub comparisons: Vec<ComparisonRow>,
}
