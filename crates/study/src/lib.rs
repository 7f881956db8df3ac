//! Studies: from a file to thousands of runs, frozen beforehand, resumable, verifiable.
//!
//! **Does**: reads a study file ([`mod@file`]) and fills every default ([`Study`]); plans its
//! units, each once ([`Plan`]); writes predictions into the ledger before results exist
//! ([`commit`]); computes what is missing, on as many processes and hosts as share the folder
//! ([`runner`], [`claim`]); makes tidy tables and verdicts ([`collect`], [`analyse`]); checks every
//! hash ([`verify`](mod@verify)) and computes units again ([`replay`](mod@replay)).
//!
//! **Refuses**: to drop a failed unit, to run a changed file under an old name, to grant a row more
//! than the ledger shows, to believe a queue: the files are the truth.
//!
//! **One design decision.** A unit's name is the hash of what defines it, and the unit's own record
//! is the only sign that it is done. So nothing needs a database or a lock that could be lost: a
//! killed run is continued by running it again, two studies that share a unit share its result, and
//! should two processes compute one unit after all, they write the same bytes. The price is a
//! listing of the folder, which is why a record's state stands in its file name.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//!
//! use backcut_study::collect::Results;
//! use backcut_study::runner::{RunOptions, run};
//! use backcut_study::{Plan, Store, Study, Tools, commit};
//! use backcut_systems::Catalogue;
//!
//! # let folder = std::env::temp_dir().join(format!("backcut-study-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let file = folder.join("first.toml");
//! std::fs::write(&file, r#"
//!     name = "first"
//!     title = "Two updates of a tiny policy"
//!     [system]
//!     name = "quadrotor"
//!     settings.policy = { steps = 4, width = 8, layers = 1, heads = 1, hidden = 8, initialisation = "gpt" }
//!     [sources]
//!     seeds = [1, 2, 3, 4]
//!     [arms]
//!     FF = { cut = "FF", updates = 2 }
//!     F_SG = { cut = "F_SG", updates = 2 }
//!     [[families]]
//!     name = "cost"
//!     asks = "confirmatory"
//!     contrasts = ["R = [F_SG@default] - [FF@default] > 0"]
//! "#)?;
//! let catalogue = Catalogue::builtin();
//! let study = Study::load(&file, &catalogue)?;
//! let (plan, store) = (Plan::new(&study), Store::new(folder.join("results")));
//! assert_eq!(plan.units.len(), 8);
//!
//! commit::freeze(&study, &plan, &store, "2026-11-15T12:00:00Z".parse()?)?;
//! commit::admit(&study, &plan, &store)?;
//! let stop = AtomicBool::new(false); // set it from a signal handler
//! let tally =
//!     run(&study, &plan, &store, Tools::new(&catalogue), &RunOptions::default(), &stop, &mut |_| {})?;
//! assert_eq!((tally.computed, tally.failed), (8, 0));
//!
//! let tables = Results::read(&study, &plan, &store)?.tables(&store, &[])?;
//! assert_eq!(tables.units.len(), 8);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod advise;
pub mod analyse;
pub mod builtin;
mod cell;
pub mod claim;
pub mod collect;
pub mod command;
pub mod commit;
mod context;
mod error;
pub mod execute;
pub mod file;
mod freezes;
mod like;
mod memory;
pub mod note;
mod optimizer_table;
mod parent;
mod plan;
pub mod program;
pub mod record;
pub mod replay;
mod resolve;
mod rests;
mod results;
pub mod runner;
pub mod sample;
mod schedule;
pub mod slurm;
pub mod status;
mod store;
mod study;
pub mod summary;
mod tools;
mod trajectory;
mod unit;
pub mod universe;
pub mod verify;

pub use cell::Cell;
pub use error::StudyError;
pub use plan::{Place, Plan, Unit};
pub use resolve::EVALUATE_EVERY;
pub use store::{Recorded, Store, replace};
pub use study::{Arm, Grid, Measured, Study, StudyFamily};
pub use tools::Tools;
pub use unit::{Definition, Measuring, StateOf, UnitId};
