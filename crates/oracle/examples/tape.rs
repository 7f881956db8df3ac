//! The whole idea on one page, with nothing but the standard library.
//!
//! A policy with memory steers a cart to a target that it is shown only once, at the first step,
//! while the cart is still held. The forward is recorded and knows nothing of cuts. A cut is a
//! value, and a backward turns the record and the cut into a gradient: one forward, as many
//! gradients as you like.
//!
//!     cargo run --release -p backcut-oracle --example tape
//!
//! Read it from top to bottom. Numbers are `f64` and loops are plain; the crate `backcut-engine`
//! does the same for any policy that you can write down, many times faster, and a test holds this
//! page to it.

#![allow(missing_docs, reason = "a page is read, and what is public is so for its test alone")]

pub const STEPS: usize = 8;
pub const WIDTH: usize = 8;

// What the policy sees at a step: the cue (the target at step 0, zero after), position and
// velocity.
const TOKEN: usize = 3;

// ---------------------------------------------------------------------------------------- a cut

/// Which edges a backward keeps, from what a step stored to the queries of later steps.
///
/// A query is *near* a stored position in its own segment of so many steps, and *far* from all
/// others. Near credit reaches what was stored and the weights that project it; far credit, the
/// weights at most.
#[derive(Clone, Copy)]
pub struct Cut {
    pub name: &'static str,
    pub segment: usize,
    pub weights_take_far: bool,
}

pub const CUTS: [Cut; 4] = [
    // Full credit: the rollout is one segment.
    Cut { name: "FF", segment: STEPS, weights_take_far: true },
    // Truncated every two steps.
    Cut { name: "SEG-2", segment: 2, weights_take_far: true },
    // A stop-gradient at what is stored: `h.detach()` before the projections, which still learn.
    Cut { name: "F_SG", segment: 1, weights_take_far: true },
    // A detached cache: `k.detach()` and `v.detach()`. One line moved, and the projections learn
    // nothing from what later steps read.
    Cut { name: "FD", segment: 1, weights_take_far: false },
];

// ------------------------------------------------------------------------------ a linear layer

/// `y = x W + b`, with `W` (a row per input) and then `b` somewhere in one flat vector of
/// parameters.
///
/// The vector is flat because an optimizer, a norm and a comparison of two gradients want it so.
struct Linear {
    at: usize,
    inputs: usize,
    outputs: usize,
}

const EMBED: Linear = Linear { at: 0, inputs: TOKEN, outputs: WIDTH };
const QUERY: Linear = EMBED.then(WIDTH, WIDTH);
const KEY: Linear = QUERY.then(WIDTH, WIDTH);
const VALUE: Linear = KEY.then(WIDTH, WIDTH);
const HEAD: Linear = VALUE.then(2 * WIDTH, 1);
pub const PARAMETERS: usize = HEAD.end();

impl Linear {
    const fn end(&self) -> usize {
        self.at + (self.inputs + 1) * self.outputs
    }

    const fn then(&self, inputs: usize, outputs: usize) -> Self {
        Self { at: self.end(), inputs, outputs }
    }

    fn forward(&self, parameters: &[f64], x: &[f64]) -> Vec<f64> {
        let (weights, bias) = parameters[self.at..self.end()].split_at(self.inputs * self.outputs);
        let mut y = bias.to_vec();
        for (x, row) in x.iter().zip(weights.chunks(self.outputs)) {
            add(&mut y, *x, row);
        }
        y
    }

    /// What the weights learn from the adjoint of the output.
    fn teach(&self, gradient: &mut [f64], x: &[f64], dy: &[f64]) {
        let own = &mut gradient[self.at..self.end()];
        let (weights, bias) = own.split_at_mut(self.inputs * self.outputs);
        for (x, row) in x.iter().zip(weights.chunks_mut(self.outputs)) {
            add(row, *x, dy);
        }
        add(bias, 1.0, dy);
    }

    /// What the input receives.
    fn back(&self, parameters: &[f64], dy: &[f64]) -> Vec<f64> {
        let weights = &parameters[self.at..self.at + self.inputs * self.outputs];
        weights.chunks(self.outputs).map(|row| dot(row, dy)).collect()
    }
}

