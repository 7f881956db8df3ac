//! What the machinery costs where studies are large and units are short.
//!
//! `cargo bench -p backcut-study` fabricates folders and prints the least of a few measurements
//! beside the goal. It asserts nothing: machines differ.

#![allow(clippy::unwrap_used)] // a benchmark may fail loudly

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use backcut_evidence::tables::to_csv;
use backcut_lab::training::Panel;
use backcut_study::collect::Results;
use backcut_study::record::{Evaluation, Outcome, Record};
use backcut_study::runner::{RunOptions, run};
use backcut_study::status::{counts, states};
use backcut_study::{Definition, Plan, Recorded, Store, Study, Tools, Unit};
use backcut_systems::Catalogue;

/// Four arms, two of them branches; `sources` seeds under two conditions.
fn study(sources: u64, updates: u64) -> Study {
    let half = updates / 2;
    let text = format!(
        r#"
name = "scale"
title = "Many units"
evaluate_every = {quarter}
[system]
name = "quadrotor"
settings = {{ policy = {{ steps = 8, width = 16, layers = 1, heads = 2, hidden = 16, initialisation = "gpt" }} }}
[sources]
first = 1
count = {sources}
[conditions]
"0.20" = {{ velocity = 0.2 }}
hidden = {{ velocity = "hidden" }}
[arms]
FF = {{ cut = "FF", updates = {updates} }}
w1 = {{ cut = "FF", window = 1, updates = {updates} }}
F_SG = {{ from = "FF", at = {half}, cut = "F_SG", updates = {updates} }}
FD = {{ from = "FF", at = {half}, cut = "FD", updates = {updates} }}
[[families]]
name = "cost"
asks = "descriptive"
contrasts = ["R = [F_SG@0.20] - [FF@0.20]", "V = [w1@hidden] - [FF@hidden]"]
"#,
        quarter = (updates / 4).max(1)
    );
    Study::load_with(Path::new("scale.toml"), &Catalogue::builtin(), &|_| Ok(text.clone())).unwrap()
}

/// The least of three.
fn least<T>(mut work: impl FnMut() -> T) -> (Duration, T) {
    let mut best = Duration::MAX;
    let mut last = None;
    for _ in 0..3 {
        let began = Instant::now();
        last = Some(work());
        best = best.min(began.elapsed());
    }
    (best, last.unwrap())
}

fn say(what: &str, took: Duration, goal: &str) {
    println!("{what:<52} {:>9.3} s   goal {goal}", took.as_secs_f64());
}

fn main() {
    let root = tempfile::tempdir().unwrap();
    // `cargo bench -p backcut-study short` measures that part alone.
    if std::env::args().any(|a| a == "short") {
        return short_units(&root.path().join("short"));
    }
    planning_and_status(&root.path().join("many"));
    collecting(&root.path().join("results"));
    short_units(&root.path().join("short"));
}

fn planning_and_status(folder: &Path) {
    let study = study(12_500, 1000);
    let (took, plan) = least(|| Plan::new(&study));
    say(&format!("planning {} units", plan.units.len()), took, "2 s");
    let store = Store::new(folder);
    for unit in &plan.units {
        let path = store.record(&unit.id, Recorded::Done);
        fs::create_dir_all(store.beside(&unit.id).path()).unwrap();
        fs::write(path, "").unwrap(); // the listing alone is read
    }
    let (took, counts) = least(|| counts(&states(&plan, &store, Duration::from_mins(1)).unwrap()));
    assert_eq!(counts[0], plan.units.len());
    say(&format!("status of {} unit files", plan.units.len()), took, "2 s");
    let (stop, mut ignore) = (AtomicBool::new(false), |_| {});
    let options = RunOptions::default();
    let (took, tally) = least(|| {
        run(&study, &plan, &store, Tools::new(&Catalogue::builtin()), &options, &stop, &mut ignore)
            .unwrap()
    });
    assert_eq!(tally.reused, plan.units.len());
    say("a run that finds nothing to do", took, "-");
    fs::remove_dir_all(folder).unwrap();
}

