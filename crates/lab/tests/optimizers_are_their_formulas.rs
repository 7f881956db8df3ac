//! Every optimizer against its published formula, written out here in plain `f64`, and through
//! files.
//!
//! `torch.optim.AdamW`: `theta -= lr wd theta`, then Adam's step. `torch.optim.Adam`:
//! `g += wd theta`, `m = b1 m + (1 - b1) g`, `v = b2 v + (1 - b2) g^2`, `theta -= lr (m / (1 -
//! b1^t)) / (sqrt(v / (1 - b2^t)) + eps)`. `torch.optim.SGD` (dampening 0): `g += wd theta`, `b =
//! momentum b + g`, `theta -= lr b`. `torch.nn.utils.clip_grad_norm_` comes first.

#![allow(clippy::unwrap_used)] // helpers of tests may panic

mod common;

use backcut_engine::Cut;
use backcut_lab::training::{
    Adam, AdamW, Arm, Begin, Checkpoint, Clip, Control, Folder, Progress, Rule, RunConfig,
    RunOptions, Sgd, State, TrainError, Trainer, ValidRun, run,
};
use backcut_systems::{Decay, Kind, Optimizer, ParameterGroup, Schedule, Stream, System};
use common::{PointMass, go_on, optimizer, run_config};

const UPDATES: usize = 25;

fn group(parameters: &str, rate: Option<f64>, decay: Option<f64>) -> ParameterGroup {
    ParameterGroup { parameters: parameters.to_owned(), rate, decay }
}

/// The optimizers that are tried: all rules, with and without decay, momentum, clip, schedule,
/// groups.
fn optimizers() -> Vec<(&'static str, Optimizer)> {
    let usual = AdamW { rate: 3e-3, ..AdamW::default() };
    let with = |rule, clip| Optimizer { rule, clip, schedule: None, groups: vec![] };
    let adam = |decay| Rule::Adam(Adam { rate: usual.rate, decay, ..Adam::default() });
    let sgd = |momentum, decay| Rule::Sgd(Sgd { rate: 0.01, momentum, decay });
    let slow = Rule::Sgd(Sgd { rate: 1e-4, momentum: 0.9, decay: 0.0 });
    let schedule = Some(Schedule { warmup: 3, until: 20, end: 1e-4, decay: Decay::Linear });
    let groups = vec![group("*.bias", None, Some(0.0)), group("*0*", Some(0.5), None)];
    vec![
        ("adamw", with(Rule::AdamW(usual), Clip::Norm(3.0))),
        ("adamw, no clip", with(Rule::AdamW(usual), Clip::NONE)),
        ("adam", with(adam(0.0), Clip::Norm(3.0))),
        ("adam, decay", with(adam(0.1), Clip::Norm(3.0))),
        ("sgd", with(sgd(0.0, 0.0), Clip::Norm(3.0))),
        ("sgd, momentum", with(sgd(0.9, 0.0), Clip::Norm(3.0))),
        ("sgd, momentum, decay", with(sgd(0.9, 0.1), Clip::Norm(3.0))),
        ("sgd, momentum, no clip", with(slow, Clip::NONE)),
        ("sgd, schedule", Optimizer { schedule, ..with(sgd(0.9, 0.0), Clip::Norm(3.0)) }),
        (
            "adamw, groups",
            Optimizer {
                groups: groups.clone(),
                ..with(Rule::AdamW(AdamW { decay: 0.1, ..usual }), Clip::Norm(3.0))
            },
        ),
        ("sgd, groups", Optimizer { groups, ..with(sgd(0.9, 0.1), Clip::Norm(3.0)) }),
    ]
}

fn arm(optimizer: &Optimizer) -> Arm {
    Arm { cut: Cut::FF, seed: 4, stream: Stream::A, optimizer: optimizer.clone() }
}

/// One parameter by the book.
struct Weight {
    theta: f64,
    m: f64,
    v: f64,
}

impl Weight {
    fn step(&mut self, rule: &Rule, rate: f64, decay: f64, g: f64, t: i32) {
        let coupled = g + decay * self.theta;
        if let Rule::Sgd(s) = rule {
            self.m = s.momentum * self.m + coupled;
            self.theta -= rate * self.m;
            return;
        }
        let [beta1, beta2, eps] = ["beta1", "beta2", "eps"].map(|name| rule.value(name));
        let is_coupled = matches!(rule, Rule::Adam(_));
        if !is_coupled {
            self.theta -= rate * decay * self.theta;
        }
        let g = if is_coupled { coupled } else { g };
        self.m = beta1 * self.m + (1.0 - beta1) * g;
        self.v = beta2 * self.v + (1.0 - beta2) * g * g;
        let mean = self.m / (1.0 - beta1.powi(t));
        self.theta -= rate * mean / ((self.v / (1.0 - beta2.powi(t))).sqrt() + eps);
    }
}

