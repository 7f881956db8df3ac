//! The rules that turn a clipped gradient into an update, with their settings as files hold them.

use backcut_kernels::optim::{self, rule};
use serde::{Deserialize, Serialize};

/// Settings of AdamW, and of Adam. The default is AdamW's of the quadrotor study.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdamWSettings {
    /// Learning rate.
    pub rate: f64,
    /// Decay of the first moment.
    pub beta1: f64,
    /// Decay of the second moment.
    pub beta2: f64,
    /// Added to the square root of the second moment.
    pub eps: f64,
    /// Weight decay: decoupled for AdamW, added to the gradient for Adam.
    pub decay: f64,
}

impl Default for AdamWSettings {
    fn default() -> Self {
        Self { rate: 1e-3, beta1: 0.9, beta2: 0.999, eps: 1e-8, decay: 0.01 }
    }
}

impl AdamWSettings {
    /// As the kernels take them.
    pub fn kernel(self) -> optim::AdamW {
        let Self { rate, beta1, beta2, eps, decay } = self;
        optim::AdamW { rate, beta1, beta2, eps, decay }
    }
}

/// Settings of gradient descent.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SgdSettings {
    /// Learning rate.
    pub rate: f64,
    /// What is kept of the velocity; 0 for none.
    pub momentum: f64,
    /// Weight decay, added to the clipped gradient.
    pub decay: f64,
}

/// A rule by name.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Adam with decoupled weight decay.
    AdamW,
    /// Adam with coupled weight decay, as PyTorch's `Adam(weight_decay=...)`.
    Adam,
    /// Gradient descent with momentum, as PyTorch's `SGD`.
    Sgd,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::AdamW, Self::Adam, Self::Sgd];

    /// As files and the command line write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::AdamW => "adamw",
            Self::Adam => "adam",
            Self::Sgd => "sgd",
        }
    }

    /// As people write it.
    pub fn title(self) -> &'static str {
        match self {
            Self::AdamW => "AdamW",
            Self::Adam => "Adam",
            Self::Sgd => "SGD",
        }
    }

    /// It remembers squared gradients.
    pub fn has_second_moment(self) -> bool {
        self != Self::Sgd
    }
}

/// How a clipped gradient becomes an update.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Rule {
    /// Adam with decoupled weight decay.
    AdamW(AdamWSettings),
    /// Adam with coupled weight decay.
    Adam(AdamWSettings),
    /// Gradient descent with momentum.
    Sgd(SgdSettings),
}

impl Rule {
    /// Which one it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::AdamW(_) => Kind::AdamW,
            Self::Adam(_) => Kind::Adam,
            Self::Sgd(_) => Kind::Sgd,
        }
    }

    /// Its learning rate.
    pub fn rate(&self) -> f64 {
        match self {
            Self::AdamW(s) | Self::Adam(s) => s.rate,
            Self::Sgd(s) => s.rate,
        }
    }

    /// Its learning rate, to be changed.
    pub fn rate_mut(&mut self) -> &mut f64 {
        match self {
            Self::AdamW(s) | Self::Adam(s) => &mut s.rate,
            Self::Sgd(s) => &mut s.rate,
        }
    }

    /// Its weight decay, to be changed.
    pub fn decay_mut(&mut self) -> &mut f64 {
        match self {
            Self::AdamW(s) | Self::Adam(s) => &mut s.decay,
            Self::Sgd(s) => &mut s.decay,
        }
    }

    /// Adam's moments and epsilon, if it has them.
    pub fn moments(&self) -> Option<AdamWSettings> {
        match *self {
            Self::AdamW(s) | Self::Adam(s) => Some(s),
            Self::Sgd(_) => None,
        }
    }

    /// The same rate under another rule. The moments' settings stay where both have them; decay begins
    /// at 0 and momentum at 0, as PyTorch's do, but for AdamW, whose decay begins at 0.01.
    pub fn become_kind(self, kind: Kind) -> Self {
        if kind == self.kind() {
            return self;
        }
        let usual = AdamWSettings { rate: self.rate(), ..AdamWSettings::default() };
        let moments = self.moments().unwrap_or(usual);
        match kind {
            Kind::AdamW => Self::AdamW(AdamWSettings { decay: usual.decay, ..moments }),
            Kind::Adam => Self::Adam(AdamWSettings { decay: 0.0, ..moments }),
            Kind::Sgd => Self::Sgd(SgdSettings { rate: self.rate(), momentum: 0.0, decay: 0.0 }),
        }
    }

    /// As the kernels take it.
    pub fn kernel(self) -> rule::Rule {
        match self {
            Self::AdamW(s) => rule::Rule::AdamW(s.kernel()),
            Self::Adam(s) => rule::Rule::Adam(s.kernel()),
            Self::Sgd(SgdSettings { rate, momentum, decay }) => {
                rule::Rule::Sgd(rule::Sgd { rate, momentum, decay })
            }
        }
    }

    /// The first setting that makes no sense, with the reason.
    pub fn check(&self) -> Result<(), String> {
        let of = self.kind().name();
        let say = |name: &str, value: f64, want: &str| {
            Err(format!("optimizer.{of}.{name} = {value}, not {want}"))
        };
        let rate = self.rate();
        if !(rate > 0.0 && rate.is_finite()) {
            return say("rate", rate, "a positive number");
        }
        if let Some(AdamWSettings { beta1, beta2, eps, .. }) = self.moments() {
            for (name, beta) in [("beta1", beta1), ("beta2", beta2)] {
                if !(0.0..1.0).contains(&beta) {
                    return say(name, beta, "in [0, 1)");
                }
            }
            if !(eps > 0.0 && eps.is_finite()) {
                return say("eps", eps, "a positive number");
            }
        }
        let mut copy = *self;
        let decay = *copy.decay_mut();
        if !(decay >= 0.0 && rate * decay < 1.0) {
            return say("decay", decay, "at least 0 with rate * decay below 1");
        }
        match *self {
            Self::Sgd(SgdSettings { momentum, .. }) if !(0.0..1.0).contains(&momentum) => {
                say("momentum", momentum, "in [0, 1)")
            }
            _ => Ok(()),
        }
    }
}
