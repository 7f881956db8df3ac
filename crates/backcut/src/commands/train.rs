//! `backcut train`: one run in a folder, with its progress and its errors beside the paper's.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use backcut_lab::training::{
    Begin, Checkpoint, Control, Folder, Progress, Restored, RunConfig, RunOptions, Summary,
    ValidRun, config, run,
};
use backcut_study::{EVALUATE_EVERY, Tools};
use backcut_systems::{Built, Quantity, Stream, SystemChoice};
use indicatif::ProgressBar;

use crate::common::{default_run, described, load, parse_cut, parse_stream};
use crate::exit::{Told as _, Verdict, user};
use crate::optimizer::{OptimizerArgs, check_groups};
use crate::progress::{self, Counts};
use crate::publication::{Publication, Published};
use crate::say::{note, out};
use crate::settings::SettingArgs;
use backcut_text::thousands;

/// Seconds between saves of a running state.
const SAVE_EVERY_SECS: u64 = 5;

/// Options of `backcut train`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The system, by its name in the catalogue
    system: String,
    /// The backward graph: FF, FD, F_SG, KF, SEG-8, K4_SG, ... [default: FF]
    #[arg(long)]
    cut: Option<String>,
    #[command(flatten)]
    settings: SettingArgs,
    /// The source's seed: initial parameters and batches [default: 1]
    #[arg(long)]
    seed: Option<u64>,
    /// Updates at the end of the run, counted from initialisation [default: the system's]
    #[arg(long)]
    updates: Option<u64>,
    /// Branch from this checkpoint: its settings hold where no option says otherwise
    #[arg(long, value_name = "CHECKPOINT")]
    from: Option<PathBuf>,
    /// The stream of batches: a, or b (the same sampler at seeds + 10^9) [default: a]
    #[arg(long, value_name = "a|b")]
    stream: Option<String>,
    #[command(flatten)]
    optimizer: OptimizerArgs,
    /// Updates between evaluations of the panel [default: 200]
    #[arg(long, value_name = "N")]
    evaluate_every: Option<u64>,
    /// The run's folder [default: one under runs/, named by the configuration]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Continue the run in the folder
    #[arg(long)]
    resume: bool,
    /// Save the state every N updates (it is saved every few seconds in any case)
    #[arg(long, value_name = "N", default_value_t = 1000)]
    save_every: u64,
    /// Updates whose state is kept in a file of its own
    #[arg(long, value_name = "U,U,...", value_delimiter = ',')]
    keep: Vec<u64>,
}

/// Everything decided before training starts.
struct Plan {
    built: Arc<Built>,
    config: ValidRun,
    from: Option<Checkpoint>,
    folder: Folder,
    begin: Begin,
    options: RunOptions,
}

