//! What measuring one quadrotor state costs, one thread, and a panel of 112 batches
//! through one rig. Medians and minima; a shared machine shows in the difference.

#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]

use std::hint::black_box;
use std::time::Instant;

use backcut_engine::Cut;
use backcut_lab::measure::{
    ChainOptions, GradientOptions, Rig, Subject, UpdateOptions, chain, geometry_of_gradients,
    gradient, update, updates_of_gradients,
};
use backcut_lab::training::{AdamW, Arm, Optimizer, Trainer};
use backcut_systems::quadrotor::QuadrotorConfig;
use backcut_systems::{BatchKey, Stream};

const ROUNDS: usize = 31;
const STATES: u64 = 112;

fn time(name: &str, rounds: usize, mut work: impl FnMut()) {
    work();
    let mut times: Vec<f64> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("{name:<52} {:>9.3} {:>9.3}", times[rounds / 2], times[0]);
}

fn main() {
    let velocity = "0.20".parse().expect("a noise level");
    let config = QuadrotorConfig { velocity, ..QuadrotorConfig::default() };
    let system = config.check().expect("sound defaults");
    println!("{:<52} {:>9} {:>9}", "", "median ms", "min ms");
    for (words, clip) in [("unclipped", 1e9), ("clipped", 1.0)] {
        let optimizer = Optimizer::adamw(AdamW::default(), clip);
        let arm = Arm { cut: Cut::FF, seed: 1, stream: Stream::A, optimizer: optimizer.clone() };
        let mut trainer = Trainer::<f32>::new(&system, arm).expect("a sound arm");
        for _ in 0..20 {
            trainer.step().expect("early updates are harmless");
        }
        let state = trainer.state();
        let key = BatchKey { seed: 1, stream: Stream::A, update: state.update };
        let subject = Subject { system: &system, state: &state, optimizer: &optimizer, key };
        let mut rig = Rig::new(&system, &Cut::SIX).expect("every cut fits");
        let six = |rig: &mut Rig<f32>| {
            rig.set(&state.params).expect("the same policy");
            rig.differentiate(key).expect("an early state is tame");
        };
        time(&format!("{words}: six graphs, one forward"), ROUNDS, || six(&mut rig));
        time(&format!("{words}: and gradients by group"), ROUNDS, || {
            six(&mut rig);
            black_box(geometry_of_gradients(&rig));
        });
        for (words, scales) in [
            (format!("{words}: and updates at four layers"), false),
            (format!("{words}: and rho, signs, saturation"), true),
        ] {
            time(&words, ROUNDS, || {
                six(&mut rig);
                black_box(geometry_of_gradients(&rig));
                let updates = updates_of_gradients(&mut rig, &state, &optimizer, scales);
                black_box(updates.expect("the same policy"));
            });
        }
        if clip > 1.0 {
            let with = |ages: Vec<Cut>, paths| GradientOptions { windows: 1, ages, paths };
            time("gradient with the ages of FD", 7, || {
                let options = with(vec![Cut::FD], false);
                black_box(gradient(&mut rig, &subject, &options).expect("FD detaches memory"));
            });
            time("gradient with seeds and action norms", 7, || {
                let options = with(vec![], true);
                black_box(gradient(&mut rig, &subject, &options).expect("a tame state"));
            });
            time("chain gains", 7, || {
                black_box(chain(&mut rig, &subject, &ChainOptions::default()).expect("tame"));
            });
            time("panel of 112 states, gradient and update layers", 1, || {
                for i in 0..STATES {
                    let moved =
                        Subject { key: BatchKey { update: key.update + i, ..key }, ..subject };
                    rig.set(&state.params).expect("the same policy");
                    let options = UpdateOptions { windows: 1, scales: true };
                    black_box(update(&mut rig, &moved, &options).expect("a tame state"));
                    black_box(geometry_of_gradients(&rig));
                }
            });
        }
    }
}
