//! The small analytic system: one physical state, one memory state, everything linear.
//!
//! **Does**: the smallest task in which both backward paths exist and every gradient is known in
//! closed form. With reading `o_t = x_t + n_t`, a gust `e_t` that the policy sees and a constant
//! disturbance `d` per trajectory that it does not,
//!
//! ```text
//! a_t     = k o_t + f e_t + kappa w m_t  the action: feedback, feedforward, and what is recalled
//! x_{t+1} = A x_t + a_t + e_t + d        the physical state
//! m_{t+1} = lambda m_t + v o_t           the memory, a register
//! loss_t  = x_{t+1}^2 + rho a_t^2
//! ```
//!
//! `k, f, w, lambda, v` are learned; `kappa` is the **coupling** of memory to the physical state.
//! Feedback alone leaves an offset of the size of `d`; a policy that sums its readings removes it,
//! so memory has a value. `w` and `lambda` are linear sites that read the register directly: they
//! play the part of the key and value projections (F_SG keeps their credit, FD drops it).
//!
//! **Refuses**: to be realistic. It exists to check cuts against formulas and to try diagnostics
//! where many repetitions are cheap.
//!
//! **One design decision.** [`closed_form`] computes gradients forwards, as sums over pairs of a
//! weight's use and a loss, and shares no code with the engine, which computes them backwards.
//!
//! ```
//! use backcut_systems::System;
//! use backcut_paper::analytic::system::AnalyticConfig;
//!
//! let system = AnalyticConfig { coupling: 0.5, ..AnalyticConfig::default() }.check()?;
//! assert_eq!(System::<f64>::program(&system).layout().len(), 5);
//! # Ok::<(), backcut_paper::analytic::system::AnalyticError>(())
//! ```

mod analytic;
pub mod closed_form;

pub use analytic::{Analytic, AnalyticConfig, AnalyticError};

/// What the physical state keeps of itself in one step (`A`).
pub const DECAY: f64 = 0.9;

/// Price of an action in the loss (`rho`).
pub const ACTION_PRICE: f64 = 0.1;

/// Standard deviations of the disturbance, the gusts, the reading's noise and the initial state.
pub const SPREADS: [f64; 4] = [0.5, 0.5, 0.2, 1.0];

/// Trajectories of the evaluation panel.
pub const PANEL_ROWS: usize = 64;

/// Names of the parameters, in the order of the layout: `k`, `f`, `w`, `lambda`, `v`.
pub const PARAMETERS: [&str; 5] =
    ["feedback.weight", "feedforward.weight", "recall.weight", "retain.weight", "write.weight"];
