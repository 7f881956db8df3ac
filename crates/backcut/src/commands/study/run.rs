//! `backcut study run`: compute what is missing.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use backcut_study::record::Outcome;
use backcut_study::runner::{Event, RunOptions, Tally, run as run_units};
use backcut_study::{Plan, Store, Study, Tools, commit};
use indicatif::{MultiProgress, ProgressBar};

use super::Target;
use crate::common::jobs;
use crate::exit::{Told as _, Verdict, user};
use crate::progress::{self, Counts, timing, words};
use crate::say::{self, note, outln};
use backcut_text::{counted, escape};

/// Options of `backcut study run`.
#[derive(Debug, Clone, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags as they are typed")]
pub struct Args {
    #[command(flatten)]
    pub target: Target,
    /// Units at a time [default: one per core]
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Compute only this part, as 2/8
    #[arg(long, value_name = "I/N")]
    pub shard: Option<String>,
    /// Compute again what failed, and nothing else
    #[arg(long)]
    pub only_failed: bool,
    /// Go on after failures (the default)
    #[arg(long, conflicts_with = "fail_fast")]
    pub keep_going: bool,
    /// Start nothing more after a failure
    #[arg(long)]
    pub fail_fast: bool,
    /// Say what would be computed (with Slurm: print the scripts), and compute nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Seconds without a sign of life after which another host's unit is taken over
    /// [default: 60; Slurm: 120]
    #[arg(long, value_name = "SECONDS")]
    pub stale_after: Option<f64>,
    /// Seconds between saves of a long unit
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0)]
    pub save_after: f64,
    /// Where to compute
    #[arg(long, value_enum, default_value = "local")]
    pub executor: Executor,
    #[command(flatten)]
    pub slurm: SlurmArgs,
}

/// What is asked of Slurm.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Slurm")]
pub struct SlurmArgs {
    /// Units of one task, about [default: 32]
    #[arg(long, value_name = "U")]
    pub units_per_task: Option<NonZeroU32>,
    /// Run at most K tasks at a time
    #[arg(long, value_name = "K")]
    pub array_limit: Option<NonZeroU32>,
    /// Options of sbatch, as in `-- --time 2:00:00 --partition main --cpus-per-task 8`
    #[arg(last = true, value_name = "SBATCH OPTIONS")]
    pub sbatch: Vec<String>,
}

impl SlurmArgs {
    /// The first option that was given, if one was.
    fn given(&self) -> Option<&'static str> {
        let Self { units_per_task, array_limit, sbatch } = self;
        let units_per_task = units_per_task.map(|_| "--units-per-task");
        let array_limit = array_limit.map(|_| "--array-limit");
        units_per_task.or(array_limit).or((!sbatch.is_empty()).then_some("options after --"))
    }
}

/// Where units are computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Executor {
    /// On this machine
    Local,
    /// As an array of Slurm jobs over a shared folder
    Slurm,
}

/// A number of seconds as it was typed.
pub fn seconds(name: &str, value: f64) -> Result<Duration> {
    let checked = Duration::try_from_secs_f64(value);
    checked.map_err(|_| user(format!("--{name} {value}"), "give a number of seconds"))
}

impl Args {
    fn options(&self) -> Result<RunOptions> {
        Ok(RunOptions {
            jobs: jobs(self.jobs)?,
            shard: self.shard.as_deref().map(parse_shard).transpose()?,
            only_failed: self.only_failed,
            fail_fast: self.fail_fast,
            stale_after: seconds("stale-after", self.stale_after.unwrap_or(60.0))?,
            save_after: seconds("save-after", self.save_after)?,
        })
    }
}

fn parse_shard(text: &str) -> Result<(u64, u64)> {
    let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
    match parts {
        Some((i, n)) if (1..=n).contains(&i) => Ok((i, n)),
        _ => Err(user(format!("--shard {text}"), "write I/N, as 2/8: the second of eight")),
    }
}

