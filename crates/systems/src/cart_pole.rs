//! A pole on a cart swings up and stays, by pushing the cart alone. The policy sees where cart and
//! pole are; how fast they move it must remember, unless it is told.
//!
//! The pole is a uniform rod of half-length 0.5 m and 0.1 kg on a cart of 1 kg; angles count from
//! upright. A step is 0.05 s: velocities first, then positions with the new velocities.

use std::f64::consts::PI;
use std::num::NonZeroUsize;
use std::sync::Arc;

use backcut_engine::{ForwardSpec, MemoryReads, Program, Rollout, Trace, Var};
use backcut_kernels::Real;
use backcut_kernels::random::Stream as Random;
use serde::{Deserialize, Serialize};

use crate::policy::{Mixer, Policy};
use crate::settings::{Flag, Quantity, Settings, SettingsError, WINDOW};
use crate::{BatchKey, Optimizer, Recorded, SampleError, System};

const GRAVITY: f64 = 9.81;
const CART: f64 = 1.0;
const POLE: f64 = 0.1;
const HALF: f64 = 0.5;
const STEP: f64 = 0.05;
const FORCE: f64 = 10.0;

/// What a file or the command line may change.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CartPole {
    /// Whether the policy is not told its velocities.
    pub hidden: bool,
    /// How the policy remembers.
    pub policy: Mixer,
    /// Positions of memory that it reads; all if absent.
    pub window: Option<NonZeroUsize>,
    /// Steps of a rollout.
    pub steps: usize,
    /// Trajectories of a batch.
    pub batch: usize,
}

impl Default for CartPole {
    fn default() -> Self {
        Self { hidden: true, policy: Mixer::Attention, window: None, steps: 48, batch: 8 }
    }
}

/// Accelerations of cart and pole under a force.
fn accelerations<'t>(angle: Var<'t>, spin: Var<'t>, force: Var<'t>) -> [Var<'t>; 2] {
    let (sin, cos) = (angle.sin(), angle.cos());
    let pushed = (force + spin.square() * sin * (POLE * HALF)) / (CART + POLE);
    let inertia = HALF * (4.0 / 3.0 - cos.square() * (POLE / (CART + POLE)));
    let pole = (GRAVITY * sin - cos * pushed) / inertia;
    [pushed - pole * cos * (POLE * HALF / (CART + POLE)), pole]
}

impl Settings for CartPole {
    const NAME: &'static str = "cart-pole";
    const FLAGS: &'static [Flag] = &[WINDOW];
    const RECORDED: Option<Recorded> = Some(Recorded {
        settings: &[
            r#"{"hidden": true, "window": 3, "steps": 4, "batch": 2}"#,
            r#"{"policy": "gru", "steps": 4, "batch": 2}"#,
        ],
        hash: "e38e99d73d0c17c0c50c17f5b29ff64e7aea8c362684c0133d9f1e5dd8d1f225",
    });

    type System = Task;

    fn build(&mut self) -> Result<Task, SettingsError> {
        if !(1..=4096).contains(&self.steps) || !(1..=4096).contains(&self.batch) {
            let what = format!("{} steps, {} trajectories", self.steps, self.batch);
            return Err(SettingsError::new(what, "1 to 4096 of each"));
        }
        let reads = self.policy.reads(self.window)?;
        let t = Trace::new();
        let [place, angle, speed, spin] =
            t.state("state", 4).parts(["place", "angle", "speed", "spin"].map(|name| (name, 1)));
        let (seen, moves) =
            (t.concat(&[place, angle.sin(), angle.cos()]), t.concat(&[speed, spin]));
        let told = if self.hidden { 0.0 } else { 1.0 };
        let policy = Policy {
            steps: self.steps,
            width: 32,
            layers: 2,
            heads: 4,
            hidden: 64,
            ..Policy::small()
        };
        let policy = Policy { mixer: self.policy, ..policy };
        let token = t.tap("token", t.concat(&[seen, moves * told]));
        let push = t.tap("push", policy.trace(&t, token.edge("observation"), 1).tanh());
        let [cart, pole] = accelerations(angle, spin, push * FORCE);
        let (speed, spin) = (speed + cart * STEP, spin + pole * STEP);
        let (place, angle) = (place + speed * STEP, angle + spin * STEP);
        t.tap("true_velocity", moves);
        t.next("state", t.tap("next_state", t.concat(&[place, angle, speed, spin])));
        let steps = self.steps as f64;
        let price = (1.0 - angle.cos()) + place.square() * 0.1 + spin.square() * 0.01;
        t.loss((price + push.square() * 0.01) / steps);
        Ok(Task { program: Arc::new(t.compile()?), steps: self.steps, rows: self.batch, reads })
    }

    fn optimizer(&self) -> Optimizer {
        Optimizer { clip: 5.0.into(), ..Optimizer::default() }
    }

    fn error(&self) -> Quantity {
        Quantity { name: "mean price of a step", unit: "" }
    }
}

/// The system.
#[derive(Clone, Debug)]
pub struct Task {
    program: Arc<Program>,
    steps: usize,
    rows: usize,
    reads: MemoryReads,
}

impl<R: Real> System<R> for Task {
    fn program(&self) -> &Arc<Program> {
        &self.program
    }

    fn steps(&self) -> usize {
        self.steps
    }

    fn batch_rows(&self) -> usize {
        self.rows
    }

    fn spec(&self) -> ForwardSpec<R> {
        ForwardSpec { reads: self.reads.clone(), ..ForwardSpec::default() }
    }

    /// The pole hangs, nearly; everything moves a little.
    fn fill_batch(&self, key: BatchKey, rollout: &mut Rollout<R>) -> Result<(), SampleError> {
        let stream = Random::new(key.seed.wrapping_add(key.stream.offset()), "cart-pole");
        for (row, state) in
            rollout.initial_mut("state").into_iter().flat_map(|s| s.chunks_exact_mut(4)).enumerate()
        {
            let mut draws = stream.at(key.update, row as u64);
            for (x, (middle, spread)) in
                state.iter_mut().zip([(0.0, 0.3), (PI, 0.3), (0.0, 0.3), (0.0, 0.5)])
            {
                *x = R::from_f64(middle + spread * draws.normal());
            }
        }
        Ok(())
    }
}
