//! A publication that a program sets beside its own results. The program knows it by this alone:
//! which numbers it holds and how its pages look is its own business.

use std::path::Path;

use anyhow::Result;
use backcut_page::draw::Drawing;
use backcut_page::report::{ReportError, Results, Table};
use backcut_systems::SystemChoice;

/// An error that was published for a system.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Published {
    /// Whose it is, as `paper's FF`.
    pub name: &'static str,
    /// After how many updates.
    pub update: u64,
    /// The error.
    pub error: f64,
}

/// What can be set beside results.
pub trait Publication {
    /// What it publishes for a system under these settings.
    fn error_of(&self, choice: &SystemChoice) -> Option<Published>;

    /// Names and titles of its figures.
    fn figures(&self) -> &'static [(&'static str, &'static str)];

    /// Names and titles of its tables.
    fn tables(&self) -> Result<Vec<(String, String)>>;

    /// A folder of results with the publication beside it.
    fn beside(&self, folder: &Path) -> Result<Box<dyn Beside>>;
}

/// Results with a publication beside them.
pub trait Beside {
    /// The results alone.
    fn results(&self) -> &Results;

    /// Leaves intervals out of what is made from now on.
    fn leave_intervals_out(&self);

    /// One self-contained page.
    fn page(&self, title: Option<&str>) -> Result<String, ReportError>;

    /// One of the publication's figures, from these results.
    fn figure(&self, name: &str) -> Result<Drawing, ReportError>;

    /// One of its tables.
    fn table(&self, name: &str) -> Result<Table, ReportError>;

    /// A study's contrasts for a terminal of so many columns.
    fn summary(&self, study: &str, columns: usize) -> Result<String, ReportError>;
}
