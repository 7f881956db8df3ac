//! Poison in the place of reserved vessels harms nobody who did not ask for them.

use backcut_vessel::model::{Part, Shape, Split, SplitRule, Window, panels, valid_starts};
use backcut_vessel::store::open;
use backcut_vessel::{Fleet, Reserved, Rules, Statistics};

#[test]
fn everything_runs_beside_poison_and_asking_for_it_fails() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("store");
    let rules = Rules { shortest_steps: 60, ..Rules::default() };
    let manifest = Fleet { ships: 10, days: 30, seed: 5 }.write(&out, &rules, 2).unwrap();
    assert_eq!(manifest.reserved.len(), 2);
    let healthy = open(&out, Reserved::Included).unwrap();
    let open_hash = open(&out, Reserved::Excluded).unwrap().hash();

    std::fs::write(out.join("reserved.parquet"), [f64::NAN.to_le_bytes(); 64].concat()).unwrap();
    let tracks = open(&out, Reserved::Excluded).unwrap();
    assert_eq!(tracks.hash(), open_hash);
    assert!(manifest.reserved.iter().all(|name| !tracks.vessels().contains(&name.as_str())));
    assert!(healthy.vessels().len() == tracks.vessels().len() + 2);

    let shape = Shape { predicted: 40, ..Shape::default() };
    let split = Split::of(&tracks, &SplitRule { held_out: 0.5, ..SplitRule::default() }).unwrap();
    let mut windows = 0;
    for i in split.segments(Part::Training) {
        let segment = &tracks.segments()[i];
        for start in valid_starts(segment, 300, &shape).into_iter().step_by(20) {
            let window = Window::of(segment, start, 300, &shape).unwrap();
            assert!(window.velocities.iter().flatten().all(|knots| knots.is_finite()));
            windows += 1;
        }
    }
    let [development, evaluation] = panels(&tracks, &split, &shape).unwrap();
    assert!(windows > 0 && !development.windows.is_empty() && !evaluation.windows.is_empty());
    assert!(Statistics::of(&tracks).speed.total() > 0);

    assert!(open(&out, Reserved::Included).is_err());
    std::fs::remove_file(out.join("reserved.parquet")).unwrap();
    assert_eq!(open(&out, Reserved::Excluded).unwrap(), tracks);
}