/// Runs the command on this machine.
pub fn run(args: &Args, tools: Tools) -> Result<Verdict> {
    if let Some(option) = args.slurm.given() {
        let what = format!("{option} without --executor slurm");
        return Err(user(what, "add --executor slurm, or leave it out"));
    }
    let options = args.options()?;
    let (study, plan, store) = args.target.open(tools)?;
    if args.dry_run {
        return dry_run(&study, &plan, &store, &options);
    }
    commit::admit(&study, &plan, &store).told()?;
    let stop = stop_on_signals()?;
    let tally = run_study(&study, &plan, &store, tools, &options, &stop)?;
    if stop.load(Ordering::Relaxed) && tally.left > 0 {
        note!("stopped; the same command goes on where it stopped");
        return Ok(Verdict::Interrupted);
    }
    Ok(if tally.failed + tally.blocked > 0 { Verdict::Failed } else { Verdict::Fine })
}

/// Set by Ctrl-C and by the signals that end processes.
pub fn stop_on_signals() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let is_at_a_terminal = std::io::stderr().is_terminal();
    ctrlc::set_handler(move || {
        // Asked twice by a person. A scheduler may send the same signal along several ways.
        if flag.swap(true, Ordering::Relaxed) && is_at_a_terminal {
            std::process::exit(130);
        }
    })
    .context("failed to listen for Ctrl-C")?;
    Ok(stop)
}

fn dry_run(study: &Study, plan: &Plan, store: &Store, options: &RunOptions) -> Result<Verdict> {
    let found = store.scan().told()?;
    let mut count = 0;
    for unit in 0..plan.units.len() as u32 {
        let is_ours = options
            .shard
            .is_none_or(|(i, n)| backcut_study::runner::shard_of(plan, unit, n) == i - 1);
        let recorded = found.get(&plan.units[unit as usize].id);
        let is_due = match recorded {
            None => !options.only_failed,
            Some(backcut_study::Recorded::Failed) => options.only_failed,
            Some(backcut_study::Recorded::Done) => false,
        };
        if is_ours && is_due {
            outln!("{}  {}", plan.units[unit as usize].id.short(), plan.words(study, unit))?;
            count += 1;
        }
    }
    outln!("{} would be computed", counted(count, "unit"))?;
    Ok(Verdict::Fine)
}

/// A last chance to freeze.
pub fn note_if_not_frozen(study: &Study, store: &Store) -> Result<()> {
    let ledger = commit::ledger(store).told()?;
    if ledger.latest_entry(&study.name).is_none() && !study.families.is_empty() {
        note!("note: study {} is not frozen: no row of it can be prespecified", study.name);
    }
    Ok(())
}

/// Runs a study with its progress on stderr.
pub fn run_study(
    study: &Study,
    plan: &Plan,
    store: &Store,
    tools: Tools,
    options: &RunOptions,
    stop: &AtomicBool,
) -> Result<Tally> {
    note_if_not_frozen(study, store)?;
    let found = store.scan().told()?;
    let is_left = |u: &u32| !found.contains_key(&plan.units[*u as usize].id);
    let left = (0..plan.units.len() as u32).filter(is_left);
    let total = left.map(|u| plan.work(study, u)).sum::<u64>();
    let mut view = View::new(study, plan, total);
    let tally = run_units(study, plan, store, tools, options, stop, &mut |event| view.hear(&event));
    view.end();
    let tally = tally.told()?;
    let Tally { units, reused, computed, elsewhere, failed, blocked, left } = tally;
    let mut words = format!(
        "{}: {}: {reused} were there, {computed} computed",
        study.name,
        counted(units, "unit")
    );
    for (count, what) in [
        (elsewhere, "by others"),
        (failed, "failed"),
        (blocked, "blocked by a failed start"),
        (left, "left"),
    ] {
        if count > 0 {
            words += &format!(", {count} {what}");
        }
    }
    note!("{words} in {}", words_of(view.began.elapsed()));
    Ok(tally)
}

fn words_of(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    if seconds < 10.0 { format!("{seconds:.1} s") } else { words(seconds) }
}

