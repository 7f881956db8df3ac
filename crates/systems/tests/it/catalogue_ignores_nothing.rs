//! Systems by name: every setting reaches the system or is an error, and a system is built once.

use std::sync::Arc;

use backcut_engine::{ForwardSpec, Program, Rollout, Trace};
use backcut_kernels::Real;
use backcut_systems::{
    AdamW, BatchKey, Catalogue, Optimizer, SampleError, Settings, SettingsError, System,
    SystemChoice,
};
use backcut_text::Hinted as _;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A point that is pushed, with data, two phases, and a careless reader of one setting.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
struct Pushed {
    gain: f64,
    phase: String,
    data: Vec<f64>,
    /// Read, and forgotten.
    #[serde(skip_serializing)]
    window: Option<u64>,
    /// Read, and put back to what it was.
    decay: f64,
}

impl Default for Pushed {
    fn default() -> Self {
        let phase = "training".to_owned();
        Self { gain: 1.0, phase, data: vec![], window: None, decay: 0.9 }
    }
}

struct Point {
    program: Arc<Program>,
    data: Vec<f64>,
}

impl Settings for Pushed {
    const NAME: &'static str = "pushed";
    type System = Point;

    fn build(&mut self) -> Result<Point, SettingsError> {
        self.decay = 0.9;
        let t = Trace::new();
        let x = t.state("x", 1);
        let next = x * 0.5 + t.linear("push", x, 1) * self.gain;
        t.next("x", next);
        let loss = if self.phase() == "pretraining" { next.square() } else { next.square() * 2.0 };
        t.loss(loss);
        let program = t.compile()?;
        Ok(Point { program: Arc::new(program), data: self.data.clone() })
    }

    fn phase(&self) -> &'static str {
        if self.phase == "pretraining" { "pretraining" } else { "training" }
    }

    fn optimizer(&self) -> Optimizer {
        let rate = if self.phase() == "pretraining" { 0.1 } else { 0.01 };
        Optimizer::adamw(AdamW { rate, ..AdamW::default() }, 1.0)
    }

    fn updates(&self) -> u64 {
        if self.phase() == "pretraining" { 40 } else { 10 }
    }
}

impl<R: Real> System<R> for Point {
    fn program(&self) -> &Arc<Program> {
        &self.program
    }

    fn steps(&self) -> usize {
        3
    }

    fn batch_rows(&self) -> usize {
        2
    }

    fn fill_batch(&self, key: BatchKey, rollout: &mut Rollout<R>) -> Result<(), SampleError> {
        if self.data.contains(&-1.0) {
            return Err(SampleError("the data hold a -1".to_owned()));
        }
        let first = rollout.initial_mut("x").ok_or(SampleError("no x".to_owned()))?;
        let seed = (key.seed % 97) as f64 + key.update as f64;
        first.iter_mut().enumerate().for_each(|(i, x)| *x = R::from_f64(seed + i as f64));
        Ok(())
    }

    fn data_hash(&self) -> Option<String> {
        (!self.data.is_empty()).then(|| format!("{:?}", self.data))
    }
}

fn choice(settings: Value) -> SystemChoice {
    let Value::Object(settings) = settings else { panic!("a table") };
    SystemChoice::new("pushed", settings)
}

fn catalogue() -> Catalogue {
    Catalogue::builtin().with::<Pushed>()
}

#[test]
fn a_setting_that_the_system_did_not_take_over_is_an_error() {
    let build = |settings: Value| catalogue().build(&choice(settings)).map(|b| b.choice.clone());
    assert_eq!(build(json!({"gain": 2})).unwrap().settings["gain"], json!(2.0));
    assert_eq!(build(json!({"decay": 0.9})).unwrap().settings["decay"], json!(0.9));
    for (settings, named) in [
        (json!({"window": 1}), "`window`"),
        (json!({"windw": 1}), "`windw`"),
        (json!({"decay": 0.5}), "`decay`: 0.5 became 0.9"),
    ] {
        let error = build(settings).unwrap_err();
        assert!(error.to_string().contains(named), "{error}");
        assert!(!error.hint().is_empty());
    }
}

#[test]
fn unknown_systems_are_named_with_those_that_are_known() {
    let error = catalogue().build(&SystemChoice::new("pendulum", Map::new())).unwrap_err();
    assert!(error.to_string().contains("pendulum"));
    assert_eq!(error.hint(), "systems: quadrotor, cart-pole, delayed-cue, pushed");
}

#[test]
fn a_system_is_built_once() {
    let catalogue = catalogue();
    let built = |settings: Value| catalogue.build(&choice(settings)).unwrap();
    assert!(Arc::ptr_eq(&built(json!({"gain": 2.0})), &built(json!({"gain": 2.0}))));
    assert!(!Arc::ptr_eq(&built(json!({"gain": 2.0})), &built(json!({"gain": 3.0}))));
}

#[test]
fn data_are_part_of_what_names_a_system() {
    let catalogue = catalogue();
    let built = catalogue.build(&choice(json!({"data": [1.0]}))).unwrap();
    assert_eq!(built.choice.data.as_deref(), Some("[1.0]"));
    assert!(serde_json::to_string(&built.choice).unwrap().contains("\"data\":\"[1.0]\""));
    // Systems without data are named as they were before there were any.
    let plain = catalogue.default_of("pushed").unwrap();
    assert!(!serde_json::to_string(&plain.choice).unwrap().contains("\"data\":null"));
    // Another run's data are not ours.
    let other = SystemChoice { data: Some("[2.0]".to_owned()), ..built.choice.clone() };
    let error = catalogue.build(&other).unwrap_err();
    assert!(error.to_string().contains("other data"), "{error}");
}

#[test]
fn a_phase_has_a_loss_an_optimizer_and_a_budget_of_its_own() {
    let catalogue = catalogue();
    let training = catalogue.default_of("pushed").unwrap();
    let pretraining = catalogue.build(&choice(json!({"phase": "pretraining"}))).unwrap();
    assert_eq!((training.phase.as_str(), training.updates), ("training", 10));
    assert_eq!((pretraining.phase.as_str(), pretraining.updates), ("pretraining", 40));
    assert!(pretraining.optimizer.rule.rate() > training.optimizer.rule.rate());
    assert_ne!(
        training.system().program().nodes().len(),
        pretraining.system().program().nodes().len()
    );
    let layouts = [&training, &pretraining].map(|b| b.system().program().layout().len());
    assert_eq!(layouts[0], layouts[1]);
}

#[test]
fn the_default_panel_is_made_of_batches_that_no_source_trains_on() {
    let built = catalogue().default_of("pushed").unwrap();
    let system = built.system();
    let mut rollout = Rollout::new(system.program(), 2, 3, ForwardSpec::default()).unwrap();
    let mut first = |panel: usize| {
        system.fill_panel(panel, &mut rollout).unwrap();
        rollout.initial_mut("x").unwrap().to_vec()
    };
    assert_eq!((system.panel_rows(), system.panel_group()), (16, 2));
    assert_ne!(first(0), first(2));
    let error = system.fill_panel(1, &mut rollout).unwrap_err();
    assert!(error.to_string().contains("groups of 2"), "{error}");
}

#[test]
fn a_sampler_may_fail() {
    // Two batches are part of what a system is known by, so it fails before anything is trained.
    let error = catalogue().build(&choice(json!({"data": [-1.0]}))).unwrap_err();
    assert_eq!(error.to_string(), "pushed: no batch: the data hold a -1");
}
