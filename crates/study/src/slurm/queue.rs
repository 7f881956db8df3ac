//! What the queue says, from `squeue` alone: accounting need not be installed. Jobs that have ended are
//! not in the queue any more; how they ended is for the unit files to tell.

use std::collections::BTreeMap;
use std::process::Command;

use crate::error::StudyError;

/// Array job, index in it, state, reason: one line per array task.
const FORMAT: &str = "%F|%K|%T|%r";

/// A job or array task in the queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Task {
    /// The job (of the array).
    pub job: u64,
    /// The index in the array.
    pub index: Option<u64>,
    /// `RUNNING`, `PENDING`, ... in lower case.
    pub state: String,
    /// Why it waits.
    pub reason: Option<String>,
}

/// An answer of the queue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Queue {
    /// What is in it.
    Tasks(Vec<Task>),
    /// It could not be asked, and why.
    Silent(String),
}

/// Reads the lines that `squeue` prints in this module's format.
pub fn parse(text: &str) -> Result<Vec<Task>, StudyError> {
    let mut tasks = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let mut parts = line.splitn(4, '|').map(str::trim);
        let job = parts.next().and_then(|job| job.parse().ok());
        let (Some(job), Some(index), Some(state), Some(reason)) =
            (job, parts.next(), parts.next(), parts.next())
        else {
            let hint = "expected JOB|INDEX|STATE|REASON: check that squeue is Slurm's own";
            return Err(StudyError::invalid(format!("squeue printed {line:?}"), hint));
        };
        let reason = (!matches!(reason, "" | "None" | "(null)")).then(|| reason.to_owned());
        tasks.push(Task {
            job,
            index: index.parse().ok(),
            state: state.to_ascii_lowercase(),
            reason,
        });
    }
    Ok(tasks)
}

/// Asks `squeue` about jobs.
pub fn ask(jobs: &[u64]) -> Queue {
    if jobs.is_empty() {
        return Queue::Tasks(Vec::new());
    }
    let list: Vec<String> = jobs.iter().map(u64::to_string).collect();
    let output = Command::new("squeue")
        .args(["--noheader", "--array", "--format", FORMAT])
        .arg(format!("--jobs={}", list.join(",")))
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => return Queue::Silent(format!("squeue: {error}")),
    };
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    // A single job that has left the queue is an error to squeue; of several it says nothing.
    if !output.status.success() && message.contains("Invalid job id") {
        return Queue::Tasks(Vec::new());
    }
    if !output.status.success() {
        let line = message.lines().last().unwrap_or("squeue failed").to_owned();
        return Queue::Silent(line);
    }
    match parse(&String::from_utf8_lossy(&output.stdout)) {
        Ok(tasks) => Queue::Tasks(tasks),
        Err(error) => Queue::Silent(error.to_string()),
    }
}

impl Queue {
    /// Tasks by state, in alphabetical order; empty if the queue was silent.
    pub fn states(&self) -> BTreeMap<&str, usize> {
        let mut states = BTreeMap::new();
        for task in self.tasks() {
            *states.entry(task.state.as_str()).or_default() += 1;
        }
        states
    }

    /// The jobs that are in the queue, each once.
    pub fn jobs(&self) -> Vec<u64> {
        let mut jobs: Vec<u64> = self.tasks().iter().map(|task| task.job).collect();
        jobs.sort_unstable();
        jobs.dedup();
        jobs
    }

    /// What is in it, as far as is known.
    pub fn tasks(&self) -> &[Task] {
        match self {
            Self::Tasks(tasks) => tasks,
            Self::Silent(_) => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_squeue_are_read() {
        let text = "4|4|PENDING|JobArrayTaskLimit\n4|1|RUNNING|None\n5|N/A|PENDING|Dependency\n\
            6|2|PENDING|a | b\n";
        let tasks = parse(text).unwrap();
        assert_eq!(tasks[0].reason.as_deref(), Some("JobArrayTaskLimit"));
        let running = Task { job: 4, index: Some(1), state: "running".into(), reason: None };
        assert_eq!(tasks[1], running);
        assert_eq!((tasks[2].job, tasks[2].index), (5, None));
        assert_eq!(tasks[3].reason.as_deref(), Some("a | b"));
        let queue = Queue::Tasks(tasks);
        assert_eq!(
            queue.states().into_iter().collect::<Vec<_>>(),
            [("pending", 3), ("running", 1)]
        );
        assert_eq!(queue.jobs(), [4, 5, 6]);
    }

    #[test]
    fn other_lines_are_an_error_and_no_lines_an_empty_queue() {
        assert_eq!(parse("\n").unwrap(), []);
        for text in ["JOBID|x", "4 1 RUNNING None", "four|1|RUNNING|None"] {
            assert!(parse(text).unwrap_err().to_string().contains("squeue printed"), "{text}");
        }
    }
}
