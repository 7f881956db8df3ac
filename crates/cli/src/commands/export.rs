//! `backcut export`: one batch with everything another framework needs to check a gradient.
//!
//! The file holds what went in (parameters, initial states, references, standardised noise), what came
//! out (tokens, states, actions, losses), and per cut the gradient of the summed loss and the update
//! that clipping and AdamW would really make from this state. Nothing is trained.

use std::path::PathBuf;

use anyhow::Result;
use backcut_engine::{Cpu, Cut, Executor};
use backcut_kernels::Real;
use backcut_systems::quadrotor::{ACTIONS, Quadrotor, QuadrotorConfig, STATE, TOKEN};
use backcut_systems::{BatchKey, System};
use backcut_training::{Checkpoint, Moments, RunConfig, Tensors, adamw, clip, write_atomically};
use serde_json::{Map, Value, json};

use crate::exit::Verdict;
use crate::quadrotor::{
    ForwardArgs, choice, default_run, load, parse_cut, parse_stream, settings, user,
};

/// Options of `backcut export`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The system
    #[arg(long, value_parser = ["quadrotor"], default_value = "quadrotor")]
    system: String,
    /// The source's seed: initial parameters and batch [default: 1, or the checkpoint's]
    #[arg(long)]
    seed: Option<u64>,
    #[command(flatten)]
    forward: ForwardArgs,
    /// Take parameters, moments and counters from this checkpoint
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
    /// The file to write
    #[arg(long, value_name = "FILE.safetensors")]
    out: PathBuf,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Verdict> {
    let from = args.from.as_deref().map(load).transpose()?;
    let mut config = match &from {
        Some(from) => from.header().config.clone(),
        None => default_run(&QuadrotorConfig::default().check()?)?,
    };
    let system = args.forward.resolve(settings(&config.system)?)?;
    config.system = choice(&system)?;
    config.seed = args.seed.unwrap_or(config.seed);
    if let Some(stream) = &args.stream {
        config.stream = parse_stream(stream)?;
    }
    let cuts = args.cuts.iter().map(|text| parse_cut(text)).collect::<Result<Vec<Cut>>>()?;
    let bytes = match args.precision.as_str() {
        "f64" => export::<f64>(Cpu::detect(), &system, &config, from.as_ref(), &cuts)?,
        _ => export::<f32>(Cpu::detect(), &system, &config, from.as_ref(), &cuts)?,
    };
    write_atomically(&args.out, &bytes).map_err(|e| {
        let what = format!("{}: {e}", args.out.display());
        user(what, "check the folder, its permissions and the free space")
    })?;
    eprintln!("{} bytes in {}", bytes.len(), args.out.display());
    Ok(Verdict::Fine)
}

/// Parameters, moments and updates done.
fn state<R: Real>(
    system: &Quadrotor,
    config: &RunConfig,
    from: Option<&Checkpoint>,
) -> Result<(u64, Vec<R>, Moments<R>)> {
    let layout = System::<R>::program(system).layout();
    let Some(from) = from else {
        return Ok((0, layout.initialise(config.seed), Moments::zeros(layout.len())));
    };
    let state = from.state(layout).map_err(|e| user(&e, e.hint()))?;
    let widen =
        |values: &[f32]| values.iter().map(|v| R::from_f64(f64::from(*v))).collect::<Vec<R>>();
    let (first, second) = (widen(&state.moments.first), widen(&state.moments.second));
    let moments = Moments { step: state.moments.step, first, second };
    Ok((state.update, widen(&state.params), moments))
}