impl Plan {
    fn resolve(args: &Args, tools: Tools) -> Result<Self> {
        let existing = match &args.out {
            Some(out) if args.resume => read_config(&Folder::new(out))?,
            _ => None,
        };
        if args.evaluate_every == Some(0) {
            return Err(user("--evaluate-every 0", "count updates from 1"));
        }
        let from = args.from.as_deref().map(load).transpose()?;
        if let (Some(existing), Some(from)) = (&existing, &from)
            && existing.start.as_ref() != Some(&from.start())
        {
            let what = "--from names another checkpoint than the run in --out starts from";
            return Err(user(what, "leave --from out to resume, or choose another --out"));
        }
        let base = match (&existing, &from) {
            (Some(existing), _) => Some(existing.clone()),
            (None, Some(from)) => Some(RunConfig {
                start: Some(from.start()),
                numerics: backcut_kernels::NUMERICS_VERSION,
                ..from.header().config.clone()
            }),
            (None, None) => None,
        };
        let choice = match &base {
            Some(base) if base.system.name != args.system => {
                let what = format!("{} is asked for, {} is there", args.system, base.system.name);
                return Err(user(what, "a run goes on with the system it began with"));
            }
            Some(base) => base.system.clone(),
            None => SystemChoice::new(&args.system, serde_json::Map::new()),
        };
        let built = args.settings.over(&choice, tools.catalogue)?;
        // Another phase has its own optimizer and its own number of updates.
        let is_branch = existing.is_none() && base.is_some();
        let is_new_phase =
            is_branch && tools.catalogue.outline(&choice).told()?.phase != built.phase;
        let has_own_optimizer = base.is_none() || is_new_phase;
        let mut config = base.unwrap_or_else(|| default_run(&built));
        if is_new_phase {
            config.optimizer = built.optimizer.clone();
        }
        config.system = built.choice.clone();
        if let Some(cut) = &args.cut {
            config.cut = parse_cut(cut)?;
        }
        if let Some(stream) = &args.stream {
            config.stream = parse_stream(stream)?;
        }
        config.seed = args.seed.unwrap_or(config.seed);
        let done = config.start.as_ref().filter(|_| is_new_phase).map_or(0, |s| s.update);
        let usual = if existing.is_none() { done + built.updates } else { config.updates };
        config.updates = args.updates.unwrap_or(usual);
        if has_own_optimizer {
            let steps = config.updates.saturating_sub(done);
            config.optimizer = config.optimizer.ending_with(steps.max(1));
        }
        config.optimizer = args.optimizer.over(config.optimizer)?;
        check_groups(&config, built.system().program().layout())?;
        if existing.is_none() || args.evaluate_every.is_some() || args.updates.is_some() {
            let start = config.start.as_ref().map_or(0, |s| s.update);
            let every = args.evaluate_every.unwrap_or(EVALUATE_EVERY);
            config.evaluations = config::evaluation_points(start, config.updates, every);
        }
        let config = config.check().told()?;
        let start = config.config().start.as_ref().map_or(0, |s| s.update);
        let updates = config.config().updates;
        if let Some(keep) = args.keep.iter().find(|&&u| u <= start || u > updates) {
            let hint = format!("this run has updates {} to {updates}", start + 1);
            return Err(user(format!("--keep {keep}: the run does not reach that update"), hint));
        }
        let out = args.out.clone().unwrap_or_else(|| default_folder(&built, &config));
        let folder = Folder::new(out);
        // A folder named by the run's own hash can hold no other run: taking it up again is safe.
        let begin = if args.resume || args.out.is_none() { Begin::Resume } else { Begin::Fresh };
        if args.out.is_none() && !args.resume && folder.config().exists() {
            note!("this very run is here already: taking it up where it stands");
        }
        if args.resume && !folder.config().exists() {
            note!("nothing to resume in {}: starting", folder.path().display());
        }
        let options = RunOptions { save_every: args.save_every, keep: args.keep.clone() };
        Ok(Self { built, config, from, folder, begin, options })
    }
}

fn read_config(folder: &Folder) -> Result<Option<RunConfig>> {
    let path = folder.config();
    if !path.exists() {
        return Ok(None);
    }
    let text = backcut_files::read_text(&path)
        .map_err(|e| user(format!("{}: {e}", path.display()), "check its permissions"))?;
    serde_json::from_str(&text).map(Some).map_err(|e| {
        let what = format!("{}: not a run's configuration: {e}", path.display());
        user(what, "choose another --out")
    })
}

fn default_folder(built: &Built, config: &ValidRun) -> PathBuf {
    let RunConfig { cut, seed, .. } = config.config();
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    let words: String = built.words.replace(", ", "-").chars().map(plain).take(40).collect();
    let (name, short) = (&built.choice.name, &config.hash()[..8]);
    PathBuf::from("runs").join(format!("{name}-{cut}-{words}-{seed}-{short}"))
}

/// Runs the command.
pub fn run(args: &Args, tools: Tools, publication: Option<&dyn Publication>) -> Result<Verdict> {
    let plan = Plan::resolve(args, tools)?;
    let stop = Arc::new(AtomicBool::new(false));
    let handler = stop.clone();
    ctrlc::set_handler(move || {
        if handler.swap(true, Ordering::SeqCst) {
            std::process::exit(130); // asked twice: the last saved state will do
        }
    })
    .context("cannot catch Ctrl-C")?;
    announce(&plan);
    let mut display = Display::new(plan.config.config().updates);
    let Plan { built, config, from, folder, begin, options } = &plan;
    let from = from.as_ref().map(|from| Restored::new(tools.catalogue, from));
    let from = from.transpose().told()?.map(|from| from.branch(built, &config.config().optimizer));
    let mut saved = Instant::now();
    let mut heard = |progress: &Progress| {
        display.show(progress);
        if stop.load(Ordering::SeqCst) {
            return Control::Stop;
        }
        if saved.elapsed() > Duration::from_secs(SAVE_EVERY_SECS) {
            saved = Instant::now();
            return Control::Save;
        }
        Control::Continue
    };
    let (system, from) = (built.system(), from.as_ref());
    let summary = run::run(system, config, from, folder, *begin, options, &mut heard);
    let summary = summary.told()?;
    display.finish();
    let published = publication.and_then(|p| p.error_of(&plan.built.choice));
    out!("{}", table(&plan, &summary, published))?;
    if summary.is_finished {
        return Ok(Verdict::Fine);
    }
    let folder = plan.folder.path().display();
    note!("stopped after update {}; the state is saved", summary.update);
    let keep: Vec<String> = plan.options.keep.iter().map(ToString::to_string).collect();
    let keep = if keep.is_empty() { String::new() } else { format!(" --keep {}", keep.join(",")) };
    let name = &plan.built.choice.name;
    note!("hint: backcut train {name} --out {folder} --resume{keep}");
    Ok(Verdict::Interrupted)
}

