//! Our results with the paper's values beside them: what claims, tables, figures and pages are made from.

use backcut_page::report::Results;

use crate::edges::DesignEdges;
use crate::paper::{Paper, PaperError};

/// The folder below a folder of results that holds the second programme's.
pub const SECOND: &str = "second";

/// The order of the programmes, as columns name them.
pub const PROGRAMMES: [&str; 2] = ["first programme", "second programme"];

/// Our results, with the paper's values to set beside them.
#[derive(Debug)]
pub struct Reproduction {
    /// What was collected here.
    pub results: Results,
    /// The tables of the second programme, if they are here.
    pub second: Option<Results>,
    pub(crate) paper: Paper,
    pub(crate) design: Vec<DesignEdges>,
}

impl Reproduction {
    /// Sets the paper beside some results.
    pub fn new(results: Results) -> Result<Self, PaperError> {
        Ok(Self { results, second: None, paper: Paper::load()?, design: Vec::new() })
    }

    /// Adds the edges that the design drawing shows; they come from an engine, not from a table.
    #[must_use]
    pub fn with_design(mut self, design: Vec<DesignEdges>) -> Self {
        self.design = design;
        self
    }

    /// Sets the tables of a second programme beside the first one's.
    #[must_use]
    pub fn with_second(mut self, second: Results) -> Self {
        self.second = Some(second);
        self
    }

    /// The programmes whose tables are here, in order.
    pub fn programmes(&self) -> impl Iterator<Item = &Results> {
        std::iter::once(&self.results).chain(&self.second)
    }

    /// How a programme's column is called.
    pub fn column(&self, programme: usize) -> &'static str {
        if self.second.is_none() { "ours" } else { PROGRAMMES[programme.min(1)] }
    }

    /// The first of the programmes that holds a study; the first programme if none does.
    pub(crate) fn holding(&self, study: &str) -> &Results {
        self.programmes().find(|results| results.study(study).is_some()).unwrap_or(&self.results)
    }
}
