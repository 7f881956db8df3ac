//! The attention policy written out by hand, with the stop-gradients of the cut table in plain
//! sight.
//!
//! A pre-norm Transformer with a cache steers a body whose state feeds its next observation. The
//! cache holds the stored representations `n_j`; every query projects them anew. A cut of memory is
//! what one would write by hand: at a boundary all that was stored is detached
//! ([`Memory::pass_boundary`]), and of what a query projects ([`Memory::key_or_value`]) some is a
//! constant. There is no rule for pairs of steps. [`trace_policy`] writes the same policy on a
//! [`Trace`]: the interpreter and the engine must both agree with this file.

use std::collections::BTreeMap;

use backcut_engine::{
    Cut, Init, Layout, MemoryCredit, Parameter, Program, StateCredit, Trace, TraceError,
};

use crate::inputs::{OracleInputs, OracleSpec};
use crate::tape::{Scalar, Tape};

/// Columns of the position, the velocity, the target and the action.
const AXES: usize = 2;

/// How large a policy is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PolicySizes {
    /// Columns of the hidden representation.
    pub width: usize,
    /// Attention heads.
    pub heads: usize,
    /// Blocks.
    pub layers: usize,
    /// The longest rollout: rows of the learned positions.
    pub max_steps: usize,
}

impl Default for PolicySizes {
    fn default() -> Self {
        Self { width: 6, heads: 2, layers: 2, max_steps: 8 }
    }
}

/// A rollout of the hand-written policy and its gradient.
#[derive(Clone, PartialEq, Debug)]
pub struct PolicyRollout {
    /// Summed over rows and steps.
    pub loss: f64,
    /// In the order of the layout.
    pub gradient: Vec<f64>,
}

/// The same policy on a trace. Inputs `target` and `noise`, one state `body`, caches `block<i>`.
pub fn trace_policy(sizes: PolicySizes) -> Result<Program, TraceError> {
    let t = Trace::new();
    let body = t.state("body", 2 * AXES);
    let target = t.input("target", AXES);
    let noise = t.input("noise", AXES);
    let (position, velocity) = (body.slice(0, AXES), body.slice(AXES, AXES));

    let token = t.concat(&[target - position, velocity + noise]);
    let positions =
        t.step_row("positions", sizes.max_steps, sizes.width, Init::Normal { std: 0.3 });
    let mut hidden = t.linear("embed", token, sizes.width) + positions;
    for layer in 0..sizes.layers {
        let name = |part: &str| format!("block{layer}.{part}");
        let stored = t.layer_norm(&name("norm1"), hidden);
        let project = |part: &str| t.linear(&name(part), stored, sizes.width);
        let (query, key, value) = (project("w_q"), project("w_k"), project("w_v"));
        let read = t.attend(&format!("block{layer}"), query, key, value, sizes.heads);
        hidden = hidden + t.linear(&name("w_o"), read, sizes.width);
        let normed = t.layer_norm(&name("norm2"), hidden);
        let wide = t.linear(&name("up"), normed, 3 * sizes.width).gelu();
        hidden = hidden + t.linear(&name("down"), wide, sizes.width);
    }
    let action = t.linear("head", t.layer_norm("norm", hidden), AXES).tanh();

    let velocity = velocity * 0.9 + action * 0.2 + position.sin() * 0.05;
    let position = position + velocity * 0.1;
    t.next("body", t.concat(&[position, velocity]));
    t.loss(
        (position - target).square().sum() * 10.0
            + velocity.square().sum()
            + action.square().sum() * 0.1,
    );
    t.compile()
}

type Row<'t> = Vec<Scalar<'t>>;

/// The weights by name; a matrix is a list of rows.
struct Weights<'t>(BTreeMap<String, Vec<Row<'t>>>);

impl<'t> Weights<'t> {
    fn new(layout: &Layout, flat: &[Scalar<'t>]) -> Self {
        let matrix = |p: &Parameter| flat[p.range()].chunks(p.cols).map(<[_]>::to_vec).collect();
        Self(layout.parameters().iter().map(|p| (p.name.clone(), matrix(p))).collect())
    }

    fn row(&self, name: &str) -> &Row<'t> {
        &self.0[name][0]
    }

