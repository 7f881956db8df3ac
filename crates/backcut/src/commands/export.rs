//! `backcut export`: one batch with everything another framework needs to check a gradient.
//!
//! The file holds what went in (parameters, initial states, references, standardised noise, what is
//! fed from outside), what came out (tokens, states, actions, losses), and per cut the gradient of
//! the summed loss and the update that clip and optimizer would really make from this state.
//! Nothing is trained. With `--panel` it holds the evaluation panel instead.

mod panel;

use std::path::PathBuf;

use anyhow::Result;
use backcut_engine::{Cut, Fed, Model, Rollout, Workspace};
use backcut_kernels::Real;
use backcut_lab::measure::outside::{FORMAT, tagged};
use backcut_lab::training::{Checkpoint, Moments, RunConfig, Tensors, clip, update as made};
use backcut_study::Tools;
use backcut_systems::{BatchKey, Clip, Optimizer, Placed, System, SystemChoice};
use serde_json::{Map, Value, json};

use crate::common::{default_run, load, parse_cut, parse_stream, write};
use crate::exit::{Told as _, Verdict, user};
use crate::optimizer::{OptimizerArgs, check_groups};
use crate::say::note;
use crate::settings::SettingArgs;

/// Options of `backcut export`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The system, by its name in the catalogue [default: the first, or the checkpoint's]
    #[arg(long)]
    system: Option<String>,
    /// The source's seed: initial parameters and batch [default: 1, or the checkpoint's]
    #[arg(long)]
    seed: Option<u64>,
    #[command(flatten)]
    settings: SettingArgs,
    #[command(flatten)]
    optimizer: OptimizerArgs,
    /// Take parameters, moments and counters from this checkpoint, or from a run's latest
    #[arg(long, value_name = "CHECKPOINT")]
    from: Option<PathBuf>,
    /// The stream of batches: a or b [default: a]
    #[arg(long, value_name = "a|b")]
    stream: Option<String>,
    /// Cuts whose gradients and updates are written
    #[arg(long, value_delimiter = ',', default_value = "FF,FD,F_SG,KF,KD,K_SG,SEG-4")]
    cuts: Vec<String>,
    /// Working precision of the rollout, the gradients and the file
    #[arg(long, value_parser = ["f32", "f64"], default_value = "f32")]
    precision: String,
    /// Write the evaluation panel instead of a batch: every tap, attention, and what probes and
    /// donors need
    #[arg(long, conflicts_with_all = ["cuts", "stream", "precision"])]
    panel: bool,
    /// The file to write
    #[arg(long, value_name = "FILE.safetensors")]
    out: PathBuf,
}

/// Runs the command.
pub fn run(args: &Args, tools: Tools) -> Result<Verdict> {
    let from = args.from.as_deref().map(load).transpose()?;
    let base = from.as_ref().map(|from| from.header().config.clone());
    let choice = match (&base, &args.system) {
        (Some(base), Some(name)) if *name != base.system.name => {
            let what = format!("--system {name}: the checkpoint is of {}", base.system.name);
            return Err(user(what, "leave --system out"));
        }
        (Some(base), _) => base.system.clone(),
        (None, name) => SystemChoice::new(&named(name.as_deref(), tools)?, Map::new()),
    };
    if base.is_some() && args.settings.is_empty() {
        tools.catalogue.restore(&choice).told()?;
    }
    let built = args.settings.over(&choice, tools.catalogue)?;
    // As in training, another phase keeps the parameters and begins its own optimizer.
    let is_new_phase =
        base.is_some() && tools.catalogue.build(&choice).told()?.phase != built.phase;
    let mut config = base.unwrap_or_else(|| default_run(&built));
    if is_new_phase {
        config.optimizer = built.optimizer.clone();
    }
    let before = config.optimizer.clone();
    config.optimizer = args.optimizer.over(config.optimizer)?;
    check_groups(&config, built.system().program().layout())?;
    let begins_anew = is_new_phase || !config.optimizer.remembers_like(&before);
    config.system = built.choice.clone();
    config.seed = args.seed.unwrap_or(config.seed);
    if let Some(stream) = &args.stream {
        config.stream = parse_stream(stream)?;
    }
    let cuts = args.cuts.iter().map(|text| parse_cut(text)).collect::<Result<Vec<Cut>>>()?;
    let start = from.as_ref().map(|checkpoint| Start { checkpoint, begins_anew });
    let bytes = match args.precision.as_str() {
        _ if args.panel => panel::export(built.system(), &config, start)?,
        "f64" => export(built.double(), &config, start, &cuts)?,
        _ => export(built.system(), &config, start, &cuts)?,
    };
    write(&args.out, &bytes)?;
    note!("{} bytes in {}", bytes.len(), args.out.display());
    Ok(Verdict::Fine)
}