/// Rate factor and decay of a parameter of `optimizers()`.
fn own(optimizer: &Optimizer, name: &str) -> (f64, f64) {
    let decay = optimizer.rule.value("decay");
    if optimizer.groups.is_empty() {
        (1.0, decay)
    } else if name.contains(".bias") {
        (1.0, 0.0)
    } else {
        (if name.contains('0') { 0.5 } else { 1.0 }, decay)
    }
}

#[test]
fn training_takes_the_steps_of_the_formulas() {
    let system = PointMass::new();
    let layout = System::<f64>::program(&system).layout().clone();
    let kinds = |f: fn(&str) -> bool| layout.parameters().iter().filter(|p| f(&p.name)).count();
    assert!(kinds(|n| n.contains(".bias")) > 0 && kinds(|n| n.contains('0')) > 0);
    for (name, optimizer) in optimizers() {
        let mut trainer = Trainer::<f64>::new(&system, arm(&optimizer)).unwrap();
        let start = trainer.state().params;
        let mut weights: Vec<Weight> =
            start.iter().map(|&theta| Weight { theta, m: 0.0, v: 0.0 }).collect();
        let mut clipped = 0;
        for t in 1..=UPDATES {
            trainer.step().unwrap();
            let gradient = trainer.gradient();
            let norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
            let factor = match optimizer.clip {
                Clip::Norm(threshold) if norm > threshold => threshold / norm,
                _ => 1.0,
            };
            clipped += usize::from(factor < 1.0);
            // Up over 3 steps to 0.01, down in a line to 1e-4 at step 20.
            let rate = match (optimizer.schedule, t) {
                (None, _) => optimizer.rule.rate(),
                (_, 1..=3) => 0.01 * t as f64 / 3.0,
                (_, 4..=19) => 1e-4 + (0.01 - 1e-4) * (20 - t) as f64 / 17.0,
                _ => 1e-4,
            };
            for parameter in layout.parameters() {
                let (share, decay) = own(&optimizer, &parameter.name);
                for i in parameter.range() {
                    let g = factor * gradient[i];
                    weights[i].step(&optimizer.rule, share * rate, decay, g, t as i32);
                }
            }
            for (i, (ours, theirs)) in trainer.model().values().iter().zip(&weights).enumerate() {
                let off = (ours - theirs.theta).abs();
                assert!(off < 1e-9, "{name}, update {t}, weight {i}: {off:e}");
            }
        }
        let moved = start.iter().zip(&weights).map(|(a, b)| (a - b.theta).abs()).sum::<f64>();
        assert!(moved > 1e-3, "{name}: {moved}");
        assert_eq!(clipped > 0, optimizer.clip.is_on(), "{name}: clipped {clipped}");
    }
}

fn configured(optimizer: &Optimizer) -> ValidRun {
    let config = run_config(Cut::F_SG, 4, 30);
    RunConfig { optimizer: optimizer.clone(), ..config }.check().unwrap()
}

#[test]
fn stopped_runs_go_on_to_the_same_bytes() {
    let (system, root) = (PointMass::new(), tempfile::tempdir().unwrap());
    for (i, (name, optimizer)) in optimizers().into_iter().enumerate() {
        let config = configured(&optimizer);
        let options = RunOptions { save_every: 7, keep: vec![11] };
        let folder = |what: &str| Folder::new(root.path().join(format!("{i} {what}")));
        let (straight, stopped) = (folder("straight"), folder("stopped"));
        run::run(&system, &config, None, &straight, Begin::Fresh, &options, &mut go_on).unwrap();
        for _ in 0..8 {
            let mut left = 4;
            let mut soon = |_: &Progress| {
                left -= 1;
                if left == 0 { Control::Stop } else { Control::Continue }
            };
            let begin = Begin::Resume;
            run::run(&system, &config, None, &stopped, begin, &options, &mut soon).unwrap();
        }
        for file in [Folder::checkpoint, Folder::log, Folder::panels, Folder::config] {
            let read = |folder| std::fs::read(file(folder)).unwrap();
            assert!(read(&straight) == read(&stopped), "{name}: {}", file(&straight).display());
        }
        let layout = System::<f32>::program(&system).layout();
        let kept = Checkpoint::load(&straight.kept(11)).unwrap();
        let is_sgd = optimizer.rule.kind() == Kind::Sgd;
        let has = |family: &str| kept.tensors().keys().any(|name| name.starts_with(family));
        assert_eq!([has("velocity/"), has("moment2/")], [is_sgd, !is_sgd], "{name}");
        assert_eq!(kept.header().format, if i == 0 { 1 } else { 2 }, "{name}");
        let state = kept.state(layout).unwrap();
        assert_eq!(state.moments.step, 11);
        assert!(state.moments.first.iter().any(|m| *m != 0.0), "{name}");
        assert_eq!(state.moments.second.iter().any(|v| *v != 0.0), !is_sgd, "{name}");
    }
}

