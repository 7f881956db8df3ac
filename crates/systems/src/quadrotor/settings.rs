//! What a study may set, the check that only a sound configuration passes, and the system it makes.

use std::fmt::Write as _;

use super::{CLIP, MAX_STEPS, Quadrotor, QuadrotorConfig, QuadrotorError, VelocityReading};
use crate::policy::Policy;
use crate::settings::{Flag, Latent, Quantity, Settings, SettingsError, WINDOW};
use crate::{AdamW, Optimizer, Recorded};

impl QuadrotorConfig {
    /// The system, if the configuration is sound.
    pub fn check(mut self) -> Result<Quadrotor, QuadrotorError> {
        self.velocity = self.velocity.check()?;
        self.spread.check()?;
        let Policy { steps, width, layers, heads, hidden, .. } = self.policy;
        let sizes = [
            ("policy.steps", steps, (1..=MAX_STEPS).contains(&steps)),
            ("policy.width", width, (1..=4096).contains(&width)),
            ("policy.layers", layers, (1..=64).contains(&layers)),
            ("policy.heads", heads, heads > 0 && width.is_multiple_of(heads)),
            ("policy.hidden", hidden, (1..=16384).contains(&hidden)),
            ("batch", self.batch, (1..=4096).contains(&self.batch)),
        ];
        if let Some((name, value, _)) = sizes.into_iter().find(|(_, _, sound)| !sound) {
            return Err(QuadrotorError::Size { name, value });
        }
        self.policy.check()?;
        self.policy.mixer.reads(self.window)?;
        Quadrotor::new(self)
    }
}

impl Settings for QuadrotorConfig {
    const NAME: &'static str = "quadrotor";

    const FLAGS: &'static [Flag] = &[
        Flag {
            name: "noise",
            key: "velocity",
            values: "SIGMA|hidden",
            none: None,
            help: "Standard deviation of the velocity reading's noise in m/s, or `hidden`",
        },
        WINDOW,
    ];

    const UNWRITTEN: &'static [(&'static str, &'static str)] = &[
        ("policy", "attention"),
        ("policy.mixer", "attention"),
        ("policy.embedding", "plain"),
        ("policy.key_bias", "true"),
        ("policy.position_start", "small"),
        ("initial_velocity", "rest"),
    ];

    const RECORDED: Option<Recorded> = Some(Recorded {
        settings: &[
            r#"{"velocity": 0.2, "window": 3, "batch": 2,
                "policy": {"steps": 5, "width": 8, "layers": 1, "hidden": 8}}"#,
            r#"{"velocity": "hidden", "initial_velocity": "reference", "batch": 2,
                "policy": {"steps": 4, "width": 8, "hidden": 8,
                "mixer": "gru",
                "embedding": "normalised"}}"#,
            r#"{"batch": 1, "policy": {"steps": 3, "width": 8, "layers": 1, "hidden": 8,
                "mixer": "lstm",
                "embedding": "scaled", "initialisation": "gpt-pytorch-embedding"}}"#,
            r#"{"batch": 1, "policy": {"steps": 3, "width": 8, "layers": 1, "hidden": 8,
                "mixer": "ssm",
                "embedding": "apg", "initialisation": "pytorch"}}"#,
            r#"{"batch": 1, "policy": {"steps": 3, "width": 8, "layers": 1, "hidden": 8,
                "mixer": "none"}}"#,
            r#"{"batch": 1, "policy": {"steps": 3, "width": 8, "layers": 1, "hidden": 8,
                "key_bias": false,
                "positions": 6, "position_start": "unit"}}"#,
        ],
        hash: "41e0d2c9ed21df612e89e484b50b8f2cb8e7c2263d09fed73269421b60623ac9",
    });

    type System = Quadrotor;

    fn build(&mut self) -> Result<Quadrotor, SettingsError> {
        let checked = self.clone().check();
        let system = checked.map_err(SettingsError::from_hinted)?;
        self.clone_from(system.config());
        Ok(system)
    }

    fn optimizer(&self) -> Optimizer {
        Optimizer::adamw(AdamW::default(), CLIP)
    }

    fn error(&self) -> Quantity {
        Quantity { name: "mean squared distance to the reference", unit: "m^2" }
    }

    fn latent(&self) -> Option<Latent> {
        let weights = ("embedding.weight", [0, 3]); // world axes are columns 0..3 of the token
        Some(Latent { name: "velocity", tap: "true_velocity", weights })
    }

    fn words(&self) -> String {
        let reading = match self.velocity {
            VelocityReading::Hidden => "velocity hidden".to_owned(),
            VelocityReading::Noise(_) => format!("noise {} m/s", self.velocity),
        };
        let mut words = reading;
        if !self.policy.mixer.is_usual() {
            let _ = write!(words, ", {}", self.policy.mixer);
        }
        if let Some(window) = self.window {
            let _ = write!(words, ", window {window}");
        }
        words
    }
}
