//! What a ledger keeps of a study is the study: read back, it plans the same units.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

use std::path::Path;

use backcut_study::{Plan, Study};
use backcut_systems::Catalogue;
use backcut_vessel::system::VesselConfig;

#[test]
fn a_study_that_is_read_back_plans_the_same_units() {
    let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let catalogue = Catalogue::builtin().with::<VesselConfig>();
    let mut read = 0;
    for folder in [".", "second", "beyond"] {
        for file in std::fs::read_dir(studies.join(folder)).unwrap().map(|e| e.unwrap().path()) {
            let is_study = file.extension().is_some_and(|e| e == "toml");
            if !is_study || file.ends_with("configuration.toml") {
                continue;
            }
            let study = Study::load(&file, &catalogue).unwrap();
            let again = Study::from_canonical(&study.canonical).unwrap();
            for (arm, other) in study.arms.iter().zip(&again.arms) {
                assert_eq!(arm.systems, other.systems, "{}: {}", file.display(), arm.name);
            }
            assert!(Plan::new(&study).units == Plan::new(&again).units, "{}", file.display());
            read += 1;
        }
    }
    assert!(read > 35, "{read}");
}
