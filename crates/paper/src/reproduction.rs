//! `docs/reproduction.md`: every claim of the paper that can be answered here, answered.
//!
//! Every number of ours is read from a results file when the page is made, and every number of the
//! paper from `paper.toml`; this file holds words only.

use std::fmt::Write as _;

use crate::compare::{Agreement, Ours, agreement, ours};
use crate::figures::design::DesignEdges;
use crate::paper::{Entry, Paper, PaperError, Subject};
use crate::tables::{our_text, paper_text};
use backcut_report::Results;
use backcut_text::escape::markdown;

/// What stands above everything about the vessel.
pub(crate) const VESSEL: &str = "The paper's ship tracks are private; these are other ships. Errors in km² therefore compare by sign \
    and decision alone, relative quantities by how many times the paper's ours are.";

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

/// A claim with a value here.
pub(crate) type Answer<'p> = (&'p Entry, Ours, Agreement);

fn markdown_page(results: &Results, paper: &Paper) -> String {
    let mut answered: Vec<Answer<'_>> = Vec::new();
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
    let count = |subject| paper.claims.iter().filter(|claim| claim.system == subject).count();
    let (vessel, other): (Vec<_>, Vec<_>) =
        answered.into_iter().partition(|(entry, ..)| entry.system == Subject::Vessel);
    let tally =
        tally(&other, "about the quadrotor and the analytic system ", count(Subject::Quadrotor));
    let _ = writeln!(out, "{tally}\n");
    out.push_str(
        "| | claim | the paper's | ours | same direction? | same decision? | intervals overlap? | our status |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for (entry, ours, agreement) in &other {
        let [id, text, paper, mine] = both(entry, ours);
        let answers = [agreement.same_direction, agreement.same_decision, agreement.overlap];
        let [direction, decision, overlap] = answers.map(yes_or_no);
        let cells = [id, text, paper, mine, direction, decision, overlap, ours.standing()];
        let _ = writeln!(out, "| {} |", cells.map(|c| markdown(&c)).join(" | "));
    }
    vessel_section(&mut out, &vessel, count(Subject::Vessel));
    differences(&mut out, other.iter().chain(&vessel));
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

/// How many claims have a value, and how many of these agree with the paper's.
pub(crate) fn tally(answered: &[Answer<'_>], what: &str, claims: usize) -> String {
    let share = |answer: fn(&Agreement) -> Option<bool>| {
        let answers: Vec<bool> = answered.iter().filter_map(|(_, _, a)| answer(a)).collect();
        (answers.len(), answers.iter().filter(|yes| **yes).count())
    };
    let (counted, agreeing) = share(|a| a.same_direction);
    let (decided, alike) = share(|a| a.same_decision);
    let (paired, overlapping) = share(|a| a.overlap);
    let sizes = match share(Agreement::same_size) {
        (0, _) => String::new(),
        (sized, near) => {
            format!(
                " Of {sized} that compare by a factor, {near} lie within a factor of two of the paper's."
            )
        }
    };
    format!(
        "{} of {claims} claims {what}have a value here. Of {counted} with a direction, {agreeing} have the paper's; of {decided} \
         that both decide, {alike} are decided alike; of {paired} with two intervals, {overlapping} overlap.{sizes}",
        answered.len(),
    )
}

/// Name, text, the paper's value and ours.
fn both(entry: &Entry, ours: &Ours) -> [String; 4] {
    let paper = with_kind(&paper_text(entry), &entry.kind);
    [entry.id.clone(), entry.text.clone(), paper, with_kind(&our_text(entry, ours), &ours.kind)]
}

/// The vessel's claims, if any has a value: sizes stand in words, since few of them have intervals.
fn vessel_section(out: &mut String, answered: &[Answer<'_>], claims: usize) {
    if answered.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n## The vessel\n\n{VESSEL}\n\n{}\n", tally(answered, "", claims));
    out.push_str(
        "| | claim | the paper's | ours | agreement | same decision? | our status |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for (entry, ours, agreement) in answered {
        let [id, text, paper, mine] = both(entry, ours);
        let decision = yes_or_no(agreement.same_decision);
        let cells = [id, text, paper, mine, agreement.words.clone(), decision, ours.standing()];
        let _ = writeln!(out, "| {} |", cells.map(|c| markdown(&c)).join(" | "));
    }
}

fn with_kind(value: &str, kind: &str) -> String {
    if kind.is_empty() { value.to_owned() } else { format!("{value} ({kind})") }
}

fn yes_or_no(answer: Option<bool>) -> String {
    answer.map_or(backcut_text::format::NONE, |yes| if yes { "yes" } else { "no" }).to_owned()
}

fn differences<'a>(out: &mut String, answered: impl Iterator<Item = &'a Answer<'a>>) {
    out.push_str("\n## Where we differ\n\n");
    let mut any = false;
    for (entry, ours, agreement) in answered {
        let Agreement { same_direction, same_decision, overlap, .. } = agreement;
        let verdicts = [*same_direction, *same_decision, *overlap, agreement.same_size()];
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