    fn linear(&self, name: &str, x: &[Scalar<'t>]) -> Row<'t> {
        let mut y = self.row(&format!("{name}.bias")).clone();
        for (&x, weights) in x.iter().zip(&self.0[&format!("{name}.weight")]) {
            for (y, &w) in y.iter_mut().zip(weights) {
                *y = *y + x * w;
            }
        }
        y
    }

    fn layer_norm(&self, name: &str, x: &[Scalar<'t>]) -> Row<'t> {
        let (gain, bias) = (self.row(&format!("{name}.gain")), self.row(&format!("{name}.bias")));
        let per_column = 1.0 / x.len() as f64;
        let mean = x.iter().copied().sum::<Scalar>() * per_column;
        let power = x.iter().map(|x| x.square()).sum::<Scalar>() * per_column;
        let scale = (power - mean.square() + 1e-5).sqrt().recip();
        (0..x.len()).map(|c| (x[c] - mean) * scale * gain[c] + bias[c]).collect()
    }
}

fn gelu(x: Scalar<'_>) -> Scalar<'_> {
    let c = (2.0 / std::f64::consts::PI).sqrt();
    x * 0.5 * ((x * c + x.square() * x * (c * 0.044_715)).tanh() + 1.0)
}

fn scaled<'t>(row: &[Scalar<'t>], factor: f64) -> Row<'t> {
    row.iter().map(|x| x.scale_gradient(factor)).collect()
}

fn detach<'t>(row: &[Scalar<'t>]) -> Row<'t> {
    row.iter().map(|x| x.detach()).collect()
}

/// The stored representations of one layer, and how much credit passes to them.
struct Memory<'s, 't> {
    credit: MemoryCredit,
    spec: &'s OracleSpec,
    stored: Vec<Row<'t>>,
}

impl<'t> Memory<'_, 't> {
    /// `W n_j` as the query of step `t` sees it.
    fn key_or_value(&self, weights: &Weights<'t>, name: &str, j: usize, t: usize) -> Row<'t> {
        let n = &self.stored[j];
        let project = |n: &[Scalar<'t>]| weights.linear(name, n);
        if j == t {
            return project(n);
        }
        if j < self.spec.prefix {
            return detach(&project(n));
        }
        match self.credit {
            MemoryCredit::Projected => detach(&project(n)),
            MemoryCredit::Scaled { alpha } => project(&scaled(n, alpha.get())),
            _ => project(n),
        }
    }

    /// Before step `t`: what a cut does to everything stored so far.
    fn pass_boundary(&mut self, t: usize) {
        let Some(step) = t.checked_sub(self.spec.prefix).filter(|&step| step > 0) else { return };
        let draw = self.spec.draw;
        let (is_cut, survives) = match self.credit {
            MemoryCredit::Full | MemoryCredit::Projected | MemoryCredit::Scaled { .. } => return,
            MemoryCredit::Stored { segment: None } => (true, 1.0),
            MemoryCredit::Stored { segment: Some(length) } => {
                (step.is_multiple_of(length.get() as usize), 1.0)
            }
            MemoryCredit::Shifted { length } => {
                ((step + draw.offset(length)).is_multiple_of(length.get() as usize), 1.0)
            }
            MemoryCredit::Random { chance, unbiased } => {
                (draw.is_cut(step, chance), if unbiased { 1.0 - chance.get() } else { 1.0 })
            }
        };
        for n in &mut self.stored {
            *n = if is_cut { detach(n) } else { scaled(n, 1.0 / survives) };
        }
    }

    /// Attention of the newest step over the positions it may read.
    fn attend(&self, weights: &Weights<'t>, name: &str, heads: usize) -> Row<'t> {
        let t = self.stored.len() - 1;
        let first = self.spec.window.map_or(0, |w| (t + 1).saturating_sub(w));
        let visible = |j: &usize| *j == t || self.spec.mask.as_ref().is_none_or(|m| m[t][*j]);
        let query = weights.linear(&format!("{name}.w_q"), &self.stored[t]);
        let read = |part: &str| -> Vec<Row<'t>> {
            let part = format!("{name}.{part}");
            let positions = (first..=t).filter(visible);
            positions.map(|j| self.key_or_value(weights, &part, j, t)).collect()
        };
        let (keys, values) = (read("w_k"), read("w_v"));
        let dim = query.len() / heads;
        let mut output = Row::new();
        for head in (0..heads).map(|h| h * dim) {
            let softmax: Row = keys
                .iter()
                .map(|key| {
                    let score: Scalar = (head..head + dim).map(|c| query[c] * key[c]).sum();
                    (score * (1.0 / (dim as f64).sqrt())).exp()
                })
                .collect();
            let total: Scalar = softmax.iter().copied().sum();
            for c in head..head + dim {
                output.push(softmax.iter().zip(&values).map(|(&p, v)| p / total * v[c]).sum());
            }
        }
        output
    }
}

/// What one step is given besides the body's state and the memory.
struct Step<'a> {
    t: usize,
    target: &'a [f64],
    noise: &'a [f64],
}

