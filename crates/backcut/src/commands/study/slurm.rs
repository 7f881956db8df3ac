//! `backcut study run --executor slurm` and `backcut study resubmit`: send what is missing to Slurm.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use backcut_study::slurm::{
    Commands, Kind, Options, Queue, Shards, StudyCopy, SubmissionFolder, Submitted, TimeLimit,
    Word, array_script, ask, collect_script, due, submit as sbatch,
};
use backcut_study::status::{UnitState, counts, states};
use backcut_study::{Study, Tools, commit};

use super::freeze::now;
use super::{Target, is_builtin};
use crate::exit::{Told as _, Verdict, user};
use crate::say::{note, outln};
use backcut_text::{counted, thousands};

/// On a shared file system a sign of life may be seen late; so others are given longer than here.
pub const STALE_AFTER_SECS: f64 = 120.0;

/// What is asked of Slurm.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Slurm")]
pub struct SlurmArgs {
    /// Take N whole nodes at a time, one task on each
    #[arg(long, value_name = "N", conflicts_with = "array_limit")]
    nodes: Option<NonZeroU32>,
    /// Limit of a task's time, as Slurm writes it: 90, 1:30:00, 2-12
    #[arg(long, value_name = "LIMIT")]
    time: Option<TimeLimit>,
    /// Partition
    #[arg(long, value_name = "P")]
    partition: Option<Word>,
    /// Account that is charged
    #[arg(long, value_name = "A")]
    account: Option<Word>,
    /// Run at most K tasks at a time
    #[arg(long, value_name = "K")]
    array_limit: Option<NonZeroU32>,
    /// Units of one task, about [default: 32]
    #[arg(long, value_name = "U")]
    units_per_task: Option<NonZeroU32>,
    /// Cores of one task, each with one unit at a time [default: 1; with --nodes, all of a node]
    #[arg(long, value_name = "C")]
    cpus_per_task: Option<NonZeroU32>,
}

const UNITS_PER_TASK: NonZeroU32 = NonZeroU32::new(32).unwrap();

impl SlurmArgs {
    /// The first option that was given, if one was.
    pub fn given(&self) -> Option<&'static str> {
        let Self { nodes, time, partition, account, array_limit, units_per_task, cpus_per_task } =
            self;
        [
            (nodes.is_some(), "--nodes"),
            (time.is_some(), "--time"),
            (partition.is_some(), "--partition"),
            (account.is_some(), "--account"),
            (array_limit.is_some(), "--array-limit"),
            (units_per_task.is_some(), "--units-per-task"),
            (cpus_per_task.is_some(), "--cpus-per-task"),
        ]
        .into_iter()
        .find_map(|(is_given, name)| is_given.then_some(name))
    }

    fn options(&self) -> Options {
        let whole = self.nodes.is_some();
        Options {
            nodes: self.nodes,
            time: self.time.clone(),
            partition: self.partition.clone(),
            account: self.account.clone(),
            array_limit: self.array_limit,
            units_per_task: self.units_per_task.unwrap_or(UNITS_PER_TASK),
            cpus_per_task: self.cpus_per_task.or((!whole).then_some(NonZeroU32::MIN)),
        }
    }
}

/// Options of `backcut study resubmit`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// Compute again what failed, and nothing else
    #[arg(long)]
    only_failed: bool,
    /// Print the scripts, and submit nothing
    #[arg(long)]
    dry_run: bool,
    /// Seconds without a sign of life after which another host's unit is taken over
    #[arg(long, value_name = "SECONDS", default_value_t = STALE_AFTER_SECS)]
    stale_after: f64,
    /// Seconds between saves of a long unit
    #[arg(long, value_name = "SECONDS", default_value_t = super::run::SAVE_AFTER_SECS)]
    save_after: f64,
    #[command(flatten)]
    slurm: SlurmArgs,
}

/// Runs `backcut study resubmit`.
pub fn resubmit(args: &Args, tools: Tools) -> Result<Verdict> {
    let store = backcut_study::Store::new(&args.target.out);
    let study = super::load(&args.target.file, tools.catalogue).told()?;
    if SubmissionFolder::new(&store, &study.name).jobs().told()?.is_none() {
        let what =
            format!("study {} was never submitted from {}", study.name, args.target.out.display());
        let hint = "submit it (`backcut study run FILE --executor slurm`), or check --out";
        return Err(user(what, hint));
    }
    let submission = Submission {
        target: &args.target,
        slurm: &args.slurm,
        only_failed: args.only_failed,
        fail_fast: false,
        dry_run: args.dry_run,
        stale_after: super::run::seconds("stale-after", args.stale_after)?,
        save_after: super::run::seconds("save-after", args.save_after)?,
    };
    submit(&submission, tools)
}

/// A submission as it was asked for.
pub struct Submission<'a> {
    pub target: &'a Target,
    pub slurm: &'a SlurmArgs,
    pub only_failed: bool,
    pub fail_fast: bool,
    pub dry_run: bool,
    pub stale_after: Duration,
    pub save_after: Duration,
}

impl Submission<'_> {
    /// The options of `study run` in a task.
    fn of_run(&self) -> Vec<String> {
        let mut options = vec![
            format!("--stale-after={}", self.stale_after.as_secs_f64()),
            format!("--save-after={}", self.save_after.as_secs_f64()),
        ];
        let flags = [(self.only_failed, "--only-failed"), (self.fail_fast, "--fail-fast")];
        options.extend(flags.iter().filter(|f| f.0).map(|f| f.1.to_owned()));
        options
    }
}

