//! `backcut explain`: what a cut keeps and what it cuts, in words, in a drawing and in numbers.
//!
//! Everything printed is read off the compiled program's own edge list (`backcut_engine::edges`);
//! this file chooses what to show. The drawing must read without colour and fit 80 columns, so a
//! rollout that is too long for one cell per step is drawn with several steps per cell.

mod dot;
mod drawing;
mod words;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use backcut_engine::edges::{Edge, EdgeList, Reach, Tally, Through};
use backcut_engine::{Draw, ForwardSpec, MemoryReads, Program};
use backcut_study::Tools;
use backcut_systems::SystemChoice;
use serde::Serialize;

use crate::common::{parse_cut, print, print_document, print_json, write};
use crate::exit::{Told as _, Verdict, user};
use crate::settings::SettingArgs;
use crate::shape::Shape;

const EXAMPLES: &str = "\
Cuts: FF FD F_SG KF KD K_SG SEG-8 K_SEG-8 K4F K4_SG F_A0.5

  backcut explain SEG-8                  what SEG-8 keeps in a rollout of 32 steps
  backcut explain K4_SG --step 20        where the loss of step 20 sends credit
  backcut explain FF --window 4          full credit through a forward window
  backcut explain FF:velocity=D --system vessel   in a system's own program
  backcut explain FD --steps 6 --dot -   the graph for Graphviz";

/// What a cut keeps and what it cuts: words, a drawing, counts, and the reach of a loss.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The backward graph, such as FF, F_SG, SEG-8 or FF:keys=D
    cut: String,
    /// Explain it in this system's own program, by its name in the catalogue
    #[arg(long, value_name = "NAME", conflicts_with_all = ["layers", "width", "heads", "window"])]
    system: Option<String>,
    #[command(flatten)]
    settings: SettingArgs,
    /// Steps of the rollout [default: 32, or the system's]
    #[arg(long, value_name = "T")]
    steps: Option<usize>,
    /// Attention layers
    #[arg(long, value_name = "N", default_value_t = 2)]
    layers: usize,
    /// Columns of the hidden representation
    #[arg(long, default_value_t = 64)]
    width: usize,
    /// Attention heads
    #[arg(long, default_value_t = 4)]
    heads: usize,
    /// Forward window: each query reads the last W positions, its own included [default: all]
    #[arg(long, value_name = "W")]
    window: Option<usize>,
    /// Whose loss to follow back, counted from 0 [default: the last step]
    #[arg(long, value_name = "t")]
    step: Option<usize>,
    /// Print JSON instead of text
    #[arg(long, conflicts_with = "dot")]
    json: bool,
    /// Write the graph for Graphviz; `-` prints it instead of the text
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,
}

/// Steps of a rollout unless something else is asked for.
const STEPS: usize = 32;
/// How the taps of what a layer stores end.
const STORED: &str = ".stored";
/// Listing is quadratic in the steps.
const MAX_STEPS: usize = 2048;
const MAX_LAYERS: usize = 16;

/// Runs the command.
pub fn run(args: &Args, tools: Tools) -> anyhow::Result<Verdict> {
    if let Some(name) = &args.system {
        let choice = SystemChoice::new(name, serde_json::Map::new());
        let built = args.settings.over(&choice, tools.catalogue)?;
        let (system, outer) = (built.system(), built.system().spec());
        // A system's prefix is no part of the steps that are asked for.
        let steps = args.steps.map_or_else(|| system.steps(), |steps| steps + outer.prefix);
        let most = system.program().max_steps().unwrap_or(MAX_STEPS);
        if steps == outer.prefix || steps > most {
            let what = format!("{} steps of `{name}`", steps - outer.prefix);
            return Err(user(what, format!("use at least 1 and at most {}", most - outer.prefix)));
        }
        check_size(steps, system.program().cache_names().count())?;
        let of = Explaining { steps, prefix: outer.prefix, reads: outer.reads, window: None };
        return explain(args, system.program(), of, serde_json::to_value(&built.choice)?);
    }
    if !args.settings.is_empty() {
        return Err(user("settings without a system", "add --system NAME"));
    }
    let Args { layers, width, heads, window, .. } = *args;
    let steps = args.steps.unwrap_or(STEPS);
    check_size(steps, layers)?;
    let shape = Shape { steps, layers, width, heads };
    let of = Explaining { steps, prefix: 0, reads: reads(window)?, window };
    explain(args, &shape.program()?, of, serde_json::to_value(shape)?)
}