fn announce(plan: &Plan) {
    let RunConfig { cut, seed, stream, start, .. } = plan.config.config();
    let weights = thousands(plan.built.system().program().layout().len());
    let stream = if *stream == Stream::B { ", stream b" } else { "" };
    let system = described(&plan.built);
    note!("{system}, cut {cut}, seed {seed}{stream}, {weights} weights");
    if let Some(start) = start {
        note!("branching after update {}", start.update);
    }
    note!("in {}", plan.folder.path().display());
}

/// Progress on stderr: a bar for a terminal, a line per evaluation otherwise.
struct Display {
    bar: ProgressBar,
    total: u64,
    began: Option<(u64, Instant)>,
    error: Option<f64>,
    is_watched: bool,
    drawn: Instant,
}

impl Display {
    fn new(total: u64) -> Self {
        let bar = progress::bar("", total, Counts::Things);
        let is_watched = progress::is_watched();
        Self { bar, total, began: None, error: None, is_watched, drawn: Instant::now() }
    }

    fn show(&mut self, progress: &Progress) {
        let now = Instant::now();
        let update = progress.update.update;
        let (first, since) = *self.began.get_or_insert_with(|| {
            self.bar.reset_eta(); // a run that goes on did not begin at zero
            (update - 1, now)
        });
        self.error = progress.evaluation.map(|p| p.mean).or(self.error);
        let is_due = now - self.drawn > Duration::from_millis(50) || update == self.total;
        let is_shown = if self.is_watched { is_due } else { progress.evaluation.is_some() };
        if !is_shown {
            return;
        }
        self.drawn = now;
        let error = self.error.map_or("-".to_owned(), |e| format!("{e:.5}"));
        let (loss, clipped) = (progress.update.loss, progress.clipped);
        let text = format!("loss {loss:.2} error {error}");
        if self.is_watched {
            // How many were clipped would not fit 80 columns; it is said at the end.
            self.bar.set_position(update);
            self.bar.set_message(text);
        } else {
            let timing = progress::timing(now - since, update - first, self.total - update);
            note!("update {update}/{} {text} clipped {clipped}, {timing}", self.total);
        }
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// The final table, at most 80 columns wide.
fn table(plan: &Plan, summary: &Summary, published: Option<Published>) -> String {
    let Quantity { name, unit } = plan.built.error;
    let unit = if unit.is_empty() { String::new() } else { format!(", {unit}") };
    let mut lines = vec![format!("error: {name}, on the panel{unit}")];
    let is_at = |p: &Published| summary.panels.iter().any(|(update, _)| *update == p.update);
    let beside = published
        .filter(is_at)
        .map_or_else(String::new, |Published { name, .. }| format!(" {name:>12} difference"));
    lines.push(format!("{:>8} {:>12}{beside}", "update", "error"));
    for (update, panel) in &summary.panels {
        // What was published belongs to the end of the runs that it comes from.
        let beside = published.filter(|p| p.update == *update);
        let beside = beside.map_or_else(String::new, |Published { error, .. }| {
            format!(" {error:>12.5} {:>+9.1}%", 100.0 * (panel.mean / error - 1.0))
        });
        lines.push(format!("{update:>8} {:>12.5}{beside}", panel.mean));
    }
    let ends_there = |p: &Published| summary.panels.last().is_some_and(|(u, _)| *u == p.update);
    if let Some(Published { name, update, error }) = published.filter(|p| !ends_there(p)) {
        lines.push(format!("the {name} after {update} updates: {error:.5}"));
    }
    let done = summary.update - plan.config.config().start.as_ref().map_or(0, |s| s.update);
    lines.push(if plan.config.config().optimizer.clip.is_on() {
        format!("clipped {} of {done} updates", summary.clipped)
    } else {
        format!("{done} updates without a clip")
    });
    lines.join("\n") + "\n"
}
