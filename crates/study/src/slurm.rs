//! Slurm: what is missing of a study as an array of shards over a shared folder.
//!
//! An array task is `backcut study run --shard I/N` with a worker pool, because starting a task
//! costs about as much as a small unit. **The queue decides nothing**: whether a unit is done is
//! for its own file to say, so a task may be killed, preempted, requeued, lost or run twice, and
//! submitting again sends what is missing. Tasks read the study as it is noted in the results
//! folder, so whoever edits its file meanwhile changes nothing that was sent.
//!
//! **No path stands in an `#SBATCH` line.** Those lines have quoting rules that differ between
//! versions, and file names in them have patterns (`%j`). A job's working folder is `OUT/slurm`,
//! logs have plain names in it, and paths appear only in shell commands, quoted.

use std::io::Write as _;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::StudyError;
use crate::plan::Plan;
use crate::program::quote;
use crate::schedule::shard_of;
use crate::status::UnitState;
use crate::store::Store;

/// Slurm's own default allows indices of arrays up to 1000 (`MaxArraySize` = 1001).
const MAX_TASKS: u64 = 1000;

/// What is missing may all fall into a few shards of one number and not of the next; so many are
/// tried.
const NUMBERS_TRIED: u64 = 16;

/// The units to compute, by index: what has no record, or what failed.
pub fn due(states: &[UnitState], only_failed: bool) -> Vec<u32> {
    let is_due = |state: UnitState| match state {
        UnitState::Done | UnitState::Blocked => false,
        UnitState::Failed => only_failed,
        UnitState::Running | UnitState::Interrupted | UnitState::Pending => !only_failed,
    };
    (0..states.len()).filter(|&unit| is_due(states[unit])).map(|unit| unit as u32).collect()
}

/// Shards that have something to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shards {
    /// How many shards the plan is dealt into.
    pub count: u64,
    /// Those with units to compute, counted from 1.
    pub tasks: Vec<u64>,
    /// Units to compute, in all.
    pub units: usize,
    /// Units of the largest task.
    pub largest: usize,
}

impl Shards {
    /// Deals out what is due, about `units_per_task` to a task; none if nothing is due.
    pub fn deal(plan: &Plan, due: &[u32], units_per_task: NonZeroU32) -> Option<Self> {
        if due.is_empty() {
            return None;
        }
        let goal = due.len().min(units_per_task.get() as usize);
        let first = due.len().div_ceil(goal) as u64;
        let numbers = (first..first + NUMBERS_TRIED).map(|count| count.min(MAX_TASKS));
        let dealt = numbers.map(|count| Self::of(plan, due, count));
        // The first of those that reach the goal, or else the one that comes closest.
        dealt.min_by_key(|shards| shards.largest.max(goal))
    }

    fn of(plan: &Plan, due: &[u32], count: u64) -> Self {
        let mut loads = vec![0usize; count as usize];
        for &unit in due {
            loads[shard_of(plan, unit, count) as usize] += 1;
        }
        let tasks = (1..=count).filter(|&i| loads[i as usize - 1] > 0).collect();
        Self { count, tasks, units: due.len(), largest: loads.into_iter().max().unwrap_or(0) }
    }

    /// The tasks as Slurm writes them: `1-3,7`.
    fn array(&self) -> String {
        let runs = self.tasks.chunk_by(|a, b| a + 1 == *b);
        let run = |run: &[u64]| match run {
            [first, .., last] => format!("{first}-{last}"),
            one => one.iter().map(u64::to_string).collect(),
        };
        runs.map(run).collect::<Vec<_>>().join(",")
    }
}

/// What is handed to `sbatch`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scripts {
    /// A task for every shard.
    pub array: String,
    /// The job that makes the tables after it.
    pub collect: String,
}

