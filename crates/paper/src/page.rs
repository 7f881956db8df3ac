//! The page beside the paper, from top to bottom.

use std::collections::BTreeMap;

use backcut_report::page::Page;
use backcut_report::{ReportError, Table, table};
use backcut_text::format::NONE;

use crate::Reproduction;
use crate::agreement::Group;
use crate::answer::{Answer, tally};
use crate::entry::Subject;
use crate::figures::agreement::rank;
use crate::figures::{FIGURES, is_of_the_vessel};
use crate::reproduction::{QUADROTOR, RULES, VESSEL};
use crate::tables::{our_text, paper_text};

/// The figure that the comparison opens with.
const AGREEMENT: &str = "agreement";

const TITLE: &str = "What does a memory cut cost?";

/// How many rows have a value of ours, which stands in the third column.
fn has_ours(table: &Table) -> usize {
    table.rows.iter().filter(|row| row[2] != NONE).count()
}

impl Reproduction {
    /// One self-contained HTML page with every figure and table.
    pub fn page(&self, title: Option<&str>) -> Result<String, ReportError> {
        let results = &self.results;
        let mut page = Page::new(title.unwrap_or(TITLE));
        page.paragraph(
            "lead",
            "A policy with memory learns through the states that its actions produce and through what \
             it stores. Cutting the second path keeps the forward and changes only what is learned. This page shows what \
             that cost in the runs collected here, beside the paper's values.",
        );
        page.states(results);
        let (headline, _) = FIGURES[0];
        page.figure(headline, self.figure(headline));
        page.section("summary", "Ours and the paper's");
        self.comparison_on(&mut page);
        page.section("figures", "Figures");
        let (vessel, others): (Vec<&str>, Vec<&str>) =
            FIGURES[1..].iter().map(|(name, _)| *name).partition(|name| is_of_the_vessel(name));
        let others = others.into_iter().filter(|name| *name != AGREEMENT);
        for name in others {
            page.figure(name, self.figure(name));
        }
        page.figures_left_out();
        page.section("vessel", "The vessel");
        page.paragraph("", VESSEL);
        for name in vessel {
            page.figure(name, self.figure(name));
        }
        page.figures_left_out();
        let claims = self.claims_about(Subject::Vessel);
        if has_ours(&claims) == 0 {
            let about = format!("none of {} has a value here", claims.rows.len());
            page.folded(&claims, &about);
        } else {
            page.table(&claims, true);
        }
        page.section("tables", "Tables");
        page.paragraph("", "Ours beside every number of the paper.");
        page.paragraph("", RULES);
        for paper_table in &self.paper.tables {
            let content = self.table(&paper_table.name)?;
            let ours = has_ours(&content);
            let about = format!("{ours} of {} rows have a value here", content.rows.len());
            page.folded(&content, &about);
        }
        page.section("contrasts", "Contrasts and decisions");
        let contrasts = table(results, "contrasts", None)?;
        if contrasts.rows.is_empty() {
            page.paragraph("", "No study has been analysed.");
        } else {
            page.table(&contrasts, true);
        }
        for study in results.studies() {
            page.extras(study);
        }
        page.section("units", "Failed and missing units");
        page.table(&table(results, "units", None)?, true);
        page.about(results);
        page.heading("What the paper leaves open");
        page.list(self.paper.unspecified.iter().map(|i| format!("{}: {}.", i.what, i.choice)));
        Ok(page.finish())
    }

    /// The claims: what they come to, the figure, and one line each that opens, the gravest group first.
    fn comparison_on(&self, page: &mut Page) {
        let answers = self.answers(Subject::Quadrotor);
        for (i, _) in self.programmes().enumerate() {
            let name =
                self.second.as_ref().map_or_else(String::new, |_| format!("({}) ", self.column(i)));
            page.paragraph("", &(name + &tally(&answers, i, QUADROTOR)));
        }
        page.figure(AGREEMENT, self.figure(AGREEMENT));
        let claims: Vec<&Answer<'_>> = answers.iter().filter(|answer| answer.is_claim).collect();
        for group in Group::ALL {
            let mut of_group: Vec<&&Answer<'_>> =
                claims.iter().filter(|answer| answer.group() == Some(group)).collect();
            if of_group.is_empty() {
                continue;
            }
            of_group.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
            page.heading(&format!("{} ({})", group.title(), of_group.len()));
            for answer in of_group {
                page.details(
                    &format!("{}: {}", answer.entry.id, answer.entry.text),
                    &self.told(answer),
                );
            }
        }
        let mut absent: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for answer in &answers {
            if let Some(why) = answer.absent() {
                let name = format!("{} {}", answer.entry.id, answer.entry.condition);
                absent.entry(why).or_default().push(name.trim().to_owned());
            }
        }
        if !absent.is_empty() {
            let count = absent.values().map(Vec::len).sum::<usize>();
            let line =
                format!("Without a value here: {count} of {} published numbers", answers.len());
            let told = |(why, names): (&str, Vec<String>)| format!("{why}: {}.", names.join("; "));
            page.details(&line, &absent.into_iter().map(told).collect::<Vec<_>>());
        }
    }

    /// Everything about one claim, in lines.
    fn told(&self, answer: &Answer<'_>) -> Vec<String> {
        let entry = answer.entry;
        let kind = if entry.kind.is_empty() { String::new() } else { format!(", {}", entry.kind) };
        let count = entry.n.map_or_else(String::new, |n| format!(", n = {n}"));
        let place =
            if entry.place.is_empty() { String::new() } else { format!(" ({})", entry.place) };
        let decision = if entry.decision.is_empty() {
            String::new()
        } else {
            format!("; decided: {}", entry.decision)
        };
        let mut lines =
            vec![format!("The paper{place}: {}{kind}{count}{decision}.", paper_text(entry))];
        for (i, found) in answer.found.iter().enumerate() {
            let name = self.column(i);
            lines.push(match found {
                Ok((ours, agreement)) => format!(
                    "{name}: {} ({}), {}; {}.",
                    our_text(entry, ours),
                    ours.kind,
                    agreement.words,
                    ours.standing()
                ),
                Err(why) => format!("{name}: not here, {why}."),
            });
        }
        lines
    }
}
