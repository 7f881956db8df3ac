//! Ships' tracks: files of positions cleaned, resampled and stored; a synthetic fleet; splits, panels, windows.
//!
//! **Does**: reads MarineCadastre, Danish and plain track files ([`read`]), packed or not, row by row; cleans by
//! named rules with a count each ([`Rules`], [`Cleaner`]); resamples to regular times; keeps the result
//! as Parquet with hashes ([`store`]); makes a fleet of its own ([`Fleet`]); divides whole segments and cuts
//! windows from them ([`model`]); computes rhumb lines as a reference ([`sphere`]).
//!
//! **Refuses**: to know engines and policies; to read reserved vessels for who did not ask for them
//! ([`Reserved`]); to take a file for what it is not; to remember more than its vessels.
//!
//! **One design decision.** It is a crate of its own below `systems`, and not a module there: readers, Parquet and
//! archives would burden everything that is built on systems, while whoever wants clean tracks and no
//! learning can have this crate alone. Systems take it without the feature `read` (on by default): tracks,
//! fleet, windows and the store's reader, and nothing that unpacks or takes lines apart.
//!
//! ```
//! use backcut_ais::model::{Shape, Split, SplitRule, Window, panels};
//! use backcut_ais::{Fleet, Reserved, Rules};
//!
//! let fleet = Fleet { ships: 6, days: 6, seed: 1 };
//! let tracks = fleet.tracks(&Rules::default(), 2, Reserved::Excluded)?;
//! let shape = Shape { predicted: 96, ..Shape::default() };
//! let split = Split::of(&tracks, &SplitRule::default())?;
//! let [_, evaluation] = panels(&tracks, &split, &shape)?;
//! let first = evaluation.windows[0];
//! let window = Window::of(&tracks.segments()[first.segment], first.start, 300, &shape)?;
//! assert_eq!(window.velocities.len(), 16 + 96);
//! # Ok::<(), backcut_ais::AisError>(())
//! ```

mod clean;
mod error;
pub mod fleet;
#[cfg(feature = "read")]
mod import;
pub mod model;
#[cfg(feature = "read")]
pub mod read;
mod report;
mod segment;
mod source;
pub mod sphere;
mod statistics;
pub mod store;
mod tracks;

pub use clean::{Cleaner, Counts, Ended, Rules, ValidRules};
pub use error::AisError;
pub use fleet::Fleet;
#[cfg(feature = "read")]
pub use import::Import;
pub use report::{Naming, Report};
pub use segment::{Place, Segment, vessel_key};
pub use statistics::{Histogram, Statistics};
pub use tracks::{RESERVED_VESSELS, Reserved, Tracks};
