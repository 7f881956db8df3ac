//! What was found, in three sentences: the page and the README open with them.
//!
//! Every number is computed from the tables, and so is every comparison: a sentence says that two costs are not told apart
//! where the interval of their difference holds zero, and which is larger where it does not.

use std::fmt::Write as _;

use backcut_report::Results;
use backcut_report::estimate::Estimate;
use backcut_report::results::canonical_condition;
use backcut_text::format::fixed;

use crate::Reproduction;
use crate::answer::{Answer, tally};
use crate::figures::excess;
use crate::paper::Subject;
use crate::reproduction::{QUADROTOR, THE_VESSEL};

/// Studies that train every arm from the start, best first.
const STUDIES: [&str; 2] = ["c5", "quick"];

/// Conditions that sentences are about, and what they are called.
const CONDITIONS: [(&str, &str); 3] = [
    ("0.05", "Velocity well seen (noise of 0.05 m/s)"),
    ("0.20", "Velocity noisy (0.20 m/s)"),
    ("hidden", "Velocity hidden"),
];

/// The arms in words, so that nothing has to be known to read the sentences.
const ARMS: &str = "FF learns through everything; F_SG has the same forward and cuts the gradient into what earlier steps \
    stored; w = 1 has no memory. Costs are errors above FF's, in percent, means over sources with pointwise 95% intervals.";

/// What the tables say, before any figure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// One sentence per condition that the tables have.
    pub sentences: Vec<String>,
    /// What the names in the sentences mean, and where the numbers are from; empty without sentences.
    pub note: String,
    /// How ours stands beside the paper's.
    pub agreement: String,
}

impl Finding {
    /// As Markdown, for a README.
    pub fn markdown(&self) -> String {
        use backcut_text::escape::markdown;
        let mut out = String::new();
        for sentence in &self.sentences {
            let (condition, rest) = sentence.split_once(": ").unwrap_or(("", sentence));
            let _ = writeln!(out, "- **{}**: {}", markdown(condition), markdown(rest));
        }
        for paragraph in [&self.note, &self.agreement] {
            if !paragraph.is_empty() {
                let start = if out.is_empty() { "" } else { "\n" };
                let _ = writeln!(out, "{start}{}", markdown(paragraph));
            }
        }
        out
    }
}

impl Reproduction {
    /// What was found.
    pub fn finding(&self) -> Finding {
        // The second programme, where there is one, has the published settings.
        let mut programmes: Vec<(usize, &Results)> = self.programmes().enumerate().collect();
        programmes.reverse();
        let found = STUDIES.into_iter().find_map(|study| {
            let holds = |(_, results): &&(usize, &Results)| results.study(study).is_some();
            programmes.iter().find(holds).map(|(i, results)| (study, *i, *results))
        });
        let Some((study, programme, results)) = found else {
            let agreement = self.agreement_line(0);
            return Finding { sentences: Vec::new(), note: String::new(), agreement };
        };
        let sentences = sentences(results, study);
        let of = match (self.second.is_some(), self.column(programme)) {
            (true, name) => format!(" of the {name}"),
            (false, _) => String::new(),
        };
        let is_empty = sentences.is_empty();
        let note = if is_empty { String::new() } else { format!("{ARMS} Study {study}{of}.") };
        Finding { sentences, note, agreement: self.agreement_line(programme) }
    }

    /// How ours stands beside the paper's, in one line: whatever the comparison says today.
    fn agreement_line(&self, programme: usize) -> String {
        let answers = self.answers(Subject::Quadrotor);
        let is_here = |answer: &Answer<'_>| answer.found.get(programme).is_some_and(Result::is_ok);
        if !answers.iter().any(is_here) {
            return String::new();
        }
        let vessel = self.answers(Subject::Vessel);
        let vessel = if vessel.iter().any(|answer| answer.absent().is_none()) {
            format!(" {}", tally(&vessel, 0, THE_VESSEL))
        } else {
            String::new()
        };
        format!("Beside the paper: {}{vessel}", tally(&answers, programme, QUADROTOR))
    }
}

fn sentences(results: &Results, study: &str) -> Vec<String> {
    let conditions = results.study(study).map(|s| s.conditions()).unwrap_or_default();
    let of = |wanted: &str| {
        conditions.iter().copied().find(|c| canonical_condition(c) == canonical_condition(wanted))
    };
    CONDITIONS
        .iter()
        .filter_map(|(wanted, words)| {
            let sentence = sentence(results, study, of(wanted)?)?;
            Some(format!("{words}: {sentence}"))
        })
        .collect()
}

fn sentence(results: &Results, study: &str, condition: &str) -> Option<String> {
    let percent =
        |expression: &str| results.estimate(study, expression).ok().map(|e| e.scaled(100.0));
    let cut = percent(&excess("F_SG", condition))?;
    let Some(memory) = percent(&excess("w1", condition)) else {
        return Some(format!("the cut costs {}.", cost(&cut)));
    };
    let apart = percent(&format!("([F_SG@{condition}] - [w1@{condition}]) / [FF@{condition}]"));
    Some(compared(&cut, &memory, apart.and_then(|e| e.interval)))
}

/// The cost of the cut beside what having no memory costs; `apart` is the interval of their difference.
fn compared(cut: &Estimate, memory: &Estimate, apart: Option<[f64; 2]>) -> String {
    let start =
        format!("the cut costs {}; having no memory at all costs {}", cost(cut), cost(memory));
    match apart {
        Some([low, high]) if low <= 0.0 && 0.0 <= high => {
            format!("{start}, and these runs do not tell the two apart.")
        }
        Some([low, _]) if low > 0.0 => format!("{start}: the cut costs more than memory is worth."),
        Some(_) if memory.mean > 0.0 && cut.mean > 0.0 => format!(
            "{start}: the cut loses {}% of what memory is worth.",
            fixed(100.0 * cut.mean / memory.mean, 0)
        ),
        Some(_) => format!("{start}: the cut costs less."),
        None => format!("{start}."),
    }
}

/// A cost with its interval; hundreds need no decimals.
fn cost(e: &Estimate) -> String {
    let ends = e.interval.unwrap_or([e.mean, e.mean]);
    let decimals = usize::from(ends.iter().any(|end| end.abs() < 10.0) || e.mean.abs() < 10.0);
    let mean = fixed(e.mean, 1);
    match e.interval {
        Some([low, high]) => {
            format!("{mean}% [{}, {}]", fixed(low, decimals), fixed(high, decimals))
        }
        None => format!("{mean}%"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn around(mean: f64) -> Estimate {
        let interval = Some([mean - 1.0, mean + 1.0]);
        Estimate { values: Vec::new(), mean, interval, missing: Vec::new() }
    }

    #[test]
    fn the_words_follow_the_interval_of_the_difference() {
        let words = |apart| compared(&around(30.0), &around(60.0), apart);
        assert!(words(Some([-1.0, 1.0])).ends_with("do not tell the two apart."));
        assert!(words(Some([0.5, 1.0])).contains("more than memory is worth"));
        assert!(words(Some([-2.0, -1.0])).contains("loses 50% of what memory is worth"));
        assert!(words(None).ends_with("costs 60.0% [59, 61]."), "{}", words(None));
        let without = compared(&around(3.0), &around(-1.0), Some([-2.0, -1.0]));
        assert!(without.ends_with("the cut costs less."), "{without}");
        assert_eq!(cost(&around(2.68)), "2.7% [1.7, 3.7]");
    }
}
