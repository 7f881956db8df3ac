//! `backcut study plan`: what a study will compute, before it does.

use std::time::{Duration, Instant};

use anyhow::Result;
use backcut_lab::training::{Arm, RunConfig, Trainer};
use backcut_study::status::{UnitState, states};
use backcut_study::{Definition, Plan, Study, Tools};
use serde_json::json;

use super::{Target, commands};
use crate::exit::{Told as _, Verdict};
use crate::look::columns;
use crate::progress::words;
use crate::say::{self, out, outln};
use backcut_text::{counted, escape, thousands, wrapped};

/// How long the machine is measured.
const MEASURE: Duration = Duration::from_secs(2);
/// Bytes of a record with five evaluations of 256 trajectories, and of a log record.
const RECORD_BYTES: u64 = 8_000;
const LOG_BYTES: u64 = 56;

/// Options of `backcut study plan`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    target: Target,
    /// List every unit
    #[arg(long)]
    units: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Do not measure this machine; leave the time out
    #[arg(long)]
    no_measure: bool,
}

/// Seconds of one update and one panel, measured.
#[derive(Clone, Copy)]
struct Speed {
    update: f64,
    panel: f64,
}

/// Runs the command.
pub fn run(args: &Args, tools: Tools) -> Result<Verdict> {
    let (study, plan, store) = args.target.open(tools)?;
    let states = states(&plan, &store, Duration::from_mins(1)).told()?;
    let total = Totals::of(&study, &plan, &states, checkpoint_bytes(&study, tools)?);
    let speed = if args.no_measure || total.left_updates == 0 {
        None
    } else {
        measure(&study, &plan, tools)?
    };
    let seconds =
        speed.map(|s| total.left_updates as f64 * s.update + total.left_panels as f64 * s.panel);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if args.json {
        let units: Vec<_> = (0..plan.units.len() as u32)
            .filter(|_| args.units)
            .map(|unit| {
                json!({
                    "unit": plan.units[unit as usize].id,
                    "what": plan.words(&study, unit),
                    "updates": plan.work(&study, unit),
                    "state": states[unit as usize].word(),
                })
            })
            .collect();
        let mut value = json!({
            "study": study.name, "title": study.title, "sha256": study.hash(),
            "units": plan.units.len(), "done": total.done, "updates": total.updates,
            "updates_left": total.left_updates, "bytes": total.bytes,
            "seconds_on_one_core": seconds, "cores": cores, "list": units,
        });
        commands::add_to(&mut value, &study);
        say::json(serde_json::to_string_pretty(&value)?)?;
        return Ok(Verdict::Fine);
    }
    let title = format!("{}: {}", study.name, escape::plain(&study.title));
    outln!("{}", wrapped(&title, columns(), 2))?;
    let worlds = Universes::of(&study);
    let shown = study.arms.iter().filter(|arm| worlds.shows(arm.name.split_once('.')));
    let name = |arm: &str| worlds.within(arm.split_once('.'), arm).to_owned();
    let width = shown.clone().map(|arm| name(&arm.name).chars().count()).max().unwrap_or(0).max(10);
    if worlds.count > 0 {
        outln!("  in each of {}:", counted(worlds.count, "universe"))?;
    }
    for arm in shown {
        let grid = &study.grids[arm.grid];
        let conditions = counted(arm.conditions.len(), "condition");
        let each = format!("{conditions} x {}", counted(grid.sources.len(), "source"));
        let once = arm.shared.as_ref().map(|s| format!("once for all, seed {}", s.seed));
        let often = once.unwrap_or(each);
        let reused = arm.origin.as_ref().map_or(String::new(), |o| format!("  (reused from {o})"));
        let from = arm.from.map_or(String::new(), |(p, at)| {
            format!(" from {} at {at}", name(&study.arms[p].name))
        });
        let cut = if arm.program.is_some() { String::new() } else { arm.cut.to_string() };
        let lead = format!("  {:<width$} {cut:<6} ", name(&arm.name));
        let line = format!("{lead}{often}, to update {}{from}{reused}", arm.updates);
        out!("{}", wrapped(&line, columns(), lead.chars().count()))?;
    }
    for line in commands::lines(&study) {
        outln!("{line}")?;
    }
    if !study.measured.is_empty() {
        outln!(
            "  {} per source and condition, by kind and state",
            counted(study.measured.len(), "measurement")
        )?;
    }
    outln!()?;
    outln!("  units     {} ({} done)", thousands(plan.units.len()), thousands(total.done))?;
    outln!(
        "  updates   {} ({} left)",
        thousands(total.updates as usize),
        thousands(total.left_updates as usize)
    )?;
    if let (Some(seconds), Some(Speed { update, panel })) = (seconds, speed) {
        let words = words(seconds / cores as f64);
        outln!("  time      about {words} on {cores} cores")?;
        outln!(
            "            (measured now: {:.2} ms an update, {:.0} ms a panel)",
            1e3 * update,
            1e3 * panel
        )?;
    }
    outln!("  disk      about {:.1} MB", total.bytes as f64 / 1e6)?;
    for family in &study.families {
        let parts = family.table.name.split_once(": ");
        if !worlds.shows(parts) {
            continue;
        }
        let contrasts = counted(family.params.contrasts.len(), "contrast");
        let line = format!(
            "  family    {}: {contrasts}, asks to be {}",
            escape::plain(worlds.within(parts, &family.table.name)),
            family.asks
        );
        out!("{}", wrapped(&line, columns(), 12))?;
    }
    if args.units {
        outln!()?;
        for unit in 0..plan.units.len() as u32 {
            let state = states[unit as usize].word();
            outln!(
                "{}  {state:<11}  {}",
                plan.units[unit as usize].id.short(),
                plan.words(&study, unit)
            )?;
        }
    }
    Ok(Verdict::Fine)
}

