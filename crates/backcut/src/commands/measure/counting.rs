//! Instructions of one update, counted from outside: this program runs once more, under a tool that counts.
//!
//! `perf stat` reads the processor's own counter, at full speed, on the code path that training takes; many
//! virtual machines hide that counter. Valgrind's callgrind runs the program on a processor of its own
//! making, which has no AVX-512 and takes a call for every fused multiply-add (an update takes seconds): it
//! counts another code path, of the same bits. So no count stands without its tool and its path, and the path is
//! what the counted process says of itself.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use backcut_engine::Cut;
use backcut_measure::{ALL, Finding};
use backcut_training::{TrainError, Trainer};

/// Updates of the two runs under `perf`; their difference leaves starting and loading out.
const FEW: u32 = 5;
const MANY: u32 = 25;

/// What may count instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Asked {
    /// The processor's counter, at once; many virtual machines have none
    Perf,
    /// Valgrind's callgrind, seconds per cut and state; the AVX2 path
    Valgrind,
    /// The processor's counter, or else callgrind
    Auto,
    /// Nothing
    Off,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tool {
    Perf,
    Callgrind,
}

impl Tool {
    fn name(self) -> &'static str {
        match self {
            Self::Perf => "perf stat, user mode",
            Self::Callgrind => "callgrind",
        }
    }
}

/// Instructions of one update, and what counted them.
#[derive(PartialEq, Debug)]
struct Count {
    instructions: f64,
    /// `callgrind, avx2+fma path`
    label: String,
}

/// Counts with the first tool that can, and remembers why the others could not.
pub struct Counter {
    tools: Vec<Tool>,
    refusals: Vec<String>,
    labels: Vec<String>,
}

impl Counter {
    /// The tools that were asked for, in the order in which they are tried.
    pub fn new(asked: Asked) -> Self {
        let tools = match asked {
            Asked::Perf => vec![Tool::Perf],
            Asked::Valgrind => vec![Tool::Callgrind],
            Asked::Auto => vec![Tool::Perf, Tool::Callgrind],
            Asked::Off => Vec::new(),
        };
        Self { tools, refusals: Vec::new(), labels: Vec::new() }
    }

    /// One finding per cut: a count with its tool and path as the note, or why there is none.
    pub fn count(&mut self, checkpoint: &Path, cuts: &[Cut]) -> Result<Vec<Finding>> {
        cuts.iter().map(|cut| self.of_cut(checkpoint, *cut)).collect()
    }

    fn of_cut(&mut self, checkpoint: &Path, cut: Cut) -> Result<Finding> {
        const QUANTITY: &str = "cost.instructions";
        while let Some(&tool) = self.tools.first() {
            match count(tool, checkpoint, cut)? {
                Ok(Count { instructions, label }) => {
                    if !self.labels.contains(&label) {
                        self.labels.push(label.clone());
                    }
                    let finding = Finding::new(QUANTITY, cut, ALL, instructions);
                    return Ok(Finding { note: label, ..finding });
                }
                Err(why) => {
                    self.refusals.push(format!("{}: {why}", tool.name()));
                    self.tools.remove(0);
                }
            }
        }
        Ok(Finding::undefined(QUANTITY, cut, ALL, &self.why_not()))
    }

    fn why_not(&self) -> String {
        if self.refusals.is_empty() {
            return "not asked for".to_owned();
        }
        self.refusals.join("; ")
    }

    /// What the line above the table says of the counts.
    pub fn said(&self) -> String {
        if self.labels.is_empty() {
            return format!("instructions: not counted ({})", self.why_not());
        }
        format!("instructions: {}", self.labels.join("; "))
    }

    /// What to do where nothing could count.
    pub fn hint(&self, asked: Asked) -> Option<&'static str> {
        let is_without = self.labels.is_empty() && !self.refusals.is_empty();
        is_without.then_some(match asked {
            Asked::Perf | Asked::Off => {
                "--instructions valgrind counts without the processor's counter, in seconds per cut"
            }
            Asked::Valgrind | Asked::Auto => {
                "install the package valgrind, or measure where `perf stat -e instructions:u` counts"
            }
        })
    }
}

/// The updates of a counted run. Callgrind finds this function by its name: it must stay one, and hold no
/// closure, whose name would match as well.
#[inline(never)]
pub fn counted_updates(trainer: &mut Trainer<f32>, updates: u32) -> Result<(), TrainError> {
    for _ in 0..updates {
        trainer.step()?;
    }
    Ok(())
}

fn count(tool: Tool, checkpoint: &Path, cut: Cut) -> Result<Result<Count, String>> {
    let run = |updates| run(tool, checkpoint, cut, updates);
    let label = |path: &str| format!("{}, {path} path", tool.name());
    match tool {
        Tool::Perf => {
            let (few, many) = match run(FEW)? {
                Ok(few) => (few, run(MANY)?),
                Err(why) => return Ok(Err(why)),
            };
            Ok(many.map(|many| Count {
                instructions: (many.0 - few.0) / f64::from(MANY - FEW),
                label: label(&many.1),
            }))
        }
        // It counts within `counted_updates` alone, so one run is enough. Runs of a tiny policy differ by up to a
        // hundred in a million: how the system's `memcpy` goes about it depends on where the heap happens to lie.
        Tool::Callgrind => {
            Ok(run(1)?.map(|(instructions, path)| Count { instructions, label: label(&path) }))
        }
    }
}

