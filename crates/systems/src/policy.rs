//! A pre-norm Transformer that reads its own history through a KV cache, and a context if it has one.

use backcut_engine::{Init, Trace, Var};

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

/// Sizes of a policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transformer {
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
}

impl Transformer {
    /// One block of width 16: enough for a first try.
    pub fn small() -> Self {
        let initialisation = Initialisation::Pytorch;
        Self { steps: 16, width: 16, layers: 1, heads: 2, hidden: 32, initialisation }
    }

    fn linear<'t>(&self, t: &'t Trace, name: &str, x: Var<'t>, width: usize) -> Var<'t> {
        match self.initialisation {
            Initialisation::Pytorch => t.linear(name, x, width),
            Initialisation::GptPytorchEmbedding if name == "embedding" => t.linear(name, x, width),
            Initialisation::Gpt | Initialisation::GptPytorchEmbedding => {
                t.linear_with(name, x, width, Init::Normal { std: 0.02 }, Some(Init::Zeros))
            }
        }
    }

    /// Traces the policy: `token` in, `outputs` columns out (before any squashing). Taps: the stored
    /// representation of each layer, `block<i>.stored`.
    #[track_caller]
    pub fn trace<'t>(&self, t: &'t Trace, token: Var<'t>, outputs: usize) -> Var<'t> {
        self.decode(t, token, None, outputs)
    }

    /// The same policy with a context: after its own memory, every block reads the tokens of a condition.
    /// Keys have no bias here, since no query can see one.
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

    /// Encodes a condition's tokens by as many blocks as the policy has, in which all of them read each
    /// other: a context for [`trace_with`](Self::trace_with).
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
        let embedded = self.linear(t, "embedding", token, self.width);
        let position = t.step_row("position", self.steps, self.width, Init::Normal { std: 0.02 });
        let mut h = embedded + position;
        for layer in 0..self.layers {
            let block = format!("block{layer}");
            let name = |part: &str| format!("{block}.{part}");
            let stored = t.layer_norm(&name("norm1"), h);
            t.tap(&name("stored"), stored);
            let [q, k, v] = if context.is_none() {
                ["w_q", "w_k", "w_v"].map(|part| self.linear(t, &name(part), stored, self.width))
            } else {
                self.projections(t, &name("w"), stored, stored)
            };
            let read = t.attend(&block, q, k, v, self.heads);
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
