//! Ships' tracks and the system that learns on them: files of positions cleaned, resampled and
//! stored; a synthetic fleet; splits, panels, windows; the vessel and its command.
//!
//! **Does**: reads MarineCadastre, Danish and plain track files ([`read`]), packed or not, row by
//! row; cleans by named rules with a count each ([`Rules`], [`Cleaner`]); resamples to regular
//! times; keeps the result as Parquet with hashes ([`store`]); makes a fleet of its own
//! ([`Fleet`]); divides whole segments and cuts windows from them ([`model`]); computes rhumb lines
//! as a reference ([`sphere`]); makes a
//! [system](mod@system) of it all, and a [command](command()) for a program that wants it.
//!
//! **Refuses**: to read reserved vessels for who did not ask for them ([`Reserved`]); to take a
//! file for what it is not; to remember more than its vessels.
//!
//! **One design decision.** It lies beside the instrument, not in it: readers, Parquet and archives
//! would burden everybody who trains something else. The instrument knows no vessel; a program that
//! wants one adds its settings to the catalogue and its command to the others. Within, tracks know
//! no engine: whoever wants clean ones and no learning uses everything but `system` and `command`.
//!
//! ```
//! use backcut_vessel::model::{Shape, Split, SplitRule, Window, panels};
//! use backcut_vessel::{Fleet, Reserved, Rules};
//!
//! let fleet = Fleet { ships: 6, days: 6, seed: 1 };
//! let tracks = fleet.tracks(&Rules::default(), 2, Reserved::Excluded)?;
//! let shape = Shape { predicted: 96, ..Shape::default() };
//! let split = Split::of(&tracks, &SplitRule::default())?;
//! let [_, evaluation] = panels(&tracks, &split, &shape)?;
//! let first = evaluation.windows[0];
//! let window = Window::of(&tracks.segments()[first.segment], first.start, 300, &shape)?;
//! assert_eq!(window.velocities.len(), 16 + 96);
//! # Ok::<(), backcut_vessel::AisError>(())
//! ```

mod clean;
mod command;
mod error;
pub mod fleet;
mod import;
pub mod model;
pub mod read;
mod report;
mod segment;
mod source;
pub mod sphere;
mod statistics;
pub mod store;
pub mod system;
mod tracks;

pub use clean::{Cleaner, Counts, Ended, Rules, ValidRules};
pub use command::command;
pub use error::AisError;
pub use fleet::Fleet;
pub use import::Import;
pub use report::{Naming, Report};
pub use segment::{GridPosition, Segment, vessel_key};
pub use statistics::{Histogram, Statistics};
pub use tracks::{RESERVED_VESSELS, Reserved, Tracks};
