//! What was found, in three sentences: the page and the README open with them.
//!
//! Every number is computed from the tables, and so is every comparison: a sentence says that two costs are not told apart
//! where the interval of their difference holds zero, and which is larger where it does not.

use std::fmt::Write as _;

use backcut_page::report::Results;
use backcut_page::report::estimate::Estimate;
use backcut_page::report::results::canonical_condition;
use backcut_text::counted;
use backcut_text::format::fixed;

use crate::answer::{Answer, Tally};
use crate::beside::Reproduction;
use crate::multiverse::{Claim, Fate, STUDY};
use crate::paper::Subject;
use crate::words::excess;

/// Studies that train every arm from the start, best first.
const STUDIES: [&str; 2] = ["c5", "quick"];

/// Conditions that sentences are about, what they are called, and the multiverse's claim that the cut costs there.
const CONDITIONS: [(&str, &str, &str, &str); 3] = [
    ("0.05", "Velocity well seen (noise of 0.05 m/s)", "well seen", "cost at 0.05"),
    ("0.20", "Velocity noisy (0.20 m/s)", "noisy", "cost at 0.20"),
    ("hidden", "Velocity hidden", "hidden", "cost, hidden"),
];

/// The arms in words, so that nothing has to be known to read the sentences.
const ARMS: &str = "FF is the full gradient. F_SG has the same forward and stops the gradient into what earlier steps stored. \
    w = 1 reads no memory, w = 2 one step of it. Costs are errors above FF's, in percent, with pointwise 95% intervals; arms are compared source by source, a \
    source being a seed: initial weights and batches.";

/// Whose experiments these are.
const PAPER: &str = "This repeats the paper of Li, Han and Huang (2026).";

/// What the tables say, before any figure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The costs of the cut in one sentence; empty where fewer than two conditions have one.
    pub short: String,
    /// One sentence per condition that the tables have.
    pub sentences: Vec<String>,
    /// What the names in the sentences mean, and where the numbers are from; empty without sentences.
    pub note: String,
    /// How ours stands beside the paper's.
    pub agreement: String,
    /// In how many configurations that the paper leaves open the cut costs something; empty without a multiverse.
    pub robustness: String,
}

impl Finding {
    /// As Markdown, for a README.
    pub fn markdown(&self) -> String {
        use backcut_text::escape::markdown;
        let mut out = String::new();
        if !self.short.is_empty() {
            let _ = writeln!(out, "**{}**\n", markdown(&self.short));
        }
        for sentence in &self.sentences {
            let (condition, rest) = sentence.split_once(": ").unwrap_or(("", sentence));
            let _ = writeln!(out, "- **{}**: {}", markdown(condition), markdown(rest));
        }
        for paragraph in [&self.note, &self.agreement, &self.robustness] {
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
            let (agreement, robustness) = (self.agreement_line(0), self.robustness_line());
            let (short, note) = (String::new(), String::new());
            return Finding { short, sentences: Vec::new(), note, agreement, robustness };
        };
        let (short, sentences) = (short(results, study), sentences(results, study));
        let of = match (self.second.is_some(), self.column(programme)) {
            (true, name) if programme > 0 => format!(" of the {name}, with the published settings"),
            (true, name) => format!(" of the {name}"),
            (false, _) => String::new(),
        };
        let is_empty = sentences.is_empty();
        let note = if is_empty {
            String::new()
        } else {
            format!("{ARMS} Study {study}{of}, {}.", counted(sources(results, study), "source"))
        };
        let (agreement, robustness) = (self.agreement_line(programme), self.robustness_line());
        Finding { short, sentences, note, agreement, robustness }
    }

    /// How ours stands beside the paper's, in one line: whatever the comparison says today.
    fn agreement_line(&self, programme: usize) -> String {
        let answers = self.answers(Subject::Quadrotor);
        let is_here = |answer: &Answer<'_>| answer.found.get(programme).is_some_and(Result::is_ok);
        if !answers.iter().any(is_here) {
            return String::new();
        }
        let quadrotor = Tally::of(&answers, programme).shares();
        let vessel = self.answers(Subject::Vessel);
        let vessel = if vessel.iter().any(|answer| answer.absent().is_none()) {
            Tally::of(&vessel, 0).shares()
        } else {
            Vec::new()
        };
        beside_the_paper(&quadrotor, &vessel)
    }

