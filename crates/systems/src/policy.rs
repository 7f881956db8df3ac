//! Policies with memory: pre-norm blocks that remember by attention to a KV cache or by a
//! recurrence, and read a context if they have one.
//!
//! Everything but the way a block remembers ([`Mixer`]) is the same, so that policies differ in
//! their memory alone. The memory edge of a recurrence is its hidden state, a register: `F_SG` is
//! what `h.detach()` does in a loop of PyTorch.

mod embedding;

use std::num::NonZeroUsize;

use backcut_engine::{Init, MemoryReads, Trace, Var};

use crate::settings::SettingsError;

pub(crate) use embedding::is_usual;
pub use embedding::{Embedding, PositionStart};

/// How weights start. The paper does not say; see the calibration page for what was tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Initialisation {
    /// PyTorch's default for linear layers: uniform within `1 / sqrt(inputs)`, weights and biases;
    /// positions normal with 0.02.
    Pytorch,
    /// Normal with 0.02, zero biases.
    Gpt,
    /// PyTorch's default for the embedding, `Gpt` for everything else.
    GptPytorchEmbedding,
}

/// How a block remembers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mixer {
    /// Causal attention to everything that was stored: a Transformer.
    #[default]
    Attention,
    /// A gated recurrent unit.
    Gru,
    /// A long short-term memory: a hidden state and a cell.
    Lstm,
    /// A gated linear recurrence: what decays, and what is added, depend on the present alone.
    Ssm,
    /// Nothing: the block sees the present alone.
    None,
}

impl std::fmt::Display for Mixer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Attention => "attention",
            Self::Gru => "gru",
            Self::Lstm => "lstm",
            Self::Ssm => "ssm",
            Self::None => "none",
        })
    }
}

impl Mixer {
    /// What a forward with this window reads. Recurrences have no positions to choose from.
    pub fn reads(self, window: Option<NonZeroUsize>) -> Result<MemoryReads, SettingsError> {
        match window {
            Some(_) if !self.is_usual() => Err(SettingsError::new(
                format!("a window, but the policy remembers by `{self}`"),
                "a window limits attention; a policy without memory is `policy = \"none\"`",
            )),
            _ => Ok(window.map_or(MemoryReads::All, MemoryReads::Window)),
        }
    }

    /// Whether it is the usual one, which files need not name.
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// Sizes of a policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Longest rollout (rows of the position table).
    pub steps: usize,
    /// Model width.
    pub width: usize,
    /// Blocks.
    pub layers: usize,
    /// Attention heads.
    pub heads: usize,
    /// Columns of the feed-forward's hidden layer.
    pub hidden: usize,
    /// How weights start.
    pub initialisation: Initialisation,
    /// How blocks remember.
    #[serde(default, skip_serializing_if = "Mixer::is_usual")]
    pub mixer: Mixer,
    /// What becomes of a token before the first block.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub embedding: Embedding,
    /// Whether keys have a bias. No query can see it: its exact gradient is zero where nothing is
    /// cut.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub key_bias: bool,
    /// Rows of the position table [default: one per step]. Rows beyond the steps are never read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positions: Option<usize>,
    /// How positions start.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub position_start: PositionStart,
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_yes(choice: &bool) -> bool {
    *choice
}

impl Policy {
    /// One block of width 16: enough for a first try.
    pub fn small() -> Self {
        Self {
            steps: 16,
            width: 16,
            layers: 1,
            heads: 2,
            hidden: 32,
            initialisation: Initialisation::Pytorch,
            mixer: Mixer::default(),
            embedding: Embedding::default(),
            key_bias: true,
            positions: None,
            position_start: PositionStart::default(),
        }
    }

    pub(crate) fn linear<'t>(&self, t: &'t Trace, name: &str, x: Var<'t>, width: usize) -> Var<'t> {
        match self.initialisation {
            Initialisation::Pytorch => t.linear(name, x, width),
            Initialisation::GptPytorchEmbedding if name == "embedding" => t.linear(name, x, width),
            Initialisation::Gpt | Initialisation::GptPytorchEmbedding => {
                t.linear_with(name, x, width, Init::Normal { std: 0.02 }, Some(Init::Zeros))
            }
        }
    }

    /// Traces the policy: `token` in, `outputs` columns out (before any squashing). Taps: the
    /// stored representation of each layer, `block<i>.stored`.
    #[track_caller]
    pub fn trace<'t>(&self, t: &'t Trace, token: Var<'t>, outputs: usize) -> Var<'t> {
        self.decode(t, token, None, outputs)
    }

