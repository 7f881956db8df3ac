//! The systems of the paper and of the vessel do what they did when their results were named by
//! settings and data alone; those of the catalogue are held to that beside it.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

use backcut_paper::analytic::system::AnalyticConfig;
use backcut_systems::Settings;
use backcut_vessel::system::VesselConfig;

#[test]
fn systems_that_had_results_do_what_was_recorded() {
    fn record<S: Settings>() -> [String; 2] {
        let record = S::RECORDED.unwrap();
        [record.hash.to_owned(), record.now::<S>().unwrap().to_string()]
    }
    let all = [record::<AnalyticConfig>(), record::<VesselConfig>()];
    assert!(all.iter().all(|[then, now]| then == now), "then and now: {all:#?}");
}
