//! How a token enters a policy: its embedding and its position. The paper publishes neither in
//! full, so each choice that a reader could make is a setting; the usual one of each is left out of
//! files.

use backcut_engine::{Init, Trace, Var};

use super::Policy;
use crate::settings::SettingsError;

/// What becomes of a token before the first block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Embedding {
    /// A linear layer.
    #[default]
    Plain,
    /// A linear layer and a layer norm.
    Normalised,
    /// A linear layer, times the square root of the width.
    Scaled,
    /// The published encoder of analytic policy gradients (Wiedemann et al. 2023): tanh of the
    /// state's 15 columns, a convolution of width 3 with 20 channels over the reference points,
    /// three layers.
    Apg,
}

/// How the rows of learned positions start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PositionStart {
    /// Normal with 0.02.
    #[default]
    Small,
    /// Normal with 1, as PyTorch's embedding tables start.
    Unit,
    /// Zero.
    Zero,
}

impl PositionStart {
    fn init(self) -> Init {
        match self {
            Self::Small => Init::Normal { std: 0.02 },
            Self::Unit => Init::Normal { std: 1.0 },
            Self::Zero => Init::Zeros,
        }
    }
}

/// Whether a choice is the usual one, which files leave out.
pub(crate) fn is_usual<T: Default + PartialEq>(choice: &T) -> bool {
    *choice == T::default()
}

/// The form of a token that [`Embedding::Apg`] takes: columns of the state, then points of so many
/// columns.
const APG_STATE: usize = 15;
const APG_POINT: usize = 9;
const APG_REACH: usize = 3;
const APG_CHANNELS: usize = 20;

impl Policy {
    /// The first setting that describes no policy.
    pub fn check(&self) -> Result<(), SettingsError> {
        if let Some(rows) = self.positions.filter(|rows| !(self.steps..=4096).contains(rows)) {
            let what =
                format!("`policy.positions` is {rows}, and a rollout has {} steps", self.steps);
            return Err(SettingsError::new(what, "a row per step at least, 4096 at most"));
        }
        if !self.key_bias && !self.mixer.is_usual() {
            let what = format!("`policy.key_bias`, but the policy remembers by `{}`", self.mixer);
            return Err(SettingsError::new(what, "only attention has keys: leave it out"));
        }
        Ok(())
    }

    /// The token embedded, its position added.
    #[track_caller]
    pub(crate) fn embed<'t>(&self, t: &'t Trace, token: Var<'t>) -> Var<'t> {
        let embedded = match self.embedding {
            Embedding::Plain => self.linear(t, "embedding", token, self.width),
            Embedding::Normalised => {
                let plain = self.linear(t, "embedding", token, self.width);
                t.layer_norm("embedding_norm", plain)
            }
            Embedding::Scaled => {
                self.linear(t, "embedding", token, self.width) * (self.width as f64).sqrt()
            }
            Embedding::Apg => self.apg(t, token),
        };
        let rows = self.positions.unwrap_or(self.steps);
        embedded + t.step_row("position", rows, self.width, self.position_start.init())
    }

    /// The state's layer keeps the name `embedding`: its first columns read the velocity, as in the
    /// others.
    #[track_caller]
    fn apg<'t>(&self, t: &'t Trace, token: Var<'t>) -> Var<'t> {
        let points = token.width().saturating_sub(APG_STATE) / APG_POINT;
        let state = token.slice(0, APG_STATE.min(token.width()));
        let mut parts = vec![self.linear(t, "embedding", state, 64).tanh()];
        t.share("points"); // a convolution: one map, over every window
        for point in 0..(points + 1).saturating_sub(APG_REACH) {
            let seen = token.slice(APG_STATE + point * APG_POINT, APG_REACH * APG_POINT);
            parts.push(positive(t, self.linear(t, "points", seen, APG_CHANNELS)));
        }
        ["merge1", "merge2", "merge3"].into_iter().fold(t.concat(&parts), |x, name| {
            let width = if name == "merge3" { self.width } else { 64 };
            positive(t, self.linear(t, name, x, width))
        })
    }
}

/// `max(x, 0)`
fn positive<'t>(t: &'t Trace, x: Var<'t>) -> Var<'t> {
    x.max(t.constant(0.0, x.width()))
}