    /// The same policy with a context: after its own memory, every block reads the tokens of a
    /// condition. Keys have no bias here, since no query can see one.
    #[track_caller]
    pub fn trace_with<'t>(
        &self,
        t: &'t Trace,
        token: Var<'t>,
        context: Var<'t>,
        outputs: usize,
    ) -> Var<'t> {
        self.decode(t, token, Some(context), outputs)
    }

    /// Encodes a condition's tokens by as many blocks as the policy has, in which all of them read
    /// each other: a context for [`trace_with`](Self::trace_with).
    #[track_caller]
    pub fn encode<'t>(&self, t: &'t Trace, tokens: Var<'t>) -> Var<'t> {
        let mut h = self.linear(t, "tokens", tokens, self.width);
        for layer in 0..self.layers {
            let block = format!("encoder{layer}");
            let n = t.layer_norm(&format!("{block}.norm1"), h);
            let [q, k, v] = self.projections(t, &format!("{block}.set"), n, n);
            let read = t.attend_set(&block, q, k, v, self.heads);
            h = h + self.linear(t, &format!("{block}.set_o"), read, self.width);
            h = self.feed_forward(t, &block, "norm2", h);
        }
        t.layer_norm("context", h)
    }

    #[track_caller]
    fn decode<'t>(
        &self,
        t: &'t Trace,
        token: Var<'t>,
        context: Option<Var<'t>>,
        outputs: usize,
    ) -> Var<'t> {
        let mut h = self.embed(t, token);
        for layer in 0..self.layers {
            let block = format!("block{layer}");
            let name = |part: &str| format!("{block}.{part}");
            let stored = t.layer_norm(&name("norm1"), h);
            t.tap(&name("stored"), stored);
            let read = match self.mixer {
                Mixer::Attention => {
                    let [q, k, v] = if context.is_none() && self.key_bias {
                        let parts = ["w_q", "w_k", "w_v"];
                        parts.map(|part| self.linear(t, &name(part), stored, self.width))
                    } else {
                        self.projections(t, &name("w"), stored, stored)
                    };
                    t.attend(&block, q, k, v, self.heads)
                }
                Mixer::Gru => self.gru(t, &block, stored),
                Mixer::Lstm => self.lstm(t, &block, stored),
                Mixer::Ssm => self.ssm(t, &block, stored),
                Mixer::None => self.linear(t, &name("w_v"), stored, self.width),
            };
            h = h + self.linear(t, &name("w_o"), read, self.width);
            if let Some(context) = context {
                let n = t.layer_norm(&name("norm3"), h);
                let [q, k, v] = self.projections(t, &name("cross"), n, context);
                let read = t.cross(&name("cross"), q, k, v, self.heads);
                h = h + self.linear(t, &name("cross_o"), read, self.width);
            }
            h = self.feed_forward(t, &block, "norm2", h);
        }
        let out = t.layer_norm("norm", h);
        self.linear(t, "head", out, outputs)
    }

    /// A gate before its squashing: what the present and the hidden state say.
    fn gate<'t>(&self, t: &'t Trace, name: &str, x: Var<'t>, h: Var<'t>) -> Var<'t> {
        let x = self.linear(t, &format!("{name}_x"), x, self.width);
        x + self.linear(t, &format!("{name}_h"), h, self.width)
    }

    /// `z`, `r` and `c` as Cho et al. have them; the hidden state is the register `BLOCK.h`.
    fn gru<'t>(&self, t: &'t Trace, block: &str, x: Var<'t>) -> Var<'t> {
        let name = |part: &str| format!("{block}.{part}");
        let h = t.register(&name("h"), self.width);
        let keep = self.gate(t, &name("keep"), x, h).sigmoid();
        let reset = self.gate(t, &name("reset"), x, h).sigmoid();
        let new = self.gate(t, &name("new"), x, reset * h).tanh();
        let next = keep * h + (1.0 - keep) * new;
        t.next(&name("h"), next);
        next
    }

    /// Input, forget and output gates; the registers are `BLOCK.h` and the cell `BLOCK.c`. The
    /// forget gate starts open.
    fn lstm<'t>(&self, t: &'t Trace, block: &str, x: Var<'t>) -> Var<'t> {
        let name = |part: &str| format!("{block}.{part}");
        let [h, c] = ["h", "c"].map(|part| t.register(&name(part), self.width));
        let take = self.gate(t, &name("take"), x, h).sigmoid();
        let keep = (self.gate(t, &name("keep"), x, h) + 1.0).sigmoid();
        let show = self.gate(t, &name("show"), x, h).sigmoid();
        let new = self.gate(t, &name("new"), x, h).tanh();
        let cell = keep * c + take * new;
        let next = show * cell.tanh();
        t.next(&name("c"), cell);
        t.next(&name("h"), next);
        next
    }

    /// `h' = a h + (1 - a) u`, shown through a gate; decay `a`, `u` and the gate are functions of
    /// the present. The register is `BLOCK.h`.
    fn ssm<'t>(&self, t: &'t Trace, block: &str, x: Var<'t>) -> Var<'t> {
        let name = |part: &str| format!("{block}.{part}");
        let h = t.register(&name("h"), self.width);
        let keep = (self.linear(t, &name("keep"), x, self.width) + 1.0).sigmoid();
        let new = self.linear(t, &name("new"), x, self.width);
        let next = keep * h + (1.0 - keep) * new;
        t.next(&name("h"), next);
        next * self.linear(t, &name("show"), x, self.width).sigmoid()
    }

    /// Queries of one value, keys without a bias and values of another.
    fn projections<'t>(
        &self,
        t: &'t Trace,
        name: &str,
        asking: Var<'t>,
        asked: Var<'t>,
    ) -> [Var<'t>; 3] {
        let q = self.linear(t, &format!("{name}_q"), asking, self.width);
        let weight = match self.initialisation {
            Initialisation::Pytorch => Init::Uniform { bound: 1.0 / (asked.width() as f64).sqrt() },
            Initialisation::Gpt | Initialisation::GptPytorchEmbedding => Init::Normal { std: 0.02 },
        };
        let k = t.linear_with(&format!("{name}_k"), asked, self.width, weight, None);
        [q, k, self.linear(t, &format!("{name}_v"), asked, self.width)]
    }

    fn feed_forward<'t>(&self, t: &'t Trace, block: &str, norm: &str, h: Var<'t>) -> Var<'t> {
        let n = t.layer_norm(&format!("{block}.{norm}"), h);
        let wide = self.linear(t, &format!("{block}.feed1"), n, self.hidden).gelu();
        h + self.linear(t, &format!("{block}.feed2"), wide, self.width)
    }
}
