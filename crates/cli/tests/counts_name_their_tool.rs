//! Instructions of an update, counted as the guide says: a number that repeats, with its code path.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use std::process::Command;

use common::study::{StudyFolder, tiny};

/// Instructions of one update under a cut, and the code path.
fn counted(desk: &StudyFolder, cut: &str) -> (f64, String) {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind.args(["--toggle-collect=*counted_updates*", env!("CARGO_BIN_EXE_backcut")]);
    valgrind.args("measure cost --study out --of FF@0.20 --only-updates 1 --cuts".split(' '));
    let output = valgrind.arg(cut).current_dir(desk.path("")).output();
    let output = output.expect("valgrind is not installed (cargo xtask test installs it)");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let total = said.lines().rev().find_map(|line| line.split_once("Collected : "));
    let (_, total) = total.unwrap_or_else(|| panic!("{said}"));
    let path = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    (total.trim().parse().unwrap(), path)
}

#[test]
fn callgrind_counts_repeat() {
    let desk = StudyFolder::new();
    desk.write("s.toml", &tiny("s", 4, "").replace("count = 4", "count = 1"));
    desk.fine("study run s.toml --out out");
    desk.fine("study collect s.toml --out out");
    let [ff, fd, again] = ["FF", "FD", "FF"].map(|cut| counted(&desk, cut));
    // Where the heap lies decides over some instructions in `memcpy`, seen up to one in ten
    // thousand; starting the program alone takes millions.
    assert!((ff.0 - again.0).abs() / ff.0 < 1e-3 && ff.1 == again.1, "{ff:?} {again:?}");
    for (count, path) in [&ff, &fd] {
        // A tiny policy, yet thousands of multiplications.
        assert!(*count > 1e5, "{count}");
        assert!(!path.is_empty() && !path.contains("avx512"), "valgrind knows no AVX-512: {path}");
    }
    assert!(fd.0 < 0.995 * ff.0, "a cut that drops edges needs fewer instructions: {ff:?} {fd:?}");
}