fn export<R: Real>(
    executor: &dyn Executor<R>,
    system: &Quadrotor,
    config: &RunConfig,
    from: Option<&Checkpoint>,
    cuts: &[Cut],
) -> Result<Vec<u8>> {
    let (update, params, moments) = state::<R>(system, config, from)?;
    let program = System::<R>::program(system);
    let layout = program.layout();
    let (rows, steps) = (System::<R>::batch_rows(system), System::<R>::steps(system));
    let key = BatchKey { seed: config.seed, stream: config.stream, update };
    let model = executor.model(program, params)?;
    let mut rollout = executor.rollout(program, rows, steps, system.spec())?;
    system.fill_batch(key, &mut rollout);
    let hint = "the policy leaves the chart on this batch: choose another seed or checkpoint";
    let loss = executor.roll(&model, &mut rollout).map_err(|e| user(e, hint))?;
    let mut workspace = executor.workspace(&rollout, cuts).map_err(|e| user(&e, e.hint()))?;
    executor.backward(&model, &rollout, &mut workspace)?;

    let mut tensors = Tensors::default();
    tensors.add_parameters("param", layout, model.values());
    tensors.add_parameters("moment1", layout, &moments.first);
    tensors.add_parameters("moment2", layout, &moments.second);
    add_inputs::<R>(&mut tensors, system, key);
    let mut output = |name: &str, tap: &str, width: usize| {
        let site = program.tap(tap).expect("the quadrotor's program names it");
        tensors.add(&format!("output/{name}"), &[steps, rows, width], rollout.values(site));
    };
    output("token", "token", TOKEN);
    output("state", "next_state", STATE);
    output("action", "action", ACTIONS);
    tensors.add("output/loss", &[1], &[loss]);
    tensors.add("output/row_loss", &[rows], rollout.row_loss().unwrap_or_default());

    let mut of_cut = Map::new();
    for (index, cut) in cuts.iter().enumerate() {
        let gradient = workspace.gradient(index);
        let norm = executor.norm(&workspace, index);
        let (clipped, factor) = clip(gradient, config.optimizer.clip);
        let (applied, _) = adamw(&config.optimizer.adamw, model.values(), &moments, &clipped);
        tensors.add_parameters(&format!("gradient/{cut}"), layout, gradient);
        tensors.add_parameters(&format!("update/{cut}"), layout, &applied);
        of_cut.insert(cut.to_string(), json!({"norm": norm, "factor": factor}));
    }
    Ok(tensors.to_bytes(&describe::<R>(config, update, moments.step, &of_cut)?))
}

/// The numbers behind the batch, as the program read them.
fn add_inputs<R: Real>(tensors: &mut Tensors, system: &Quadrotor, key: BatchKey) {
    let batch = system.batch(key);
    let (rows, steps, times) = (batch.rows, batch.steps, batch.steps + 11);
    let mut add = |name: &str, shape: &[usize], values: &[f64]| {
        let rounded: Vec<R> = values.iter().map(|v| R::from_f64(*v)).collect();
        tensors.add(&format!("input/{name}"), shape, &rounded);
    };
    add("initial_state", &[rows, STATE], &batch.initial_state);
    add("reference_position", &[rows, times, 3], &batch.reference_position);
    add("reference_velocity", &[rows, times, 3], &batch.reference_velocity);
    add("noise", &[rows, steps, 3], &batch.noise);
}

fn describe<R: Real>(
    config: &RunConfig,
    update: u64,
    adam_step: u64,
    cuts: &Map<String, Value>,
) -> Result<Value> {
    Ok(json!({
        "kind": "export",
        "format": 1,
        "config": serde_json::to_value(config)?,
        "precision": R::NAME,
        "update": update,
        "adam_step": adam_step,
        "cuts": cuts,
        "layout": {
            "order": "row-major",
            "linear": "weights are in x out: y = x W + b; biases, gains and norms are 1 x out",
            "position": "one row per step",
            "heads": "head h is columns h*d ... (h+1)*d-1 of query, key and value",
            "loss": "summed over rows and steps, always f64",
            "gradient": "of output/loss, before clipping",
            "update": "theta' - theta of one clipped AdamW step from this state",
            "times": "references are at times 0 ... T+10; output/state is s_1 ... s_T",
        },
    }))
}
