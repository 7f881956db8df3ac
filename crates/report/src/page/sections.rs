//! The page from top to bottom.

use std::fmt::Write as _;

use crate::error::ReportError;
use crate::escape::{file_name, percent, xml};
use crate::figures::{FIGURES, draw};
use crate::paper::Paper;
use crate::results::Results;
use crate::tables::{Format, Table, build};

pub fn write(html: &mut String, results: &Results, title: &str) -> Result<(), ReportError> {
    let _ = write!(
        html,
        "<header><h1>{title}</h1><button id=\"theme\" type=\"button\" aria-label=\"switch between light and dark\">\
         light / dark</button></header>\n<main>\n\
         <p class=\"lead\">A policy with memory learns through the states that its actions produce and through what \
         it stores. Cutting the second path keeps the forward and changes only what is learned. This page shows what \
         that cost in the runs collected here, beside the paper's values.</p>\n"
    );
    states(html, results);
    let mut left_out = Vec::new();
    let (headline, _) = FIGURES[0];
    figure(html, results, headline, &mut left_out);
    let summary = build(results, "summary")?;
    html.push_str("<h2 id=\"summary\">Ours and the paper's</h2>\n");
    table(html, &summary, "cards");
    html.push_str("<h2 id=\"figures\">Figures</h2>\n");
    for (name, _) in &FIGURES[1..] {
        figure(html, results, name, &mut left_out);
    }
    if !left_out.is_empty() {
        html.push_str("<h3>Figures left out</h3>\n<ul class=\"gaps\">\n");
        for (name, why) in &left_out {
            let _ = writeln!(html, "<li><b>{}</b>: {}</li>", xml(name), xml(why));
        }
        html.push_str("</ul>\n");
    }
    html.push_str("<h2 id=\"tables\">Tables</h2>\n<p>Ours beside every number of the paper that has one here.</p>\n");
    for paper_table in Paper::load()?.tables {
        folded(html, &build(results, &paper_table.name)?);
    }
    html.push_str("<h2 id=\"contrasts\">Contrasts and decisions</h2>\n");
    let contrasts = build(results, "contrasts")?;
    if contrasts.rows.is_empty() {
        html.push_str("<p>No study has been analysed.</p>\n");
    } else {
        table(html, &contrasts, "cards");
    }
    extras(html, results);
    html.push_str("<h2 id=\"units\">Failed and missing units</h2>\n");
    table(html, &build(results, "units")?, "cards");
    about(html, results)?;
    html.push_str("</main>\n");
    Ok(())
}

/// One line: how much of what was planned is here.
fn states(html: &mut String, results: &Results) {
    let (mut done, mut failed, mut other) = (0, 0, 0);
    for study in results.studies() {
        for (state, count) in study.states() {
            match state {
                "done" => done += count,
                "failed" => failed += count,
                _ => other += count,
            }
        }
    }
    let studies = match results.studies().count() {
        1 => "1 study".to_owned(),
        count => format!("{count} studies"),
    };
    let _ = writeln!(
        html,
        "<p class=\"states\">{studies}: <b>{done}</b> units done, <b>{failed}</b> failed, <b>{other}</b> not \
         finished. <a href=\"#units\">Which?</a></p>"
    );
}

fn figure(html: &mut String, results: &Results, name: &str, left_out: &mut Vec<(String, String)>) {
    let drawing = match draw(results, name) {
        Ok(drawing) => drawing,
        Err(ReportError::Missing { why, .. }) => return left_out.push((name.to_owned(), why)),
        Err(error) => return left_out.push((name.to_owned(), error.to_string())),
    };
    let _ = write!(
        html,
        "<figure id=\"figure-{name}\">\n<h3>{}</h3>\n{}<figcaption>{} {}</figcaption>\n</figure>\n",
        xml(&drawing.title),
        drawing.html(),
        xml(&drawing.caption),
        csv_link(name, &drawing.csv)
    );
}

fn csv_link(name: &str, csv: &str) -> String {
    let name = file_name(name);
    format!(
        "<a class=\"csv\" download=\"{name}.csv\" href=\"data:text/csv;charset=utf-8,{}\">data (CSV)</a>",
        percent(csv)
    )
}

fn table(html: &mut String, table: &Table, class: &str) {
    if table.rows.is_empty() {
        for note in &table.notes {
            let _ = writeln!(html, "<p class=\"note\">{}</p>", xml(note));
        }
    } else {
        let _ =
            write!(html, "<div class=\"scroll {class}\">\n{}</div>\n", table.write(Format::Html));
    }
    let _ = writeln!(html, "<p>{}</p>", csv_link(&format!("table-{}", table.name), &table.csv));
}

fn folded(html: &mut String, content: &Table) {
    let has_ours = content.rows.iter().filter(|row| row[2] != crate::format::NONE).count();
    let _ = writeln!(
        html,
        "<details><summary>{} <span class=\"soft-text\">({has_ours} of {} rows have a value here)</span></summary>",
        xml(&content.title),
        content.rows.len()
    );
    table(html, content, "");
    html.push_str("</details>\n");
}

/// Plans and comparisons, as the studies wrote them.
fn extras(html: &mut String, results: &Results) {
    for study in results.studies() {
        for extra in &study.extras {
            let shown = Table {
                name: file_name(&format!("{}-{}", study.name, extra.title)),
                title: format!("{} ({})", extra.title, study.name),
                columns: extra.columns.clone(),
                rows: extra.rows.clone(),
                notes: Vec::new(),
                csv: extra.csv(),
            };
            let _ = writeln!(html, "<h3>{}</h3>", xml(&shown.title));
            table(html, &shown, "cards");
        }
    }
}

fn about(html: &mut String, results: &Results) -> Result<(), ReportError> {
    html.push_str("<h2 id=\"about\">About this run</h2>\n");
    match results.ledger() {
        Some(ledger) => {
            let _ = writeln!(
                html,
                "<p>Ledger: {} entries, head <code>{}</code>.</p>",
                ledger.entries,
                xml(&ledger.head)
            );
        }
        None => {
            html.push_str("<p>No ledger was collected, so no row here can be prespecified.</p>\n");
        }
    }
    for study in results.studies() {
        let seconds: f64 = study.provenance.iter().map(|p| p.seconds).sum();
        let mut heads: Vec<_> = study.provenance.iter().map(|p| p.head).collect();
        heads.sort_unstable();
        heads.dedup();
        let _ = writeln!(
            html,
            "<details><summary>Study {}</summary>\n<div class=\"scroll\"><table class=\"facts\"><tbody>",
            xml(&study.name)
        );
        for (key, value) in &study.about {
            let _ = writeln!(
                html,
                "<tr><th scope=\"row\">{}</th><td>{}</td></tr>",
                xml(key),
                xml(value)
            );
        }
        if !study.provenance.is_empty() {
            let _ = writeln!(
                html,
                "<tr><th scope=\"row\">results</th><td>{} units, {} s of computing, under {} ledger heads</td></tr>",
                study.provenance.len(),
                crate::format::fixed(seconds, 0),
                heads.len()
            );
        }
        html.push_str("</tbody></table></div></details>\n");
    }
    html.push_str("<h3>What the paper leaves open</h3>\n<ul>\n");
    for item in Paper::load()?.unspecified {
        let _ = writeln!(html, "<li>{}: {}.</li>", xml(&item.what), xml(&item.choice));
    }
    html.push_str("</ul>\n");
    Ok(())
}
