//! What may be asked of Slurm. These values end up in `#SBATCH` lines, which have quoting rules of their
//! own; so only values that need no quoting can be made.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// Resources of an array of shards.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Whole nodes to use at a time, one task on each.
    pub nodes: Option<NonZeroU32>,
    /// Limit of a task's time.
    pub time: Option<TimeLimit>,
    /// Partition, or several separated by commas.
    pub partition: Option<Word>,
    /// Account that is charged.
    pub account: Option<Word>,
    /// Tasks that may run at a time.
    pub array_limit: Option<NonZeroU32>,
    /// Units of one task.
    pub units_per_task: NonZeroU32,
    /// Cores of one task.
    pub cpus_per_task: Option<NonZeroU32>,
}

/// A name in an `#SBATCH` line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Word(String);

impl FromStr for Word {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.,+@:".contains(c);
        if text.is_empty() || text.starts_with('-') || !text.chars().all(is_plain) {
            return Err("letters, digits and - _ . , + @ : only".to_owned());
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A limit in one of Slurm's forms: `90`, `90:00`, `1:30:00`, `2-12`, `2-12:00`, `2-12:00:00`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimeLimit(String);

/// Slurm sends a warning signal up to a minute early, so that a shorter task would be told to stop as it
/// starts, for ever.
const SHORTEST_SECS: u64 = 180;

impl FromStr for TimeLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let secs = seconds(text)
            .ok_or("write minutes, H:MM:SS or D-HH, as Slurm does: 90, 1:30:00, 2-12")?;
        if secs < SHORTEST_SECS {
            return Err(format!(
                "{secs} seconds: a task is warned up to a minute before its end, so give it at least 3 minutes"
            ));
        }
        Ok(Self(text.to_owned()))
    }
}

fn seconds(text: &str) -> Option<u64> {
    let number = |part: &str| {
        let is_number =
            !part.is_empty() && part.len() <= 6 && part.bytes().all(|b| b.is_ascii_digit());
        if is_number { part.parse::<u64>().ok() } else { None }
    };
    let (days, rest) = match text.split_once('-') {
        Some((days, rest)) => (Some(number(days)?), rest),
        None => (None, text),
    };
    let parts = rest.split(':').map(number).collect::<Option<Vec<u64>>>()?;
    let secs = match (days, parts.as_slice()) {
        (None, [m]) => m * 60,
        (None, [m, s]) => m * 60 + s,
        (Some(_), [h]) => h * 3600,
        (Some(_), [h, m]) => h * 3600 + m * 60,
        (_, [h, m, s]) => h * 3600 + m * 60 + s,
        _ => return None,
    };
    Some(days.unwrap_or(0) * 86_400 + secs)
}

impl fmt::Display for TimeLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_slurm_reads_them() {
        for (text, secs) in [
            ("90", 5400),
            ("90:30", 5430),
            ("1:30:00", 5400),
            ("2-12", 216_000),
            ("2-12:30", 217_800),
            ("0-00:03:00", 180),
        ] {
            assert_eq!(seconds(text), Some(secs), "{text}");
            assert_eq!(text.parse::<TimeLimit>().unwrap().to_string(), text);
        }
        for text in
            ["", "soon", "1h", "-1", "1:2:3:4", "1-", "1-2:3:4:5", "99999999999999999999", "3 0"]
        {
            assert!(text.parse::<TimeLimit>().is_err(), "{text}");
        }
        assert!("2".parse::<TimeLimit>().unwrap_err().contains("at least 3 minutes"));
    }

    #[test]
    fn a_word_can_not_leave_its_line() {
        for text in ["", "a b", "a\n#SBATCH --uid=0", "a'b", "-x", "a#b", "a\"b", "a$b", "a\\b"] {
            assert!(text.parse::<Word>().is_err(), "{text:?}");
        }
        assert_eq!("gpu,long_2".parse::<Word>().unwrap().to_string(), "gpu,long_2");
    }
}
