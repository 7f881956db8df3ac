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
            let (plan, other) = (Plan::new(&study), Plan::new(&again));
            assert!(plan.units == other.units && plan.places == other.places, "{}", file.display());
            for (index, unit) in plan.units.iter().enumerate() {
                let definition = plan.definition(&study, index as u32);
                assert_eq!(definition.id(), unit.id, "{}", plan.words(&study, index as u32));
            }
            read += 1;
        }
    }
    assert!(read > 35, "{read}");
}
