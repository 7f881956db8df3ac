//! `docs/reproduction.md`: every claim of the paper that can be answered here, answered.
//!
//! Every number of ours is read from a results file when the page is made, and every number of the
//! paper from `paper.toml`; this file holds words only.

use std::fmt::Write as _;

use crate::agreement::Group;
use crate::answer::{Answer, Tally};
use crate::beside::Reproduction;
use crate::entry::Subject;
use crate::multiverse;
use crate::tables::{our_text, paper_text};
use backcut_page::report::{Format, Results};
use backcut_text::capital;
use backcut_text::escape::markdown;
use backcut_text::format::NONE;

/// What stands above everything about the vessel.
pub(crate) const VESSEL: &str = "The paper's ship tracks are private; these are other ships. \
    Errors in km² therefore compare by sign and decision alone, relative quantities by how many \
    times the paper's ours are (alike within a factor of two; with an interval where ours has one, \
    the paper's half as wide as ours where it prints none); errors themselves stand side by side \
    and tell nothing.";

/// What every difference rests on.
pub(crate) const RULES: &str = "Agreement is ours minus the paper's with a 95% interval, the two \
    taken as independent: on either side it reaches the root of the sum of squares of the two arms \
    that point there. Ours is the pointwise 95% source-bootstrap interval. The paper's is the same \
    of its values per source where it publishes them; else the interval that it prints, narrowed \
    by the ratio of normal quantiles if it is adjusted for a family; where it prints a mean alone \
    (~), it is taken to be as wide as ours would be with the paper's number of sources. Counts of \
    sources have Wilson's interval, correlations Fisher's, standard deviations the normal \
    theory's; extremes and bounds have none. Apart: the interval excludes zero. Otherwise: a \
    decision differs, or zero lies in one interval and not in the other where the paper concludes \
    from that. A sign that cannot differ (of a rate, a norm, a count) counts for nothing. Claims \
    are grouped by the last programme that has them.";

/// What the quadrotor's numbers are about.
pub(crate) const QUADROTOR: &str = "the quadrotor and the analytic system";
/// And the vessel's.
pub(crate) const THE_VESSEL: &str = "the vessel";

impl Reproduction {
    /// The page, in Markdown.
    pub fn markdown(&self) -> String {
        let mut out = String::from(
            "# Reproduction\n\nWritten by `backcut report reproduction`: every result of ours is \
             read from the collected tables. The paper's values are those it publishes; where it \
             gives none, a dash stands.\n\n",
        );
        let (quadrotor, vessel) = (self.answers(Subject::Quadrotor), self.answers(Subject::Vessel));
        for (i, _) in self.programmes().enumerate() {
            let name =
                if self.second.is_none() { String::new() } else { capital(self.column(i)) + ": " };
            let _ = writeln!(out, "{name}{}\n", Tally::of(&quadrotor, i).whole(QUADROTOR));
        }
        let _ = writeln!(out, "## How agreement is measured\n\n{RULES}\n\n## Where we differ");
        differences(&mut out, self, quadrotor.iter().filter(|answer| answer.is_claim));
        out.push_str("\n## Claims\n\n");
        self.claims(&mut out, &quadrotor);
        if let Some((claims, design)) = self.multiverse() {
            let _ = writeln!(
                out,
                "\n## Which claims depend on what nobody published\n\n{}\n",
                markdown(multiverse::WORDS)
            );
            if let Some(words) = multiverse::choice_that_matters(&claims, &design) {
                let _ = writeln!(out, "{words}\n");
            }
            for claim in &claims {
                let _ = writeln!(out, "- {}", markdown(&claim.sentence(&design)));
            }
        }
        if vessel.iter().any(|answer| answer.absent().is_none()) {
            let tally = Tally::of(&vessel, 0).whole(THE_VESSEL);
            let _ = writeln!(out, "\n## The vessel\n\n{VESSEL}\n\n{tally}\n");
            differences(&mut out, self, vessel.iter().filter(|answer| answer.is_claim));
            out.push('\n');
            self.claims(&mut out, &vessel);
        }
        out.push_str("\n## Every published number\n\nBy table; claims stand here too.\n");
        for table in &self.paper.tables {
            let Ok(made) = self.table(&table.name) else { continue };
            let _ = writeln!(out, "\n### {}\n", markdown(&made.title));
            let text = made.write(Format::Markdown);
            let title = format!("**{}**\n\n", markdown(&made.title));
            out.push_str(text.strip_prefix(&title).unwrap_or(&text));
        }
        not_here(&mut out, quadrotor.iter().chain(&vessel));
        out.push_str(
            "\n## What the paper leaves open\n\nAny of these may explain a difference.\n\n",
        );
        for item in &self.paper.unspecified {
            let _ = writeln!(out, "- {}: {}.", markdown(&item.what), markdown(&item.choice));
        }
        for (i, results) in self.programmes().enumerate() {
            let which =
                if self.second.is_none() { String::new() } else { format!(", {}", self.column(i)) };
            sources(&mut out, results, &which);
        }
        out
    }