    /// In how many universes of the multiverse the cut costs something.
    fn robustness_line(&self) -> String {
        let Some((claims, _)) = self.multiverse() else { return String::new() };
        let rows = self.holding(STUDY).study(STUDY).map(|study| study.analysis.as_slice());
        let seeds = rows.unwrap_or_default().iter().filter_map(|row| row.sources).max();
        robustness(&claims, seeds.unwrap_or_default())
    }
}

/// What is counted is said once, where both count the same.
fn beside_the_paper(quadrotor: &[(String, &str)], vessel: &[(String, &str)]) -> String {
    let told = |shares: &[(String, &str)]| {
        shares.iter().map(|(share, what)| format!("{share} {what}")).collect::<Vec<_>>().join(", ")
    };
    let line = format!("{PAPER} Quadrotor: {}.", told(quadrotor));
    let is_alike = quadrotor.iter().map(|(_, what)| what).eq(vessel.iter().map(|(_, what)| what));
    match vessel {
        [] => line,
        [first @ .., (last, _)] if is_alike && !first.is_empty() => {
            let first: Vec<&str> = first.iter().map(|(share, _)| share.as_str()).collect();
            format!("{line} Vessel, with other ships' tracks: {} and {last}.", first.join(", "))
        }
        _ => format!("{line} Vessel, with other ships' tracks: {}.", told(vessel)),
    }
}

fn robustness(claims: &[Claim], seeds: u64) -> String {
    let costs: Vec<(&str, &Claim)> = CONDITIONS
        .iter()
        .filter_map(|(.., word, name)| {
            Some((*word, claims.iter().find(|claim| claim.name == *name)?))
        })
        .collect();
    let Some(all) = costs.iter().map(|(_, claim)| claim.all()).max() else { return String::new() };
    let of = |(word, claim): &(&str, &Claim)| {
        let (holds, fails) = (claim.count(Fate::Holds), claim.count(Fate::Fails));
        let helps = if fails > 0 { format!(" (and helps in {fails})") } else { String::new() };
        format!("in {holds} where velocity is {word}{helps}")
    };
    let costs: Vec<String> = costs.iter().map(of).collect();
    format!(
        "The paper leaves settings open: of {all} ways to fill them in, {seeds} seeds each, the cut is seen to cost something \
         {}; the others stay undecided.",
        costs.join(", ")
    )
}

/// The study's own name of a condition.
fn condition_of<'r>(results: &'r Results, study: &str, wanted: &str) -> Option<&'r str> {
    let is_it = |c: &&str| canonical_condition(c) == canonical_condition(wanted);
    results.study(study)?.conditions().into_iter().find(is_it)
}

/// Sources behind the costs.
fn sources(results: &Results, study: &str) -> usize {
    let count = |(wanted, ..): &(&str, &str, &str, &str)| {
        let condition = condition_of(results, study, wanted)?;
        Some(percent(results, study, &excess("F_SG", condition))?.values.len())
    };
    CONDITIONS.iter().filter_map(count).max().unwrap_or_default()
}

fn percent(results: &Results, study: &str, expression: &str) -> Option<Estimate> {
    results.estimate(study, expression).ok().map(|e| e.scaled(100.0))
}

/// The costs alone, for somebody with half a minute.
fn short(results: &Results, study: &str) -> String {
    let costs = CONDITIONS.iter().filter_map(|(wanted, _, word, _)| {
        let condition = condition_of(results, study, wanted)?;
        let cost = percent(results, study, &excess("F_SG", condition))?;
        Some((*word, cost.mean))
    });
    shortly(&costs.collect::<Vec<_>>())
}

fn shortly(costs: &[(&str, f64)]) -> String {
    let [(first, cost), rest @ ..] = costs else { return String::new() };
    if rest.is_empty() {
        return String::new();
    }
    let by = |cost: f64| format!("by {}%", fixed(cost, usize::from(cost.abs() < 10.0)));
    let rest: Vec<String> =
        rest.iter().map(|(word, cost)| format!("{} where it is {word}", by(*cost))).collect();
    let last = rest.join(if rest.len() == 1 { "" } else { " and " });
    let joint = if rest.len() == 1 { " and " } else { ", " };
    let verb = if costs.iter().all(|(_, cost)| *cost > 0.0) { "raises" } else { "changes" };
    format!(
        "Cutting the gradient into memory {verb} a quadrotor's tracking error {} where its velocity is {first}{joint}{last}.",
        by(*cost)
    )
}

fn sentences(results: &Results, study: &str) -> Vec<String> {
    CONDITIONS
        .iter()
        .filter_map(|(wanted, words, ..)| {
            let condition = condition_of(results, study, wanted)?;
            Some(format!("{words}: {}", sentence(results, study, condition)?))
        })
        .collect()
}

