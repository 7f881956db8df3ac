//! A block of a page that begins with `<!-- backcut ... -->` is what that command prints.
//!
//! To write new output into the pages, run this test with `BACKCUT_WRITE_DOCS=1` and look at the
//! difference.

#![allow(clippy::unwrap_used, reason = "what fails in a helper fails the test")]

use std::path::{Path, PathBuf};
use std::process::Command;

const START: &str = "<!-- backcut ";
const END: &str = "<!-- end -->";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn printed(command: &str) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_backcut"));
    let output = program.args(command.split(' ')).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The page with every block as its command prints it, and the commands.
fn written(page: &str) -> (String, Vec<&str>) {
    let (mut out, mut rest, mut commands) = (String::new(), page, Vec::new());
    while let Some((before, block)) = rest.split_once(START) {
        let (command, below) = block.split_once(" -->\n").expect("a command ends in -->");
        let (_, after) = below.split_once(END).expect("a block has an end");
        let text = printed(command);
        out += &format!("{before}{START}{command} -->\n{}\n\n{END}", text.trim());
        commands.push(command);
        rest = after;
    }
    (out + rest, commands)
}

#[test]
fn every_block_is_what_its_command_prints() {
    let docs = std::fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let is_page = |path: &PathBuf| path.extension().is_some_and(|e| e == "md");
    let mut seen = 0;
    for page in docs.filter(is_page).chain([root().join("README.md")]) {
        let text = std::fs::read_to_string(&page).unwrap();
        let (new, commands) = written(&text);
        seen += commands.len();
        if std::env::var_os("BACKCUT_WRITE_DOCS").is_some() {
            std::fs::write(&page, new).unwrap();
        } else {
            assert!(new == text, "{} is stale: {}", page.display(), commands.join("; "));
        }
    }
    assert!(seen >= 4, "{seen} blocks");
}
