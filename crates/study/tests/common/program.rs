//! A study of a shell script, in a folder of its own.
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use backcut_study::collect::{Results, Tables};
use backcut_study::record::{Outcome, Record};
use backcut_study::replay::{CameOut, Depth, replay};
use backcut_study::runner::{Event, RunOptions, Tally, run};
use backcut_study::{Plan, Recorded, Store, Study, StudyError, Tools, commit};
use backcut_systems::Catalogue;

/// Two arms of four sources; the script answers with a value that depends on source and setting.
pub const STUDY: &str = r#"
name = "own"
title = "A program"
[system]
command = ["sh", "unit.sh"]
error = "loss"
unit = "nats"
settings = { width = 3 }
[sources]
first = 1
count = 4
[arms]
full = { settings = { detach = 0 }, updates = 20 }
cut = { settings = { detach = 8 }, updates = 20 }
[[families]]
name = "cost"
asks = "confirmatory"
contrasts = ["cost = [cut@default] - [full@default] > 0"]
[[families]]
name = "norms"
asks = "confirmatory"
quantity = "norm"
contrasts = ["norm = [cut@default] - [full@default] > 0"]
"#;

pub const SCRIPT: &str = r#"
of() { sed -n "s/.*\"$1\": \"\{0,1\}\([^\",]*\).*/\1/p" "$BACKCUT_UNIT"; }
seed=$(of seed); detach=$(of detach); result=$(of result)
echo "unit of $seed"
printf '{"value": %s.%s, "curve": [[5, 100]], "findings": {"norm": %s}, "provenance": {"sh": "posix"}}' \
    "$detach" "$seed" "$((detach + 1))" > "$result"
"#;

pub struct Place {
    pub folder: tempfile::TempDir,
}

impl Place {
    pub fn new(study: &str, script: &str) -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        fs::write(place.path("own.toml"), study).unwrap();
        fs::write(place.path("unit.sh"), script).unwrap();
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn load(&self) -> Result<Study, StudyError> {
        Study::load(&self.path("own.toml"), &Catalogue::builtin())
    }

    pub fn store(&self) -> Store {
        Store::new(self.path("results"))
    }

    pub fn run(&self) -> Result<(Tally, Study, Plan), StudyError> {
        self.run_with(&RunOptions::default(), &AtomicBool::new(false), &mut |_| {})
    }

    pub fn run_with(
        &self,
        options: &RunOptions,
        stop: &AtomicBool,
        listen: &mut dyn FnMut(Event),
    ) -> Result<(Tally, Study, Plan), StudyError> {
        let catalogue = Catalogue::builtin();
        let study = self.load()?;
        let (plan, store) = (Plan::new(&study), self.store());
        commit::admit(&study, &plan, &store)?;
        let tally = run(&study, &plan, &store, Tools::new(&catalogue), options, stop, listen)?;
        Ok((tally, study, plan))
    }

    pub fn tables(&self, study: &Study, plan: &Plan) -> Tables {
        let (store, results) = (self.store(), Results::read(study, plan, &self.store()).unwrap());
        results.tables(&store, &[]).unwrap()
    }

    /// Why the first unit failed.
    pub fn failure(&self) -> (String, String) {
        let (tally, _, plan) = self.run().unwrap();
        assert_eq!((tally.computed, tally.failed), (0, plan.units.len()));
        let record = Record::load(&self.store(), &plan.units[0].id, Recorded::Failed).unwrap();
        match record.outcome {
            Outcome::Failed { what, hint } => (what, hint),
            other => panic!("{other:?}"),
        }
    }
}

pub fn replayed(place: &Place, plan: &Plan) -> Result<CameOut, String> {
    let catalogue = Catalogue::builtin();
    let (store, scratch) = (place.store(), place.path("scratch"));
    let unit = &plan.units[0].id;
    let again = replay(&store, unit, Tools::new(&catalogue), &scratch, Depth::Kept).unwrap();
    fs::remove_dir_all(scratch).unwrap_or_default();
    again.outcome
}
