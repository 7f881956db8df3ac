//! Study files that take what they do not say from others.
//!
//! `like = ["configuration.toml", "../c5.toml"]` fills every top-level key that a file leaves out
//! from the first file that has it. So a programme can be run under another configuration without a
//! second copy of any of its arms or contrasts. Reused studies and the files of a command are
//! looked for beside the file that says `like`, not beside the one that it is like.

use std::path::Path;

use crate::error::StudyError;
use crate::file::StudyFile;

/// Files may be like files that are like files, to this depth.
const MAX_DEPTH: usize = 4;

impl StudyFile {
    /// Reads a file and those it is like.
    pub(crate) fn read(
        path: &Path,
        read: &dyn Fn(&Path) -> std::io::Result<String>,
    ) -> Result<Self, StudyError> {
        let file = Self::read_nested(path, read, 0)?;
        let origin = path.display();
        for (key, value) in [("name", &file.name), ("title", &file.title)] {
            if value.is_empty() {
                let what = format!("{origin}: missing field `{key}`");
                return Err(StudyError::invalid(what, "compare with `backcut study template`"));
            }
        }
        file.expanded().map_err(|error| error.within(&origin.to_string()))
    }

    fn read_nested(
        path: &Path,
        read: &dyn Fn(&Path) -> std::io::Result<String>,
        depth: usize,
    ) -> Result<Self, StudyError> {
        let origin = path.display().to_string();
        if depth > MAX_DEPTH {
            let what = format!("{origin}: too many levels of `like`");
            return Err(StudyError::invalid(what, "a study can not be like itself"));
        }
        let text = read(path).map_err(StudyError::io(path))?;
        let mut file = Self::parse(&text, &origin)?;
        for other in std::mem::take(&mut file.like) {
            let beside = path.parent().unwrap_or(Path::new("")).join(other);
            file.fill(Self::read_nested(&beside, read, depth + 1)?);
        }
        Ok(file)
    }

    /// Takes over what is not said here.
    fn fill(&mut self, other: Self) {
        fn take<T: Default + PartialEq>(ours: &mut T, theirs: T) {
            if *ours == T::default() {
                *ours = theirs;
            }
        }
        let Self {
            name,
            title,
            like: _, // taken out before
            note,
            system,
            optimizer,
            sources,
            conditions,
            evaluate_every,
            arms,
            reuse,
            measurements,
            families,
            comparisons,
            factors,
            universes,
        } = other;
        take(&mut self.name, name);
        take(&mut self.title, title);
        take(&mut self.note, note);
        take(&mut self.system, system);
        take(&mut self.optimizer, optimizer);
        take(&mut self.sources, sources);
        take(&mut self.conditions, conditions);
        take(&mut self.evaluate_every, evaluate_every);
        take(&mut self.arms, arms);
        take(&mut self.reuse, reuse);
        take(&mut self.measurements, measurements);
        take(&mut self.families, families);
        take(&mut self.comparisons, comparisons);
        take(&mut self.factors, factors);
        take(&mut self.universes, universes);
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn files(path: &Path) -> io::Result<String> {
        let text = match path.to_str().unwrap_or_default() {
            "new/c.toml" => "like = [\"base.toml\", \"../c.toml\"]\n[sources]\ndraw = 8\n",
            "new/base.toml" => "title = \"t\"\n[optimizer]\nclip = 4311.62\n",
            "new/../c.toml" => {
                "name = \"c\"\ntitle = \"old\"\n[optimizer]\nclip = 1.0\n[sources]\nfirst = 1\n\
                 count = 2\n[arms.FF]\ncut = \"FF\"\n[arms.A]\nfrom = \"FF\"\ncut = \"F_SG\"\n"
            }
            "loop.toml" => "like = [\"loop.toml\"]\n",
            "nameless.toml" => "title = \"t\"\n",
            _ => return Err(io::ErrorKind::NotFound.into()),
        };
        Ok(text.to_owned())
    }

    #[test]
    fn what_a_file_leaves_out_comes_from_the_first_that_says_it() {
        let file = StudyFile::read(Path::new("new/c.toml"), &files).unwrap();
        assert_eq!((file.name.as_str(), file.title.as_str()), ("c", "t"));
        assert_eq!(file.optimizer.clip, Some(4311.62.into()));
        let sources = file.sources.unwrap();
        assert_eq!((sources.draw, sources.first), (Some(8), None));
        assert_eq!(file.arms.keys().collect::<Vec<_>>(), ["FF", "A"], "in their order");
    }

    #[test]
    fn a_file_that_is_like_itself_or_has_no_name_is_an_error() {
        for (path, what) in [
            ("loop.toml", "too many levels"),
            ("nameless.toml", "missing field `name`"),
            ("not there.toml", "not there"),
        ] {
            let error = StudyFile::read(Path::new(path), &files).unwrap_err();
            assert!(error.to_string().contains(what), "{error}");
        }
    }
}
