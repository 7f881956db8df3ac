//! `docs/reproduction.md`: every claim of the paper that can be answered here, answered.
//!
//! Every number of ours is read from a results file when the page is made, and every number of the
//! paper from `paper.toml`; this file holds words only.

use std::fmt::Write as _;

use crate::compare::{Agreement, Ours, agreement, ours};
use crate::figures::design::DesignEdges;
use crate::paper::{Entry, Paper, PaperError};
use crate::tables::{our_text, paper_text};
use backcut_report::Results;
use backcut_text::escape::markdown;

/// Our results, with the paper's values to set beside them.
#[derive(Debug)]
pub struct Reproduction {
    /// What was collected here.
    pub results: Results,
    pub(crate) paper: Paper,
    pub(crate) design: Vec<DesignEdges>,
}

impl Reproduction {
    /// Sets the paper beside some results.
    pub fn new(results: Results) -> Result<Self, PaperError> {
        Ok(Self { results, paper: Paper::load()?, design: Vec::new() })
    }

    /// Adds the edges that the design drawing shows; they come from an engine, not from a table.
    #[must_use]
    pub fn with_design(mut self, design: Vec<DesignEdges>) -> Self {
        self.design = design;
        self
    }

    /// The page, in Markdown.
    pub fn markdown(&self) -> String {
        markdown_page(&self.results, &self.paper)
    }
}

fn markdown_page(results: &Results, paper: &Paper) -> String {
    let mut answered: Vec<(&Entry, Ours, Agreement)> = Vec::new();
    let mut open: Vec<(&Entry, String)> = Vec::new();
    for entry in &paper.claims {
        match ours(results, entry) {
            Ok(ours) => {
                let agreement = agreement(entry, &ours);
                answered.push((entry, ours, agreement));
            }
            Err(why) => open.push((entry, why)),
        }
    }
    let mut out = String::from(
        "# Reproduction\n\nWritten by `backcut report reproduction`: every result of ours is read from the collected tables. \
         The paper's values are those it publishes; where it gives none, a dash stands.\n\n",
    );
    let counted = answered.iter().filter(|(_, _, a)| a.same_direction.is_some()).count();
    let agreeing = answered.iter().filter(|(_, _, a)| a.same_direction == Some(true)).count();
    let decided = answered.iter().filter(|(_, _, a)| a.same_decision.is_some()).count();
    let alike = answered.iter().filter(|(_, _, a)| a.same_decision == Some(true)).count();
    let paired = answered.iter().filter(|(_, _, a)| a.overlap.is_some()).count();
    let overlapping = answered.iter().filter(|(_, _, a)| a.overlap == Some(true)).count();
    let _ = writeln!(
        out,
        "{} of {} claims have a value here. Of {counted} with a direction, {agreeing} have the paper's; of {decided} \
         that both decide, {alike} are decided alike; of {paired} with two intervals, {overlapping} overlap.\n",
        answered.len(),
        paper.claims.len()
    );
    out.push_str(
        "| | claim | the paper's | ours | same direction? | same decision? | intervals overlap? | our status |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for (entry, ours, agreement) in &answered {
        let cells = [
            entry.id.clone(),
            entry.text.clone(),
            with_kind(&paper_text(entry), &entry.kind),
            with_kind(&our_text(entry, ours), &ours.kind),
            yes_or_no(agreement.same_direction),
            yes_or_no(agreement.same_decision),
            yes_or_no(agreement.overlap),
            ours.standing(),
        ];
        let _ = writeln!(out, "| {} |", cells.map(|c| markdown(&c)).join(" | "));
    }
    differences(&mut out, &answered);
    if !open.is_empty() {
        out.push_str("\n## Without a value here\n\n");
        for (entry, why) in &open {
            let line = format!("{} ({}): {why}.", entry.text, entry.id);
            let _ = writeln!(out, "- {}", markdown(&line));
        }
    }
    out.push_str("\n## What the paper leaves open\n\nAny of these may explain a difference.\n\n");
    for item in &paper.unspecified {
        let _ = writeln!(out, "- {}: {}.", markdown(&item.what), markdown(&item.choice));
    }
    sources(&mut out, results);
    out
}

fn with_kind(value: &str, kind: &str) -> String {
    if kind.is_empty() { value.to_owned() } else { format!("{value} ({kind})") }
}

fn yes_or_no(answer: Option<bool>) -> String {
    answer.map_or(backcut_text::format::NONE, |yes| if yes { "yes" } else { "no" }).to_owned()
}

fn differences(out: &mut String, answered: &[(&Entry, Ours, Agreement)]) {
    out.push_str("\n## Where we differ\n\n");
    let mut any = false;
    for (entry, ours, agreement) in answered {
        let verdicts = [agreement.same_direction, agreement.same_decision, agreement.overlap];
        if !verdicts.contains(&Some(false)) {
            continue;
        }
        any = true;
        let widths = agreement.widths.map_or_else(String::new, |w| {
            format!(", {} of the paper's interval widths away", backcut_text::format::fixed(w, 1))
        });
        let decision = match agreement.same_decision {
            Some(false) => format!("; the paper decided: {}", entry.decision),
            _ => String::new(),
        };
        let line = format!(
            "{} ({}): the paper has {}, we have {}{widths}: {}; {}{decision}.",
            entry.text,
            entry.id,
            paper_text(entry),
            our_text(entry, ours),
            agreement.words,
            ours.standing()
        );
        let _ = writeln!(out, "- {}", markdown(&line));
    }
    if !any {
        out.push_str("No claim differs in direction, and no pair of intervals lies apart.\n");
    }
}

/// A fact that has no value (a study that was never frozen) is left out.
fn fact(value: Option<&str>, key: &str) -> Option<String> {
    value.filter(|v| !v.is_empty()).map(|v| format!("{key} {v}"))
}

fn sources(out: &mut String, results: &Results) {
    out.push_str(
        "\n## Where the numbers come from\n\n| study | units | facts |\n| --- | --- | --- |\n",
    );
    for study in results.studies() {
        let states: Vec<String> =
            study.states().iter().map(|(state, count)| format!("{count} {state}")).collect();
        let wanted = ["study file sha256", "numerics", "program", "machine", "frozen at"];
        let facts: Vec<String> =
            wanted.iter().filter_map(|key| fact(study.fact(key), key)).collect();
        let cells = [study.name.clone(), states.join(", "), facts.join("; ")];
        let _ = writeln!(out, "| {} |", cells.map(|c| markdown(&c)).join(" | "));
    }
    if let Some(ledger) = results.ledger() {
        let head = format!("Ledger: {} entries, head {}.", ledger.entries, ledger.head);
        let _ = writeln!(out, "\n{}", markdown(&head));
    }
}
