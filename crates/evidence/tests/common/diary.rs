//! A ledger whose studies freeze, run and amend by name.

use backcut_evidence::ledger::status::grant;
use backcut_evidence::ledger::{Body, Contrast, Frozen, Granted, Ledger, Status, Used};
use backcut_files::Hash;
use tempfile::TempDir;

use super::{amendment, by_lists, content, unit, using, utc};

/// A ledger that is written like a diary: freeze, run, amend, run.
pub struct Diary {
    _folder: TempDir,
    pub ledger: Ledger,
    pub results: Vec<Used>,
}

impl Diary {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(folder.path().join("ledger.jsonl")).unwrap();
        Self { _folder: folder, ledger, results: Vec::new() }
    }

    pub fn freeze(&mut self, frozen: Frozen) -> Hash {
        self.ledger.append(utc(0), Body::Freeze(frozen)).unwrap()
    }

    pub fn amend(&mut self, frozen: Frozen) -> Hash {
        let body = amendment(&self.ledger, frozen);
        self.ledger.append(utc(0), body).unwrap()
    }

    pub fn run(&mut self, units: &[&str]) {
        let head = self.ledger.head();
        let result = |name: &&str| Used { unit: unit(name), content: content(name), head };
        self.results.extend(units.iter().map(result));
    }

    pub fn used(&self, units: &[&str]) -> Vec<Used> {
        let find = |name: &&str| *self.results.iter().find(|r| r.unit == unit(name)).unwrap();
        units.iter().map(find).collect()
    }

    pub fn grant(&self, study: &str, contrast: &Contrast, units: &[&str]) -> Granted {
        let contrast = using(contrast, units);
        grant(&self.ledger, study, &contrast, &self.used(units), &by_lists)
    }

    #[track_caller]
    pub fn expect(
        &self,
        study: &str,
        contrast: &Contrast,
        units: &[&str],
        status: Status,
        why: &str,
    ) {
        let granted = self.grant(study, contrast, units);
        assert_eq!(granted.status, status, "{}", granted.why);
        assert!(granted.why.contains(why), "`{}` lacks `{why}`", granted.why);
        let by_the_ledger = status > Status::PostHoc;
        assert_eq!(granted.entry.is_some(), by_the_ledger, "{granted:?}");
    }
}
