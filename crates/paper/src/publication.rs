//! The paper as a program knows it.

use std::path::Path;

use anyhow::Result;
use backcut::command::Told as _;
use backcut::{Beside, Publication, Published};
use backcut_page::draw::Drawing;
use backcut_page::report::{ReportError, Results, Table};
use backcut_systems::SystemChoice;

use crate::{FIGURES, Reproduction, SECOND, edges, paper, values};

/// The paper, for a program to set beside its own results.
#[derive(Clone, Copy, Debug)]
pub struct Paper;

impl Publication for Paper {
    fn error_of(&self, choice: &SystemChoice) -> Option<Published> {
        let error = values::ff_error_of(choice)?;
        Some(Published { name: "paper's FF", update: values::UPDATES, error })
    }

    fn figures(&self) -> &'static [(&'static str, &'static str)] {
        &FIGURES
    }

    fn tables(&self) -> Result<Vec<(String, String)>> {
        let paper = paper::Paper::load().told()?;
        let names = paper.table_names().into_iter();
        Ok(names.map(|(name, title)| (name.to_owned(), title.to_owned())).collect())
    }

    fn beside(&self, folder: &Path) -> Result<Box<dyn Beside>> {
        Ok(Box::new(beside(folder)?))
    }
}

/// A folder of results with the paper beside it, and the engine's edges for its design drawing.
pub fn beside(folder: &Path) -> Result<Reproduction> {
    let open = |folder: &Path| Results::open(folder).told_after("failed to ");
    let mut beside = Reproduction::new(open(folder)?).told()?;
    let second = folder.join(SECOND);
    if second.is_dir() {
        beside = beside.with_second(open(&second)?);
    }
    Ok(beside.with_design(edges::design()?))
}

impl Beside for Reproduction {
    fn results(&self) -> &Results {
        &self.results
    }

    fn leave_intervals_out(&self) {
        self.programmes().for_each(Results::leave_intervals_out);
    }

    fn page(&self, title: Option<&str>) -> Result<String, ReportError> {
        self.page(title)
    }

    fn figure(&self, name: &str) -> Result<Drawing, ReportError> {
        self.figure(name)
    }

    fn table(&self, name: &str) -> Result<Table, ReportError> {
        self.table(name)
    }

    fn summary(&self, study: &str, columns: usize) -> Result<String, ReportError> {
        self.summary(study, columns)
    }
}
