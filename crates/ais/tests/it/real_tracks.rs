//! The funnel of real ships' tracks, where they are at hand: `BACKCUT_SHIP_TRACKS=FILE cargo test`.

use std::path::PathBuf;

use backcut_ais::Rules;

use crate::import;

#[test]
fn the_funnel_of_sixty_four_cruises_is_known() {
    let Some(path) = std::env::var_os("BACKCUT_SHIP_TRACKS").map(PathBuf::from) else {
        eprintln!("skipped: BACKCUT_SHIP_TRACKS names no file");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let funnel = import(folder.path(), &[path], Rules::default()).unwrap().funnel;
    assert_eq!([funnel.rows, funnel.vessels, funnel.bad.count], [317_061, 64, 0]);
    assert!(funnel.counts.adds_up());
    println!("{}", serde_json::to_string_pretty(&funnel).unwrap());
}