/// A study that was written out for many universes has every arm and family once in each; they are
/// shown once.
struct Universes<'s> {
    first: &'s str,
    count: usize,
}

impl<'s> Universes<'s> {
    fn of(study: &'s Study) -> Self {
        let of_arms = study.arms.iter().filter_map(|arm| Some(arm.name.split_once('.')?.0));
        let mut names: Vec<&str> = of_arms.collect();
        let mut families = study.families.iter().map(|family| family.table.name.split_once(": "));
        // A dot may stand in a cut's name too; a family says whose it is.
        let is_all = names.len() == study.arms.len()
            && families.all(|parts| parts.is_some_and(|(universe, _)| names.contains(&universe)));
        names.dedup();
        match names.first() {
            Some(first) if is_all && names.len() > 1 && !study.families.is_empty() => {
                Self { first, count: names.len() }
            }
            _ => Self { first: "", count: 0 },
        }
    }

    /// Whether a name that was split at its universe stands for all of them.
    fn shows(&self, parts: Option<(&str, &str)>) -> bool {
        self.count == 0 || parts.is_none_or(|(universe, _)| universe == self.first)
    }

    /// The name without its universe.
    fn within<'n>(&self, parts: Option<(&'n str, &'n str)>, whole: &'n str) -> &'n str {
        parts.filter(|_| self.count > 0).map_or(whole, |(_, rest)| rest)
    }
}

/// The size of a checkpoint: parameters and two moments, four bytes each, and a header.
fn checkpoint_bytes(study: &Study, tools: Tools) -> Result<u64> {
    let Some((_, choice)) = study.grids.first().and_then(|grid| grid.conditions.first()) else {
        return Ok(0);
    };
    if study.arms.iter().all(|arm| arm.program.is_some()) {
        return Ok(0); // a program's own checkpoints are removed when it has ended
    }
    let built = tools.catalogue.build(choice).told()?;
    Ok(12 * built.system().program().layout().len() as u64 + 4096)
}

struct Totals {
    done: usize,
    updates: u64,
    left_updates: u64,
    left_panels: u64,
    bytes: u64,
}

impl Totals {
    fn of(study: &Study, plan: &Plan, states: &[UnitState], checkpoint: u64) -> Self {
        let mut totals = Self { done: 0, updates: 0, left_updates: 0, left_panels: 0, bytes: 0 };
        for unit in 0..plan.units.len() as u32 {
            let work = plan.work(study, unit);
            let arm = &study.arms[plan.units[unit as usize].arm as usize];
            totals.updates += work;
            totals.bytes +=
                RECORD_BYTES + work * LOG_BYTES + plan.keep(unit).len() as u64 * checkpoint;
            if states[unit as usize] == UnitState::Done {
                totals.done += 1;
            } else if work > 0 {
                totals.left_updates += work;
                totals.left_panels += arm.evaluations.len() as u64;
            }
        }
        totals
    }
}

/// Trains the first unit's system for two seconds.
fn measure(study: &Study, plan: &Plan, tools: Tools) -> Result<Option<Speed>> {
    let Some(first) = (0..plan.units.len() as u32).find(|&u| plan.work(study, u) > 0) else {
        return Ok(None);
    };
    let Definition::Train(run) = plan.definition(study, first) else { return Ok(None) };
    let built = tools.catalogue.build(&run.system).told()?;
    let RunConfig { cut, seed, stream, optimizer, .. } = run;
    let arm = Arm { cut, seed, stream, optimizer };
    let mut trainer = Trainer::new(built.system(), arm).told()?;
    trainer.step().told()?;
    let began = Instant::now();
    let mut times = Vec::new();
    while began.elapsed() < MEASURE {
        let start = Instant::now();
        trainer.step().told()?;
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let start = Instant::now();
    trainer.evaluate().told()?;
    Ok(Some(Speed { update: times[times.len() / 2], panel: start.elapsed().as_secs_f64() }))
}
