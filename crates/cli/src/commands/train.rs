//! `backcut train`: one run in a folder, with its progress and its errors beside the paper's.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use backcut_engine::Cpu;
use backcut_systems::quadrotor::{Quadrotor, QuadrotorConfig};
use backcut_systems::{Stream, System};
use backcut_training::{
    Begin, Checkpoint, Control, Folder, Progress, RunConfig, RunOptions, Summary, ValidRun, config,
    run,
};
use indicatif::{ProgressBar, ProgressStyle};

use crate::exit::Verdict;
use crate::quadrotor::{
    EVALUATE_EVERY, ForwardArgs, choice, default_run, describe, load, paper_error, parse_cut,
    parse_stream, settings, thousands, user,
};

/// Seconds between saves of a running state.
const SAVE_EVERY_SECS: u64 = 5;

/// Options of `backcut train`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The system
    #[arg(value_parser = ["quadrotor"])]
    system: String,
    /// The backward graph: FF, FD, F_SG, KF, SEG-8, K4_SG, ... [default: FF]
    #[arg(long)]
    cut: Option<String>,
    #[command(flatten)]
    forward: ForwardArgs,
    /// The source's seed: initial parameters and batches [default: 1]
    #[arg(long)]
    seed: Option<u64>,
    /// Updates at the end of the run, counted from initialisation [default: 1000]
    #[arg(long)]
    updates: Option<u64>,
    /// Branch from this checkpoint: its settings hold where no option says otherwise
    #[arg(long, value_name = "CHECKPOINT")]
    from: Option<PathBuf>,
    /// The stream of batches: a, or b (the same sampler at seeds + 10^9) [default: a]
    #[arg(long, value_name = "a|b")]
    stream: Option<String>,
    /// Threshold of the global-norm clip
    #[arg(long, value_name = "NORM")]
    clip: Option<f64>,
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
    system: Quadrotor,
    config: ValidRun,
    from: Option<Checkpoint>,
    folder: Folder,
    begin: Begin,
    options: RunOptions,
}

impl Plan {
    fn resolve(args: &Args) -> Result<Self> {
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
        let mut config = match (&existing, &from) {
            (Some(existing), _) => existing.clone(),
            (None, Some(from)) => {
                let base = from.header().config.clone();
                RunConfig { start: Some(from.start()), ..base }
            }
            (None, None) => default_run(&QuadrotorConfig::default().check()?)?,
        };
        let system = args.forward.resolve(settings(&config.system)?)?;
        config.system = choice(&system)?;
        if let Some(cut) = &args.cut {
            config.cut = parse_cut(cut)?;
        }
        if let Some(stream) = &args.stream {
            config.stream = parse_stream(stream)?;
        }
        config.seed = args.seed.unwrap_or(config.seed);
        config.optimizer.clip = args.clip.unwrap_or(config.optimizer.clip);
        if existing.is_none() {
            config.numerics = backcut_kernels::NUMERICS_VERSION;
            config.updates = args.updates.unwrap_or(crate::quadrotor::UPDATES);
        } else {
            config.updates = args.updates.unwrap_or(config.updates);
        }
        if existing.is_none() || args.evaluate_every.is_some() || args.updates.is_some() {
            let start = config.start.as_ref().map_or(0, |s| s.update);
            let every = args.evaluate_every.unwrap_or(EVALUATE_EVERY);
            config.evaluations = config::evaluation_points(start, config.updates, every);
        }
        let config = config.check().map_err(|e| user(&e, e.hint()))?;
        let start = config.config().start.as_ref().map_or(0, |s| s.update);
        let updates = config.config().updates;
        if let Some(keep) = args.keep.iter().find(|&&u| u <= start || u > updates) {
            let hint = format!("this run has updates {} to {updates}", start + 1);
            return Err(user(format!("--keep {keep}: the run does not reach that update"), hint));
        }
        let out = args.out.clone().unwrap_or_else(|| default_folder(&system, &config));
        let folder = Folder::new(out);
        // A folder named by the run's own hash can hold no other run: taking it up again is safe.
        let begin = if args.resume || args.out.is_none() { Begin::Resume } else { Begin::Fresh };
        if args.out.is_none() && !args.resume && folder.config().exists() {
            eprintln!("this very run is here already: taking it up where it stands");
        }
        if args.resume && !folder.config().exists() {
            eprintln!("nothing to resume in {}: starting", folder.path().display());
        }
        let options = RunOptions { save_every: args.save_every, keep: args.keep.clone() };
        Ok(Self { system, config, from, folder, begin, options })
    }
}

fn read_config(folder: &Folder) -> Result<Option<RunConfig>> {
    let path = folder.config();
    if !path.exists() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(&path)
        .map_err(|e| user(format!("{}: {e}", path.display()), "check its permissions"))?;
    serde_json::from_str(&text).map(Some).map_err(|e| {
        let what = format!("{}: not a run's configuration: {e}", path.display());
        user(what, "choose another --out")
    })
}

