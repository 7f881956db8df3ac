//! One self-contained HTML page.
//!
//! The page holds its styles, its script, its drawings and its data; a content security policy forbids everything
//! else, and names the script by its hash, so that nothing that slipped into the page could run. Markup
//! is written with plain formatting: there is one escape function and no template language to disagree with it.

mod studies;

pub use studies::of_studies;

use std::fmt::Write as _;

use backcut_draw::{Drawing, page_variables, rules};

use crate::error::ReportError;
use crate::escape::{file_name, percent, xml};
use crate::results::{Results, Study};
use crate::tables::{Format, Table, freezes};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// SHA-256 of the script, as a policy writes it. The browser test fails when it does not fit.
const SCRIPT_HASH: &str = include_str!("page.js.sha256");

/// A page that grows from top to bottom.
#[derive(Clone, Debug)]
pub struct Page {
    html: String,
    left_out: Vec<(String, String)>,
}

impl Page {
    /// A page with its title.
    pub fn new(title: &str) -> Self {
        let title = xml(title);
        let mut html = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
             script-src 'sha256-{}'; base-uri 'none'; form-action 'none'\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
             <title>{title}</title>\n<style>\n",
            SCRIPT_HASH.trim()
        );
        let (light, dark) = (page_variables(false), page_variables(true));
        let _ = write!(
            html,
            ":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\n\
             @media screen{{:root[data-theme=dark]{{{dark}}}}}\n{}\n{STYLE}</style>\n</head>\n<body>\n\
             <header><h1>{title}</h1><button id=\"theme\" type=\"button\" aria-label=\"switch between light and dark\">\
             light / dark</button></header>\n<main>\n",
            rules(false)
        );
        Self { html, left_out: Vec::new() }
    }

    /// The whole file.
    pub fn finish(mut self) -> String {
        let _ = write!(
            self.html,
            "</main>\n<div id=\"tip\" role=\"status\" hidden></div>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
        );
        self.html
    }

    /// A heading that links can name.
    pub fn section(&mut self, id: &str, title: &str) {
        let _ = writeln!(self.html, "<h2 id=\"{}\">{}</h2>", xml(id), xml(title));
    }

    /// A smaller heading.
    pub fn heading(&mut self, title: &str) {
        let _ = writeln!(self.html, "<h3>{}</h3>", xml(title));
    }

    /// A paragraph.
    pub fn paragraph(&mut self, class: &str, text: &str) {
        let _ = writeln!(self.html, "<p class=\"{class}\">{}</p>", xml(text));
    }

    /// A list of sentences.
    pub fn list(&mut self, items: impl IntoIterator<Item = String>) {
        self.html.push_str("<ul>\n");
        for item in items {
            let _ = writeln!(self.html, "<li>{}</li>", xml(&item));
        }
        self.html.push_str("</ul>\n");
    }

    /// One line: how much of what was planned is here.
    pub fn states(&mut self, results: &Results) {
        let (mut done, mut failed, mut other) = (0, 0, 0);
        for (state, count) in results.studies().flat_map(Study::states) {
            match state {
                "done" => done += count,
                "failed" => failed += count,
                _ => other += count,
            }
        }
        let studies = match results.studies().count() {
            1 => "1 study".to_owned(),
            count => format!("{count} studies"),
        };
        let _ = writeln!(
            self.html,
            "<p class=\"states\">{studies}: <b>{done}</b> units done, <b>{failed}</b> failed, <b>{other}</b> not \
             finished. <a href=\"#units\">Which?</a></p>"
        );
    }

    /// A figure; one that could not be made is named by [`Page::figures_left_out`].
    pub fn figure(&mut self, name: &str, drawing: Result<Drawing, ReportError>) {
        let drawing = match drawing {
            Ok(drawing) => drawing,
            Err(ReportError::Missing { why, .. }) => {
                return self.left_out.push((name.to_owned(), why));
            }
            Err(error) => return self.left_out.push((name.to_owned(), error.to_string())),
        };
        let _ = write!(
            self.html,
            "<figure id=\"figure-{}\">\n<h3>{}</h3>\n{}<figcaption>{} {}</figcaption>\n</figure>\n",
            file_name(name),
            xml(&drawing.title),
            drawing.html(),
            xml(&drawing.caption),
            csv_link(name, &drawing.csv)
        );
    }

    /// The figures that could not be made since this was last said, and why.
    pub fn figures_left_out(&mut self) {
        if self.left_out.is_empty() {
            return;
        }
        self.html.push_str("<h3>Figures left out</h3>\n<ul class=\"gaps\">\n");
        for (name, why) in std::mem::take(&mut self.left_out) {
            let _ = writeln!(self.html, "<li><b>{}</b>: {}</li>", xml(&name), xml(&why));
        }
        self.html.push_str("</ul>\n");
    }

    /// A table with its data; as `cards`, a narrow screen shows every row as a block of its own.
    pub fn table(&mut self, table: &Table, cards: bool) {
        let class = if cards { "cards" } else { "" };
        if table.rows.is_empty() {
            for note in &table.notes {
                self.paragraph("note", note);
            }
        } else {
            let table = table.write(Format::Html);
            let _ = write!(self.html, "<div class=\"scroll {class}\">\n{table}</div>\n");
        }
        let link = csv_link(&format!("table-{}", table.name), &table.csv);
        let _ = writeln!(self.html, "<p>{link}</p>");
    }

    /// A table behind its title.
    pub fn folded(&mut self, table: &Table, about: &str) {
        let _ = writeln!(
            self.html,
            "<details><summary>{} <span class=\"soft-text\">({})</span></summary>",
            xml(&table.title),
            xml(about)
        );
        self.table(table, false);
        self.html.push_str("</details>\n");
    }

    /// A line that opens to more lines.
    pub fn details(&mut self, summary: &str, lines: &[String]) {
        let _ = writeln!(self.html, "<details><summary>{}</summary>", xml(summary));
        self.list(lines.iter().cloned());
        self.html.push_str("</details>\n");
    }

    /// Plans and comparisons, as a study wrote them.
    pub fn extras(&mut self, study: &Study) {
        for extra in &study.extras {
            let shown = Table {
                name: file_name(&format!("{}-{}", study.name, extra.title)),
                title: format!("{} ({})", extra.title, study.name),
                columns: extra.columns.clone(),
                rows: extra.rows.clone(),
                notes: Vec::new(),
                csv: extra.csv(),
            };
            self.heading(&shown.title);
            self.table(&shown, true);
        }
    }

    /// The ledger, and what the studies say about their runs.
    pub fn about(&mut self, results: &Results) {
        self.section("about", "About this run");
        match results.ledger() {
            Some(ledger) => {
                let _ = writeln!(
                    self.html,
                    "<p>Ledger: {} entries, head <code>{}</code>.</p>",
                    ledger.entries,
                    xml(&ledger.head)
                );
                if let Ok(frozen) = freezes(results.freezes())
                    && !frozen.rows.is_empty()
                {
                    self.heading(&frozen.title);
                    self.table(&frozen, true);
                }
            }
            None => {
                self.paragraph("", "No ledger was collected, so no row here can be prespecified.");
            }
        }
        for study in results.studies() {
            self.facts(study);
        }
    }

    fn facts(&mut self, study: &Study) {
        let _ = writeln!(
            self.html,
            "<details><summary>Study {}</summary>\n<div class=\"scroll\"><table class=\"facts\"><tbody>",
            xml(&study.name)
        );
        let mut fact = |key: &str, value: &str| {
            let (key, value) = (xml(key), xml(value));
            let _ = writeln!(self.html, "<tr><th scope=\"row\">{key}</th><td>{value}</td></tr>");
        };
        for (key, value) in &study.about {
            fact(key, value);
        }
        if !study.provenance.is_empty() {
            let seconds: f64 = study.provenance.iter().map(|p| p.seconds).sum();
            let mut heads: Vec<_> = study.provenance.iter().map(|p| p.head).collect();
            heads.sort_unstable();
            heads.dedup();
            let words = format!(
                "{} units, {} s of computing, under {} ledger heads",
                study.provenance.len(),
                crate::format::fixed(seconds, 0),
                heads.len()
            );
            fact("results", &words);
        }
        self.html.push_str("</tbody></table></div></details>\n");
    }
}

fn csv_link(name: &str, csv: &str) -> String {
    let name = file_name(name);
    format!(
        "<a class=\"csv\" download=\"{name}.csv\" href=\"data:text/csv;charset=utf-8,{}\">data (CSV)</a>",
        percent(csv)
    )
}
