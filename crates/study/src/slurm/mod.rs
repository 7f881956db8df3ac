//! Slurm: the same plan as a job array over a shared folder.
//!
//! An array task is a *shard*: `backcut study run --shard I/N` with a worker pool, because starting a task
//! costs about as much as a small unit. This module writes scripts, submits them and reads the queue; it
//! never schedules. **The queue decides nothing**: whether a unit is done is for its own file to say, so
//! a task may be killed, preempted, requeued, lost or run twice, and what is missing is sent again.
//!
//! | file | idea |
//! | --- | --- |
//! | `options.rs` | what may be asked of Slurm, checked |
//! | `shards.rs` | which shards hold what is missing |
//! | `script.rs` | the text of the scripts |
//! | `copy.rs` | the study file as it was submitted |
//! | `submit.rs` | files in `OUT/slurm`, and `sbatch` |
//! | `queue.rs` | what `squeue` says |

mod copy;
mod options;
mod queue;
mod script;
mod shards;
mod submit;

pub use copy::StudyCopy;
pub use options::{Options, TimeLimit, Word};
pub use queue::{Queue, Task, ask, parse};
pub use script::{Commands, array_script, collect_script, quote};
pub use shards::{MAX_TASKS, Shards, due};
pub use submit::{Kind, SubmissionFolder, Submitted, submit};
