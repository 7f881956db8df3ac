//! Studies: from a file to thousands of runs, frozen beforehand, resumable, verifiable.

pub mod analyse;
pub mod builtin;
pub mod claim;
pub mod collect;
pub mod commit;
mod error;
pub mod execute;
pub mod file;
mod plan;
pub mod record;
pub mod replay;
pub mod runner;
pub mod slurm;
pub mod status;
mod store;
mod study;
pub mod summary;
mod systems;
pub mod table;
mod unit;
pub mod verify;

pub use error::StudyError;
pub use plan::{Place, Plan, Unit};
pub use store::{Recorded, Store};
pub use study::{Arm, Grid, Measured, Study, StudyFamily};
pub use systems::{Built, Builtin, Catalogue};
pub use unit::{Definition, StateOf, UnitId};
