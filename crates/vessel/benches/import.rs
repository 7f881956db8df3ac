//! Rows per second of an import, on a fleet's reports written as MarineCadastre writes them.
//!
//! `cargo bench -p backcut-ais --bench import [-- SHIPS DAYS]`; two million rows unless told
//! otherwise.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::time::Instant;

use backcut_vessel::read::{Limits, read_file};
use backcut_vessel::{Cleaner, Fleet, Import, Rules};

fn main() {
    let numbers: Vec<u32> = std::env::args().filter_map(|a| a.parse().ok()).collect();
    let [ships, days] = numbers[..] else { return run(400, 8) };
    run(ships, days);
}

fn run(ships: u32, days: u32) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("fleet.csv");
    let mut out = BufWriter::new(File::create(&path).expect("a file"));
    Fleet { ships, days, seed: 1 }.write_csv(&mut out).expect("a written file");
    out.flush().expect("a written file");
    drop(out);
    let bytes = std::fs::metadata(&path).expect("the file").len();
    println!("{ships} ships, {days} days, {:.1} MB", bytes as f64 / 1e6);

    let (limits, rules) = (Limits::default(), Rules::default());
    let report = |what: &str, rows: u64, began: Instant| {
        let seconds = began.elapsed().as_secs_f64();
        println!(
            "{what:<18} {rows} rows, {seconds:.2} s, {:.2} million/s",
            rows as f64 / seconds / 1e6
        );
    };
    for _ in 0..3 {
        let began = Instant::now();
        let found = read_file(&path, &limits, &mut |_| (), &mut |_, _, _| Ok(()));
        report("read", found.expect("a good file").rows, began);

        let began = Instant::now();
        let valid = rules.clone().check().expect("good rules");
        let mut cleaner = Cleaner::new(valid, limits.vessels);
        let found = read_file(&path, &limits, &mut |_| (), &mut |vessel, naming, report| {
            cleaner.report(vessel, naming, report)?;
            cleaner.ended().for_each(drop);
            Ok(())
        });
        report("read and clean", found.expect("a good file").rows, began);

        let out = folder.path().join("store");
        let began = Instant::now();
        let files: [PathBuf; 1] = [path.clone()];
        let import = Import { files: &files, out: &out, rules: rules.clone(), limits, reserve: 2 };
        let manifest = import.run(&mut |_| ()).expect("a store");
        report("import", manifest.funnel.rows, began);
        std::fs::remove_dir_all(&out).expect("the store");
    }
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        let peak = status.lines().find(|line| line.starts_with("VmHWM"));
        println!("{} (the fleet was made in memory before)", peak.unwrap_or_default());
    }
}