fn default_folder(system: &Quadrotor, config: &ValidRun) -> PathBuf {
    let RunConfig { cut, seed, .. } = config.config();
    let window = system.config().window.map_or(String::new(), |w| format!("-w{w}"));
    let short = &config.hash()[..8];
    let reading = system.config().velocity;
    PathBuf::from("runs").join(format!("quadrotor-{cut}-{reading}{window}-{seed}-{short}"))
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Verdict> {
    let plan = Plan::resolve(args)?;
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
    let Plan { system, config, from, folder, begin, options } = &plan;
    let mut saved = Instant::now();
    let summary =
        run::run(Cpu::detect(), system, config, from.as_ref(), folder, *begin, options, &mut |p| {
            display.show(p);
            if stop.load(Ordering::SeqCst) {
                return Control::Stop;
            }
            if saved.elapsed() > Duration::from_secs(SAVE_EVERY_SECS) {
                saved = Instant::now();
                return Control::Save;
            }
            Control::Continue
        })
        .map_err(|e| user(&e, e.hint()))?;
    display.finish();
    print!("{}", table(&plan, &summary));
    if summary.is_finished {
        return Ok(Verdict::Fine);
    }
    let folder = plan.folder.path().display();
    eprintln!("stopped after update {}; the state is saved", summary.update);
    let keep: Vec<String> = plan.options.keep.iter().map(ToString::to_string).collect();
    let keep = if keep.is_empty() { String::new() } else { format!(" --keep {}", keep.join(",")) };
    eprintln!("hint: backcut train quadrotor --out {folder} --resume{keep}");
    Ok(Verdict::Interrupted)
}

fn announce(plan: &Plan) {
    let RunConfig { cut, seed, stream, start, .. } = plan.config.config();
    let weights = System::<f32>::program(&plan.system).layout().len();
    let stream = if *stream == Stream::B { ", stream b" } else { "" };
    eprintln!(
        "quadrotor, cut {cut}, {}, seed {seed}{stream}, {} weights",
        describe(plan.system.config()),
        thousands(weights)
    );
    if let Some(start) = start {
        eprintln!("branching after update {}", start.update);
    }
    eprintln!("in {}", plan.folder.path().display());
}

/// Progress on stderr: a bar for a terminal, a line per evaluation otherwise.
struct Display {
    bar: ProgressBar,
    total: u64,
    began: Option<(u64, Instant)>,
    error: Option<f64>,
    is_terminal: bool,
    drawn: Instant,
}

impl Display {
    fn new(total: u64) -> Self {
        let bar = ProgressBar::new(total);
        let style = ProgressStyle::with_template("{bar:12} {pos:>5}/{len} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
        Self { bar, total, began: None, error: None, is_terminal, drawn: Instant::now() }
    }

    fn show(&mut self, progress: &Progress) {
        let now = Instant::now();
        let update = progress.update.update;
        let (first, since) = *self.began.get_or_insert((update - 1, now));
        self.error = progress.evaluation.map(|p| p.mean).or(self.error);
        let is_due = now - self.drawn > Duration::from_millis(50) || update == self.total;
        let is_shown = if self.is_terminal { is_due } else { progress.evaluation.is_some() };
        if !is_shown {
            return;
        }
        self.drawn = now;
        let rate = (update - first) as f64 / (now - since).as_secs_f64().max(1e-3);
        let left = (self.total - update) as f64 / rate.max(1e-9);
        let error = self.error.map_or("-".to_owned(), |e| format!("{e:.5}"));
        let (loss, clipped) = (progress.update.loss, progress.clipped);
        let text =
            format!("loss {loss:.2} error {error} clipped {clipped} {rate:.0}/s {left:.0}s left");
        if self.is_terminal {
            self.bar.set_position(update);
            self.bar.set_message(text);
        } else {
            eprintln!("update {update}/{} {text}", self.total);
        }
    }

    fn finish(&self) {
        if self.is_terminal {
            self.bar.finish_and_clear();
        }
    }
}

/// The final table, at most 80 columns wide.
fn table(plan: &Plan, summary: &Summary) -> String {
    let mut lines = vec![
        "tracking error: mean squared distance to the reference on the panel, m^2".to_owned(),
        format!("{:>8} {:>12} {:>12} {:>10}", "update", "error", "paper's FF", "difference"),
    ];
    let paper = paper_error(plan.system.config().velocity);
    for (update, panel) in &summary.panels {
        // The paper's figures belong to the end of its runs, 1000 updates.
        let beside = paper.filter(|_| *update == 1000).map_or(String::new(), |paper| {
            format!(" {paper:>12.5} {:>+9.1}%", 100.0 * (panel.mean / paper - 1.0))
        });
        lines.push(format!("{update:>8} {:>12.5}{beside}", panel.mean));
    }
    if let Some(paper) = paper.filter(|_| summary.panels.last().is_none_or(|(u, _)| *u != 1000)) {
        lines.push(format!("the paper's FF after 1000 updates: {paper:.5}"));
    }
    let done = summary.update - plan.config.config().start.as_ref().map_or(0, |s| s.update);
    lines.push(format!("clipped {} of {done} updates", summary.clipped));
    lines.join("\n") + "\n"
}
