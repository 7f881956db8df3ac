//! What a study may set, and the system that a configuration makes.

use crate::Tracks;
use backcut_systems::{AdamW, Decay, Optimizer, Schedule};
use backcut_systems::{Flag, Quantity, Recorded, Settings, SettingsError, WINDOW};

use super::{Phase, Vessel, VesselConfig, VesselError, data};

impl VesselConfig {
    /// The system, if the configuration is sound and its data can be had.
    pub fn check(self) -> Result<Vessel, VesselError> {
        self.check_sizes()?;
        let tracks = data::tracks(&self.data)?;
        Vessel::new(self, &tracks)
    }

    /// The system on tracks that are in memory, whatever `data` says.
    pub fn on(self, tracks: &Tracks) -> Result<Vessel, VesselError> {
        self.check_sizes()?;
        Vessel::new(self, tracks)
    }
}

impl Settings for VesselConfig {
    const NAME: &'static str = "vessel";

    const FLAGS: &'static [Flag] = &[
        Flag {
            name: "preset",
            key: "preset",
            values: "small|full",
            none: None,
            help: "Sizes: `small` (width 64, 96 steps) or `full` (width 256, 288 steps)",
        },
        Flag {
            name: "phase",
            key: "phase",
            values: "pretrain|rollout",
            none: None,
            help: "What is learned: the next velocity from the truth, or whole rollouts",
        },
        Flag {
            name: "data",
            key: "data",
            values: "FOLDER",
            none: None,
            help: "A store of tracks (`backcut vessel import`) in place of the synthetic fleet",
        },
        WINDOW,
    ];

    const UNWRITTEN: &'static [(&'static str, &'static str)] = &[("policy", "attention")];

    const RECORDED: Option<Recorded> = Some(Recorded {
        settings: &[
            r#"{"data": {"ships": 6, "days": 6, "seed": 1}, "noise": 0.1, "window": 3,
                "batch": 2, "preset": {"width": 8, "heads": 2, "observed": 4,
                "predicted": 9, "key_points": 4}}"#,
            r#"{"data": {"ships": 6, "days": 6, "seed": 1}, "phase": "pretrain",
                "output": "velocity", "policy": "gru",
                "batch": 2, "preset": {"width": 8, "heads": 2, "observed": 4,
                "predicted": 9, "key_points": 4}}"#,
        ],
        hash: "35305ab7ce4e3b5de0d3f2a6edc605d26f635b990d26971e48623757ee631e72",
    });

    type System = Vessel;

    fn build(&mut self) -> Result<Vessel, SettingsError> {
        self.clone().check().map_err(SettingsError::from_hinted)
    }

    /// Pretraining warms up and ends at the paper's last rate, whatever its length; rollouts have
    /// one rate.
    fn optimizer(&self) -> Optimizer {
        let (adamw, schedule) = match self.phase {
            Phase::Pretrain => {
                let until = self.updates();
                let schedule = Schedule { warmup: 100, until, end: 5e-6, decay: Decay::Cosine };
                let adamw = AdamW { beta2: 0.95, rate: 1e-3, ..AdamW::default() };
                (adamw, Some(schedule))
            }
            Phase::Rollout => {
                let usual = AdamW::default();
                (AdamW { beta2: 0.99, rate: 2e-6, decay: 0.002, ..usual }, None)
            }
        };
        Optimizer { schedule, ..Optimizer::adamw(adamw, 5.0) }
    }

    fn updates(&self) -> u64 {
        match self.phase {
            Phase::Pretrain => 4000,
            Phase::Rollout => 400,
        }
    }

    fn phase(&self) -> &'static str {
        match self.phase {
            Phase::Pretrain => "pretraining",
            Phase::Rollout => "training",
        }
    }

    fn error(&self) -> Quantity {
        match self.phase {
            Phase::Pretrain => Quantity { name: "mean squared velocity error", unit: "kn^2" },
            Phase::Rollout => Quantity { name: "mean squared position error", unit: "km^2" },
        }
    }
}
