//! Random programs that use every kind of edge, from a seed.
//!
//! Always: two or three layers with a cache each, a register read by a linear site and by
//! arithmetic, a state in two parts that feeds the observation, a declared edge at the observation,
//! layer norm, GELU, a parameter shared by two linear sites. Sometimes: a register read beside
//! something else, a condition with set and cross-attention or recall, an attention that shares
//! another's keys, a key that is its own value, a projection read outside its attention, learned
//! positions, a second state. The dynamics contract and their terms are bounded, so values stay
//! near one.

use backcut_engine::ops::Op;
use backcut_engine::{Init, Program, Trace, TraceError, Var};

use crate::inputs::OracleInputs;

/// A small deterministic generator (splitmix64); tests need no more, and no dependency.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A stream for each seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A whole number in `low..=high`.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + (self.bits() % (high - low + 1) as u64) as usize
    }

    /// A number in `[low, high)`.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        let unit = (self.bits() >> 11) as f64 / (1u64 << 53) as f64;
        low + (high - low) * unit
    }

    /// True with a chance of one in `n`.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.between(1, n) == 1
    }

    fn table(&mut self, rows: usize, columns: usize) -> Vec<Vec<f64>> {
        (0..rows).map(|_| (0..columns).map(|_| self.uniform(-1.0, 1.0)).collect()).collect()
    }
}

/// A bounded smooth function of `x`, one of those that dynamics are made of.
fn drift<'t>(x: Var<'t>, random: &mut Random) -> Var<'t> {
    let bounded = x.tanh();
    let drifts = Op::drifts();
    drifts[random.between(0, drifts.len() - 1)](x, bounded)
}

/// All functions of which random programs draw some, of one value.
pub fn every_drift(x: Var<'_>) -> Vec<Var<'_>> {
    let bounded = x.tanh();
    Op::drifts().iter().map(|drift| drift(x, bounded)).collect()
}

/// What the layers of one program have in common.
struct Shape {
    width: usize,
    heads: usize,
    layers: usize,
    /// The projection whose weights all layers share.
    shared: &'static str,
}

/// The condition's keys and values (per layer, by name) or its single token.
struct Condition<'t> {
    tokens: usize,
    encoded: Var<'t>,
}

fn condition<'t>(t: &'t Trace, shape: &Shape, random: &mut Random) -> Condition<'t> {
    let tokens = random.between(1, 3);
    let points = t.condition_input("points", tokens, 2);
    let hidden = t.linear("condition.embed", points, shape.width);
    let normed = t.layer_norm("condition.norm", hidden);
    let project = |name: &str| t.linear(&format!("condition.{name}"), normed, shape.width);
    let read =
        t.attend_set("condition.set", project("w_q"), project("w_k"), project("w_v"), shape.heads);
    Condition { tokens, encoded: (hidden + read).gelu() }
}

/// One pre-norm block: cached attention, cross-attention if there is a condition, feed-forward.
fn block<'t>(
    t: &'t Trace,
    layer: usize,
    mut hidden: Var<'t>,
    condition: Option<&Condition<'t>>,
    shape: &Shape,
    random: &mut Random,
) -> Var<'t> {
    let name = |part: &str| {
        if part == shape.shared { format!("shared.{part}") } else { format!("block{layer}.{part}") }
    };
    let linear = |part: &str, x: Var<'t>| t.linear(&name(part), x, shape.width);

    let stored = t.layer_norm(&name("norm"), hidden);
    t.tap(&format!("stored{layer}"), stored);
    let (query, key) = (linear("w_q", stored), linear("w_k", stored));
    t.tap(&format!("key{layer}"), key);
    let value = if random.one_in(6) { key } else { linear("w_v", stored) };
    let mut read = t.attend(&format!("cache{layer}"), query, key, value, shape.heads);
    if random.one_in(4) {
        // A second cache on the same keys.
        let other = linear("w_v2", stored);
        read = read + t.attend(&format!("second{layer}"), -query, key, other, 1);
    }
    hidden = hidden + linear("w_o", read);
    if random.one_in(4) {
        hidden = hidden + value * 0.3;
    }
    if let Some(condition) = condition {
        let side = |part: &str| linear(part, condition.encoded);
        let query = linear("c_q", t.layer_norm(&name("c_norm"), hidden));
        let cross = t.cross(&name("cross"), query, side("c_k"), side("c_v"), shape.heads);
        hidden = hidden + cross;
    }
    let wide = t.linear(&name("up"), t.layer_norm(&name("f_norm"), hidden), 2 * shape.width);
    hidden + linear("down", wide.gelu())
}

/// A program that can roll out up to `max_steps` steps.
pub fn random_program(seed: u64, max_steps: usize) -> Result<Program, TraceError> {
    program(seed, max_steps, true)
}

