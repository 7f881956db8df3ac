//! Paired source-level inference on plain tables of seeds and errors.
//!
//! **Does**: reads a table of sources (training seeds, sampling streams), evaluates contrasts over
//! its cells, and reports each with a percentile bootstrap over whole sources, simultaneous family
//! endpoints, an exact sign-flip audit, noninferiority against a margin, and a verdict in words.
//! Beside that: cluster bootstrap within strata, rank and linear correlation, two-sample tests,
//! leave-one-source-out, label agreement, planning of a noninferiority study, forest plots.
//!
//! **Refuses**: to drop a source silently, to read a missing or non-finite value as a number, to
//! work with fewer than four sources, to call a row confirmatory (only a ledger knows what was
//! frozen when), and to know what was trained: a table is all it needs, and the crates below it
//! hold words and drawings, no science.
//!
//! **One design decision.** Every random number is a pure function of (seed, stream, draw,
//! position) through a counter-based generator, and sources are sorted by name before anything is
//! drawn. So a result does not depend on the order of rows, on the order of contrasts or on
//! threads, and the contrasts of a family share their draws, which keeps the pairing between them.
//! A stateful generator would make every result depend on everything drawn before it.
//!
//! ```
//! use backcut_stats::{Contrast, FamilyParams, Layout, SourceTable};
//!
//! let csv = "seed,FF@0.20,F_SG@0.20\n\
//!            1,1.00,1.31\n2,1.10,1.38\n3,0.95,1.20\n4,1.02,1.29\n5,0.99,1.35\n6,1.05,1.32\n";
//! let table = SourceTable::from_csv(csv.as_bytes(), &Layout::default())?;
//! let contrast = Contrast::parse("cost = [F_SG@0.20] - [FF@0.20] > 0")?;
//! let family = FamilyParams::new(vec![contrast]).check()?;
//! let report = family.run(&table)?;
//! assert_eq!(report.rows[0].agreeing, 6);
//! assert_eq!(report.rows[0].exact.p, 2.0 / 64.0);
//! # Ok::<(), backcut_stats::StatsError>(())
//! ```

pub mod agreement;
pub mod answers;
pub mod bootstrap;
pub mod contrast;
pub mod correlation;
mod error;
pub mod family;
pub mod forest;
pub mod leave_one_out;
pub mod limit;
pub mod normal;
pub mod philox;
pub mod planning;
pub mod quantile;
pub mod signflip;
pub mod table;
pub mod text;
pub mod two_sample;
pub mod verdict;

pub use answers::{Answers, Estimate};
pub use contrast::{Contrast, Direction};
pub use error::StatsError;
pub use family::{Bound, DRAWS, Family, FamilyParams, FamilyRow, Report, SEED};
pub use table::{Layout, SourceTable};
pub use verdict::{STATUS, Verdict};