fn collecting(folder: &Path) {
    let study = study(1250, 1000);
    let plan = Plan::new(&study);
    let store = Store::new(folder);
    let errors: Vec<f64> = (0..256).map(|i| 0.01 + f64::from(i).sin().abs() / 77.0).collect();
    for index in 0..plan.units.len() as u32 {
        let definition = plan.definition(&study, index);
        let Definition::Train(run) = &definition else { continue };
        let shift = f64::from(index) * 1e-6;
        let evaluation = |&update: &u64| {
            let panel = Panel::new(errors.iter().map(|e| e + shift).collect());
            Evaluation { update, mean: panel.mean, errors: panel.errors }
        };
        let evaluations = run.evaluations.iter().map(evaluation).collect();
        let outcome = Outcome::Trained {
            updates: definition.work(),
            clipped: 3,
            parameters: "0".repeat(16),
            log: "0".repeat(64),
            evaluations,
        };
        let record = Record::new(definition, outcome, "0".repeat(64));
        let path = store.record(&record.unit, Recorded::Done);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, record.to_bytes().unwrap()).unwrap(); // without syncing
    }
    let (read, results) = least(|| Results::read(&study, &plan, &store).unwrap());
    let (made, tables) = least(|| results.tables(&store, &[]).unwrap());
    let (written, _) = least(|| {
        let numbers = to_csv(&tables.observations).unwrap();
        let units = [to_csv(&tables.units).unwrap(), to_csv(&tables.provenance).unwrap()];
        (numbers, units, to_csv(&tables.analysis).unwrap())
    });
    let count = plan.units.len();
    say(&format!("collecting {count} results: reading"), read, "");
    say("                          judging 2 contrasts", made, "");
    say("                          writing", written, "");
    say("                          in all", read + made + written, "5 s");
}

/// The fixed cost of a unit: everything that is not training or evaluating.
fn short_units(folder: &Path) {
    let (updates, sources) = (4, 20);
    let study = study(sources, updates);
    let plan = Plan::new(&study);
    let (stop, mut ignore) = (AtomicBool::new(false), |_| {});
    let options = RunOptions::default();
    let mut round = 0;
    let (all, store) = least(|| {
        round += 1;
        let store = Store::new(folder.join(round.to_string()));
        run(&study, &plan, &store, Tools::new(&Catalogue::builtin()), &options, &stop, &mut ignore)
            .unwrap();
        store
    });
    let count = plan.units.len();
    let seconds = |unit: &Unit| Record::load(&store, &unit.id, Recorded::Done).unwrap().seconds;
    let computing: f64 = plan.units.iter().map(seconds).sum();
    let per = |seconds: f64| 1e3 * seconds / count as f64;
    println!("{count} units of {updates} or {} updates, one at a time:", updates / 2);
    println!("  all of it                  {:>8.3} ms a unit", per(all.as_secs_f64()));
    println!("  training, panels and log   {:>8.3} ms a unit", per(computing));
    let rest = per(all.as_secs_f64() - computing);
    println!("  the rest                   {rest:>8.3} ms a unit");
    let (synced, ()) = least(|| (0..100).for_each(|i| sync_a_file(folder, i)));
    println!("    a file, synced           {:>8.3} ms", 10.0 * synced.as_secs_f64());
    println!("  the rest, of a two-second unit: {:.2}%   goal 2%", rest / 20.0);
}

/// What publishing a record takes.
fn sync_a_file(folder: &Path, index: u32) {
    let path = folder.join(format!("file-{index}"));
    fs::write(&path, vec![0; 20_000]).unwrap();
    fs::File::open(&path).unwrap().sync_all().unwrap();
    fs::rename(&path, folder.join("file")).unwrap();
}