impl Scripts {
    /// The scripts of a study, whose options of `study run` are `options`. Paths must be absolute.
    pub fn new(
        (study, store): (&str, &Store),
        program: &Path,
        options: &[String],
        shards: &Shards,
        array_limit: Option<NonZeroU32>,
    ) -> Result<Self, StudyError> {
        let out = text(store.root())?;
        // The one path that Slurm reads: logs lie in the working folder, and patterns are replaced
        // in it.
        if out.contains(|c: char| c == '%' || c == '\\' || c.is_control()) {
            let what = format!("{out}: a folder with %, \\ or a line break in its name");
            let hint = "Slurm would not find its logs there: choose another --out";
            return Err(StudyError::invalid(what, hint));
        }
        let (program, out) = (quote(text(program)?), quote(out));
        let file = quote(text(&store.study(study))?);
        let limit = array_limit.map_or(String::new(), |limit| format!("%{limit}"));
        let options = options.iter().map(|option| quote(option));
        let options = options.fold(String::new(), |all, option| all + " " + &option);
        let Shards { count, units, .. } = shards;
        // Thirty seconds or more before its limit Slurm sends USR1 to the shell alone; the trap
        // stops the runner, which saves, and puts the task back into the queue. TERM (from
        // `scancel` or a preemption) stops the runner too, but what becomes of the task is then for
        // Slurm to decide.
        let array = format!(
            r#"#!/bin/bash
#SBATCH --job-name=backcut-{study}
#SBATCH --array={tasks}{limit}
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --output={study}-%A-%a.log
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=B:USR1@30

# Study {study}: {units} units to compute. A task is one shard of {count}; it may be killed, requeued
# or repeated at any time: finished units are found by their files, begun ones go on from their
# last save.

runner=
was_signalled=
is_out_of_time=
stop() {{
    was_signalled=yes
    if [ -n "$runner" ]; then kill -TERM "$runner" 2>/dev/null; fi
}}
trap 'is_out_of_time=yes; stop' USR1
trap stop TERM INT

{program} study run {file} \
    --out {out} \
    --shard "$SLURM_ARRAY_TASK_ID/{count}" \
    --jobs "${{SLURM_CPUS_PER_TASK:-${{SLURM_CPUS_ON_NODE:-1}}}}"{options} &
runner=$!
if [ -n "$was_signalled" ]; then stop; fi

# A signal interrupts `wait`, not the runner: wait until it has saved and ended.
while :; do
    was_signalled=
    wait "$runner"
    code=$?
    if [ -z "$was_signalled" ]; then break; fi
done

if [ -n "$is_out_of_time" ] && [ "$code" -ne 0 ]; then
    echo "out of time: task $SLURM_ARRAY_TASK_ID goes back into the queue"
    scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID" && exit 0
fi
exit "$code"
"#,
            tasks = shards.array(),
        );
        let collect = format!(
            r"#!/bin/bash
#SBATCH --job-name=backcut-{study}-collect
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --output={study}-%j-collect.log
#SBATCH --requeue

{program} study collect {file} \
    --out {out}
"
        );
        Ok(Self { array, collect })
    }
}

fn text(path: &Path) -> Result<&str, StudyError> {
    path.to_str().ok_or_else(|| {
        let hint = "rename the folder: a script for Slurm is text";
        StudyError::invalid(format!("{}: not valid UTF-8", path.display()), hint)
    })
}

/// The working folder of jobs, where their logs are.
pub fn folder(store: &Store) -> PathBuf {
    store.root().join("slurm")
}

/// Hands a script to `sbatch`, with further options, in the working folder; returns the job.
pub fn submit(store: &Store, script: &str, options: &[String]) -> Result<u64, StudyError> {
    let mut command = Command::new("sbatch");
    command.arg("--parsable").args(options).current_dir(folder(store));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = command.spawn().and_then(|mut child| {
        if let Some(mut stdin) = child.stdin.take() {
            let _ = stdin.write_all(script.as_bytes()); // whoever does not read it says why
        }
        child.wait_with_output()
    });
    let output = ran.map_err(|error| {
        let hint = "run this where sbatch is, or look at the script with --dry-run";
        StudyError::invalid(format!("sbatch: {error}"), hint)
    })?;
    let text = String::from_utf8_lossy(&output.stdout);
    // JOB, or JOB;CLUSTER
    let job = text.trim().lines().last().and_then(|line| line.split(';').next()?.parse().ok());
    job.filter(|_| output.status.success()).ok_or_else(|| {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = reason(if said.trim().is_empty() { &text } else { &said });
        let hint = "correct the options; --dry-run shows the script, `sinfo` the partitions";
        StudyError::invalid(format!("sbatch refused: {said}"), hint)
    })
}

