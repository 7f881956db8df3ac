//! scratch
use backcut_engine::*;
use backcut_kernels::{Isa, Real, optim};
use backcut_systems::policy::{Initialisation, Transformer};
use std::sync::Arc;
use std::time::Instant;

fn program(steps: usize) -> Arc<Program> {
    let t = Trace::new();
    let s = t.state("s", 12);
    let reference = t.input("reference", 90);
    let target = t.input("target", 12);
    let tail = reference.sub_tiled(s.slice(0, 9));
    let token = t.concat(&[s, s.slice(0, 3), tail]);
    let p = Transformer {
        steps,
        width: 64,
        layers: 2,
        heads: 4,
        hidden: 192,
        initialisation: Initialisation::Pytorch,
    };
    let a = p.trace(&t, token, 4).sigmoid();
    let push = t.concat(&[a, a, a]);
    let next = s * 0.98 + push * 0.05 + s.sin() * 0.01;
    t.next("s", next);
    t.loss((next - target).weighted_square(&[1.0; 12]));
    Arc::new(t.compile().unwrap())
}

fn fill<R: Real>(r: &mut Rollout<R>) {
    for (i, v) in r.input_mut("reference").unwrap().iter_mut().enumerate() {
        *v = R::from_f64(((i * 37 % 101) as f64 - 50.0) / 80.0);
    }
    for (i, v) in r.input_mut("target").unwrap().iter_mut().enumerate() {
        *v = R::from_f64(((i * 31 % 97) as f64 - 48.0) / 90.0);
    }
    for (i, v) in r.initial_mut("s").unwrap().iter_mut().enumerate() {
        *v = R::from_f64(((i * 17 % 23) as f64 - 11.0) / 30.0);
    }
}

fn main() {
    let isa = Isa::detect();
    // differences
    {
        let p = program(6);
        let values: Vec<f64> = p.layout().initialise(1);
        let mut r = Rollout::new(&p, 3, 6, ForwardSpec::default()).unwrap();
        fill(&mut r);
        let m = Model::new(&p, isa, values.clone()).unwrap();
        m.roll_into(&mut r).unwrap();
        let cuts: Vec<Cut> =
            ["FF", "SEG-6", "F_A1", "F_SG", "SEG-1", "F_A0", "FD", "SEG-2", "K9F", "KF", "K3_SG"]
                .iter()
                .map(|c| c.parse().unwrap())
                .collect();
        let mut w = Workspace::new(&r, &cuts).unwrap();
        w.backward(&m, &r).unwrap();
        let norm = |g: &[f64]| g.iter().map(|v| v * v).sum::<f64>().sqrt();
        for (i, c) in cuts.iter().enumerate() {
            let d: Vec<f64> = w.gradient(i).iter().zip(w.gradient(0)).map(|(a, b)| a - b).collect();
            println!(
                "{c:8} |g| {:.6} rel diff to FF {:.3e}",
                norm(w.gradient(i)),
                norm(&d) / norm(w.gradient(0))
            );
        }
        let dir: Vec<f64> =
            (0..values.len()).map(|i| ((i * 7919 % 1009) as f64 - 504.0) / 504.0).collect();
        let f = |h: f64, r: &mut Rollout<f64>| {
            let v: Vec<f64> = values.iter().zip(&dir).map(|(v, d)| v + h * d).collect();
            Model::new(&p, isa, v).unwrap().roll_into(r).unwrap()
        };
        let h = 1e-5;
        let num = (8.0 * (f(h, &mut r) - f(-h, &mut r))
            - (f(2.0 * h, &mut r) - f(-2.0 * h, &mut r)))
            / (12.0 * h);
        let ana: f64 = dir.iter().zip(w.gradient(0)).map(|(a, b)| a * b).sum();
        println!(
            "numeric {num} analytic {ana} rel {:e}",
            (num - ana) / norm(w.gradient(0)) / norm(&dir)
        );
    }
    let p = program(32);
    println!("weights {} nodes {}", p.layout().len(), p.nodes().len());
    let mut m = Model::new(&p, isa, p.layout().initialise::<f32>(1)).unwrap();
    let mut r = Rollout::new(&p, 8, 32, ForwardSpec::default()).unwrap();
    fill(&mut r);
    m.roll_into(&mut r).unwrap();
    let settings = optim::AdamW { rate: 1e-9, beta1: 0.9, beta2: 0.999, eps: 1e-8, decay: 0.01 };
    let n = p.layout().len();
    let (mut mo, mut ve) = (vec![0f32; n], vec![0f32; n]);
    let only = std::env::args().nth(1);
    if only.as_deref() == Some("roll") {
        let mut v = vec![];
        for _ in 0..3000 {
            let a = Instant::now();
            m.roll_into(&mut r).unwrap();
            v.push(a.elapsed().as_nanos());
        }
        v.sort();
        println!("roll p5 {} us", v[150] / 1000);
        return;
    }
    for set in [
        &["FF"][..],
        &["F_SG"],
        &["FD"],
        &["SEG-8"],
        &["KF"],
        &["FF", "FD", "F_SG", "KF", "KD", "K_SG"],
    ] {
        if only.as_ref().is_some_and(|o| o != &set.join(",")) {
            continue;
        }
        let cuts: Vec<Cut> = set.iter().map(|c| c.parse().unwrap()).collect();
        for chunk in [4, 8] {
            let mut w = Workspace::with_chunk(&r, &cuts, chunk).unwrap();
            let (mut tf, mut tb, mut to) = (vec![], vec![], vec![]);
            for u in 0..400 {
                let a = Instant::now();
                m.roll_into(&mut r).unwrap();
                let b = Instant::now();
                w.backward(&m, &r).unwrap();
                let c = Instant::now();
                let g = optim::global_norm(isa, w.gradient(0));
                assert!(g.is_finite());
                m.edit(|v| {
                    optim::adamw(isa, &settings, u + 1, 1.0, v, &mut mo, &mut ve, w.gradient(0))
                });
                let d = Instant::now();
                tf.push((b - a).as_nanos());
                tb.push((c - b).as_nanos());
                to.push((d - c).as_nanos());
            }
            let med = |v: &mut Vec<u128>| {
                v.sort();
                v[v.len() / 20] as f64 / 1e3
            };
            println!(
                "{set:?} chunk {chunk}: forward {:.0} backward {:.0} opt {:.0} us; ws {} KB rollout {} KB",
                med(&mut tf),
                med(&mut tb),
                med(&mut to),
                w.bytes() / 1024,
                r.bytes() / 1024
            );
        }
    }
}
