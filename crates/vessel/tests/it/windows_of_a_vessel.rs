//! Measurements of a vessel: single windows, the horizon, and histories that were fed.

use std::sync::LazyLock;

use backcut_engine::{Cut, Model, Rollout, Workspace};
use backcut_lab::measure::memory::donor_with;
use backcut_lab::measure::{Finding, Measurement, Subject, measure};
use backcut_lab::training::{Moments, Optimizer, State};
use backcut_systems::{BatchKey, Stream, System};
use backcut_vessel::system::{Data, Fleet, Output, Preset, Sizes, Vessel, VesselConfig};

static OPTIMIZER: LazyLock<Optimizer> = LazyLock::new(Optimizer::default);

fn vessel() -> Vessel {
    let sizes = Sizes { width: 8, heads: 2, observed: 4, predicted: 9, key_points: 4 };
    let data = Data::Fleet(Fleet { ships: 6, days: 6, seed: 1 });
    let preset = Preset::Sizes(sizes);
    VesselConfig { preset, data, output: Output::Velocity, ..Default::default() }.check().unwrap()
}

fn state(system: &Vessel) -> State<f32> {
    let mut params: Vec<f32> = System::<f32>::program(system).layout().initialise(5);
    for p in &mut params {
        *p *= 3.0;
    }
    State { update: 0, moments: Moments::zeros(params.len()), params }
}

fn subject<'a>(system: &'a Vessel, state: &'a State<f32>) -> Subject<'a> {
    let key = BatchKey { seed: 1, stream: Stream::A, update: 0 };
    Subject { system, state, optimizer: &OPTIMIZER, key }
}

fn value(findings: &[Finding], quantity: &str, cut: &str, part: &str) -> f64 {
    let is_it = |f: &&Finding| f.quantity == quantity && f.of == *cut && f.part == part;
    findings.iter().find(is_it).unwrap_or_else(|| panic!("{quantity} {cut} {part}")).value.unwrap()
}

#[test]
fn single_windows_add_up_to_their_batch() {
    let system = vessel();
    let state = state(&system);
    let subject = subject(&system, &state);
    let cuts = [Cut::FD, Cut::KF, Cut::KD].to_vec();
    let rows = System::<f32>::panel_rows(&system);
    let found =
        measure(&Measurement::Windows { cuts: cuts.clone(), count: rows }, &subject, None).unwrap();
    // The gradient of window 2 is that of a rollout which holds nothing else.
    let program = System::<f32>::program(&system);
    let model = Model::new(program, state.params.clone()).unwrap();
    let mut rollout =
        Rollout::new(program, 1, System::<f32>::steps(&system), system.spec()).unwrap();
    system.fill_panel(2, &mut rollout).unwrap();
    model.roll(&mut rollout).unwrap();
    let mut workspace = Workspace::new(&rollout, &[Cut::FF, Cut::FD, Cut::KF, Cut::KD]).unwrap();
    workspace.backward(&model, &rollout).unwrap();
    let norm = |i| model.norm(workspace.gradient(i));
    assert_eq!(value(&found, "windows.norm", "FF", "window 2"), norm(0));
    assert_eq!(value(&found, "windows.norm", "KD", "window 2"), norm(3));
    let ratio = value(&found, "windows.ratio", "KF", "window 2");
    assert!((ratio - norm(2) / norm(0)).abs() < 1e-12 * ratio);
    let (mut error, part) = ([0.0], "window 2");
    system.row_errors(&rollout, &mut error);
    assert_eq!(value(&found, "windows.error", "", part), error[0]);
    let depth = value(&found, "windows.depth", "", part);
    let full = value(&found, "windows.difference", "FD", part);
    let one = value(&found, "windows.difference", "KD vs KF", part);
    assert_eq!(depth, full - one);
    // The interval of a median holds it, and resamples more than one segment.
    let median = value(&found, "windows.depth", "", "all");
    let ends =
        ["lower", "upper"].map(|end| value(&found, &format!("windows.depth.{end}"), "", "all"));
    assert!(ends[0] <= median && median <= ends[1] && ends[0] < ends[1], "{ends:?} {median}");
    assert!(value(&found, "windows.segments", "", "all") > 1.0);
    assert!(value(&found, "windows.spearman", "FD", "error").abs() <= 1.0);
    let same = measure(&Measurement::Windows { cuts, count: rows }, &subject, None).unwrap();
    assert_eq!(found, same);
}

#[test]
fn errors_along_the_horizon_average_to_the_error() {
    let system = vessel();
    let state = state(&system);
    let found = measure(&Measurement::Reference {}, &subject(&system, &state), None).unwrap();
    let steps = |quantity: &str| -> Vec<f64> {
        (1..=9).map(|t| value(&found, quantity, "", &format!("step {t}"))).collect()
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (ours, plain) = (steps("reference.step"), steps("reference.plain-step"));
    let [policy, reference] =
        [("reference.policy", "all"), ("reference.error", "constant velocity")]
            .map(|(quantity, part)| value(&found, quantity, "", part));
    assert!((mean(&ours) / policy - 1.0).abs() < 1e-5, "{ours:?} and {policy}");
    assert!((mean(&plain) / reference - 1.0).abs() < 1e-12, "{plain:?} and {reference}");
    assert!(ours[0] < ours[8] && plain[0] < plain[8]);
}

#[test]
fn a_donor_that_is_oneself_changes_nothing_though_its_prefix_was_fed() {
    let system = vessel();
    let state = state(&system);
    let subject = subject(&system, &state);
    let rows = System::<f32>::panel_rows(&system);
    let own: Vec<usize> = (0..rows).collect();
    let found = donor_with(&subject, &own, &[]).unwrap();
    assert_eq!(value(&found, "donor.cost", "", "derangement"), 0.0);
    let next: Vec<usize> = (1..rows).chain([0]).collect();
    let found = donor_with(&subject, &next, &[]).unwrap();
    assert!(value(&found, "donor.cost", "", "derangement") != 0.0);
    // The unperturbed errors are those of the panel, in whatever order they were rolled.
    let panel = measure(&Measurement::Reference {}, &subject, None).unwrap();
    let unperturbed = value(&found, "panel.error", "", "all");
    assert_eq!(unperturbed, value(&panel, "reference.policy", "", "all"));
}
