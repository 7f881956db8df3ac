//! Gradients from elsewhere have the bits of gradients from here, and files that are wrong are
//! refused.

use std::path::PathBuf;

use crate::training::{Moments, State, Tensors};
use backcut_engine::Cut;
use backcut_systems::quadrotor::QuadrotorConfig;
use backcut_systems::{BatchKey, Clip, Optimizer, Stream, System};
use backcut_text::Hinted as _;
use serde_json::{Value, json};

use super::*;
use crate::measure::finding::Finding;
use crate::measure::groups::groups;
use crate::measure::kinds::gradient::geometry_of_gradients;
use crate::measure::kinds::update::updates_of_gradients;
use crate::measure::rig::Rig;

const CUTS: [Cut; 4] = [Cut::FF, Cut::FD, Cut::KF, Cut::KD];

struct Here {
    layout: Vec<(String, Vec<usize>)>,
    state: State<f32>,
    optimizer: Optimizer,
    gradients: Vec<Vec<f32>>,
    findings: Vec<Finding>,
}

/// A tiny policy's gradients under four cuts, with moments, and what is found of them here.
fn here(clip: f64, step: u64) -> Here {
    let policy = json!({"steps": 4, "width": 8, "layers": 1, "heads": 1, "hidden": 8, "initialisation": "gpt"});
    let config: QuadrotorConfig = serde_json::from_value(json!({ "policy": policy })).unwrap();
    let system = config.check().unwrap();
    let layout = System::<f32>::program(&system).layout().clone();
    let params: Vec<f32> = layout.initialise(3);
    let wave = |scale: f32, i: usize| scale * ((i * 37 % 101) as f32 - 50.0);
    let moment =
        |scale: f32| (0..params.len()).map(move |i| if step > 0 { wave(scale, i) } else { 0.0 });
    let (first, second) = (moment(1e-3).collect(), moment(1e-4).map(f32::abs).collect());
    let moments = Moments { step, first, second };
    let mut rig = Rig::new(&system, &CUTS).unwrap();
    rig.set(&params).unwrap();
    rig.differentiate(BatchKey { seed: 3, stream: Stream::A, update: 5 }).unwrap();
    let state = State { update: 5, params, moments };
    let optimizer = Optimizer { clip: clip.into(), ..Optimizer::default() };
    let mut findings = geometry_of_gradients(&rig);
    findings.extend(updates_of_gradients(&mut rig, &state, &optimizer, true).unwrap());
    let gradients = (0..CUTS.len()).map(|i| rig.gradient(i).to_vec()).collect();
    assert_eq!(rig.groups(), groups(&layout));
    let parameters = layout.parameters().iter();
    let layout = parameters.map(|p| (p.name.clone(), vec![p.rows, p.cols])).collect();
    Here { layout, state, optimizer, gradients, findings }
}

fn threshold(optimizer: &Optimizer) -> f64 {
    match optimizer.clip {
        Clip::Norm(threshold) => threshold,
        Clip::Off(_) => f64::INFINITY,
    }
}

impl Here {
    fn described(&self) -> Described {
        let length = |(name, shape): &(String, Vec<usize>)| (name.clone(), shape.iter().product());
        Described {
            parameters: self.layout.iter().map(length).collect(),
            arms: CUTS.map(|cut| cut.to_string()).to_vec(),
            optimizer: Some(Optimizing {
                rule: self.optimizer.at(self.state.moments.step + 1),
                clip: threshold(&self.optimizer),
                step: self.state.moments.step,
            }),
            factorial: Some([0, 1, 2, 3]),
        }
    }

    fn header(&self) -> Value {
        let mut optimizer = super::tagged(&self.optimizer.at(self.state.moments.step + 1)).unwrap();
        optimizer["clip"] = threshold(&self.optimizer).into();
        json!({
            "kind": "export", "format": 2,
            "arms": CUTS.map(|cut| cut.to_string()),
            "parameters": self.layout.iter().map(|(name, _)| name).collect::<Vec<_>>(),
            "step": self.state.moments.step,
            "optimizer": optimizer,
        })
    }

    /// The file's tensors, of which `change` may be another.
    fn tensors(&self) -> Tensors {
        let mut tensors = Tensors::default();
        let State { params, moments, .. } = &self.state;
        let arms = CUTS.iter().map(|cut| format!("gradient/{cut}"));
        let mut families = vec![
            ("param".to_owned(), params),
            ("moment1".to_owned(), &moments.first),
            ("moment2".to_owned(), &moments.second),
        ];
        families.extend(arms.zip(&self.gradients));
        for (family, values) in families {
            let mut at = 0;
            for (name, shape) in &self.layout {
                let len: usize = shape.iter().product();
                tensors.add(&format!("{family}/{name}"), shape, &values[at..at + len]);
                at += len;
            }
        }
        tensors
    }
}

