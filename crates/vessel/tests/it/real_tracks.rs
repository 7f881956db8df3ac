//! The funnel of real ships' tracks. They are not part of the repository.

use std::path::PathBuf;

use backcut_vessel::Rules;

use crate::import;

#[test]
#[ignore = "BACKCUT_SHIP_TRACKS=ship_gps_tracks.csv.gz cargo test -p backcut-vessel -- --ignored"]
fn the_funnel_of_sixty_four_cruises_is_known() {
    let path = std::env::var_os("BACKCUT_SHIP_TRACKS").map(PathBuf::from);
    let path = path.expect("BACKCUT_SHIP_TRACKS names the file");
    let folder = tempfile::tempdir().unwrap();
    let funnel = import(folder.path(), &[path], Rules::default()).unwrap().funnel;
    assert_eq!([funnel.rows, funnel.vessels, funnel.bad.count], [317_061, 64, 0]);
    assert!(funnel.counts.adds_up());
    // 278 windows, as counted elsewhere, are those of tracks that are cut at every spike.
    assert_eq!([funnel.counts.too_fast, funnel.counts.segments], [67, 203]);
    assert_eq!([funnel.windows, funnel.windows_moving], [433, 294]);
}
