//! A pre-norm Transformer that reads its own history through a KV cache.

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
        let embedded = self.linear(t, "embedding", token, self.width);
        let position = t.step_row("position", self.steps, self.width, Init::Normal { std: 0.02 });
        let mut h = embedded + position;
        for layer in 0..self.layers {
            let name = |part: &str| format!("block{layer}.{part}");
            let stored = t.layer_norm(&name("norm1"), h);
            t.tap(&name("stored"), stored);
            let q = self.linear(t, &name("w_q"), stored, self.width);
            let k = self.linear(t, &name("w_k"), stored, self.width);
            let v = self.linear(t, &name("w_v"), stored, self.width);
            let read = t.attend(&format!("block{layer}"), q, k, v, self.heads);
            h = h + self.linear(t, &name("w_o"), read, self.width);
            let n = t.layer_norm(&name("norm2"), h);
            let wide = self.linear(t, &name("feed1"), n, self.hidden).gelu();
            h = h + self.linear(t, &name("feed2"), wide, self.width);
        }
        let out = t.layer_norm("norm", h);
        self.linear(t, "head", out, outputs)
    }
}
