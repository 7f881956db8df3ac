//! A block of a page under `docs/` that begins with `<!-- backcut ... -->` is what that command prints.
#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::path::{Path, PathBuf};
use std::process::Command;

const END: &str = "<!-- end -->";

/// The commands of a page with what stands below them.
fn blocks(text: &str) -> Vec<(&str, &str)> {
    let starts = text.match_indices("<!-- backcut ").map(|(at, _)| at);
    let block = |at: usize| {
        let (command, below) = text[at..].split_once(" -->\n").expect("a command ends in -->");
        let (block, _) = below.split_once(END).expect("a block has an end");
        (command.trim_start_matches("<!-- "), block)
    };
    starts.map(block).collect()
}

#[test]
fn every_block_is_what_its_command_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages: Vec<PathBuf> =
        std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.retain(|page| page.extension().is_some_and(|e| e == "md"));
    pages.push(root.join("README.md"));
    let mut seen = 0;
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        for (command, block) in blocks(&text) {
            let words: Vec<&str> = command.split(' ').skip(1).collect();
            let output = Command::new(env!("CARGO_BIN_EXE_backcut"))
                .args(words)
                .current_dir(&root)
                .output()
                .unwrap();
            assert!(
                output.status.success(),
                "{command}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            let printed = String::from_utf8(output.stdout).unwrap();
            assert!(printed.trim() == block.trim(), "{} is stale below: {command}", page.display());
            seen += 1;
        }
    }
    assert!(seen >= 2, "{seen} blocks");
}
