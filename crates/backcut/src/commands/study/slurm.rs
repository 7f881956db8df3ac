//! `backcut study run --executor slurm`: send what is missing to Slurm.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use anyhow::{Context as _, Result};
use backcut_study::slurm::{Scripts, Shards, Task, due, folder, queue, submit as sbatch};
use backcut_study::status::{UnitState, counts, states};
use backcut_study::{Store, Tools, commit, note};

use super::Target;
use super::run::{self, seconds};
use crate::exit::{Told as _, Verdict, user};
use crate::program;
use crate::say::{note, outln};
use backcut_text::{counted, thousands};

/// On a shared file system a sign of life may be seen late; so others are given longer than here.
const STALE_AFTER_SECS: f64 = 120.0;
const UNITS_PER_TASK: NonZeroU32 = NonZeroU32::new(32).unwrap();

/// Sends what is missing.
pub fn submit(asked: &run::Args, tools: Tools) -> Result<Verdict> {
    for (is_given, option, hint) in [
        (asked.jobs.is_some(), "--jobs", "say `-- --cpus-per-task N`: a task has a unit per core"),
        (asked.shard.is_some(), "--shard", "say --units-per-task: a task is a shard"),
    ] {
        if is_given {
            return Err(user(format!("{option} with --executor slurm"), hint));
        }
    }
    let stale_after = asked.stale_after.unwrap_or(STALE_AFTER_SECS);
    let silent = seconds("stale-after", stale_after)?;
    seconds("save-after", asked.save_after)?;
    let out =
        std::path::absolute(&asked.target.out).context("failed to find the results folder")?;
    let target = Target { out, ..asked.target.clone() };
    let (study, plan, store) = target.open(tools)?;
    let states = states(&plan, &store, silent).told()?;
    let due = due(&states, asked.only_failed);
    let slurm = &asked.slurm;
    let per_task = slurm.units_per_task.unwrap_or(UNITS_PER_TASK);
    let Some(shards) = Shards::deal(&plan, &due, per_task) else {
        outln!("{}: nothing is missing: {}", study.name, summary(&states))?;
        return Ok(Verdict::Fine);
    };
    let mut options =
        vec![format!("--stale-after={stale_after}"), format!("--save-after={}", asked.save_after)];
    let flags = [(asked.only_failed, "--only-failed"), (asked.fail_fast, "--fail-fast")];
    options.extend(flags.iter().filter(|f| f.0).map(|f| f.1.to_owned()));
    let program = program::path()?;
    let of = (study.name.as_str(), &store);
    let scripts = Scripts::new(of, &program, &options, &shards, slurm.array_limit).told()?;
    let (units, tasks) = (counted(shards.units, "unit"), counted(shards.tasks.len(), "task"));
    let described = format!("{}: {units} in {tasks} of at most {}", study.name, shards.largest);
    if asked.dry_run {
        outln!("{}\n{}", scripts.array, scripts.collect)?;
        note!("{described}: nothing was submitted");
        return Ok(Verdict::Fine);
    }
    warn_of_tasks(&store, &study.name);
    let is_new = commit::is_new(&study, &store).told()?;
    run::note_if_not_frozen(&study, &store)?;
    std::fs::create_dir_all(folder(&store)).context("failed to make the folder of logs")?;
    note::note(&study, &plan, &store).told()?; // tasks may start at once, and read it
    let array = sbatch(&store, &scripts.array, &slurm.sbatch).inspect_err(|_| {
        // Whoever corrects the options should not meet what was refused. Folders go if they are
        // empty.
        let _ = is_new.then(|| std::fs::remove_file(store.study(&study.name)));
        let empty = [folder(&store), store.root().join("studies"), store.root().to_owned()];
        let _ = empty.map(std::fs::remove_dir);
    });
    let array = array.told()?;
    outln!("{described}\n  array    job {array}")?;
    let after = [slurm.sbatch.as_slice(), &[format!("--dependency=afterany:{array}")]].concat();
    let collect = sbatch(&store, &scripts.collect, &after).told()?;
    outln!("  collect  job {collect}")?;
    Ok(Verdict::Fine)
}

fn summary(states: &[UnitState]) -> String {
    let counts = UnitState::ALL.iter().zip(counts(states)).filter(|(_, count)| *count > 0);
    let words: Vec<String> =
        counts.map(|(state, count)| format!("{} {}", thousands(count), state.word())).collect();
    words.join(", ")
}

/// Two arrays over the same units are harmless, but they wait for one another.
fn warn_of_tasks(store: &Store, study: &str) {
    match queue(store, study) {
        Err(why) => note!("note: earlier jobs can not be looked up: {why}"),
        Ok(tasks) if tasks.is_empty() => {}
        Ok(tasks) => {
            let (states, jobs) = in_words(&tasks);
            note!("warning: this study's jobs are still in the queue: {states}");
            note!("hint: to have only the new ones, first `scancel {jobs}`");
        }
    }
}

/// Tasks by state, `3 pending, 4 running`, and their jobs.
pub fn in_words(tasks: &[Task]) -> (String, String) {
    let states = by_state(tasks);
    let states: Vec<String> =
        states.iter().map(|(state, count)| format!("{} {state}", thousands(*count))).collect();
    let jobs: BTreeSet<u64> = tasks.iter().map(|(job, _)| *job).collect();
    let jobs: Vec<String> = jobs.iter().map(u64::to_string).collect();
    (states.join(", "), jobs.join(" "))
}

/// How many tasks are in each state.
pub fn by_state(tasks: &[Task]) -> BTreeMap<&str, usize> {
    let mut states = BTreeMap::new();
    for (_, state) in tasks {
        *states.entry(state.as_str()).or_default() += 1;
    }
    states
}
