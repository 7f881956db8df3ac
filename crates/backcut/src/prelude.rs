//! Everything that a system of one's own needs, in one line: `use backcut::prelude::*`.

pub use backcut_engine::{
    Cut, ForwardSpec, Init, MemoryReads, Program, Rollout, Trace, TraceError, Var,
};
pub use backcut_kernels::Real;
pub use backcut_kernels::random::Stream as Random;
pub use backcut_systems::policy::{Initialisation, Mixer, Policy};
pub use backcut_systems::{
    AdamW, BatchKey, Catalogue, Flag, Latent, Optimizer, Quantity, SampleError, Settings,
    SettingsError, Stream, System, WINDOW,
};
pub use serde::{Deserialize, Serialize};

pub use crate::{App, main_with};