#[test]
fn every_setting_changes_the_result_and_the_name() {
    let system = PointMass::new();
    let end = |optimizer: &Optimizer| -> State<f32> {
        let mut trainer = Trainer::<f32>::new(&system, arm(optimizer)).unwrap();
        for _ in 0..6 {
            trainer.step().unwrap();
        }
        trainer.state()
    };
    let mut seen = vec![("the usual", optimizer())];
    seen.extend(optimizers().into_iter().skip(1));
    let last = seen[seen.len() - 1].1.clone();
    seen.push(("other groups", Optimizer { groups: vec![last.groups[0].clone()], ..last }));
    let adam = Adam { rate: 3e-3, decay: 0.01, ..Adam::default() };
    let variants = [
        Adam { beta1: 0.8, ..adam },
        Adam { beta2: 0.9, ..adam },
        Adam { eps: 1e-3, ..adam },
        Adam { rate: 1e-3, ..adam },
    ];
    seen.extend(variants.map(|v| ("adam's own", Optimizer { rule: Rule::Adam(v), ..optimizer() })));
    let found: Vec<(State<f32>, String)> =
        seen.iter().map(|(_, o)| (end(o), configured(o).hash().to_owned())).collect();
    for i in 0..found.len() {
        for j in 0..i {
            let pair = format!("{} and {}", seen[i].0, seen[j].0);
            assert_ne!(found[i].0.params, found[j].0.params, "{pair}");
            assert_ne!(found[i].1, found[j].1, "{pair}");
        }
    }
    // Another way to say the same: nothing changes.
    for (name, optimizer) in &seen {
        let text = serde_json::to_string(optimizer).unwrap();
        assert_eq!(&serde_json::from_str::<Optimizer>(&text).unwrap(), optimizer, "{name}: {text}");
    }
}

#[test]
fn what_the_first_version_wrote_is_written_and_read_as_it_was() {
    const TEXT: &str =
        r#"{"adamw":{"rate":0.003,"beta1":0.9,"beta2":0.999,"eps":1e-8,"decay":0.01},"clip":3.0}"#;
    assert_eq!(serde_json::to_string(&optimizer()).unwrap(), TEXT);
    assert_eq!(serde_json::from_str::<Optimizer>(TEXT).unwrap(), optimizer());
    for wrong in ["{\"clip\":1.0}", "{\"sgd\":{\"rate\":0.1,\"momentum\":0,\"decay\":0}}"] {
        assert!(serde_json::from_str::<Optimizer>(wrong).is_err(), "{wrong}");
    }
    let both =
        TEXT.replace("{\"adamw\"", "{\"sgd\":{\"rate\":1,\"momentum\":0,\"decay\":0},\"adamw\"");
    assert!(serde_json::from_str::<Optimizer>(&both).is_err());
    assert!(serde_json::from_str::<Optimizer>(&TEXT.replace("3.0", "\"off\"")).is_err());
}

#[test]
fn a_group_without_parameters_is_an_error() {
    let system = PointMass::new();
    for groups in [
        vec![group("nothing*", None, Some(0.0))],
        vec![group("*", Some(0.1), None), group("*.bias", None, Some(0.0))],
    ] {
        let arm = arm(&Optimizer { groups, ..optimizer() });
        let error = Trainer::<f32>::new(&system, arm).err().unwrap();
        assert!(matches!(error, TrainError::Groups(_)), "{error}");
        assert!(error.to_string().contains("no parameter is left"), "{error}");
    }
    // A rate of 0 keeps parameters as they are.
    let groups = vec![group("*.bias", Some(0.0), None)];
    let arm = arm(&Optimizer { groups, ..optimizer() });
    let mut trainer = Trainer::<f32>::new(&system, arm).unwrap();
    let before = trainer.state().params;
    trainer.step().unwrap();
    let after = trainer.state().params;
    for parameter in System::<f32>::program(&system).layout().parameters() {
        let is_same = before[parameter.range()] == after[parameter.range()];
        assert_eq!(is_same, parameter.name.contains(".bias"), "{}", parameter.name);
    }
}
