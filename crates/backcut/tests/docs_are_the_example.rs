//! The guide to a system of one's own shows the example that tests build and run, and nothing else.

use std::path::Path;

#[test]
fn every_block_of_the_guide_stands_in_the_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).expect("it is there");
    let (guide, example) = (read("docs/your-system.md"), read("examples/own-system/src/main.rs"));
    let blocks: Vec<&str> = guide.split("```rust\n").skip(1).map(until_the_end).collect();
    assert!(blocks.len() >= 4, "{} blocks", blocks.len());
    for block in &blocks {
        assert!(example.contains(block.trim_end()), "not in the example:\n{block}");
    }
    // And the other way around: only the lines above the settings are left out.
    let shown: usize = blocks.iter().map(|block| block.trim().lines().count()).sum();
    assert!(shown + 25 > example.lines().count(), "{shown} of {} lines", example.lines().count());
}

fn until_the_end(block: &str) -> &str {
    block.split("```").next().unwrap_or_default()
}