fn sentence(results: &Results, study: &str, condition: &str) -> Option<String> {
    let percent = |expression: &str| percent(results, study, expression);
    let cut = percent(&excess("F_SG", condition))?;
    let Some(memory) = percent(&excess("w1", condition)) else {
        return Some(format!("the cut costs {}.", cost(&cut)));
    };
    let apart = percent(&format!("([F_SG@{condition}] - [w1@{condition}]) / [FF@{condition}]"));
    let late = percent(&excess("F_SG_cont", condition)).map(|late| {
        format!(
            " With full gradients up to update 800 and the cut after it, the cost is {}.",
            cost(&late)
        )
    });
    Some(compared(&cut, &memory, apart.and_then(|e| e.interval)) + &late.unwrap_or_default())
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
            "{start}: the cut takes away {}% of memory's benefit.",
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
    use backcut_stats::Verdict;

    use super::*;
    use crate::multiverse::Outcome;

    fn around(mean: f64) -> Estimate {
        let interval = Some([mean - 1.0, mean + 1.0]);
        Estimate { values: Vec::new(), mean, interval, missing: Vec::new() }
    }

    #[test]
    fn the_shortest_answer_names_every_cost() {
        let costs = [("well seen", 3.26), ("noisy", 30.2), ("hidden", 43.7)];
        let words = shortly(&costs);
        assert!(words.ends_with(
            "by 3.3% where its velocity is well seen, by 30% where it is noisy and by 44% where it is hidden."
        ), "{words}");
        assert!(shortly(&costs[..2]).ends_with("well seen and by 30% where it is noisy."));
        assert_eq!(shortly(&costs[..1]), "");
        assert!(
            words.contains("raises") && shortly(&[("a", 1.0), ("b", -1.0)]).contains("changes")
        );
    }

    #[test]
    fn what_is_counted_alike_is_said_once() {
        let shares = |numbers: [&str; 2]| {
            let [a, b] = numbers.map(str::to_owned);
            vec![(a, "decisions"), (b, "signs")]
        };
        let (quadrotor, vessel) = (shares(["1 of 2", "3 of 4"]), shares(["5 of 6", "7 of 8"]));
        let both = beside_the_paper(&quadrotor, &vessel);
        assert!(both.ends_with(
            "Quadrotor: 1 of 2 decisions, 3 of 4 signs. Vessel, with other ships' tracks: 5 of 6 and 7 of 8."
        ), "{both}");
        let other = beside_the_paper(&quadrotor, &vessel[1..]);
        assert!(other.ends_with("tracks: 7 of 8 signs."), "{other}");
        assert!(beside_the_paper(&quadrotor, &[]).ends_with("3 of 4 signs."));
    }

    #[test]
    fn configurations_are_counted_by_what_their_intervals_decide() {
        let claim = |name: &str, verdicts: &[Verdict]| {
            let outcome = |verdict: &Verdict| Outcome {
                universe: "u".into(),
                mean: 0.0,
                interval: None,
                verdict: Some(*verdict),
            };
            Claim {
                name: name.into(),
                outcomes: verdicts.iter().map(outcome).collect(),
                missing: 0,
            }
        };
        let (yes, no, open) = (Verdict::Supported, Verdict::Contradicted, Verdict::Unresolved);
        let claims =
            [claim("cost, hidden", &[yes, yes, open]), claim("cost at 0.05", &[yes, no, open])];
        assert_eq!(
            robustness(&claims, 8),
            "The paper leaves settings open: of 3 ways to fill them in, 8 seeds each, the cut is seen to cost something in 1 \
             where velocity is well seen (and helps in 1), in 2 where velocity is hidden; the others stay undecided."
        );
        assert_eq!(robustness(&[claim("H1", &[yes])], 8), "");
    }

    #[test]
    fn the_words_follow_the_interval_of_the_difference() {
        let words = |apart| compared(&around(30.0), &around(60.0), apart);
        assert!(words(Some([-1.0, 1.0])).ends_with("do not tell the two apart."));
        assert!(words(Some([0.5, 1.0])).contains("more than memory is worth"));
        assert!(words(Some([-2.0, -1.0])).contains("takes away 50% of memory's benefit"));
        assert!(words(None).ends_with("costs 60.0% [59, 61]."), "{}", words(None));
        let without = compared(&around(3.0), &around(-1.0), Some([-2.0, -1.0]));
        assert!(without.ends_with("the cut costs less."), "{without}");
        assert_eq!(cost(&around(2.68)), "2.7% [1.7, 3.7]");
    }
}