/// The name that was asked for, or that of the catalogue's first system.
pub fn named(name: Option<&str>, tools: Tools) -> Result<String> {
    let name = name.or_else(|| tools.catalogue.names().next());
    let name = name.ok_or_else(|| user("no system", "the catalogue is empty"))?;
    Ok(name.to_owned())
}

/// A checkpoint, and whether the optimizer of what is exported begins anew there.
#[derive(Clone, Copy)]
struct Start<'c> {
    checkpoint: &'c Checkpoint,
    begins_anew: bool,
}

/// Parameters, moments and updates done.
fn state<R: Real>(
    system: &dyn System<R>,
    config: &RunConfig,
    start: Option<Start>,
) -> Result<(u64, Vec<R>, Moments<R>)> {
    let layout = system.program().layout();
    let Some(Start { checkpoint, begins_anew }) = start else {
        return Ok((0, layout.initialise(config.seed), Moments::zeros(layout.len())));
    };
    let state = checkpoint.state(layout).told()?;
    let widen =
        |values: &[f32]| values.iter().map(|v| R::from_f64(f64::from(*v))).collect::<Vec<R>>();
    if begins_anew {
        return Ok((state.update, widen(&state.params), Moments::zeros(layout.len())));
    }
    let (first, second) = (widen(&state.moments.first), widen(&state.moments.second));
    let moments = Moments { step: state.moments.step, first, second };
    Ok((state.update, widen(&state.params), moments))
}

fn export<R: Real>(
    system: &dyn System<R>,
    config: &RunConfig,
    start: Option<Start>,
    cuts: &[Cut],
) -> Result<Vec<u8>> {
    let (update, params, moments) = state(system, config, start)?;
    let (program, rows, steps) = (system.program(), system.batch_rows(), system.steps());
    let layout = program.layout();
    // The rates that the schedule has at this step are part of what is exported.
    let placed =
        Placed::new(&config.optimizer, layout).map_err(|e| user(e, "correct the groups"))?;
    let rules = placed.stretches(&config.optimizer, moments.step + 1);
    let key = BatchKey { seed: config.seed, stream: config.stream, update };
    let model = Model::new(program, params)?;
    let mut rollout = Rollout::new(program, rows, steps, system.spec()).told()?;
    system.fill_batch(key, &mut rollout).map_err(|e| user(e, "choose another seed"))?;
    let hint = "the policy fails on this batch: choose another seed or checkpoint";
    let loss = model.roll(&mut rollout).map_err(|e| user(e, hint))?;
    let mut workspace = Workspace::new(&rollout, cuts).told()?;
    workspace.draw(key.draw());
    workspace.backward(&model, &rollout).told()?;

    let mut tensors = Tensors::default();
    tensors.add_parameters("param", layout, model.values());
    let kept = [("moment1", &moments.first), ("moment2", &moments.second)];
    for (family, values) in kept.into_iter().take(config.optimizer.rule.keeps()) {
        tensors.add_parameters(family, layout, values);
    }
    for (name, shape, values) in system.raw_batch(key) {
        let rounded: Vec<R> = values.iter().map(|v| R::from_f64(*v)).collect();
        tensors.add(&format!("input/{name}"), &shape, &rounded);
    }
    add_values(&mut tensors, &rollout);
    let forward = add_fed(&mut tensors, &rollout);
    tensors.add("output/loss", &[1], &[loss]);
    tensors.add("output/row_loss", &[rows], rollout.row_loss().unwrap_or_default());

    let mut of_cut = Map::new();
    for (index, cut) in cuts.iter().enumerate() {
        let gradient = workspace.gradient(index);
        let norm = model.norm(workspace.gradient(index));
        let (clipped, factor) = clip(gradient, config.optimizer.clip);
        let (applied, _) = made(&rules, model.values(), &moments, &clipped);
        tensors.add_parameters(&format!("gradient/{cut}"), layout, gradient);
        tensors.add_parameters(&format!("update/{cut}"), layout, &applied);
        of_cut.insert(cut.to_string(), json!({"norm": norm, "factor": factor}));
    }
    let mut header = describe::<R>(config, update, moments.step, &of_cut)?;
    header["arms"] = cuts.iter().map(Cut::to_string).collect();
    let names = layout.parameters().iter().map(|parameter| parameter.name.as_str());
    header["parameters"] = names.collect();
    header["optimizer"] = optimizer(&config.optimizer, moments.step + 1)?;
    header["forward"] = forward;
    header["constants"] = system.constants().into();
    Ok(tensors.to_bytes(&header))
}

