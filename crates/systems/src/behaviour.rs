//! What a system does, so that results of a changed one are not taken for its own.
//!
//! Settings say what was asked for. What the code makes of them is its compiled step, the batches
//! that its sampler draws and the errors that it reads off. All of it is the same on every machine
//! and code path: numbers count as training sees them, in single precision.

use std::fmt::Write as _;

use backcut_engine::{ForwardSpec, Listing, Model, Rollout};
use backcut_files::Hash;
use serde::{Deserialize, Serialize};

use crate::settings::SettingsError;
use crate::system::{BatchKey, Stream, System};

/// Hashes of what a system does under its settings; each answers for a part that can be told apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Behaviour {
    /// Instructions of the compiled step, names, and what changes the forward.
    pub instructions: Hash,
    /// The numbers in them.
    pub constants: Hash,
    /// Names, shapes and starts of the parameters.
    pub parameters: Hash,
    /// Two batches of fixed keys.
    pub batches: Hash,
    /// The beginning of the panel, and its errors at the parameters' start.
    pub panel: Hash,
}

/// The keys whose batches are looked at.
const KEYS: [BatchKey; 2] = [
    BatchKey { seed: 1, stream: Stream::A, update: 0 },
    BatchKey { seed: 2, stream: Stream::B, update: 3 },
];
/// What stands where a sampler has not written yet.
const NEVER_DRAWN: f32 = 1.234_567_9e17;

impl Behaviour {
    /// Looks at a system; an error if it cannot be trained: no loss, or an input that its sampler
    /// never writes.
    pub fn of(system: &dyn System<f32>) -> Result<Self, SettingsError> {
        let program = system.program();
        if program.loss_site().is_none() {
            let hint = "give the trace one: t.loss(value)";
            return Err(SettingsError::new("the step has no loss, so nothing is learned", hint));
        }
        let Listing { mut instructions, constants, parameters } = program.listing();
        let ForwardSpec { prefix, reads, fed, .. } = system.spec();
        let sizes = [system.steps(), system.batch_rows(), system.panel_rows(), prefix];
        let _ = writeln!(instructions, "{sizes:?} {reads:?} {fed:?}");
        Ok(Self {
            instructions: Hash::of(instructions.as_bytes()),
            constants: hash(constants.iter().map(|c| *c as f32)),
            parameters: Hash::of(parameters.as_bytes()),
            batches: batches(system)?,
            panel: panel(system)?,
        })
    }

    /// In what two behaviours differ, in words; empty if they are one.
    pub fn differences(&self, other: &Self) -> String {
        let parts = [
            (self.instructions == other.instructions, "an instruction of its step"),
            (self.constants == other.constants, "a number in its step"),
            (self.parameters == other.parameters, "its parameters or how they start"),
            (self.batches == other.batches, "the batches that its sampler draws"),
        ];
        let words: Vec<&str> = parts.iter().filter(|p| !p.0).map(|p| p.1).collect();
        match &words[..] {
            [] if self.panel == other.panel => String::new(),
            // Where something else differs, the errors follow from it.
            [] => "its panel, or how it reads errors off".to_owned(),
            words => words.join(", "),
        }
    }
}

fn hash(values: impl Iterator<Item = f32>) -> Hash {
    // One value stands for all that are no number: their bits may differ between machines.
    let plain = |v: f32| if v.is_nan() { f32::NAN } else { v };
    Hash::of(&values.flat_map(|v| plain(v).to_bits().to_le_bytes()).collect::<Vec<u8>>())
}

fn failed(error: impl std::fmt::Display) -> SettingsError {
    SettingsError::new(error, "look at the system's sampler")
}

fn rollout(system: &dyn System<f32>, rows: usize) -> Result<Rollout<f32>, SettingsError> {
    let rollout = Rollout::new(system.program(), rows, system.steps(), system.spec());
    rollout.map_err(SettingsError::from_hinted)
}

/// Everything that a sampler writes, each under its name.
fn each_written(
    system: &dyn System<f32>,
    rollout: &mut Rollout<f32>,
    mut look: impl FnMut(&str, bool, &mut [f32]),
) {
    let program = system.program();
    for (name, _) in program.inputs() {
        rollout.input_mut(name).into_iter().for_each(|values| look(name, true, values));
    }
    for (name, _) in program.condition_inputs() {
        rollout.condition_input_mut(name).into_iter().for_each(|values| look(name, true, values));
    }
    for fed in system.spec().fed {
        let name = &fed.site;
        rollout.fed_mut(name).into_iter().for_each(|values| look(name, true, values));
    }
    for carried in program.states().iter().chain(program.registers()) {
        let name = &carried.name;
        rollout.initial_mut(name).into_iter().for_each(|values| look(name, false, values));
    }
}

fn batches(system: &dyn System<f32>) -> Result<Hash, SettingsError> {
    let mut values: Vec<f32> = Vec::new();
    for key in KEYS {
        let mut rollout = rollout(system, system.batch_rows())?;
        // What is carried may well begin at the zeros that it has.
        each_written(system, &mut rollout, |_, is_input, values| {
            if is_input {
                values.fill(NEVER_DRAWN);
            }
        });
        system.fill_batch(key, &mut rollout).map_err(failed)?;
        let mut unwritten = None;
        each_written(system, &mut rollout, |name, _, found| {
            if !found.is_empty() && found.iter().all(|v| *v == NEVER_DRAWN) {
                unwritten.get_or_insert_with(|| name.to_owned());
            }
            values.extend_from_slice(found);
        });
        if let Some(name) = unwritten {
            let what = format!("the sampler never writes the input `{name}`");
            let hint = "write it in fill_batch, or take it out of the step";
            return Err(SettingsError::new(what, hint));
        }
    }
    Ok(hash(values.into_iter()))
}

fn panel(system: &dyn System<f32>) -> Result<Hash, SettingsError> {
    let program = system.program();
    let rows = system.panel_group().min(system.panel_rows()).max(1);
    let mut rollout = rollout(system, rows)?;
    system.fill_panel(0, &mut rollout).map_err(failed)?;
    let mut values: Vec<f32> = Vec::new();
    each_written(system, &mut rollout, |_, _, found| values.extend_from_slice(found));
    let model = Model::new(program, program.layout().initialise(KEYS[0].seed)).map_err(failed)?;
    // A step that fails fails wherever it runs; training says so with step and trajectory.
    if model.roll(&mut rollout).is_ok() {
        let mut errors = vec![0.0; rows];
        system.row_errors(&rollout, &mut errors);
        values.extend(errors.into_iter().map(|e| e as f32));
    }
    Ok(hash(values.into_iter()))
}
