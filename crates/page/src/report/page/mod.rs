//! One self-contained HTML page.
//!
//! The page holds its styles, its script, its drawings and its data; a content security policy
//! forbids everything else, and names the script by its hash, so that nothing that slipped into the
//! page could run. Markup is written with plain formatting: there is one escape function and no
//! template language to disagree with it.

mod studies;

pub use studies::of_studies;

use std::fmt::Write as _;
use std::io::Write as _;

use crate::draw::{Drawing, page_variables, rules};
use backcut_text::{counted, thousands};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::report::error::ReportError;
use crate::report::escape::{file_name, percent, xml};
use crate::report::results::{Results, Study};
use crate::report::tables::{Table, freezes};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// SHA-256 of the script, as a policy writes it. The browser test fails when it does not fit.
const SCRIPT_HASH: &str = include_str!("page.js.sha256");

/// A page that grows from top to bottom.
#[derive(Clone, Debug)]
pub struct Page {
    head: String,
    html: String,
    sections: Vec<(String, String)>,
    left_out: Vec<(String, String)>,
}

impl Page {
    /// A page with its title.
    pub fn new(title: &str) -> Self {
        let title = xml(title);
        let mut head = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
             'unsafe-inline'; img-src data:; script-src 'sha256-{}'; base-uri 'none'; form-action \
             'none'\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" \
             href=\"data:,\">\n<title>{title}</title>\n<style>\n",
            SCRIPT_HASH.trim()
        );
        let (light, dark) = (page_variables(false), page_variables(true));
        let _ = write!(
            head,
            ":root{{{light}}}\n@media screen and \
             (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\n@media \
             screen{{:root[data-theme=dark]{{{dark}}}}}\n{}\n{STYLE}</style>\n</head>\n<body>\n<header><h1>{title}</h1><button id=\"theme\" type=\"button\" aria-label=\"switch between light and dark\">light / dark</button></header>\n",
            rules(false)
        );
        Self { head, html: String::new(), sections: Vec::new(), left_out: Vec::new() }
    }

    /// The whole file; its sections stay in sight as contents.
    pub fn finish(self) -> String {
        let Self { head: mut page, html, sections, .. } = self;
        if !sections.is_empty() {
            page.push_str("<nav aria-label=\"contents\"><ul>\n");
            for (id, title) in sections {
                let _ = writeln!(page, "<li><a href=\"#{}\">{}</a></li>", xml(&id), xml(&title));
            }
            page.push_str("</ul></nav>\n");
        }
        let _ = write!(
            page,
            "<main>\n{html}</main>\n<div id=\"tip\" role=\"status\" \
             hidden></div>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
        );
        page
    }

    /// A heading that the contents name.
    pub fn section(&mut self, id: &str, title: &str) {
        self.sections.push((id.to_owned(), title.to_owned()));
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

    /// What was found: sentences, each with its subject before a colon.
    pub fn finding(&mut self, sentences: &[String]) {
        if sentences.is_empty() {
            return;
        }
        self.html.push_str("<ul class=\"finding\">\n");
        for sentence in sentences {
            let (subject, rest) = sentence.split_once(": ").unwrap_or(("", sentence));
            let rest = whole_intervals(&xml(rest));
            let _ = writeln!(self.html, "<li><b>{}</b>: {rest}</li>", xml(subject));
        }
        self.html.push_str("</ul>\n");
    }

    /// Terms and what they mean.
    pub fn glossary(&mut self, terms: &[(&str, &str)]) {
        self.html.push_str("<dl>\n");
        for (term, meaning) in terms {
            let _ = writeln!(self.html, "<dt>{}</dt><dd>{}</dd>", xml(term), xml(meaning));
        }
        self.html.push_str("</dl>\n");
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
        let studies = counted(results.studies().count(), "study");
        let [done, failed, other] = [done, failed, other].map(thousands);
        let _ = writeln!(
            self.html,
            "<p class=\"states\">{studies}: <b>{done}</b> units done, <b>{failed}</b> failed, \
             <b>{other}</b> not finished. <a href=\"#units\">Which?</a></p>"
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
            let table = table.html();
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
        self.table(table, true);
        self.html.push_str("</details>\n");
    }

    /// What each study judged, folded under its title.
    pub fn contrasts(&mut self, results: &Results) -> Result<(), ReportError> {
        let mut any = false;
        for study in results.studies().filter(|study| !study.analysis.is_empty()) {
            let made = crate::report::tables::table(results, "contrasts", Some(&study.name))?;
            let about = studies::judged_words(study);
            let name = file_name(&format!("contrasts-{}", study.name));
            let table = Table { name, title: studies::study_title(study), ..made };
            self.folded(&table, &about);
            any = true;
        }
        if !any {
            self.paragraph("", "No study has been analysed.");
        }
        Ok(())
    }

    /// A line that opens to more lines, and to where it leads.
    pub fn details(&mut self, summary: &str, lines: &[String], links: &[(String, String)]) {
        let _ = writeln!(self.html, "<details><summary>{}</summary>", xml(summary));
        self.list(lines.iter().cloned());
        if !links.is_empty() {
            let link = |(to, name): &(String, String)| {
                format!("<a class=\"to\" href=\"#{}\">{}</a>", xml(to), xml(name))
            };
            let links: Vec<String> = links.iter().map(link).collect();
            let _ = writeln!(self.html, "<p>{}</p>", links.join(" "));
        }
        self.html.push_str("</details>\n");
    }

    /// Plans and comparisons, as a study wrote them.
    pub fn extras(&mut self, study: &Study) {
        for extra in &study.extras {
            let shown = Table {
                name: file_name(&format!("{}-{}", study.name, extra.title)),
                title: format!("{} ({})", extra.title, study.name),
                columns: extra.columns.clone(),
                rows: extra.rows.iter().map(|row| row.iter().map(|c| short(c)).collect()).collect(),
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
                let entries = counted(ledger.entries, "entry");
                let head = xml(&ledger.head);
                let _ = writeln!(self.html, "<p>Ledger: {entries}, head <code>{head}</code>.</p>");
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
            "<details id=\"about-{}\"><summary>{}</summary>\n<div class=\"scroll\"><table \
             class=\"facts\"><tbody>",
            file_name(&study.name),
            xml(&studies::study_title(study))
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
                "{}, {} s of computing, under {}",
                counted(study.provenance.len(), "unit"),
                crate::report::format::fixed(seconds, 0),
                counted(heads.len(), "ledger head")
            );
            fact("results", &words);
        }
        self.html.push_str("</tbody></table></div></details>\n");
    }
}

/// A text whose intervals, `[1.0, 2.0]`, no line breaks.
fn whole_intervals(text: &str) -> String {
    let mut is_inside = false;
    let unbroken = |c: char| {
        is_inside = c == '[' || is_inside && c != ']';
        if is_inside && c == ' ' { '\u{a0}' } else { c }
    };
    text.chars().map(unbroken).collect()
}

/// A cell for the eye: a number with more digits than anybody reads keeps them in the data only.
fn short(cell: &str) -> String {
    let digits = cell.chars().filter(char::is_ascii_digit).count();
    match cell.parse::<f64>() {
        Ok(value) if digits > 8 && cell.contains('.') => crate::report::format::number(value),
        _ => cell.to_owned(),
    }
}

/// Data that are longer than this are packed: a page of a whole programme would be mostly data
/// otherwise.
const PLAIN_CSV: usize = 8_000;

fn csv_link(name: &str, csv: &str) -> String {
    let name = file_name(name);
    if csv.len() <= PLAIN_CSV {
        return format!(
            "<a class=\"csv\" download=\"{name}.csv\" href=\"data:text/csv;charset=utf-8,{}\">data \
             (CSV)</a>",
            percent(csv)
        );
    }
    format!(
        "<a class=\"csv\" download=\"{name}.csv.gz\" href=\"data:application/gzip;base64,{}\">data \
         (CSV, gzip)</a>",
        STANDARD.encode(gzip(csv.as_bytes()))
    )
}

/// The same bytes for the same text: no name, no time.
fn gzip(text: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    let written = packed.write_all(text).and_then(|()| packed.finish());
    written.expect("a vector takes whatever is written")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[test]
    fn long_data_are_packed_and_come_out_whole() {
        let csv = "a,b\n1,2\n".repeat(PLAIN_CSV);
        assert!(csv_link("short", "a,b\n").contains("data:text/csv;charset=utf-8,a,b%0A"));
        let link = csv_link("long", &csv);
        assert!(link.contains("download=\"long.csv.gz\"") && link.len() < csv.len() / 10);
        let packed = link.split_once("base64,").unwrap().1.split('"').next().unwrap();
        let packed = STANDARD.decode(packed).unwrap();
        let mut text = String::new();
        flate2::read::GzDecoder::new(packed.as_slice()).read_to_string(&mut text).unwrap();
        assert_eq!(text, csv);
        assert_eq!(link, csv_link("long", &csv));
    }
}
