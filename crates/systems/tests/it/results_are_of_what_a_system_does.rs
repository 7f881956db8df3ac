//! What a system does is part of its identity: a change of its code gives another system, and says
//! where.

use std::sync::Arc;

use backcut_engine::{ForwardSpec, MemoryReads, Program, Rollout, Trace};
use backcut_kernels::Real;
use backcut_systems::cart_pole::CartPole;
use backcut_systems::delayed_cue::DelayedCue;
use backcut_systems::quadrotor::QuadrotorConfig;
use backcut_systems::{
    BatchKey, Built, Catalogue, SampleError, Settings, SettingsError, System, SystemChoice,
};
use backcut_text::Hinted as _;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// What is edited in a file between two runs of the program.
const PLAIN: u8 = 0;
const CONSTANT: u8 = 1;
const INSTRUCTION: u8 = 2;
const START: u8 = 3;
const SAMPLER: u8 = 4;
const READING: u8 = 5;
const WINDOW: u8 = 6;
const NO_LOSS: u8 = 7;
const UNWRITTEN: u8 = 8;

#[derive(Default, Serialize, Deserialize)]
struct Edited<const HOW: u8> {
    #[serde(default)]
    gain: f64,
}

struct Task<const HOW: u8>(Arc<Program>);

impl<const HOW: u8> Settings for Edited<HOW> {
    const NAME: &'static str = "edited";
    type System = Task<HOW>;

    fn build(&mut self) -> Result<Self::System, SettingsError> {
        let t = Trace::new();
        let (x, target) = (t.state("x", 1), t.input("target", 1));
        let width = if HOW == START { 3 } else { 2 };
        let seen = t.linear("see", t.concat(&[x, target]), width).tanh();
        let [key, value] = [t.linear("key", seen, 2), t.linear("value", seen, 2)];
        let push = t.linear("push", t.attend("memory", key, key, value, 1), 1);
        let push = if HOW == INSTRUCTION { push.sigmoid() } else { push.tanh() };
        let next = x + push * if HOW == CONSTANT { 0.25 } else { 0.2 } + self.gain;
        t.next("x", next);
        if HOW != NO_LOSS {
            t.loss((next - target).square());
        }
        Ok(Task(Arc::new(t.compile()?)))
    }
}

impl<const HOW: u8, R: Real> System<R> for Task<HOW> {
    fn program(&self) -> &Arc<Program> {
        &self.0
    }

    fn steps(&self) -> usize {
        4
    }

    fn batch_rows(&self) -> usize {
        2
    }

    fn spec(&self) -> ForwardSpec<R> {
        let two = std::num::NonZeroUsize::new(2).unwrap();
        let reads = if HOW == WINDOW { MemoryReads::Window(two) } else { MemoryReads::All };
        ForwardSpec { reads, ..ForwardSpec::default() }
    }

    fn fill_batch(&self, key: BatchKey, rollout: &mut Rollout<R>) -> Result<(), SampleError> {
        if HOW == UNWRITTEN {
            return Ok(());
        }
        let shift = if HOW == SAMPLER { 1e-6 } else { 0.0 };
        for (i, x) in rollout.input_mut("target").into_iter().flatten().enumerate() {
            *x = R::from_f64(0.1 * i as f64 + (key.seed % 7) as f64 + shift);
        }
        Ok(())
    }

    fn row_errors(&self, rollout: &Rollout<R>, errors: &mut [f64]) {
        let factor = if HOW == READING { 2.0 } else { 1.0 };
        let loss = rollout.row_loss().unwrap_or_default();
        errors.iter_mut().zip(loss).for_each(|(error, loss)| *error = factor * loss);
    }
}

fn built<const HOW: u8>(choice: &SystemChoice) -> Result<Arc<Built>, SettingsError> {
    Catalogue::new().with::<Edited<HOW>>().restore(choice)
}

fn choice() -> SystemChoice {
    SystemChoice::new("edited", Map::new())
}

