//! The page beside the paper, from top to bottom.

use backcut_report::page::Page;
use backcut_report::{ReportError, Table, table};
use backcut_text::format::NONE;

use crate::Reproduction;
use crate::figures::{FIGURES, is_of_the_vessel};
use crate::paper::Subject;
use crate::reproduction::VESSEL;

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
        page.table(&self.claims_about(Subject::Quadrotor), true);
        page.section("figures", "Figures");
        let (vessel, others): (Vec<&str>, Vec<&str>) =
            FIGURES[1..].iter().map(|(name, _)| *name).partition(|name| is_of_the_vessel(name));
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
        page.paragraph("", "Ours beside every number of the paper that has one here.");
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
}
