//! Gradients of the analytic system under any cut, forwards and in plain `f64`.
//!
//! Let `z = (x, m)`. One step is linear, so what a weight `theta` used at step `j` does to a later
//! loss is a product of 2 x 2 matrices. With `e_j = dz_{j+1}/dtheta` at fixed `z_j`, the full
//! derivative is
//!
//! ```text
//! dz_{s+1}/dtheta = sum over j <= s of J^(s-j) e_j,    J = [[A + k, kappa w], [v, lambda]]
//! ```
//!
//! and a cut changes two things alone. Its edges: the first column of `J` belongs to the state
//! edge, the second to the memory edge, so
//!
//! | cut | J |
//! | --- | --- |
//! | FF | `[[A + k, kappa w], [v, lambda]]` |
//! | FD, F_SG | `[[A + k, 0], [v, 0]]` |
//! | KF | `[[0, kappa w], [0, lambda]]` |
//! | KD, K_SG | 0 |
//! | F_A\<alpha\> | `[[A + k, alpha kappa w], [v, alpha lambda]]` |
//! | SEG-L | FF's, with the second column 0 at the first step of every segment |
//! | K\<k\>. | terms with at most `k - 1` first columns |
//!
//! And its weights: FD drops `e_j` of `w` and `lambda` for every `j` whose register an earlier step
//! wrote (`j > 0`).

use backcut_engine::{Cut, MemoryCredit, StateCredit};

use super::{ACTION_PRICE, DECAY};

/// One trajectory's inputs.
#[derive(Clone, PartialEq, Debug)]
pub struct Trajectory {
    /// Physical state at the start.
    pub x0: f64,
    /// Memory at the start.
    pub m0: f64,
    /// The disturbance at every step.
    pub disturbance: Vec<f64>,
    /// The gust at every step, which the policy sees.
    pub gust: Vec<f64>,
    /// The reading's noise at every step.
    pub noise: Vec<f64>,
}

/// The loss and its gradient for `[k, f, w, lambda, v]`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Closed {
    /// Summed over steps.
    pub loss: f64,
    /// In the order of [`super::PARAMETERS`].
    pub gradient: [f64; 5],
}

/// What happened at one step.
struct Step {
    reading: f64,
    gust: f64,
    memory: f64,
    action: f64,
    next_x: f64,
}

/// The loss of one trajectory and its gradient under a cut; `None` if it has parts or leaves
/// something to chance, for which nobody has worked it out.
pub fn gradient(
    cut: Cut,
    coupling: f64,
    theta: [f64; 5],
    trajectory: &Trajectory,
) -> Option<Closed> {
    if cut.is_drawn() || !cut.parts.is_empty() {
        return None;
    }
    let steps = simulate(coupling, theta, trajectory);
    let price = |s: &Step| s.next_x * s.next_x + ACTION_PRICE * s.action * s.action;
    let loss = steps.iter().map(price).sum();
    let of = |parameter| {
        (0..steps.len()).map(|j| use_at(cut, coupling, theta, &steps, parameter, j)).sum()
    };
    Some(Closed { loss, gradient: [0, 1, 2, 3, 4].map(of) })
}

fn simulate(coupling: f64, [k, f, w, lambda, v]: [f64; 5], trajectory: &Trajectory) -> Vec<Step> {
    let (mut x, mut memory) = (trajectory.x0, trajectory.m0);
    let Trajectory { disturbance, gust, noise, .. } = trajectory;
    let inputs = disturbance.iter().zip(gust).zip(noise);
    inputs
        .map(|((disturbance, &gust), noise)| {
            let reading = x + noise;
            let action = k * reading + f * gust + coupling * w * memory;
            let next_x = DECAY * x + action + gust + disturbance;
            let step = Step { reading, gust, memory, action, next_x };
            (x, memory) = (next_x, lambda * memory + v * reading);
            step
        })
        .collect()
}

/// What one use of one parameter at step `j` contributes: a sum over the losses at `s >= j`.
fn use_at(
    cut: Cut,
    coupling: f64,
    [k, _, w, lambda, v]: [f64; 5],
    steps: &[Step],
    parameter: usize,
    j: usize,
) -> f64 {
    let used = &steps[j];
    let reads_register = parameter == 2 || parameter == 3;
    if reads_register && j > 0 && cut.memory == MemoryCredit::Projected {
        return 0.0;
    }
    // Direct effects on (a_j, x_{j+1}, m_{j+1}).
    let (on_action, on_x, on_m) = match parameter {
        0 => (used.reading, used.reading, 0.0),
        1 => (used.gust, used.gust, 0.0),
        2 => (coupling * used.memory, coupling * used.memory, 0.0),
        3 => (0.0, 0.0, used.memory),
        _ => (0.0, 0.0, used.reading),
    };
    let pays = |s: &Step, x: f64, a: f64| 2.0 * s.next_x * x + 2.0 * ACTION_PRICE * s.action * a;
    let mut total = pays(used, on_x, on_action);
    let most = match cut.state {
        StateCredit::Full => steps.len(),
        StateCredit::Steps(depth) => depth.get() as usize - 1,
    };
    // dz by the number of state edges passed so far.
    let mut passed = vec![(0.0, 0.0); most.min(steps.len()) + 1];
    passed[0] = (on_x, on_m);
    for (s, step) in steps.iter().enumerate().skip(j + 1) {
        let keep = memory_edge(cut.memory, s);
        let mut next = vec![(0.0, 0.0); passed.len()];
        for (edges, &(x, m)) in passed.iter().enumerate() {
            let recalled = keep * coupling * w * m;
            total += pays(step, recalled, recalled);
            next[edges].0 += recalled;
            next[edges].1 += keep * lambda * m;
            if edges < most.min(steps.len()) {
                total += pays(step, (DECAY + k) * x, k * x);
                next[edges + 1].0 += (DECAY + k) * x;
                next[edges + 1].1 += v * x;
            }
        }
        passed = next;
    }
    total
}

/// What the memory half leaves of the register's edge from step `s - 1` to step `s`.
fn memory_edge(memory: MemoryCredit, s: usize) -> f64 {
    match memory {
        MemoryCredit::Full => 1.0,
        MemoryCredit::Projected | MemoryCredit::Stored { segment: None } => 0.0,
        MemoryCredit::Stored { segment: Some(length) } => {
            f64::from(u8::from(!s.is_multiple_of(length.get() as usize)))
        }
        MemoryCredit::Scaled { alpha } => alpha.get(),
        MemoryCredit::Shifted { .. } | MemoryCredit::Random { .. } => f64::NAN,
    }
}