/// The optimizer as docs/format.md has it, with the rate of this step.
fn optimizer(optimizer: &Optimizer, step: u64) -> Result<Value> {
    let mut form = tagged(&optimizer.at(step))?;
    if let Clip::Norm(threshold) = optimizer.clip {
        form["clip"] = threshold.into();
    }
    if !optimizer.groups.is_empty() {
        form["groups"] = json!(optimizer.groups);
    }
    Ok(form)
}

/// What the program read and what came out, `[step][row][column]`; a tap `next_NAME` is called
/// NAME.
fn add_values<R: Real>(tensors: &mut Tensors, rollout: &Rollout<R>) {
    let (program, rows, steps) = (rollout.program(), rollout.rows(), rollout.steps());
    let carried = program.states().iter().chain(program.registers());
    let carried: Vec<&str> = carried.map(|c| c.name.as_str()).collect();
    let read: Vec<&str> = program.inputs().map(|(name, _)| name).collect();
    for name in program.tap_names() {
        let Some(site) = program.tap(name) else { continue };
        let width = program.width(site);
        if carried.contains(&name) {
            let first = rollout.value(site, 0);
            tensors.add(&format!("initial/{name}"), &[rows, width], first);
            continue;
        }
        let family = if read.contains(&name) { "read" } else { "output" };
        let name = name.strip_prefix("next_").unwrap_or(name);
        let values = rollout.values(site);
        tensors.add(&format!("{family}/{name}"), &[steps, rows, width], values);
    }
}

/// What is fed from outside, `[step][row][column]` of its steps; returns where, and the prefix.
fn add_fed<R: Real>(tensors: &mut Tensors, rollout: &Rollout<R>) -> Value {
    let mut steps_of = Map::new();
    for Fed { site: name, steps } in &rollout.spec().fed {
        let Some(site) = rollout.program().tap(name) else { continue };
        let values: Vec<R> = steps.clone().flat_map(|t| rollout.value(site, t).to_vec()).collect();
        let shape = [steps.len(), rollout.rows(), rollout.program().width(site)];
        tensors.add(&format!("fed/{name}"), &shape, &values);
        steps_of.insert(name.clone(), json!([steps.start, steps.end]));
    }
    json!({"prefix": rollout.spec().prefix, "fed": steps_of})
}

fn describe<R: Real>(
    config: &RunConfig,
    update: u64,
    adam_step: u64,
    cuts: &Map<String, Value>,
) -> Result<Value> {
    Ok(json!({
        "kind": "export",
        "format": FORMAT,
        "config": serde_json::to_value(config)?,
        "precision": R::NAME,
        "update": update,
        "adam_step": adam_step,
        "step": adam_step,
        "rate": config.optimizer.at(adam_step + 1).rate(),
        "cuts": cuts,
        "layout": {
            "order": "row-major",
            "linear": "weights are in x out: y = x W + b; biases, gains and norms are 1 x out",
            "position": "one row per step",
            "heads": "head h is columns h*d ... (h+1)*d-1 of query, key and value",
            "loss": "summed over rows and steps, always f64",
            "gradient": "of output/loss, before clipping",
            "update": "theta' - theta of one step of config.optimizer, clipped, from this state",
            "input": "the numbers behind the batch, as the system's sampler drew them",
            "read": "inputs of the step program, initial values of its states beside them",
            "output": "taps of the step program, [step][row][column]; a state is the one after the \
                       step",
            "fed": "constants in place of a value at the steps of forward.fed, its end not \
                    included",
            "forward": "the first steps, forward.prefix of them, have no loss and pass no gradient",
            "constants": "what the system computes with and its settings do not show",
        },
    }))
}
