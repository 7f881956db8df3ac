//! What a study of a program will execute, for people and as JSON.

use backcut_study::Study;
use backcut_study::command::VARIABLE;
use backcut_study::program::{Program, Replay};
use backcut_text::escape;
use serde_json::{Value, json};

/// The programs of a study, each once.
fn programs(study: &Study) -> Vec<&Program> {
    let mut programs: Vec<&Program> = Vec::new();
    for program in study.arms.iter().filter_map(|arm| arm.program.as_deref()) {
        if !programs.contains(&program) {
            programs.push(program);
        }
    }
    programs
}

/// What is executed, and what every arm tells it.
pub fn lines(study: &Study) -> Vec<String> {
    let mut lines = Vec::new();
    for program in programs(study) {
        lines.push(String::new());
        lines.push(format!("  command   {}", escape::plain(&program.words())));
        if let Some(around) = &program.surroundings {
            let folder = around.folder.display().to_string();
            lines.push(format!("  runs in   {}", escape::plain(&folder)));
            let limit = around.timeout.map_or("none".to_owned(), |limit| format!("{limit} s"));
            lines.push(format!("  timeout   {limit}"));
        }
        for (file, hash) in &program.files {
            lines.push(format!("  file      {}  {}", &hash[..12], escape::plain(file)));
        }
        if program.files.is_empty() {
            lines
                .push("  file      none declared: a changed program would go unnoticed".to_owned());
        }
        let replay = match program.replay {
            Replay::Bitwise => "bitwise".to_owned(),
            Replay::Tolerance(tolerance) => format!("within {tolerance:e}"),
            Replay::Impossible => "declared impossible".to_owned(),
        };
        lines.push(format!("  replay    {replay}"));
    }
    for arm in study.arms.iter().filter(|arm| arm.program.is_some()) {
        for (condition, choice) in &arm.systems {
            let label = &study.grids[arm.grid].conditions[*condition].0;
            let settings = escape::plain(&choice.settings.to_string());
            lines.push(format!("  {VARIABLE}  {}@{label}: {settings}", arm.name));
        }
    }
    lines
}

/// The same in a plan's JSON.
pub fn add_to(plan: &mut Value, study: &Study) {
    let programs = programs(study);
    if programs.is_empty() {
        return;
    }
    let one = |program: &&Program| {
        json!({
            "command": program.command, "files": program.files, "replay": program.replay,
            "folder": program.surroundings.as_ref().map(|around| &around.folder),
            "timeout": program.surroundings.as_ref().and_then(|around| around.timeout),
        })
    };
    plan["programs"] = programs.iter().map(one).collect();
}
