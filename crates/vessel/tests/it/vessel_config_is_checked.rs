//! Settings that describe no vessel are refused with a hint; sound ones identify their data.

use crate::common::small_vessel;
use backcut_systems::{Catalogue, SystemChoice};
use backcut_text::Hinted as _;
use backcut_vessel::system::{Data, Phase, Preset, Sizes, VesselConfig};
use serde_json::json;

#[test]
fn what_cannot_run_is_refused_with_a_hint() {
    let fine = small_vessel(Phase::Rollout);
    let sizes = fine.preset.sizes();
    let with = |sizes| VesselConfig { preset: Preset::Sizes(sizes), ..fine.clone() };
    for (config, word) in [
        (with(Sizes { heads: 3, ..sizes }), "heads"),
        (with(Sizes { observed: 1, ..sizes }), "observed"),
        (with(Sizes { key_points: 9, ..sizes }), "key_points"),
        (with(Sizes { predicted: 4096, ..sizes }), "window of 4099 steps"),
        (VesselConfig { batch: 0, ..fine.clone() }, "batch"),
        (VesselConfig { noise: -0.1, ..fine.clone() }, "noise"),
        (VesselConfig { data: Data::Store("no such folder".into()), ..fine.clone() }, "no such"),
    ] {
        let error = config.check().unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
        assert!(!error.hint().is_empty());
    }
}

#[test]
fn the_catalogue_names_data_and_reads_every_form() {
    let catalogue = Catalogue::new().with::<VesselConfig>();
    let build = |settings: serde_json::Value| {
        catalogue.build(&SystemChoice::new("vessel", settings.as_object().unwrap().clone()))
    };
    let fleet = json!({"ships": 6, "days": 6, "seed": 1});
    let small = build(json!({"data": fleet, "phase": "pretrain"})).unwrap();
    assert_eq!(small.choice.settings["preset"], "small");
    assert_eq!(small.phase, "pretraining");
    let other = build(json!({"data": {"ships": 6, "days": 6, "seed": 2}, "batch": 2})).unwrap();
    assert_ne!(small.choice.data, other.choice.data);
    assert_eq!(small.choice.data.as_ref().map(String::len), Some(64));
    let sizes = json!({"width": 8, "heads": 2, "observed": 3, "predicted": 4, "key_points": 3});
    let own = build(json!({"data": fleet, "preset": sizes, "noise": 0.1})).unwrap();
    assert_eq!(own.choice.settings["preset"], sizes);
    assert_eq!(own.choice.data, small.choice.data);
    assert!(build(json!({"preset": "huge"})).is_err());
    assert!(build(json!({"data": {"ships": 6, "sails": 2}})).is_err());
}