fn saved(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.safetensors");
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

fn of_file(bytes: &[u8], factorial: Option<[usize; 4]>) -> Result<Vec<Finding>, OutsideError> {
    let (_folder, path) = saved(bytes);
    let mut opened = open(&path)?;
    opened.described_mut().factorial = factorial;
    let described = opened.described().clone();
    let groups = group(&described, &[])?;
    match &mut opened {
        Opened::Single(file) => compare(&described, &groups, file),
        Opened::Double(file) => compare(&described, &groups, file),
    }
}

/// What is found elsewhere, held to what was found here: every number that both have, bit by bit.
fn hold(here: &Here, found: &[Finding]) -> usize {
    let mut same = 0;
    for finding in found {
        let quantity = finding.quantity.replace(".effect", ".memory-effect");
        let is_it =
            |f: &&Finding| f.quantity == quantity && f.of == finding.of && f.part == finding.part;
        let Some(known) = here.findings.iter().find(is_it) else {
            panic!("nothing here like {finding:?}");
        };
        let bits = |f: &Finding| f.value.map(f64::to_bits);
        assert_eq!(bits(known), bits(finding), "{finding:?} {known:?}");
        same += 1;
    }
    same
}

#[test]
fn numbers_from_elsewhere_have_the_bits_of_those_from_here() {
    for (clip, step) in [(1e-3, 7), (1e9, 7), (1e-3, 0)] {
        let here = here(clip, step);
        let described = here.described();
        let groups = group(&described, &[]).unwrap();
        let State { params, moments, .. } = &here.state;
        let mut source = InMemory {
            parameters: params,
            first: &moments.first,
            second: &moments.second,
            gradients: here.gradients.iter().map(Vec::as_slice).collect(),
        };
        let found = compare(&described, &groups, &mut source).unwrap();
        assert!(hold(&here, &found) > 300, "{}", found.len());
        for start in ["gradient.", "raw.", "applied.", "rho.", "moment.cosine", "r_U", "d_U"] {
            assert!(found.iter().any(|f| f.quantity.starts_with(start)), "{start}");
        }
        let bytes = here.tensors().to_bytes(&here.header());
        assert_eq!(of_file(&bytes, Some([0, 1, 2, 3])).unwrap(), found, "{clip} {step}");
    }
}

#[test]
fn doubles_are_read_as_doubles() {
    let mut tensors = Tensors::default();
    tensors.add("gradient/a/w", &[2], &[3.0_f64, 4.0]);
    tensors.add("gradient/b/w", &[2], &[3.0_f64, 4.0 + 1e-12]);
    let found = of_file(&tensors.to_bytes(&json!({"kind": "export", "format": 2})), None).unwrap();
    let value = |quantity: &str, arm: &str| {
        let is_it = |f: &&Finding| f.quantity == quantity && f.of == *arm && f.part == "all";
        found.iter().find(is_it).unwrap().value.unwrap()
    };
    assert_eq!(value("gradient.norm", "a"), 5.0);
    let distance = (4.0_f64 + 1e-12) - 4.0;
    assert_eq!(value("gradient.difference", "b"), (distance * distance / 25.0).sqrt());
    assert!(found.iter().all(|f| !f.quantity.starts_with("applied")));
}

/// By hand: theta = 1, g = 2, velocity 0.5.
#[test]
fn sgd_and_adam_follow_their_formulas() {
    let found = |optimizer: Value, step: u64| {
        let mut tensors = Tensors::default();
        for (name, value) in
            [("param", 1.0_f64), ("gradient/a", 2.0), ("moment1", 0.5), ("moment2", 0.25)]
        {
            tensors.add(&format!("{name}/w"), &[1], &[value]);
        }
        let header = json!({"kind": "export", "format": 2, "step": step, "optimizer": optimizer});
        let found = of_file(&tensors.to_bytes(&header), None).unwrap();
        let is_it = |f: &&Finding| f.quantity == "applied.norm" && f.part == "all";
        found.iter().find(is_it).unwrap().value.unwrap()
    };
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
    let sgd = |momentum: f64, decay: f64| json!({"kind": "sgd", "rate": 0.1, "momentum": momentum, "decay": decay});
    near(found(sgd(0.0, 0.0), 3), 0.1 * 2.0);
    near(found(sgd(0.9, 0.0), 3), 0.1 * (0.9 * 0.5 + 2.0));
    near(found(sgd(0.9, 0.01), 3), 0.1 * (0.9 * 0.5 + 2.0 + 0.01));
    near(found(sgd(0.9, 0.0), 0), 0.1 * 2.0);
    let clipped = json!({"kind": "sgd", "rate": 0.1, "momentum": 0.0, "decay": 0.0, "clip": 1.0});
    near(found(clipped, 3), 0.1);
    let adam = |kind: &str, decay: f64| json!({"kind": kind, "rate": 0.1, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "decay": decay});
    let formula = |g: f64| {
        let (m, v): (f64, f64) = (0.9 * 0.5 + 0.1 * g, 0.99 * 0.25 + 0.01 * g * g);
        let (m, v) = (m / (1.0 - 0.9_f64.powi(4)), v / (1.0 - 0.99_f64.powi(4)));
        0.1 * m / (v.sqrt() + 1e-8)
    };
    near(found(adam("adam", 0.0), 3), formula(2.0));
    near(found(adam("adam", 0.5), 3), formula(2.5));
    near(found(adam("adamw", 0.5), 3), formula(2.0) + 0.1 * 0.5);
}

#[test]
fn whatever_is_wrong_with_a_file_is_said() {
    let here = here(1.0, 7);
    let name = here.layout[0].0.clone();
    let refused = |change: &dyn Fn(&mut Tensors, &mut Value)| {
        let (mut tensors, mut header) = (here.tensors(), here.header());
        change(&mut tensors, &mut header);
        let error = of_file(&tensors.to_bytes(&header), None).unwrap_err();
        assert!(!error.hint().is_empty());
        error.to_string()
    };
    let drop = |tensors: &mut Tensors, start: &str| {
        let mut kept = Tensors::default();
        for (name, shape, bytes) in tensors.iter().filter(|(name, ..)| !name.starts_with(start)) {
            let numbers = bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()));
            kept.add(name, shape, &numbers.collect::<Vec<f32>>());
        }
        *tensors = kept;
    };
    let one = format!("gradient/FD/{name}");
    assert_eq!(refused(&|t, _| drop(t, &one)), format!("`{one}` is missing"));
    assert_eq!(refused(&|t, _| drop(t, "gradient/FD/")), "arm `FD` has no gradient");
    assert!(refused(&|t, _| drop(t, &format!("param/{name}"))).contains("is listed, and"));
    assert!(
        refused(&|t, _| t.add("gradient/FD/odd", &[1], &[1.0_f32])).contains("an extra tensor")
    );
    assert!(refused(&|t, _| t.add("gradiant/FD/x", &[1], &[1.0_f32])).contains("`gradiant/FD/x`"));
    assert!(refused(&|t, _| t.add("gradient/new/x", &[1], &[1.0_f32])).contains("of no arm"));
    assert!(refused(&|t, _| t.add(&one, &[1], &[1.0_f32])).contains("has the shape [1]"));
    let odd = vec![f32::NAN; here.layout[0].1.iter().product()];
    assert!(refused(&|t, _| t.add(&one, &here.layout[0].1, &odd)).contains("number 0 is NaN"));
    let wide = vec![1.0_f64; odd.len()];
    assert!(
        refused(&|t, _| t.add(&one, &here.layout[0].1, &wide)).contains("is F64, others are F32")
    );
    let without = |key: &'static str| {
        move |_: &mut Tensors, h: &mut Value| {
            h.as_object_mut().unwrap().remove(key);
        }
    };
    assert!(refused(&without("step")).contains("without its count of steps"));
    assert!(refused(&without("optimizer")).contains("moments without an optimizer"));
    assert!(refused(&without("format")).contains("no `format`"));
    assert!(refused(&|_, h| h["format"] = 3.into()).contains("format 3"));
    assert!(refused(&|_, h| h["kind"] = "checkpoint".into()).contains("kind `checkpoint`"));
    assert!(refused(&|_, h| h["optimizer"]["betas"] = 3.into()).contains("betas"));
    assert!(refused(&|_, h| h["optimizer"]["rate"] = (-1.0).into()).contains("adamw.rate = -1"));
    assert!(refused(&|t, _| drop(t, "moment2/")).contains("no tensors `moment2/...`"));
    let bytes = here.tensors().to_bytes(&here.header());
    let half = of_file(&bytes[..bytes.len() - 9], None).unwrap_err().to_string();
    assert_eq!(half, "half of a file: 9 bytes of its tensors are missing");
    assert!(of_file(&bytes[..40], None).is_err() && of_file(b"{}", None).is_err());
    let longer = [bytes.as_slice(), &[0; 4]].concat();
    assert!(of_file(&longer, None).unwrap_err().to_string().contains("goes on after"));
}

#[test]
fn groups_follow_patterns() {
    let mut tensors = Tensors::default();
    for name in ["net.attn.q", "net.attn.k", "net.mlp", "out"] {
        tensors.add(&format!("gradient/a/{name}"), &[1], &[1.0_f32]);
    }
    let (_folder, path) = saved(&tensors.to_bytes(&json!({"kind": "export", "format": 2})));
    let described = open(&path).unwrap().described().clone();
    let rules: Vec<GroupRule> = vec!["attention=attn".parse().unwrap()];
    let found = group(&described, &rules).unwrap();
    let names: Vec<(&str, usize)> = found.iter().map(|g| (g.name.as_str(), g.len())).collect();
    assert_eq!(names, [("attention", 2), ("net.mlp", 1), ("out", 1)]);
    let none: GroupRule = "x=nothing".parse().unwrap();
    assert!(group(&described, &[none]).unwrap_err().to_string().contains("matches no parameter"));
    assert!("x".parse::<GroupRule>().is_err() && "x=(".parse::<GroupRule>().is_err());
}