/// The same without a register: all its memory is in caches, where windows and masks apply.
pub fn random_cache_program(seed: u64, max_steps: usize) -> Result<Program, TraceError> {
    program(seed, max_steps, false)
}

fn program(seed: u64, max_steps: usize, has_register: bool) -> Result<Program, TraceError> {
    let random = &mut Random::new(seed);
    let heads = random.between(1, 3);
    let shape = Shape {
        // A layer norm of two columns leaves nothing but a sign.
        width: (heads * random.between(2, 4)).max(4),
        heads,
        layers: random.between(2, 3),
        shared: ["w_q", "w_k", "w_v", "w_o"][random.between(0, 3)],
    };
    let state_width = random.between(2, 4);
    let register_width = random.between(2, 4);

    let t = Trace::new();
    t.share("shared");
    let condition = random.one_in(2).then(|| condition(&t, &shape, random));
    let body = t.state("body", state_width);
    body.parts([("first", 1), ("rest", state_width - 1)]);
    let register = has_register.then(|| t.register("register", register_width));
    let target = t.input("target", state_width);
    let points = t.input("points", 2 * state_width);
    let noise = t.input("noise", 1);

    let observation = t.concat(&[points.sub_tiled(body), body.sin(), body + noise]);
    observation.edge("observation");
    let mut hidden = t.linear("embed", observation, shape.width);
    if let Some(register) = register {
        // Alone, or a part of it beside something else; from a generator of its own.
        let read = match Random::new(!seed).between(0, 2) {
            0 => t.concat(&[body.column(0), register.slice(1, register_width - 1), noise]),
            _ => register,
        };
        hidden = hidden + t.linear("register.read", read, shape.width);
    }
    if random.one_in(2) {
        hidden =
            hidden + t.step_row("positions", max_steps, shape.width, Init::Normal { std: 0.3 });
    }
    if let Some(one) = condition.as_ref().filter(|c| c.tokens == 1) {
        hidden = hidden + t.recall(one.encoded);
    }
    for layer in 0..shape.layers {
        hidden = block(&t, layer, hidden, condition.as_ref(), &shape, random);
    }
    let hidden = t.layer_norm("norm", hidden);

    let action = t.tap("action", t.linear("head", hidden, state_width).tanh());
    let mut effort = action.square().sum() * 0.1;
    if let Some(register) = register {
        let remembered = t.linear("register.write", hidden, register_width).tanh();
        let recurrent = t.linear("register.recur", register, register_width).sin();
        let decay = t.constant(0.5, 1);
        t.next("register", register * decay + remembered * recurrent + register.tanh() * 0.2);
        effort = effort + (register.square().sum() + 1.0).sqrt() * 0.1;
    }

    let rolled = t.concat(&[body.slice(1, state_width - 1), body.column(0)]);
    let mut next = body * 0.7 + rolled * 0.1 + drift(body, random) * 0.2 + action * 0.4;
    next = next + drift(rolled, random) * action.column(0) * 0.2;
    if random.one_in(2) {
        let clock = t.state("clock", 1);
        t.next("clock", clock * 0.9 + action.column(0).cos() * 0.1);
        next = next + (next * 0.2) * clock;
    }
    t.next("body", next);
    let weights: Vec<f64> = (0..state_width).map(|_| random.uniform(0.5, 1.5)).collect();
    t.loss((next - target).weighted_square(&weights) + effort);
    t.compile()
}

/// Generic parameters: gains near one, everything else away from zero, keys large enough to matter.
pub fn random_parameters(program: &Program, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed ^ 0x7061_7261_6d73);
    let mut flat = Vec::with_capacity(program.layout().len());
    for parameter in program.layout().parameters() {
        let (centre, spread) = match parameter.init {
            Init::Zeros => (0.0, 0.3),
            Init::Ones => (1.0, 0.3),
            Init::Uniform { bound } => (0.0, 1.7 * bound),
            Init::Normal { std } => (0.0, 1.7 * std),
        };
        let range = (centre - spread, centre + spread);
        flat.extend((0..parameter.len()).map(|_| random.uniform(range.0, range.1)));
    }
    flat
}

/// Inputs of the right shapes, all within one of zero.
pub fn random_inputs(program: &Program, rows: usize, steps: usize, seed: u64) -> OracleInputs {
    let mut random = Random::new(seed ^ 0x696e_7075_7473);
    OracleInputs {
        inputs: program
            .inputs()
            .map(|(_, width)| (0..steps).map(|_| random.table(rows, width)).collect())
            .collect(),
        condition: program
            .condition_inputs()
            .map(|(_, width)| (0..rows).map(|_| random.table(program.tokens(), width)).collect())
            .collect(),
        states: program.states().iter().map(|s| random.table(rows, s.width)).collect(),
        registers: program.registers().iter().map(|r| random.table(rows, r.width)).collect(),
    }
}