/// `to += factor * x`
fn add(to: &mut [f64], factor: f64, x: &[f64]) {
    for (to, x) in to.iter_mut().zip(x) {
        *to += factor * x;
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

// --------------------------------------------------------------------------------- the forward

/// The cart is held for the first steps: what they saw, only memory can keep.
pub fn push(t: usize) -> f64 {
    if t < 3 { 0.0 } else { 0.8 }
}

/// Everything of one step that a backward will need.
struct Step {
    token: [f64; TOKEN],
    /// What memory stores of this step: later queries project it.
    stored: Vec<f64>,
    query: Vec<f64>,
    key: Vec<f64>,
    value: Vec<f64>,
    /// How much the query attends to each position up to its own.
    attention: Vec<f64>,
    /// What the head reads: the stored representation, and what was read from memory.
    head: Vec<f64>,
    action: f64,
    /// Position after the step, minus the target.
    miss: f64,
}

/// One recorded rollout.
pub struct Record {
    steps: Vec<Step>,
    pub loss: f64,
}

/// Rolls the policy out. No cut in sight: whatever is differentiated later, this is what happened.
pub fn roll(parameters: &[f64], target: f64) -> Record {
    let (mut position, mut velocity, mut loss) = (0.0, 0.0, 0.0);
    let mut steps: Vec<Step> = Vec::new();
    for t in 0..STEPS {
        let token = [if t == 0 { target } else { 0.0 }, position, velocity];
        let mut stored = EMBED.forward(parameters, &token);
        for x in &mut stored {
            *x = x.tanh();
        }
        let query = QUERY.forward(parameters, &stored);
        let key = KEY.forward(parameters, &stored);
        let value = VALUE.forward(parameters, &stored);

        // The step's own key and value stand last, behind those of every earlier step.
        let keys = steps.iter().map(|step| &step.key).chain([&key]);
        let scores: Vec<f64> = keys.map(|key| dot(&query, key) / (WIDTH as f64).sqrt()).collect();
        let attention = softmax(&scores);
        let mut head = [stored.clone(), vec![0.0; WIDTH]].concat();
        let values = steps.iter().map(|step| &step.value).chain([&value]);
        for (weight, value) in attention.iter().zip(values) {
            add(&mut head[WIDTH..], *weight, value);
        }

        let action = HEAD.forward(parameters, &head)[0].tanh();
        velocity = 0.8 * velocity + push(t) * action;
        position += 0.5 * velocity;
        let miss = position - target;
        loss += miss * miss;
        steps.push(Step { token, stored, query, key, value, attention, head, action, miss });
    }
    Record { steps, loss }
}

fn softmax(scores: &[f64]) -> Vec<f64> {
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|power| power / sum).collect()
}

// -------------------------------------------------------------------------------- the backward

/// What later queries sent to the key and the value of one position, until its turn comes.
#[derive(Clone)]
struct Received {
    near: [Vec<f64>; 2],
    far: [Vec<f64>; 2],
}

/// The gradient of the record's loss under a cut: the forward read from its end to its beginning.
pub fn backward(parameters: &[f64], record: &Record, cut: Cut) -> Vec<f64> {
    let mut gradient = vec![0.0; PARAMETERS];
    let zeros = || [vec![0.0; WIDTH], vec![0.0; WIDTH]];
    let mut received = vec![Received { near: zeros(), far: zeros() }; STEPS];
    // What the step after this one hands back to position and velocity. These are edges too, from
    // one physical state to the next, and other cuts close them; here they stay.
    let (mut d_position, mut d_velocity) = (0.0, 0.0);

    for (t, step) in record.steps.iter().enumerate().rev() {
        d_position += 2.0 * step.miss;
        d_velocity += 0.5 * d_position;
        let d_action = push(t) * d_velocity * (1.0 - step.action * step.action);
        HEAD.teach(&mut gradient, &step.head, &[d_action]);
        let d_head = HEAD.back(parameters, &[d_action]);
        let (d_stored, d_read) = d_head.split_at(WIDTH);
        let mut d_stored = d_stored.to_vec();

        // Attention: a query keeps its own adjoint, and sends one to every key and value that it
        // read.
        let d_weights: Vec<f64> =
            record.steps[..=t].iter().map(|earlier| dot(d_read, &earlier.value)).collect();
        let mean = dot(&step.attention, &d_weights);
        let mut d_query = vec![0.0; WIDTH];
        for (j, earlier) in record.steps[..=t].iter().enumerate() {
            let weight = step.attention[j];
            let d_score = weight * (d_weights[j] - mean) / (WIDTH as f64).sqrt();
            add(&mut d_query, d_score, &earlier.key);
            // Here, and nowhere else, the cut decides. A step is always near itself.
            let is_near = j / cut.segment == t / cut.segment;
            let Received { near, far } = &mut received[j];
            let [d_key, d_value] = if is_near { near } else { far };
            add(d_key, d_score, &step.query);
            add(d_value, weight, d_read);
        }
        QUERY.teach(&mut gradient, &step.stored, &d_query);
        add(&mut d_stored, 1.0, &QUERY.back(parameters, &d_query));

        // Every later query has had its turn, so what this position received is complete.
        let Received { near, far } = &received[t];
        for ((projection, near), far) in [KEY, VALUE].iter().zip(near).zip(far) {
            add(&mut d_stored, 1.0, &projection.back(parameters, near));
            projection.teach(&mut gradient, &step.stored, near);
            if cut.weights_take_far {
                projection.teach(&mut gradient, &step.stored, far);
            }
        }

        // Through the embedding to the state that the step began with.
        let d_embed: Vec<f64> =
            d_stored.iter().zip(&step.stored).map(|(d, y)| d * (1.0 - y * y)).collect();
        EMBED.teach(&mut gradient, &step.token, &d_embed);
        let d_token = EMBED.back(parameters, &d_embed);
        d_position += d_token[1];
        d_velocity = 0.8 * d_velocity + d_token[2];
    }
    gradient
}

// -------------------------------------------------------------------------------- the training

/// AdamW: every parameter moves by the mean of its gradients over their root mean square, and
/// decays.
struct AdamW {
    step: i32,
    first: Vec<f64>,
    second: Vec<f64>,
}

impl AdamW {
    const RATE: f64 = 3e-3;
    const DECAY: f64 = 0.01;
    const BETAS: [f64; 2] = [0.9, 0.999];

    fn update(&mut self, parameters: &mut [f64], gradient: &[f64]) {
        self.step += 1;
        // Both means begin at zero; without this the first steps would be too short or too long.
        let unbias = Self::BETAS.map(|beta| 1.0 / (1.0 - beta.powi(self.step)));
        for (i, (p, g)) in parameters.iter_mut().zip(gradient).enumerate() {
            let [keep, keep_square] = Self::BETAS;
            self.first[i] = keep * self.first[i] + (1.0 - keep) * g;
            self.second[i] = keep_square * self.second[i] + (1.0 - keep_square) * g * g;
            *p -= Self::RATE * Self::DECAY * *p;
            let root = (self.second[i] * unbias[1]).sqrt();
            *p -= Self::RATE * self.first[i] * unbias[0] / (root + 1e-8);
        }
    }
}

/// Uniform numbers in -1..1, the same on every machine (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn draw(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

pub fn initial(random: &mut Random) -> Vec<f64> {
    let mut parameters = vec![0.0; PARAMETERS];
    for linear in [EMBED, QUERY, KEY, VALUE, HEAD] {
        let bound = 1.0 / (linear.inputs as f64).sqrt();
        parameters[linear.at..linear.end()].fill_with(|| bound * random.draw());
    }
    parameters
}

/// The loss of a step and its gradient, both means over a batch of targets.
fn batch(parameters: &[f64], targets: &[f64], cut: Cut) -> (f64, Vec<f64>) {
    let (mut loss, mut gradient) = (0.0, vec![0.0; PARAMETERS]);
    let share = 1.0 / (targets.len() * STEPS) as f64;
    for &target in targets {
        let record = roll(parameters, target);
        loss += share * record.loss;
        add(&mut gradient, share, &backward(parameters, &record, cut));
    }
    (loss, gradient)
}

/// Trains on the gradients of a cut; every cut sees the same batches.
fn train(mut parameters: Vec<f64>, cut: Cut, updates: usize) -> Vec<f64> {
    let zeros = vec![0.0; PARAMETERS];
    let mut optimizer = AdamW { step: 0, first: zeros.clone(), second: zeros };
    let mut random = Random(1);
    for _ in 0..updates {
        let targets: Vec<f64> = (0..16).map(|_| random.draw()).collect();
        let (_, gradient) = batch(&parameters, &targets, cut);
        optimizer.update(&mut parameters, &gradient);
    }
    parameters
}

fn main() {
    let mut random = Random(7);
    let parameters = initial(&mut random);
    let targets: Vec<f64> = (0..64).map(|_| random.draw()).collect();
    let (before, full) = batch(&parameters, &targets, CUTS[0]);
    println!(
        "{PARAMETERS} parameters, {STEPS} steps; mean squared miss before training {before:.4}"
    );
    println!("cut      |g| / |FF|   cosine with FF   miss after 200 and 1000 updates");
    for cut in CUTS {
        // The same parameters, targets and forward for all: only the cut differs.
        let (_, gradient) = batch(&parameters, &targets, cut);
        let norm = |g: &[f64]| dot(g, g).sqrt();
        let ratio = norm(&gradient) / norm(&full);
        let cosine = dot(&gradient, &full) / (norm(&gradient) * norm(&full));
        let [early, late] = [200, 1000]
            .map(|updates| batch(&train(parameters.clone(), cut, updates), &targets, cut).0);
        println!("{:<8} {ratio:>10.4} {cosine:>16.4} {early:>18.4} {late:>8.4}", cut.name);
    }
}