/// One step: the next state and the loss.
fn step<'t>(
    weights: &Weights<'t>,
    sizes: PolicySizes,
    body: &[Scalar<'t>],
    memory: &mut [Memory<'_, 't>],
    given: &Step<'_>,
) -> (Row<'t>, Scalar<'t>) {
    let add = |a: &Row<'t>, b: &Row<'t>| a.iter().zip(b).map(|(&a, &b)| a + b).collect::<Row>();
    let (position, velocity) = body.split_at(AXES);
    let mut token: Row = (0..AXES).map(|i| -position[i] + given.target[i]).collect();
    token.extend((0..AXES).map(|i| velocity[i] + given.noise[i]));

    let mut hidden = add(&weights.linear("embed", &token), &weights.0["positions"][given.t]);
    for (layer, memory) in memory.iter_mut().enumerate() {
        let name = |part: &str| format!("block{layer}{part}");
        memory.pass_boundary(given.t);
        memory.stored.push(weights.layer_norm(&name(".norm1"), &hidden));
        let read = memory.attend(weights, &name(""), sizes.heads);
        hidden = add(&hidden, &weights.linear(&name(".w_o"), &read));
        let wide = weights.linear(&name(".up"), &weights.layer_norm(&name(".norm2"), &hidden));
        let wide: Row = wide.into_iter().map(gelu).collect();
        hidden = add(&hidden, &weights.linear(&name(".down"), &wide));
    }
    let action = weights.linear("head", &weights.layer_norm("norm", &hidden));
    let action: Row = action.into_iter().map(Scalar::tanh).collect();

    let (mut next, mut loss) = (Row::new(), Scalar::constant(0.0));
    let mut speeds = Row::new();
    for i in 0..AXES {
        let speed = velocity[i] * 0.9 + action[i] * 0.2 + position[i].sin() * 0.05;
        let place = position[i] + speed * 0.1;
        loss = loss + (place + -given.target[i]).square() * 10.0;
        loss = loss + speed.square() + action[i].square() * 0.1;
        next.push(place);
        speeds.push(speed);
    }
    next.extend(speeds);
    (next, loss)
}

/// Rolls the policy out for `inputs` (as the traced policy names them) and differentiates it.
///
/// `flat` holds the parameters of [`trace_policy`]'s layout.
///
/// # Panics
/// If the cut has parts: this policy knows none.
pub fn policy_by_hand(
    layout: &Layout,
    flat: &[f64],
    sizes: PolicySizes,
    inputs: &OracleInputs,
    spec: &OracleSpec,
    cut: Cut,
) -> PolicyRollout {
    assert!(cut.parts.is_empty(), "{cut} has parts");
    policy_with_state_factor(layout, flat, sizes, inputs, spec, cut, 1.0)
}

/// The same where `state_factor` multiplies what passes a state edge: 1 under every cut, another
/// number to count the edges along paths.
pub fn policy_with_state_factor(
    layout: &Layout,
    flat: &[f64],
    sizes: PolicySizes,
    inputs: &OracleInputs,
    spec: &OracleSpec,
    cut: Cut,
    state_factor: f64,
) -> PolicyRollout {
    let tape = Tape::new();
    let leaves: Row = flat.iter().map(|&x| tape.leaf(x)).collect();
    let (weights, constants) =
        (Weights::new(layout, &leaves), Weights::new(layout, &detach(&leaves)));
    // Steps(k): copy i may pass i more state edges; the loss is that of the last copy.
    let copies = match cut.state {
        StateCredit::Full => 1,
        StateCredit::Steps(k) => k.get() as usize,
    };
    let mut total = Scalar::constant(0.0);
    for row in 0..spec.rows {
        let initial: Row = inputs.states[0][row].iter().map(|&x| Scalar::constant(x)).collect();
        let mut bodies = vec![initial; copies];
        let mut memories: Vec<Vec<Memory<'_, '_>>> = Vec::new();
        memories.resize_with(copies, || {
            let empty = |_| Memory { credit: cut.memory, spec, stored: Vec::new() };
            (0..sizes.layers).map(empty).collect()
        });
        for t in 0..spec.steps {
            let given =
                Step { t, target: &inputs.inputs[0][t][row], noise: &inputs.inputs[1][t][row] };
            let weights = if t < spec.prefix { &constants } else { &weights };
            let before = bodies.clone();
            for copy in 0..copies {
                let body: Row = match (cut.state, copy) {
                    (StateCredit::Full, _) => {
                        before[0].iter().map(|x| x.scale_gradient(state_factor)).collect()
                    }
                    (StateCredit::Steps(_), 0) => detach(&before[0]),
                    (StateCredit::Steps(_), _) => before[copy - 1].clone(),
                };
                let (next, loss) = step(weights, sizes, &body, &mut memories[copy], &given);
                bodies[copy] = next;
                if copy == copies - 1 && t >= spec.prefix {
                    total = total + loss;
                }
            }
        }
    }
    let adjoints = tape.backward(total);
    PolicyRollout {
        loss: total.value(),
        gradient: leaves.iter().map(|&leaf| adjoints.of(leaf)).collect(),
    }
}
