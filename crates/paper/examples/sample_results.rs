//! Writes a folder of made-up results, to look at a page before anything was trained:
//! `cargo run -p backcut-paper --example sample_results -- FOLDER`.

#[path = "../tests/common/mod.rs"]
mod common;

fn main() {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("usage: sample_results FOLDER");
        std::process::exit(2);
    };
    common::write_results(folder.as_ref());
}
