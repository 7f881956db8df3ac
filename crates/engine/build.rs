//! Tells the crate how hard it is compiled: everything that takes time is compiled in it.

#![expect(clippy::disallowed_methods, reason = "a build script is told by its environment")]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let level = std::env::var("OPT_LEVEL").unwrap_or_default();
    println!("cargo::rustc-env=BACKCUT_OPT_LEVEL={level}");
}