/// Sends what is missing.
pub fn submit(asked: &Submission, tools: Tools) -> Result<Verdict> {
    let out =
        std::path::absolute(&asked.target.out).context("failed to find the results folder")?;
    let target = Target { out, ..asked.target.clone() };
    let (study, plan, store) = target.open(tools)?;
    let submissions = SubmissionFolder::new(&store, &study.name);
    let states = states(&plan, &store, asked.stale_after).told()?;
    let due = due(&states, asked.only_failed);
    let options = asked.slurm.options();
    let tasks = options.nodes.map_or(1, NonZeroU32::get);
    let Some(shards) = Shards::deal(&plan, &due, options.units_per_task.get(), tasks) else {
        outln!("{}: nothing is missing: {}", study.name, summary(&states))?;
        return Ok(Verdict::Fine);
    };
    warn_of_jobs(&submissions)?;
    let copy = if is_builtin(&target.file) {
        None
    } else {
        Some(StudyCopy::read(&target.file, tools.catalogue).told()?)
    };
    let scripts = |number: u32| -> Result<[(Kind, String); 2]> {
        let file = copy.as_ref().map_or(target.file.clone(), |c| c.file(&submissions.copy(number)));
        let (program, run) = (program()?, asked.of_run());
        let commands = Commands::new(&study.name, number, &program, &file, &target.out, &run);
        let commands = commands.told()?;
        let array = array_script(&commands, &shards, &options);
        Ok([(Kind::Array, array), (Kind::Collect, collect_script(&commands, &options))])
    };
    if asked.dry_run {
        let number = submissions.next().told()?;
        for (kind, text) in scripts(number)? {
            outln!("# {}\n{text}", submissions.script(number, kind).display())?;
        }
        note!("{}: nothing was submitted", describe(&study, &shards));
        return Ok(Verdict::Fine);
    }
    scripts(0)?; // what can not be written should fail before anything is
    commit::is_new(&study, &store).told()?;
    super::run::note_if_not_frozen(&study, &store)?;
    let is_first = !target.out.exists();
    let number = submissions.reserve().told()?;
    if let Some(copy) = &copy {
        copy.write(&submissions.copy(number), tools.catalogue).told()?;
    }
    let mut array = None;
    for (kind, text) in scripts(number)? {
        let script = submissions.write(number, kind, &text).told()?;
        let job = sbatch(&script, array).inspect_err(|_| {
            // Whoever corrects the options should not meet what was refused.
            if array.is_none() {
                submissions.withdraw(number);
                let _ = is_first.then(|| std::fs::remove_dir(&target.out)); // if it is empty
            }
        });
        let job = job.told()?;
        let words = format!("{} of {}", shards.array(), shards.count);
        let submitted = Submitted {
            job,
            kind,
            script: script.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            shards: (kind == Kind::Array).then_some(words),
            utc: now(),
        };
        submissions.note(&submitted).told()?;
        if kind == Kind::Array {
            commit::admit(&study, &plan, &store).told()?;
            outln!("{}", describe(&study, &shards))?;
        }
        let word = if kind == Kind::Array { "array" } else { "collect" };
        outln!("  {word:<8} job {job:<8} slurm/{}", submitted.script)?;
        array = Some(job);
    }
    Ok(Verdict::Fine)
}

fn describe(study: &Study, shards: &Shards) -> String {
    let (units, tasks) = (counted(shards.units, "unit"), counted(shards.tasks.len(), "task"));
    format!("{}: {units} in {tasks} of at most {}", study.name, shards.largest)
}

fn summary(states: &[UnitState]) -> String {
    let counts = UnitState::ALL.iter().zip(counts(states)).filter(|(_, count)| *count > 0);
    let words: Vec<String> =
        counts.map(|(state, count)| format!("{} {}", thousands(count), state.word())).collect();
    words.join(", ")
}

/// This program, where every node can start it.
fn program() -> Result<PathBuf> {
    let program = std::env::current_exe().context("failed to find this program")?;
    if !program.exists() {
        let what = format!("{}: this program is gone", program.display());
        return Err(user(what, "it was replaced while it ran: try again"));
    }
    Ok(program)
}

/// Two arrays over the same units are harmless, but they wait for one another.
fn warn_of_jobs(submissions: &SubmissionFolder) -> Result<()> {
    let Some(jobs) = submissions.jobs().told()? else { return Ok(()) };
    let arrays: Vec<u64> = jobs.iter().filter(|j| j.kind == Kind::Array).map(|j| j.job).collect();
    match ask(&arrays) {
        Queue::Silent(why) => note!("note: earlier jobs can not be looked up: {why}"),
        Queue::Tasks(found) if found.is_empty() => {}
        queue @ Queue::Tasks(_) => {
            let ids: Vec<String> = queue.jobs().iter().map(u64::to_string).collect();
            note!("warning: this study's jobs are still in the queue: {}", tasks(&queue));
            note!("hint: to have only the new ones, first `scancel {}`", ids.join(" "));
        }
    }
    Ok(())
}

/// Tasks by state: `3 running, 4 pending`.
pub fn tasks(queue: &Queue) -> String {
    let states = queue.states();
    let words: Vec<String> =
        states.iter().map(|(state, count)| format!("{} {state}", thousands(*count))).collect();
    words.join(", ")
}