#[test]
fn every_edit_of_the_code_gives_another_system_and_says_where() {
    let then = built::<PLAIN>(&choice()).unwrap().choice.clone();
    assert!(then.program.is_some());
    assert_eq!(built::<PLAIN>(&then).unwrap().choice, then);
    let [constant, instruction, start, sampler, reading, window] = [
        built::<CONSTANT>(&then).map(drop),
        built::<INSTRUCTION>(&then).map(drop),
        built::<START>(&then).map(drop),
        built::<SAMPLER>(&then).map(drop),
        built::<READING>(&then).map(drop),
        built::<WINDOW>(&then).map(drop),
    ]
    .map(|refused| refused.unwrap_err());
    assert!(constant.to_string().ends_with("it did then: a number in its step"), "{constant}");
    assert!(!constant.hint().is_empty());
    assert!(instruction.to_string().ends_with("then: an instruction of its step"), "{instruction}");
    assert!(start.to_string().contains("its parameters or how they start"), "{start}");
    assert!(sampler.to_string().ends_with("the batches that its sampler draws"), "{sampler}");
    assert!(reading.to_string().ends_with("its panel, or how it reads errors off"), "{reading}");
    assert!(window.to_string().ends_with("an instruction of its step"), "{window}");
}

#[test]
fn other_settings_are_another_program_under_the_same_code() {
    let catalogue = Catalogue::new().with::<Edited<PLAIN>>();
    let one = catalogue.build(&choice()).unwrap();
    let Value::Object(more) = json!({ "gain": 0.5 }) else { panic!() };
    let other = catalogue.build(&one.choice.changed(&more)).unwrap();
    assert_ne!(one.choice.program, other.choice.program);
    assert_eq!(one.choice.changed(&Map::new()), one.choice);
    // Written down and read back it is the same.
    let text = serde_json::to_string(&other.choice).unwrap();
    let again: SystemChoice = serde_json::from_str(&text).unwrap();
    assert!(Arc::ptr_eq(&catalogue.build(&again).unwrap(), &other));
}

#[test]
fn what_learns_nothing_or_hears_nothing_is_refused_when_it_is_built() {
    let error = built::<NO_LOSS>(&choice()).unwrap_err().to_string();
    assert!(error.contains("edited: the step has no loss"), "{error}");
    let error = built::<UNWRITTEN>(&choice()).unwrap_err().to_string();
    assert!(error.contains("the sampler never writes the input `target`"), "{error}");
}

/// A cart-pole that claims to do what was recorded of the real one, and does not.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
struct Counterfeit(CartPole);

impl Settings for Counterfeit {
    const NAME: &'static str = CartPole::NAME;
    const RECORDED: Option<backcut_systems::Recorded> = DelayedCue::RECORDED;
    type System = <CartPole as Settings>::System;

    fn build(&mut self) -> Result<Self::System, SettingsError> {
        self.0.build()
    }
}

#[test]
fn systems_that_had_results_do_what_was_recorded_and_keep_their_names() {
    fn record<S: Settings>() -> [String; 2] {
        let record = S::RECORDED.unwrap();
        [record.hash.to_owned(), record.now::<S>().unwrap().to_string()]
    }
    let all = [record::<QuadrotorConfig>(), record::<CartPole>(), record::<DelayedCue>()];
    assert!(all.iter().all(|[then, now]| then == now), "then and now: {all:#?}");
    let builtin = Catalogue::builtin();
    for name in builtin.names() {
        assert_eq!(builtin.default_of(name).unwrap().choice.program, None, "{name}");
    }
    // One that does something else takes nothing over.
    let then = Catalogue::builtin().default_of(CartPole::NAME).unwrap().choice.clone();
    let changed = Catalogue::new().with::<Counterfeit>();
    assert!(changed.default_of(CartPole::NAME).unwrap().choice.program.is_some());
    let error = changed.restore(&then).unwrap_err().to_string();
    assert!(error.contains("its code is not the one that was recorded"), "{error}");
}