/// What `sbatch` said, in one line.
fn reason(said: &str) -> String {
    let lines = said.lines().map(|line| line.trim().trim_start_matches("sbatch: "));
    let lines = lines.map(|line| line.trim_start_matches("error: "));
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

/// A job or array task in the queue: the job (of the array), and `running`, `pending`, ...
pub type Task = (u64, String);

/// The tasks of a study in the queue, by `squeue` alone: accounting need not be installed. Jobs
/// that ended are not in the queue any more; how they ended is for the unit files to tell. An error
/// is why the queue could not be asked.
pub fn queue(store: &Store, study: &str) -> Result<Vec<Task>, String> {
    // Jobs of another folder have the same names.
    let Ok(here) = folder(store).canonicalize() else { return Ok(Vec::new()) };
    let output = Command::new("squeue")
        .args(["--noheader", "--array", "--format=%F|%T|%Z"])
        .arg(format!("--name=backcut-{study},backcut-{study}-collect"))
        .output()
        .map_err(|error| format!("squeue: {error}"))?;
    if !output.status.success() {
        return Err(reason(&String::from_utf8_lossy(&output.stderr)));
    }
    let task = |line: &str| {
        let mut parts = line.splitn(3, '|').map(str::trim);
        let (job, state) = (parts.next()?.parse().ok()?, parts.next()?.to_ascii_lowercase());
        (Path::new(parts.next()?) == here).then_some((job, state))
    };
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(task).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use backcut_systems::Catalogue;

    use crate::Study;

    fn plan() -> Plan {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/quick.toml");
        Plan::new(&Study::load(&file, &Catalogue::builtin()).unwrap())
    }

    fn deal(plan: &Plan, due: &[u32], per_task: usize) -> Option<Shards> {
        Shards::deal(plan, due, NonZeroU32::new(per_task as u32).unwrap())
    }

    #[test]
    fn every_due_unit_is_in_exactly_one_task() {
        let plan = plan();
        let due: Vec<u32> = (0..plan.units.len() as u32).filter(|u| u % 3 != 1).collect();
        for per_task in [1, 2, 5, 1000] {
            let shards = deal(&plan, &due, per_task).unwrap();
            let hit =
                |&&unit: &&u32| shards.tasks.contains(&(shard_of(&plan, unit, shards.count) + 1));
            assert_eq!(due.iter().filter(hit).count(), due.len());
            for &task in &shards.tasks {
                let is_in = |unit: &u32| shard_of(&plan, *unit, shards.count) == task - 1;
                assert!((1..=shards.count).contains(&task) && due.iter().any(is_in));
            }
        }
        assert_eq!(deal(&plan, &[], 4), None);
        let all: Vec<u32> = (0..plan.units.len() as u32).collect();
        assert_eq!(deal(&plan, &all, 1000).unwrap().tasks.len(), 1);
    }

    #[test]
    fn missing_units_that_meet_in_one_shard_are_dealt_again() {
        let plan = plan();
        // All arms of the first two sources under one condition that share a shard of two.
        let due: Vec<u32> = (0..plan.units.len() as u32)
            .filter(|&u| {
                plan.units[u as usize].condition == 0
                    && plan.units[u as usize].source.is_multiple_of(2)
            })
            .collect();
        let naive = Shards::of(&plan, &due, 2);
        assert_eq!((naive.tasks.len(), naive.largest), (1, due.len()));
        let dealt = deal(&plan, &due, due.len() / 2).unwrap();
        assert_eq!((dealt.tasks.len(), dealt.largest), (2, due.len() / 2));
    }

    #[test]
    fn indices_are_written_as_ranges() {
        let array = |tasks: &[u64]| {
            Shards { count: 20, tasks: tasks.to_vec(), units: 1, largest: 1 }.array()
        };
        assert_eq!(array(&[1, 2, 3, 7, 9, 10]), "1-3,7,9-10");
        assert_eq!(array(&[4]), "4");
    }

    #[test]
    fn failures_are_due_only_when_asked_for_and_blocked_units_never() {
        use UnitState::{Blocked, Done, Failed, Interrupted, Pending, Running};
        let states = [Done, Running, Interrupted, Failed, Blocked, Pending];
        assert_eq!(due(&states, false), [1, 2, 5]);
        assert_eq!(due(&states, true), [3]);
    }

    fn scripts(out: &Path, program: &Path) -> Result<Scripts, StudyError> {
        let shards = Shards { count: 9, tasks: vec![1, 2, 3, 7], units: 30, largest: 8 };
        let store = Store::new(out);
        Scripts::new(("tiny", &store), program, &[], &shards, NonZeroU32::new(4))
    }

    #[test]
    fn folders_that_slurm_would_misread_are_refused() {
        for out in ["/shared/%j", "/a\\b", "/a\nb"] {
            let error = scripts(Path::new(out), Path::new("/b")).unwrap_err();
            assert!(error.to_string().contains("a folder with %"), "{out}");
        }
        let scripts = scripts(Path::new("/shared/out"), Path::new("/b")).unwrap();
        assert!(scripts.array.contains("#SBATCH --array=1-3,7%4\n"), "{}", scripts.array);
    }

    /// Runs the array script with stand-ins for the program and for `scontrol`, and a signal on the
    /// way.
    #[cfg(unix)]
    fn perform(signal: Option<&str>, code: i32) -> (i32, String) {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::Builder::new().prefix("a b'c\"d $x ").tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let runner = "#!/bin/sh\ntrap 'echo saved; exit 130' TERM\necho \"ran $*\"\n: > \
            \"$STARTED\"\n[ -z \"$HANG\" ] || while :; do sleep 0.02; done\n";
        let program = put("back cut", &format!("{runner}exit {code}\n"));
        put("scontrol", "#!/bin/sh\necho \"scontrol $*\"\n");
        let out = folder.path().join("out 1");
        let script = put("job", &scripts(&out, &program).unwrap().array);
        let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
        let started = folder.path().join("started");
        let child = Command::new("bash")
            .arg(&script)
            .envs([("PATH", path.as_str()), ("HANG", signal.unwrap_or_default())])
            .envs([("SLURM_ARRAY_JOB_ID", "41"), ("SLURM_ARRAY_TASK_ID", "7")])
            .env("SLURM_CPUS_PER_TASK", "2")
            .env("STARTED", &started)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        if let Some(signal) = signal {
            while !started.exists() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            let kill = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
            assert!(kill.unwrap().success());
        }
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code().unwrap(), text.replace(&out.display().to_string(), "OUT"))
    }

    #[test]
    #[cfg(unix)]
    fn the_script_saves_and_requeues_when_its_time_is_up() {
        let ran = "ran study run OUT/studies/tiny.json --out OUT --shard 7/9 --jobs 2\n";
        assert_eq!(perform(None, 0), (0, ran.to_owned()));
        assert_eq!(perform(None, 1), (1, ran.to_owned()));
        let requeued = format!(
            "{ran}saved\nout of time: task 7 goes back into the queue\nscontrol requeue 41_7\n"
        );
        assert_eq!(perform(Some("USR1"), 0), (0, requeued));
        // Whoever sends TERM decides what becomes of the task.
        assert_eq!(perform(Some("TERM"), 0), (130, format!("{ran}saved\n")));
    }

    #[test]
    fn two_lines_of_sbatch_are_one_reason() {
        let said = "sbatch: error: invalid partition specified: nowhere\n\
            sbatch: error: Batch job submission failed: Invalid partition name specified\n";
        let one = "invalid partition specified: nowhere; \
            Batch job submission failed: Invalid partition name specified";
        assert_eq!(reason(said), one);
    }
}
