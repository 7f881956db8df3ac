//! The page of whatever was collected: study by study, then what failed, then where it comes from.

use backcut_evidence::tables::Work;

use super::Page;
use crate::report::error::ReportError;
use crate::report::escape::file_name;
use crate::report::figures::{FIGURES, figure};
use crate::report::results::{Judged, Results, Study, distinct};
use crate::report::tables::{TABLES, Table, table};

/// The page; its title is the study's own unless one is given.
pub fn of_studies(results: &Results, title: Option<&str>) -> Result<String, ReportError> {
    let studies: Vec<&Study> = results.studies().collect();
    let own = match studies.as_slice() {
        [study] => study_title(study),
        studies => format!("{} studies", studies.len()),
    };
    let mut page = Page::new(title.unwrap_or(&own));
    page.states(results);
    for study in &studies {
        one(&mut page, results, study, studies.len() > 1)?;
    }
    page.section("units", "Failed and missing units");
    page.table(&table(results, "units", None)?, true);
    page.about(results);
    Ok(page.finish())
}

/// Why a study's arms need not be shown: all of them are another's, and that one is on the page.
fn trained_elsewhere(results: &Results, study: &Study) -> Option<String> {
    let trained = || study.units.iter().filter(|unit| unit.what == Work::Train);
    let origins = distinct(trained().map(|unit| unit.origin.as_str()));
    let is_shown = |origin: &&str| !origin.is_empty() && results.study(origin).is_some();
    (!origins.is_empty() && origins.iter().all(is_shown))
        .then(|| format!("its arms were trained for {}", origins.join(" and ")))
}

pub(super) fn study_title(study: &Study) -> String {
    match study.fact("title").filter(|title| !title.is_empty()) {
        Some(title) => format!("{}: {title}", study.name),
        None => study.name.clone(),
    }
}

/// How many contrasts a study judged, and how they were decided.
pub(super) fn judged_words(study: &Study) -> String {
    let decisions: Vec<String> = study.analysis.iter().map(Judged::decision).collect();
    let count = |wanted: &str| decisions.iter().filter(|d| *d == wanted).count();
    let words = distinct(decisions.iter().map(String::as_str).filter(|d| !d.is_empty()));
    let each = words.into_iter().map(|word| format!("{} {word}", count(word)));
    let judged = backcut_text::counted(decisions.len(), "contrast");
    std::iter::once(judged).chain(each).collect::<Vec<_>>().join("; ").replacen("; ", ": ", 1)
}

/// One study's figures with the tables that belong to them.
fn one(page: &mut Page, results: &Results, study: &Study, many: bool) -> Result<(), ReportError> {
    let key = |name: &str| if many { format!("{}-{name}", study.name) } else { name.to_owned() };
    if many {
        page.section(&file_name(&format!("study-{}", study.name)), &study_title(study));
    }
    if many {
        page.paragraph("states", &format!("{}.", crate::report::summary::states_line(study)));
    }
    let elsewhere = trained_elsewhere(results, study);
    let tables = |name: &str| TABLES.iter().any(|(table, _)| *table == name);
    for (name, _) in FIGURES {
        if let (Some(why), "endpoints" | "curves") = (&elsewhere, *name) {
            page.figure(&key(name), Err(ReportError::missing(name, why)));
            continue;
        }
        page.figure(&key(name), figure(results, name, Some(&study.name)));
        // The table beside a figure has its name, but contrasts are drawn as a forest.
        let beside = if *name == "forest" { "contrasts" } else { name };
        if tables(beside) {
            let made = table(results, beside, Some(&study.name))?;
            if !made.rows.is_empty() {
                let rows = backcut_text::counted(made.rows.len(), "row");
                let made = Table { name: file_name(&key(&made.name)), ..made };
                if beside == "contrasts" {
                    page.table(&made, true);
                } else {
                    page.folded(&made, &rows);
                }
            }
        }
    }
    page.figures_left_out();
    page.extras(study);
    Ok(())
}