fn check_size(steps: usize, layers: usize) -> anyhow::Result<()> {
    if steps > MAX_STEPS || layers > MAX_LAYERS {
        let what = format!("{steps} steps and {layers} layers are too many edges to list");
        let hint = format!("use at most {MAX_STEPS} steps and {MAX_LAYERS} layers");
        return Err(user(what, hint));
    }
    Ok(())
}

/// The rollout in which a cut is explained.
struct Explaining {
    steps: usize,
    prefix: usize,
    reads: MemoryReads,
    window: Option<usize>,
}

fn explain(
    args: &Args,
    program: &Program,
    of: Explaining,
    described: serde_json::Value,
) -> anyhow::Result<Verdict> {
    let cut = parse_cut(&args.cut)?;
    let Explaining { steps, prefix, reads, window } = of;
    let edges = EdgeList::drawn(program, steps, prefix, &reads, cut, Draw::new(1, 0)).told()?;
    let step = args.step.unwrap_or(steps - 1);
    let reach = edges.reach(step).ok_or_else(|| {
        let what = format!("there is no step {step} in a rollout of {steps} steps");
        user(what, format!("steps are counted from 0: --step 0 to --step {}", steps - 1))
    })?;
    let explained = Explained { described, steps, prefix, window, program, edges, reach };
    match &args.dot {
        Some(path) if path == Path::new("-") => {
            return print_document(dot::graph(&explained.edges));
        }
        Some(path) => write(path, dot::graph(&explained.edges))?,
        None if args.json => return print_json(&explained.json()),
        None => {}
    }
    print(explained.text())
}

fn reads(window: Option<usize>) -> anyhow::Result<MemoryReads> {
    let Some(window) = window else { return Ok(MemoryReads::All) };
    let spec = ForwardSpec::<f32>::window(window).told()?;
    Ok(spec.reads)
}

/// Everything there is to say about a cut in one program.
struct Explained<'p> {
    /// The program, for other programs.
    described: serde_json::Value,
    steps: usize,
    prefix: usize,
    window: Option<usize>,
    program: &'p Program,
    edges: EdgeList<'p>,
    reach: Reach,
}

/// One line of the table of counts.
#[derive(Serialize)]
struct Count<'p> {
    through: Through,
    name: Cow<'p, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    layer: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    distance: Option<usize>,
    #[serde(flatten)]
    tally: Tally,
}