/// Progress: one bar for the study, one line per unit at work; without a terminal, a line now and
/// then.
struct View<'a> {
    study: &'a Study,
    plan: &'a Plan,
    began: Instant,
    bars: Option<(MultiProgress, ProgressBar)>,
    lines: BTreeMap<u32, (ProgressBar, u64)>,
    done: u64,
    total: u64,
    units_done: usize,
    last: Instant,
}

impl<'a> View<'a> {
    fn new(study: &'a Study, plan: &'a Plan, total: u64) -> Self {
        let bars = progress::is_watched().then(|| {
            let multi = MultiProgress::new();
            let bar = progress::bar(&study.name, total, Counts::Updates);
            let bar = multi.add(bar.with_prefix(study.name.clone()));
            (multi, bar)
        });
        let began = Instant::now();
        let (lines, done, units_done) = (BTreeMap::new(), 0, 0);
        Self { study, plan, began, bars, lines, done, total, units_done, last: began }
    }

    fn say(&self, line: &str) {
        match &self.bars {
            Some((multi, _)) => {
                let _ = multi.println(say::beside_a_bar(line)); // a terminal that went away
            }
            None => note!("{line}"),
        }
    }

    fn hear(&mut self, event: &Event) {
        match event {
            Event::Started { unit, taken_from } => {
                let words = self.plan.words(self.study, *unit);
                if let Some(owner) = taken_from {
                    self.say(&format!("taken over from {owner}: {words}"));
                }
                if let Some((multi, _)) = &self.bars {
                    let work = self.plan.work(self.study, *unit);
                    let bar = multi.add(progress::line(work).with_message(escape::plain(&words)));
                    self.lines.insert(*unit, (bar, 0));
                }
            }
            Event::Progress { unit, update } => {
                let arm = &self.study.arms[self.plan.units[*unit as usize].arm as usize];
                let reached = update - arm.from.map_or(0, |(_, at)| at);
                if let Some((bar, before)) = self.lines.get_mut(unit) {
                    bar.set_position(reached);
                    if let Some((_, all)) = &self.bars {
                        all.inc(reached.saturating_sub(*before));
                    }
                    *before = reached;
                }
            }
            Event::Finished { unit, record } => {
                self.finish(*unit);
                if let Outcome::Failed { what, .. } = &record.outcome {
                    self.say(&format!("FAILED {}: {what}", self.plan.words(self.study, *unit)));
                }
                if self.bars.is_none() && self.last.elapsed() >= Duration::from_secs(10) {
                    self.last = Instant::now();
                    self.tell();
                }
            }
            Event::Elsewhere { unit } => self.finish(*unit),
            Event::Stopped { unit } => {
                if let Some((bar, _)) = self.lines.remove(unit) {
                    bar.finish_and_clear();
                }
            }
            Event::Waiting { held } => {
                if *held > 0 {
                    self.say(&format!(
                        "waiting for {} that others compute",
                        counted(*held, "unit")
                    ));
                }
            }
        }
    }

    /// One line on how far it is, for logs.
    fn tell(&self) {
        let (name, units, updates) = (&self.study.name, self.units_done, self.done as usize);
        let timing = timing(self.began.elapsed(), self.done, self.total.saturating_sub(self.done));
        let (units, updates) = (counted(units, "unit"), counted(updates, "update"));
        note!("{name}: {units}, {updates}, {timing}");
    }

    fn finish(&mut self, unit: u32) {
        let work = self.plan.work(self.study, unit);
        self.done += work;
        self.units_done += 1;
        if let Some((bar, before)) = self.lines.remove(&unit) {
            bar.finish_and_clear();
            if let Some((_, all)) = &self.bars {
                all.inc(work.saturating_sub(before));
            }
        }
    }

    fn end(&mut self) {
        if let Some((multi, bar)) = &self.bars {
            bar.finish_and_clear();
            let _ = multi.clear(); // a terminal that went away
        }
    }
}
