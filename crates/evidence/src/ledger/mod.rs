//! The ledger of a results folder: what was frozen, when, and what a row may claim by it.
//!
//! **Does**: keeps an append-only file of entries, each holding the hash of the one before
//! ([`Ledger`], [`entry`]); derives from it whether a row is confirmatory, prespecified,
//! descriptive or post hoc ([`status`]).
//!
//! **Refuses**: to edit an entry, to read a clock (the time is an argument), to open a connection,
//! to know what a study computes: units, results and contrasts are hashes and texts here.
//!
//! **One design decision.** A status is not a field that somebody sets but a function of the ledger
//! and of the heads that results carry. A result holds the head under which it ran; nobody can know
//! a hash before the entry exists, so a result that holds it is not older than the prediction. A
//! forger would have to compute the results again, or rewrite every entry since, and whoever kept a
//! head sees the second.
//!
//! ```
//! use backcut_files::{Hash};
//! use backcut_evidence::ledger::{Body, Contrast, Frozen, Ledger, Sample, Status, Used, status};
//!
//! # let folder = std::env::temp_dir().join(format!("backcut-ledger-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let mut ledger = Ledger::open(folder.join("ledger.jsonl"))?;
//! let (unit, content) = (Hash::of(b"what defines the unit"), Hash::of(b"its result"));
//! let mut sample = Sample::default();
//! sample.insert("F_SG@hidden", "update 800", "source 1", unit);
//! let contrast = Contrast {
//!     name: "H1".into(),
//!     family: "main".into(),
//!     expression: "F_SG - FF".into(),
//!     direction: Some("positive".into()),
//!     asks: Some(Status::Confirmatory),
//!     sample: Some(sample),
//!     shared_by: Some(1),
//!     idle: vec![],
//! };
//! let mut frozen = Frozen::new("C5", r#"{"seeds":16}"#, Hash::of(b"100000 draws"));
//! frozen.new = vec![unit];
//! frozen.contrasts = vec![contrast.clone()];
//! let recall = |_: &_, _: &_| None; // only older and drawn entries have to be remembered
//! status::check_asks(&ledger, &frozen, &recall)?;
//! let head = ledger.append("2026-11-15T12:00:00Z".parse()?, Body::Freeze(frozen))?;
//!
//! // The unit runs, and its result carries the head.
//! let used = [Used { unit, content, head }];
//! let granted = status::grant(&ledger, "C5", &contrast, &used, &recall);
//! assert_eq!(granted.status, Status::Confirmatory);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod chain;
mod draw;
pub mod entry;
mod file;
mod grounds;
mod rules;
mod sample;
mod standing;
pub mod status;
mod verify;

pub use chain::{Fault, Torn};
pub use draw::{Draw, NotStamped};
pub use entry::{Amendment, Body, Contrast, Entry, Frozen, OLDEST, Reused, VERSION};
pub use file::{Ledger, LedgerError};
pub use grounds::{Granted, Recall, Used};
pub use rules::RuleError;
pub use sample::Sample;
pub use standing::{Standing, Status, StatusError};
pub use status::Overclaim;
pub use verify::{Finding, Level, Report, verify};
