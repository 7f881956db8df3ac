//! A study resolved: every default filled, every reused study loaded, everything checked.
//!
//! These are the types; [`crate::resolve`] makes them from a file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use backcut_engine::Cut;
use backcut_evidence::ledger::{Ledger, NotStamped, Status};
use backcut_lab::measure::Measurement;
use backcut_lab::training::{Optimizer, SystemChoice, sha256};
use backcut_stats::FamilyParams;
use backcut_systems::{Quantity, Stream};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::file::{ComparisonTable, FamilyTable};
use crate::program::Program;

/// Sources that the freezing entry of a study draws.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drawn {
    /// How many.
    pub draw: u64,
    /// A key that published studies have; what they say is hashed, so it stays.
    pub stamped: NotStamped,
    /// The study whose entry it is: this one, or one whose arms are reused.
    pub study: String,
}

/// Sources and conditions that go together.
#[derive(Clone, PartialEq, Debug)]
pub struct Grid {
    /// Seeds; stand-ins where they are still to be drawn.
    pub sources: Vec<u64>,
    /// Where they are drawn.
    pub drawn: Option<Drawn>,
    /// Labels, as cells of contrasts name them, with the system under each.
    pub conditions: Vec<(String, SystemChoice)>,
}

/// Stand-in `i` for a seed that is not drawn yet: beyond every seed that a file or a draw can give.
const fn stand_in(i: u64) -> u64 {
    (1 << 53) - 2 - i
}

impl Grid {
    /// A grid whose sources are still to be drawn.
    pub(crate) fn open(drawn: Drawn, conditions: Vec<(String, SystemChoice)>) -> Self {
        let sources = (1..=drawn.draw).map(stand_in).collect();
        Self { sources, drawn: Some(drawn), conditions }
    }

    /// Its sources are still to be drawn.
    pub fn is_open(&self) -> bool {
        self.drawn.is_some() && self.sources.first() == Some(&stand_in(1))
    }

    /// A source as samples name it.
    pub(crate) fn source_name(&self, source: usize) -> String {
        if self.is_open() {
            format!("draw {}", source + 1)
        } else {
            self.sources[source].to_string()
        }
    }
}

/// What an arm that is trained once for all sources and conditions is trained with.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    /// The seed.
    pub seed: u64,
    /// The system, the arm's own settings included.
    pub system: SystemChoice,
}

/// An arm on one grid.
#[derive(Clone, PartialEq, Debug)]
pub struct Arm {
    /// Its name.
    pub name: String,
    /// Index of its grid.
    pub grid: usize,
    /// The conditions of the grid it runs under, by index.
    pub conditions: Vec<usize>,
    /// The backward graph.
    pub cut: Cut,
    /// Settings of the system that it changes.
    pub settings: Map<String, Value>,
    /// The system under every condition it runs under, those settings included.
    pub systems: BTreeMap<usize, SystemChoice>,
    /// Index of the arm it branches from, and the update.
    pub from: Option<(usize, u64)>,
    /// Updates at its end.
    pub updates: u64,
    /// The stream.
    pub stream: Stream,
    /// Evaluations.
    pub evaluations: Vec<u64>,
    /// The optimizer.
    pub optimizer: Optimizer,
    /// The program that computes it, in place of a backward graph with its stream and optimizer,
    /// which then mean nothing.
    pub program: Option<Arc<Program>>,
    /// Trained once, for all sources and conditions, with these.
    pub shared: Option<Shared>,
    /// Checkpoints that the file asks to keep, and those that other arms need.
    pub keep: BTreeSet<u64>,
    /// The study it is reused from.
    pub origin: Option<String>,
}

/// A measurement of an arm's states.
#[derive(Clone, PartialEq, Debug)]
pub struct Measured {
    /// Index of the arm.
    pub arm: usize,
    /// The update.
    pub update: u64,
    /// What is measured.
    pub what: Measurement,
    /// The arm and update whose observations are common to all.
    pub reference: Option<(usize, u64)>,
}

/// A family with its request.
#[derive(Clone, PartialEq, Debug)]
pub struct StudyFamily {
    /// As written.
    pub table: FamilyTable,
    /// Its parameters.
    pub params: FamilyParams,
    /// The status it asks for.
    pub asks: Status,
}

/// What the endpoints of a study are, in words.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ErrorWords {
    /// As in "mean squared distance".
    pub name: String,
    /// Empty if it has none.
    pub unit: String,
}

impl From<Quantity> for ErrorWords {
    fn from(Quantity { name, unit }: Quantity) -> Self {
        Self { name: name.to_owned(), unit: unit.to_owned() }
    }
}

/// A study that can be planned.
#[derive(Clone, PartialEq, Debug)]
pub struct Study {
    /// Short name.
    pub name: String,
    /// One line.
    pub title: String,
    /// Where it was read.
    pub path: PathBuf,
    /// Grids.
    pub grids: Vec<Grid>,
    /// Arms; those it branches from come before an arm.
    pub arms: Vec<Arm>,
    /// Measurements.
    pub measured: Vec<Measured>,
    /// Families.
    pub families: Vec<StudyFamily>,
    /// Two-sample comparisons.
    pub comparisons: Vec<ComparisonTable>,
    /// What its systems' error is, in words; of several systems, the first's.
    pub error: ErrorWords,
    /// The canonical bytes: everything but that, resolved.
    pub canonical: String,
}

impl Study {
    /// The study before its sources were drawn: as its freezing entry spells it.
    pub(crate) fn undrawn(&self) -> Self {
        let mut study = self.clone();
        for grid in &mut study.grids {
            if let Some(drawn) = grid.drawn.clone().filter(|drawn| drawn.study == self.name) {
                *grid = Grid::open(drawn, std::mem::take(&mut grid.conditions));
            }
        }
        study
    }

    /// The sources that this study's own freezing entry draws.
    pub fn draw(&self) -> Option<&Drawn> {
        self.grids.iter().filter_map(|g| g.drawn.as_ref()).find(|drawn| drawn.study == self.name)
    }

    /// SHA-256 of the canonical bytes.
    pub fn hash(&self) -> String {
        sha256(self.canonical.as_bytes())
    }

    /// The canonical form as a value, to show differences.
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.canonical).unwrap_or_default()
    }
}

/// The study with the sources that were drawn for it; those that are still to be drawn stay open.
pub fn draw_sources(mut study: Study, ledger: &Ledger) -> Study {
    for grid in &mut study.grids {
        let Some(drawn) = &grid.drawn else { continue };
        if let Some(seeds) = ledger.drawn(&drawn.study, drawn.draw) {
            grid.sources = seeds;
        }
    }
    study
}
