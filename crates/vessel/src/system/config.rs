//! The configuration as written, and the check that only a sound one passes.

use std::num::NonZeroUsize;

use crate::Fleet;
use crate::model::{Part, Shape, SplitRule};
use serde::{Deserialize, Serialize};

use super::VesselError;
use backcut_systems::policy::{Initialisation, Mixer, Policy};

/// Sizes of policy and windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// Model width; the feed-forward is four times as wide.
    pub width: usize,
    /// Attention heads.
    pub heads: usize,
    /// Observed steps: the prefix.
    pub observed: usize,
    /// Predicted steps.
    pub predicted: usize,
    /// Key points of the predicted route.
    pub key_points: usize,
}

impl Sizes {
    pub(super) fn policy(&self, mixer: Mixer) -> Policy {
        Policy {
            steps: self.observed + self.predicted,
            width: self.width,
            layers: 2,
            heads: self.heads,
            hidden: 4 * self.width,
            initialisation: Initialisation::Gpt,
            mixer,
            ..Policy::small()
        }
    }

    fn check(&self) -> Result<(), VesselError> {
        let Self { width, heads, observed, predicted, key_points } = *self;
        let sizes = [
            ("preset.width", width, (1..=4096).contains(&width)),
            ("preset.heads", heads, heads > 0 && width.is_multiple_of(heads)),
            ("preset.observed", observed, (2..=4096).contains(&observed)),
            ("preset.predicted", predicted, (1..=4096).contains(&predicted)),
            ("preset.key_points", key_points, (2..=predicted + 1).contains(&key_points)),
        ];
        match sizes.into_iter().find(|(_, _, sound)| !sound) {
            Some((name, value, _)) => Err(VesselError::Size { name, value }),
            None => Ok(()),
        }
    }
}

/// How large everything is: a name, or sizes of one's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// Width 64, 4 heads, 16 observed and 96 predicted steps.
    #[default]
    Small,
    /// Width 256, 8 heads, 16 observed and 288 predicted steps: what results are reported on.
    Full,
    /// Other sizes.
    #[serde(untagged)]
    Sizes(Sizes),
}

impl Preset {
    /// The sizes.
    pub fn sizes(self) -> Sizes {
        let small = Sizes { width: 64, heads: 4, observed: 16, predicted: 96, key_points: 16 };
        match self {
            Self::Small => small,
            Self::Full => Sizes { width: 256, heads: 8, predicted: 288, ..small },
            Self::Sizes(sizes) => sizes,
        }
    }
}

/// Where tracks come from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Data {
    /// A store's folder, as `backcut vessel import` writes it.
    Store(String),
    /// A synthetic fleet.
    Fleet(Fleet),
}

impl Default for Data {
    fn default() -> Self {
        Self::Fleet(Fleet::default())
    }
}

/// What is learned.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// The next velocity, every step beginning at the truth (teacher forcing).
    Pretrain,
    /// Positions of a rollout that feeds back its own velocity.
    #[default]
    Rollout,
}

/// What the policy puts out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Output {
    /// The change of the velocity that was read, in units of the usual change: zero is constant
    /// velocity.
    #[default]
    Change,
    /// The next velocity itself, in units of the usual velocity.
    Velocity,
}

/// Which held-out windows are evaluated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PanelName {
    /// To choose by.
    Development,
    /// To report.
    #[default]
    Evaluation,
}

impl PanelName {
    pub(super) fn part(self) -> Part {
        match self {
            Self::Development => Part::Development,
            Self::Evaluation => Part::Evaluation,
        }
    }
}

/// A vessel as written in a file or on the command line; [`check`](Self::check) makes it run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VesselConfig {
    /// How large everything is.
    pub preset: Preset,
    /// What is learned.
    pub phase: Phase,
    /// What the policy puts out.
    pub output: Output,
    /// How it remembers.
    #[serde(skip_serializing_if = "Mixer::is_usual")]
    pub policy: Mixer,
    /// Where tracks come from.
    pub data: Data,
    /// How segments are divided.
    pub split: SplitRule,
    /// Which held-out windows are evaluated.
    pub panel: PanelName,
    /// Standard deviation of the noise on the velocity that is fed back, as a share of the training
    /// velocities' root mean square.
    pub noise: f64,
    /// Forward window of the policy's memory, in training and evaluation; all of it if absent.
    pub window: Option<NonZeroUsize>,
    /// Windows of a training batch.
    pub batch: usize,
}

impl Default for VesselConfig {
    fn default() -> Self {
        Self {
            preset: Preset::default(),
            phase: Phase::default(),
            output: Output::default(),
            policy: Mixer::default(),
            data: Data::default(),
            split: SplitRule::default(),
            panel: PanelName::default(),
            noise: 0.0,
            window: None,
            batch: 4,
        }
    }
}

impl VesselConfig {
    pub(super) fn check_sizes(&self) -> Result<(), VesselError> {
        self.preset.sizes().check()?;
        if !(1..=4096).contains(&self.batch) {
            return Err(VesselError::Size { name: "batch", value: self.batch });
        }
        self.policy.reads(self.window)?;
        if !(self.noise >= 0.0 && self.noise.is_finite()) {
            return Err(VesselError::Noise(self.noise));
        }
        Ok(())
    }

    /// Steps of a window.
    pub fn steps(&self) -> usize {
        self.shape().steps()
    }

    pub(super) fn shape(&self) -> Shape {
        let Sizes { observed, predicted, key_points, .. } = self.preset.sizes();
        Shape { observed, predicted, key_points, ..Shape::default() }
    }

    /// Steps at the start that run without gradients. In pretraining that is the first one alone:
    /// nothing before it says how fast the vessel was, so its own velocity stands in.
    pub(super) fn prefix(&self) -> usize {
        match self.phase {
            Phase::Pretrain => 1,
            Phase::Rollout => self.preset.sizes().observed,
        }
    }

    /// Steps that the loss counts.
    pub(super) fn learned_steps(&self) -> usize {
        self.steps() - self.prefix()
    }
}