impl Explained<'_> {
    /// Taps of what layers store.
    fn stored(&self) -> impl Iterator<Item = &str> {
        self.program.tap_names().into_iter().filter(|name| name.ends_with(STORED))
    }

    fn text(&self) -> String {
        let mut out = words::meaning(self.edges.cut(), self.steps, self.window);
        out.push('\n');
        out.push_str(&drawing::draw(self));
        out.push('\n');
        out.push_str(&self.count_table());
        out
    }

    fn count_table(&self) -> String {
        let mut rows: Vec<(String, Tally)> = Vec::new();
        for count in self.counts(false) {
            let Count { through, name, layer, .. } = count;
            let label = match (through, layer) {
                (Through::State, _) => format!("state `{name}`"),
                (_, Some(layer)) => format!("memory, layer {layer} (`{name}`)"),
                (_, None) => format!("memory register `{name}`"),
            };
            rows.push((label, count.tally));
        }
        let label = |(name, tally)| (format!("value `{name}`, within a step"), tally);
        rows.extend(self.declared().into_iter().map(label));
        let mut out = table("edges of one trajectory", &rows);
        let by_distance = self.edges.tally_by(|e| (e.through.is_cache(), octave(e.distance())));
        let rows: Vec<(String, Tally)> = by_distance
            .into_iter()
            .filter(|((is_memory, _), _)| *is_memory)
            .map(|((_, octave), tally)| {
                let (low, high) = (1 << octave, ((2 << octave) - 1).min(self.steps - 1));
                let label = if low == high { low.to_string() } else { format!("{low} to {high}") };
                (label, tally)
            })
            .collect();
        if !rows.is_empty() {
            out.push('\n');
            out.push_str(&table("memory edges by distance, all layers", &rows));
        }
        out
    }

    /// Declared edges that the cut does not keep, one in every step.
    fn declared(&self) -> BTreeMap<&str, Tally> {
        let counted = |(name, fate)| {
            let mut tally = Tally::default();
            (0..self.steps).for_each(|_| tally.add(fate));
            (name, tally)
        };
        self.edges.declared().map(counted).collect()
    }

    /// Counts per state and cache, and per distance too if asked.
    fn counts(&self, by_distance: bool) -> Vec<Count<'_>> {
        let key = |e: &Edge| {
            let distance = by_distance.then(|| e.distance());
            (e.through, e.index, distance, self.edges.name(e))
        };
        let tallies = self.edges.tally_by(key);
        let count = |((through, index, distance, name), tally): ((Through, _, _, _), Tally)| {
            let layer = through.is_cache().then_some(index);
            Count { through, name, layer, distance, tally }
        };
        tallies.into_iter().map(count).collect()
    }

    fn json(&self) -> serde_json::Value {
        let steps = 0..=self.reach.loss_step();
        let fewest = |tap: &str| -> Vec<Option<usize>> {
            let site = self.program.tap(tap);
            steps.clone().map(|step| self.reach.at(step, site?)).collect()
        };
        let stored: Vec<_> = self.stored().map(fewest).collect();
        let weights: Vec<_> = steps.clone().map(|step| self.reach.stored_weights(step)).collect();
        let cut = self.edges.cut();
        serde_json::json!({
            "cut": cut,
            "meaning": cut.in_words(),
            "program": self.described,
            "window": self.window,
            "state_edges_per_path": self.edges.state_edges_per_path(),
            "edges": self.counts(false),
            "declared_edges": self.declared(),
            "edges_by_distance": self.counts(true),
            "reach": {
                "loss_step": self.reach.loss_step(),
                "meaning": "fewest state edges on a live path to each step, null where no credit \
                            arrives",
                "action": fewest("action"),
                "stored": stored,
                "projection_weights": weights,
            },
        })
    }
}

/// Distances 1, 2 to 3, 4 to 7, ... have the same octave.
fn octave(distance: usize) -> u32 {
    NonZeroUsize::new(distance).map_or(0, NonZeroUsize::ilog2)
}

/// A column of the table: which edges it counts.
type Of = fn(&Tally) -> usize;

/// Counts by fate; a fate that occurs nowhere has no column.
fn table(title: &str, rows: &[(String, Tally)]) -> String {
    let columns: [(&str, Of); 5] = [
        ("kept", |t| t.kept),
        ("weights only", |t| t.weights_only),
        ("scaled", |t| t.scaled),
        ("dropped", |t| t.dropped),
        ("all", Tally::total),
    ];
    let shown: Vec<_> = columns
        .into_iter()
        .filter(|(name, of)| *name == "kept" || rows.iter().any(|(_, tally)| of(tally) > 0))
        .collect();
    let mut out = String::new();
    let mut line = |label: &str, cells: Vec<String>| {
        let _ = write!(out, "{label:<38}");
        for (cell, (name, _)) in cells.iter().zip(&shown) {
            let _ = write!(out, "{cell:>0$}", name.len().max(6) + 2);
        }
        out.push('\n');
    };
    line(title, shown.iter().map(|(name, _)| (*name).to_owned()).collect());
    for (label, tally) in rows {
        line(&format!("  {label}"), shown.iter().map(|(_, of)| of(tally).to_string()).collect());
    }
    out
}