    /// A table of claims that have a value.
    fn claims(&self, out: &mut String, answers: &[Answer<'_>]) {
        let shown: Vec<&Answer<'_>> =
            answers.iter().filter(|answer| answer.is_claim && answer.absent().is_none()).collect();
        let mut columns = vec!["", "claim", "the paper's"];
        let programmes = shown.iter().map(|answer| answer.found.len()).max().unwrap_or(1);
        for i in 0..programmes {
            columns.extend([self.column(i), "ours minus the paper's", "same decision?", "status"]);
        }
        let universes =
            self.multiverse().filter(|_| shown.iter().any(|a| a.entry.universes.is_some()));
        columns.extend(universes.is_some().then_some("under choices that nobody published"));
        let _ = writeln!(out, "| {} |\n|{}", columns.join(" | "), " --- |".repeat(columns.len()));
        for answer in shown {
            let entry = answer.entry;
            let paper = with_kind(&paper_text(entry), &entry.kind);
            let mut cells = vec![entry.id.clone(), entry.text.clone(), paper];
            for found in &answer.found {
                cells.extend(match found {
                    Ok((ours, agreement)) => [
                        with_kind(&our_text(entry, ours), &ours.kind),
                        agreement.words.clone(),
                        yes_or_no(agreement.same_decision),
                        ours.standing(),
                    ],
                    Err(why) => [
                        NONE.to_owned(),
                        format!("not here: {why}"),
                        NONE.to_owned(),
                        NONE.to_owned(),
                    ],
                });
            }
            if let Some((claims, design)) = &universes {
                let same =
                    |claim: &&multiverse::Claim| Some(&claim.name) == entry.universes.as_ref();
                let found = claims.iter().find(same).map(|claim| claim.short(design));
                cells.push(found.unwrap_or_else(|| NONE.to_owned()));
            }
            let cells: Vec<String> = cells.iter().map(|cell| markdown(cell)).collect();
            let _ = writeln!(out, "| {} |", cells.join(" | "));
        }
    }
}

fn with_kind(value: &str, kind: &str) -> String {
    if kind.is_empty() { value.to_owned() } else { format!("{value} ({kind})") }
}

fn yes_or_no(answer: Option<bool>) -> String {
    answer.map_or(NONE, |yes| if yes { "yes" } else { "no" }).to_owned()
}

/// The claims that are answered otherwise or apart, the gravest first.
fn differences<'a>(
    out: &mut String,
    beside: &Reproduction,
    answers: impl Iterator<Item = &'a Answer<'a>>,
) {
    let answers: Vec<&Answer<'_>> = answers.collect();
    for group in [Group::Otherwise, Group::Apart] {
        let mut lines = Vec::new();
        for answer in answers.iter().filter(|answer| answer.group() == Some(group)) {
            let found = answer.found.iter().enumerate();
            let mine: Vec<String> = found
                .filter_map(|(i, found)| {
                    let (ours, agreement) = found.as_ref().ok()?;
                    let name = if beside.second.is_none() { "we have" } else { beside.column(i) };
                    let value = our_text(answer.entry, ours);
                    Some(format!("{name} {value}: {}; {}", agreement.words, ours.standing()))
                })
                .collect();
            let entry = answer.entry;
            let paper = paper_text(entry);
            let line = format!(
                "{} ({}): the paper has {paper}, {}.",
                entry.text,
                entry.id,
                mine.join(". ")
            );
            lines.push(format!("- {}\n", markdown(&line)));
        }
        let _ =
            writeln!(out, "\n### {}: {} of {} claims\n", group.title(), lines.len(), answers.len());
        out.extend(lines);
    }
}

/// What has no value here, counted and folded.
fn not_here<'a>(out: &mut String, answers: impl Iterator<Item = &'a Answer<'a>>) {
    let answers: Vec<&Answer<'_>> = answers.collect();
    let lines: Vec<String> = answers
        .iter()
        .filter_map(|answer| {
            let (entry, why) = (answer.entry, answer.absent()?);
            let at = if entry.condition.is_empty() {
                String::new()
            } else {
                format!(", {}", entry.condition)
            };
            Some(format!("- {}\n", markdown(&format!("{} ({}{at}): {why}.", entry.text, entry.id))))
        })
        .collect();
    if lines.is_empty() {
        return;
    }
    let (count, all) = (lines.len(), answers.len());
    let _ = writeln!(
        out,
        "\n## Without a value here\n\n<details><summary>{count} of {all} published \
         numbers</summary>\n"
    );
    out.extend(lines);
    out.push_str("\n</details>\n");
}

/// A fact that has no value (a study that was never frozen) is left out.
fn fact(value: Option<&str>, key: &str) -> Option<String> {
    value.filter(|v| !v.is_empty()).map(|v| format!("{key} {v}"))
}

fn sources(out: &mut String, results: &Results, which: &str) {
    let _ = write!(
        out,
        "\n## Where the numbers come from{which}\n\n| study | units | facts |\n| --- | --- | --- \
         |\n",
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
