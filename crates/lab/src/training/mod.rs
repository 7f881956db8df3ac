//! Training through known dynamics, to the same bits every time.
//!
//! **Does**: turns batches into updates under a cut (clip by the global norm, optimizer), evaluates
//! the fixed panel, keeps checkpoints and logs, and continues a killed run as if nothing had
//! happened.
//!
//! **Refuses**: to know a system (it sees [`backcut_systems::System`]), to read a clock or an
//! environment variable, to retry, patch or drop an update that failed.
//!
//! **One design decision.** Nothing random is carried from one update to the next: a batch is a
//! function of (seed, stream, update). So a state is parameters, two moments and two counters; a
//! branch is a state under another arm; and a resumed run is the run that never stopped.
//!
//! ```
//! use backcut_lab::training::{AdamW, Moments, Rule, clip, everywhere, update};
//!
//! let (params, gradient) = ([0.5_f32, -0.25], [30.0, 40.0]);
//! let (gradient, factor) = clip(&gradient, 5.0);
//! assert_eq!(factor, 0.1);
//! let rule = everywhere(Rule::AdamW(AdamW::default()), 2);
//! let (update, state) = update(&rule, &params, &Moments::zeros(2), &gradient);
//! assert!(update.iter().all(|u| *u < 0.0));
//! assert_eq!(state.step, 1);
//! ```

pub mod checkpoint;
pub mod config;
mod differences;
mod digest;
mod evaluate;
mod folder;
pub mod log;
mod optimizer;
pub mod panels;
mod restored;
pub mod run;
mod tensors;
mod trainer;
mod training_loop;

pub use backcut_systems::{Adam, AdamW, Clip, Optimizer, Rule, Sgd, SystemChoice};
pub use checkpoint::{Branch, Checkpoint, CheckpointError};
pub use config::{ConfigError, Precision, RunConfig, Start, ValidRun};
pub use digest::sha256;
pub use evaluate::{Evaluator, Panel, PanelError, in_panel};
pub use folder::{Folder, RunError};
pub use optimizer::{Moments, Stretch, clip, everywhere, step_in_place, update, update_into};
pub use restored::{RestoreError, Restored};
pub use run::{Begin, Control, Progress, RunOptions, Summary};
pub use tensors::{KEY, Tensors};
pub use trainer::{Arm, State, TrainError, Trainer, UpdateLog};
pub use training_loop::{Completed, Snapshot, Training};
