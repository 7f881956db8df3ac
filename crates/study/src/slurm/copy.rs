//! The study file as it was submitted. A job may start days later; whoever edits the file meanwhile must
//! not change what was sent, so jobs read a copy: the file and every study that it reuses, in the same
//! places relative to one another.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use backcut_systems::Catalogue;

use crate::error::StudyError;
use crate::file::StudyFile;
use crate::resolve::folder_file;
use crate::store::publish;
use crate::study::Study;

/// A study file and what it reuses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StudyCopy {
    /// Texts by their place below the common folder.
    files: BTreeMap<PathBuf, String>,
    main: PathBuf,
    canonical: String,
}

impl StudyCopy {
    /// Reads a study file and every file that it reads.
    pub fn read(file: &Path, catalogue: &Catalogue) -> Result<Self, StudyError> {
        let read = RefCell::new(BTreeMap::new());
        let study = Study::load_with(file, catalogue, &|path| {
            let text = backcut_files::read_text(path)?;
            read.borrow_mut().insert(place(path)?, text.clone());
            Ok(text)
        })?;
        let main = place(file).map_err(StudyError::io(file))?;
        let mut read = read.into_inner();
        remember_folders(&mut read);
        let mut common = main.parent().unwrap_or(Path::new("/")).to_owned();
        while !read.keys().all(|path| path.starts_with(&common)) && common.pop() {}
        let below = |path: &Path| path.strip_prefix(&common).unwrap_or(path).to_owned();
        let files = read.iter().map(|(path, text)| (below(path), text.clone())).collect();
        Ok(Self { files, main: below(&main), canonical: study.canonical })
    }

    /// Where the study file will be in a folder.
    pub fn file(&self, folder: &Path) -> PathBuf {
        folder.join(&self.main)
    }

    /// Writes the copy, and checks that it is read as the same study.
    pub fn write(&self, folder: &Path, catalogue: &Catalogue) -> Result<(), StudyError> {
        for (path, text) in &self.files {
            publish(&folder.join(path), text.as_bytes())?;
        }
        let study = Study::load(&self.file(folder), catalogue)?;
        if study.canonical != self.canonical {
            return Err(StudyError::invalid(
                format!("the copy in {} is not the same study", folder.display()),
                "the file changed while it was copied, or it reuses a file through a link: try again, or put both into one folder",
            ));
        }
        Ok(())
    }
}

/// A program runs in the folder of the original study, where everything is that it may read; that its declared
/// files are still the same is checked before every unit.
fn remember_folders(read: &mut BTreeMap<PathBuf, String>) {
    let has_command = |path: &Path, text: &str| {
        let file = StudyFile::parse(text, &path.display().to_string()).ok();
        file.and_then(|file| file.system).is_some_and(|system| system.command.is_some())
    };
    let studies: Vec<PathBuf> = read
        .iter()
        .filter(|(path, text)| has_command(path, text))
        .map(|(p, _)| p.clone())
        .collect();
    for path in studies {
        if let Some(folder) = path.parent().and_then(Path::to_str) {
            read.entry(folder_file(&path)).or_insert_with(|| folder.to_owned());
        }
    }
}

/// An absolute path without `.` and `..`.
fn place(path: &Path) -> std::io::Result<PathBuf> {
    let mut place = PathBuf::new();
    for part in std::path::absolute(path)?.components() {
        if part == Component::ParentDir {
            place.pop();
        } else {
            place.push(part);
        }
    }
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;

    fn put(folder: &Path, name: &str, text: &str) -> PathBuf {
        publish(&folder.join(name), text.as_bytes()).unwrap();
        folder.join(name)
    }

    #[test]
    fn a_copy_is_the_same_study_and_stays_so() {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), "shared/base.toml", builtin::TEMPLATE);
        let text = "name = \"x\"\ntitle = \"y\"\n[[reuse]]\nstudy = \"../shared/base.toml\"\narms = [\"FF\"]\n";
        let file = put(folder.path(), "mine/x.toml", text);
        let before = Study::load(&file, &Catalogue::builtin()).unwrap();
        let copy = StudyCopy::read(&file, &Catalogue::builtin()).unwrap();
        let target = folder.path().join("out/it's a copy");
        copy.write(&target, &Catalogue::builtin()).unwrap();
        std::fs::remove_dir_all(folder.path().join("shared")).unwrap();
        std::fs::remove_dir_all(folder.path().join("mine")).unwrap();
        assert_eq!(copy.file(&target), target.join("mine/x.toml"));
        assert_eq!(
            Study::load(&copy.file(&target), &Catalogue::builtin()).unwrap().canonical,
            before.canonical
        );
    }

    #[test]
    fn a_single_file_is_copied_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = put(folder.path(), "my study.toml", builtin::TEMPLATE);
        let copy = StudyCopy::read(&file, &Catalogue::builtin()).unwrap();
        assert_eq!(copy.files.len(), 1);
        assert_eq!(copy.file(Path::new("/out")), Path::new("/out/my study.toml"));
    }
}
