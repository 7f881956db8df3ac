//! From a study file as it is written to a study that can be planned, one idea per file.

mod arms;
mod canonical;
mod families;
mod grid;
mod measured;
mod program;
mod resolver;
mod reuse;

pub use arms::EVALUATE_EVERY;

use std::path::Path;

use backcut_lab::training::config::canonical as in_one_form;
use backcut_systems::Catalogue;

use crate::error::StudyError;
use crate::file::StudyFile;
use crate::study::Study;
use resolver::Resolver;

/// Studies may reuse studies that reuse studies, to this depth.
const MAX_DEPTH: usize = 8;

impl Study {
    /// Reads and resolves a study file.
    pub fn load(path: &Path, catalogue: &Catalogue) -> Result<Self, StudyError> {
        Self::load_nested(path, catalogue, &backcut_files::read_text, 0)
    }

    /// The same with files from elsewhere (embedded ones).
    pub fn load_with(
        path: &Path,
        catalogue: &Catalogue,
        read: &dyn Fn(&Path) -> std::io::Result<String>,
    ) -> Result<Self, StudyError> {
        Self::load_nested(path, catalogue, read, 0)
    }

    fn load_nested(
        path: &Path,
        catalogue: &Catalogue,
        read: &dyn Fn(&Path) -> std::io::Result<String>,
        depth: usize,
    ) -> Result<Self, StudyError> {
        let origin = path.display().to_string();
        if depth > MAX_DEPTH {
            let hint = "a study can not reuse itself";
            return Err(StudyError::invalid(format!("{origin}: too many levels of reuse"), hint));
        }
        let file = StudyFile::read(path, read)?;
        let mut reused = Vec::new();
        for reuse in &file.reuse {
            let beside = path.parent().unwrap_or(Path::new("")).join(&reuse.study);
            reused.push((Self::load_nested(&beside, catalogue, read, depth + 1)?, &reuse.arms));
        }
        let resolver = Resolver::new(&file, path, catalogue);
        let mut study = resolver.and_then(|r| r.resolve(&reused)).map_err(|e| e.within(&origin))?;
        study.canonical = in_one_form(&canonical::describe(&study));
        Ok(study)
    }

    /// A study as it was frozen or noted, from its canonical form. What only a catalogue knows (the
    /// words for its error) is not in there.
    pub fn from_canonical(text: &str) -> Result<Self, StudyError> {
        canonical::read(text)
    }
}
