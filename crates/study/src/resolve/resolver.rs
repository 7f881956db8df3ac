//! The order in which a file is resolved: grid, reused arms, own arms, measurements, families.

use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use backcut_systems::{Catalogue, Quantity};

use crate::error::StudyError;
use crate::file::StudyFile;
use crate::program::Program;
use crate::study::{Arm, ErrorWords, Grid, Study};

/// Work in progress.
pub(crate) struct Resolver<'a> {
    pub(super) file: &'a StudyFile,
    pub(super) path: &'a Path,
    pub(super) catalogue: &'a Catalogue,
    /// The program that computes the file's own arms.
    pub(super) program: Option<Arc<Program>>,
    pub(super) grids: Vec<Grid>,
    pub(super) arms: Vec<Arm>,
}

impl<'a> Resolver<'a> {
    pub(crate) fn new(
        file: &'a StudyFile,
        path: &'a Path,
        catalogue: &'a Catalogue,
    ) -> Result<Self, StudyError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if file.name.is_empty() || file.name.len() > 64 || !file.name.chars().all(is_plain) {
            let what = format!("name = {:?}", file.name);
            return Err(StudyError::invalid(what, "use letters, digits, `-` and `_`"));
        }
        Ok(Self { file, path, catalogue, program: None, grids: vec![], arms: vec![] })
    }

    /// The study, but for its canonical form, which is made of the whole.
    pub(crate) fn resolve(mut self, reused: &[(Study, &Vec<String>)]) -> Result<Study, StudyError> {
        self.program = self.own_program()?;
        let own = self.own_grid()?;
        for (study, arms) in reused {
            self.adopt(study, arms, own, reused.len() > 1)?;
        }
        for (name, table) in &self.file.arms {
            self.add_arm(name, table, own)?;
        }
        if self.arms.is_empty() {
            let hint = "add [arms.NAME] or [[reuse]]";
            return Err(StudyError::invalid("a study without arms", hint));
        }
        self.check_programs()?;
        let measured = self.measurements()?;
        let families = self.families(&measured)?;
        self.check_comparisons()?;
        let error = self.error_words()?;
        Ok(Study {
            name: self.file.name.clone(),
            title: self.file.title.clone(),
            path: self.path.to_owned(),
            grids: self.grids,
            arms: self.arms,
            measured,
            families,
            comparisons: self.file.comparisons.clone(),
            error,
            canonical: String::new(),
        })
    }

    /// What the first arm's endpoints are, in words.
    fn error_words(&self) -> Result<ErrorWords, StudyError> {
        let Some(first) = self.arms.first() else {
            return Ok(Quantity { name: "error", unit: "" }.into());
        };
        Ok(match (&first.program, first.systems.values().next()) {
            (Some(_), _) => self.words_of_program(),
            (None, Some(choice)) => self.build(choice)?.error.into(),
            (None, None) => Quantity { name: "error", unit: "" }.into(),
        })
    }
}

pub(super) fn invalid<T>(what: impl Display, hint: impl Display) -> Result<T, StudyError> {
    Err(StudyError::invalid(what, hint))
}

pub(super) fn indices<T>(items: &[T], test: impl Fn(&T) -> bool) -> Vec<usize> {
    items.iter().enumerate().filter(|(_, item)| test(item)).map(|(i, _)| i).collect()
}