/// Runs this program under a tool; the total and the code path, or why there is no total.
fn run(
    tool: Tool,
    checkpoint: &Path,
    cut: Cut,
    updates: u32,
) -> Result<Result<(f64, String), String>> {
    let own = std::env::current_exe().context("failed to find this program")?;
    let mut command = match tool {
        Tool::Perf => Command::new("perf"),
        Tool::Callgrind => Command::new("valgrind"),
    };
    match tool {
        Tool::Perf => command.args(["stat", "-x", ",", "-e", "instructions:u", "--"]),
        Tool::Callgrind => command.args([
            "--tool=callgrind",
            "--callgrind-out-file=/dev/null",
            "--toggle-collect=*counted_updates*",
        ]),
    };
    command.arg(&own).args(["measure", "cost", "--checkpoint"]).arg(checkpoint);
    command.args(["--cuts", &cut.to_string(), "--only-updates", &updates.to_string()]);
    let Ok(output) = command.output() else {
        let program = command.get_program().to_string_lossy().into_owned();
        return Ok(Err(format!("{program} is not installed")));
    };
    let said = String::from_utf8_lossy(&output.stderr);
    let total = match tool {
        Tool::Perf => of_perf(&said),
        Tool::Callgrind => of_callgrind(&said),
    };
    let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Ok(total.and_then(|total| {
        let is_fine = output.status.success() && !path.is_empty();
        if is_fine { Ok((total, path)) } else { Err("the counted run failed".to_owned()) }
    }))
}

/// The count in the output of `perf stat -x ,`, or what stands in its place.
fn of_perf(text: &str) -> Result<f64, String> {
    let line = text.lines().find(|line| line.contains("instructions"));
    let Some(line) = line else { return Err("perf counted nothing".to_owned()) };
    let first = line.split(',').next().unwrap_or_default();
    let reason = first.trim_matches(|c| c == '<' || c == '>');
    first.parse().map_err(|_| format!("the processor's counter is {reason}"))
}

/// The count in the last lines of callgrind: `==12== Collected : 1851063`.
fn of_callgrind(text: &str) -> Result<f64, String> {
    let total = |line: &str| -> Option<u64> {
        let rest = line.strip_prefix("==")?.split_once("== ")?.1.trim();
        rest.strip_prefix("Collected")?.trim_start().strip_prefix(':')?.trim().parse().ok()
    };
    match text.lines().rev().find_map(total) {
        Some(0) => Err("the program's symbols were stripped".to_owned()),
        Some(total) => Ok(total as f64),
        None if text.contains("nrecognised instruction") => {
            Err("valgrind does not know an instruction of this program".to_owned())
        }
        None => Err("callgrind counted nothing".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_what_perf_prints() {
        let fine = "123456789,,instructions:u,50000000,100.00,1.2,insn per cycle\n";
        assert_eq!(of_perf(fine), Ok(123_456_789.0));
        let virtual_machine = "<not supported>,,instructions:u,0,100.00,,\n";
        assert_eq!(
            of_perf(virtual_machine),
            Err("the processor's counter is not supported".to_owned())
        );
        assert!(of_perf("perf: permission denied\n").is_err());
    }

    #[test]
    fn counts_are_read_from_what_callgrind_prints() {
        let fine = "==7== Callgrind, a call-graph generating cache profiler\n==7== \n\
            ==7== Events    : Ir\n==7== Collected : 1851063\n==7== \n==7== I   refs:      1,851,063\n";
        assert_eq!(of_callgrind(fine), Ok(1_851_063.0));
        let nothing = fine.replace("1851063", "0");
        assert!(of_callgrind(&nothing).is_err_and(|why| why.contains("stripped")));
        let foreign = "vex amd64->IR: unhandled instruction bytes: 0x62\n\
            ==7== valgrind: Unrecognised instruction at address 0x1.\n";
        assert!(of_callgrind(foreign).is_err_and(|why| why.contains("does not know")));
        // What the program itself says is no total.
        assert!(of_callgrind("Collected : 5\n").is_err());
        assert!(of_callgrind("").is_err());
    }

    #[test]
    fn without_a_count_the_line_says_why_and_the_hint_what_to_do() {
        let mut counter = Counter::new(Asked::Auto);
        counter.refusals = vec![
            "perf stat, user mode: perf is not installed".to_owned(),
            "callgrind: valgrind is not installed".to_owned(),
        ];
        let said = counter.said();
        assert!(said.contains("perf is not installed; callgrind: valgrind is not"), "{said}");
        assert!(counter.hint(Asked::Auto).is_some_and(|h| h.contains("package valgrind")));
        assert!(counter.hint(Asked::Perf).is_some_and(|h| h.contains("--instructions valgrind")));
        let off = Counter::new(Asked::Off);
        assert_eq!(off.said(), "instructions: not counted (not asked for)");
        assert_eq!(off.hint(Asked::Off), None);
    }
}
