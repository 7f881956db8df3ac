//! An arm that is trained once for all sources and conditions.

use std::path::Path;

use backcut_study::{Definition, Plan, Study, StudyError};
use backcut_systems::Catalogue;
use backcut_text::Hinted as _;

const FILE: &str = r#"
name = "shared"
title = "A start for all"

[system]
name = "quadrotor"

[sources]
first = 1
count = 3

[conditions]
plain = { velocity = 0.0 }
noisy = { velocity = 0.2 }

[arms.start]
cut = "FF"
updates = 20
SHARED

[arms.FF]
from = "start"
cut = "FF"
updates = 30

[arms.F_SG]
from = "start"
cut = "F_SG"
updates = 30
"#;

fn study(shared: &str) -> Result<Study, StudyError> {
    let read = |_: &Path| Ok(FILE.replace("SHARED", shared));
    Study::load_with(Path::new("shared.toml"), &Catalogue::builtin(), &read)
}

#[test]
fn it_is_one_unit_from_which_all_branch() {
    let alone = Plan::new(&study("").unwrap());
    assert_eq!(alone.units.len(), 3 * 2 * 3);
    let shared = study(r#"shared = { seed = 77, condition = "plain" }"#).unwrap();
    let plan = Plan::new(&shared);
    assert_eq!(plan.units.len(), 1 + 3 * 2 * 2);
    assert_eq!(plan.places.len(), 3 * 2 * 3, "every cell is there");
    let Definition::Train(start) = plan.definition(&shared, 0) else {
        panic!("the first unit trains");
    };
    assert_eq!(start.seed, 77);
    assert_eq!(start.system.settings["velocity"], 0.0);
    for unit in 1..plan.units.len() as u32 {
        let definition = plan.definition(&shared, unit);
        assert_eq!(definition.id(), plan.units[unit as usize].id);
        let Definition::Train(run) = definition else { unreachable!() };
        assert_eq!(run.start.map(|start| start.unit), Some(plan.units[0].id));
        assert!((1..=3).contains(&run.seed), "branches have their sources' seeds");
    }
    let noisy = shared.canonical.matches("\"velocity\":0.2").count();
    assert!(noisy > 0, "branches keep their conditions");
}

#[test]
fn it_comes_back_from_its_canonical_form() {
    let study = study(r#"shared = { seed = 77, condition = "noisy" }"#).unwrap();
    let again = Study::from_canonical(&study.canonical).unwrap();
    assert_eq!(Plan::new(&again).units, Plan::new(&study).units);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused = |shared: &str| study(shared).unwrap_err();
    let error = refused("shared = { seed = 77 }");
    assert!(error.to_string().contains("which condition"), "{error}");
    assert!(error.hint().contains("plain, noisy"), "{}", error.hint());
    let error = refused(r#"shared = { seed = 77, condition = "odd" }"#);
    assert!(error.to_string().contains("which condition"), "{error}");
    let error = refused("shared = { seed = 77, condition = \"plain\" }\nstream = \"b\"");
    assert!(error.to_string().contains("stream"), "{error}");
    let error = refused("shared = { seed = 9007199254740991, condition = \"plain\" }");
    assert!(error.hint().contains("2^52"), "{error}");
    let read = |_: &Path| {
        Ok(FILE.replace("SHARED", "").replace(
            "[arms.F_SG]\nfrom",
            "[arms.F_SG]\nshared = { seed = 7, condition = \"plain\" }\nfrom",
        ))
    };
    let error =
        Study::load_with(Path::new("shared.toml"), &Catalogue::builtin(), &read).unwrap_err();
    assert!(error.to_string().contains("shared and branches"), "{error}");
}
