//! `backcut report`: figures, tables and the page of collected studies, and the comparison with the paper.
//!
//! What any study has is made by `backcut-report`, the paper's by `backcut-paper`; this file reads folders, writes files and
//! fills in the one thing that no table holds: the edges that the design drawing shows, from the engine's own list.

mod edges;
mod png;

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use backcut_draw::Drawing;
use backcut_paper::Reproduction;
use backcut_report::{Format, ReportError, Results, Table, page};
use clap::{Subcommand, ValueEnum};

use super::measure::table::Table as TextTable;
use crate::common::{print, print_document, print_judged, write};
use crate::exit::{Told as _, Verdict, user};
use crate::look::{self, VERDICTS};
use crate::say::{self, note};

const EXAMPLES: &str = "\
RESULTS is the folder of one study, or a folder with one folder per study, as `backcut study collect`
writes it. Figures and tables of the paper's experiments are made of its own studies only.

  backcut report page results/mine --out report.html
  backcut report figure curves results --study mine
  backcut report list results
  backcut report page --paper results
  backcut report figure memory-value results --out memory-value.svg
  backcut report finding results
  backcut report reproduction results > docs/reproduction.md";

/// Figures, tables and one page from collected results.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// One self-contained HTML page with everything.
    Page {
        /// The folder of results
        results: PathBuf,
        /// Where to write the page; `-` prints it
        #[arg(long, value_name = "FILE", default_value = "report.html")]
        out: PathBuf,
        /// The page's title
        #[arg(long)]
        title: Option<String>,
        /// The paper's claims, figures and tables beside ours, instead of study by study
        #[arg(long)]
        paper: bool,
    },
    /// One figure as SVG, with its data beside it.
    Figure {
        /// The figure's name, as `backcut report list` prints it
        name: String,
        /// The folder of results
        results: PathBuf,
        /// The study, if the folder holds several
        #[arg(long, value_name = "NAME")]
        study: Option<String>,
        /// Where to write it; its data goes to the same name with `.csv` [default: NAME.svg]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// Also write a PNG, through an installed Chromium
        #[arg(long)]
        png: bool,
    },
    /// One table on standard output.
    Table {
        /// The table's name, as `backcut report list` prints it
        name: String,
        /// The folder of results
        results: PathBuf,
        /// One study of several
        #[arg(long, value_name = "NAME")]
        study: Option<String>,
        /// How to write it [default: text at a terminal, md elsewhere]
        #[arg(long, value_enum)]
        format: Option<TableFormat>,
    },
    /// What the paper's studies found here, in a few sentences, as Markdown on standard output.
    Finding {
        /// The folder of results
        results: PathBuf,
    },
    /// The comparison with the paper, claim by claim, as Markdown on standard output.
    Reproduction {
        /// The folder of results
        results: PathBuf,
    },
    /// A study's contrasts for a terminal, beside the paper's where it has them.
    Summary {
        /// The folder of results
        results: PathBuf,
        /// The study
        study: String,
    },
    /// Every figure and table by name; with a folder, which figures its studies have.
    List {
        /// The folder of results
        results: Option<PathBuf>,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum TableFormat {
    /// Columns under each other, as wide as the terminal
    Text,
    /// A Markdown table
    Md,
    /// An HTML table
    Html,
    /// A LaTeX table as wide as the line (packages array, booktabs, longtable)
    Latex,
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<Verdict> {
    match &args.what {
        What::Page { results, out, title, paper } => {
            let html = if *paper {
                reproduction(results)?.page(title.as_deref())
            } else {
                page::of_studies(&open(results)?, title.as_deref())
            };
            let html = html.told_after("failed to ")?;
            if out == Path::new("-") {
                say::raw(&html)?;
                return Ok(Verdict::Fine);
            }
            write(out, html.as_bytes())?;
            note!("wrote {} ({} kB)", out.display(), html.len().div_ceil(1000));
        }
        What::Figure { name, results, study, out, png } => {
            let made = figure(results, name, study.as_deref())?;
            let out = out.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.svg")));
            let (svg, data) = (made.svg(), out.with_extension("csv"));
            write(&out, svg.as_bytes())?;
            write(&data, made.csv.as_bytes())?;
            note!("wrote {} and {}", out.display(), data.display());
            if *png {
                let image = out.with_extension("png");
                png::write(&svg, &out, &image)?;
                note!("wrote {}", image.display());
            }
        }
        What::Table { name, results, study, format } => {
            let is_seen = std::io::stdout().is_terminal();
            let usual = if is_seen { TableFormat::Text } else { TableFormat::Md };
            let made = table(results, name, study.as_deref())?;
            return match format.unwrap_or(usual) {
                TableFormat::Text => print_judged(as_text(&made), VERDICTS),
                TableFormat::Html => print_document(made.write(Format::Html)),
                TableFormat::Md => print_document(made.write(Format::Markdown)),
                TableFormat::Latex => print_document(made.write(Format::Latex)),
            };
        }
        What::Finding { results } => {
            let found = reproduction(results)?.finding().markdown();
            if found.is_empty() {
                let what = format!("failed to find a study of the paper in {}", results.display());
                return Err(user(what, "any other study: backcut report summary RESULTS STUDY"));
            }
            return print_document(found);
        }
        What::Reproduction { results } => {
            return print_document(reproduction(results)?.markdown());
        }
        What::Summary { results, study } => {
            let summary =
                reproduction(results)?.summary(study, look::columns()).told_after("failed to ")?;
            return print_judged(summary, VERDICTS);
        }
        What::List { results } => return print(&list(results.as_deref())?),
    }
    Ok(Verdict::Fine)
}

fn open(folder: &Path) -> anyhow::Result<Results> {
    Results::open(folder).told_after("failed to ")
}

/// A folder of results with the paper beside it, and the engine's edges for its design drawing.
pub fn reproduction(folder: &Path) -> anyhow::Result<Reproduction> {
    let mut beside = Reproduction::new(open(folder)?).told()?;
    let second = folder.join(backcut_paper::SECOND);
    if second.is_dir() {
        beside = beside.with_second(open(&second)?);
    }
    Ok(beside.with_design(edges::design()?))
}

/// A figure that any study has, or one of the paper's.
fn figure(folder: &Path, name: &str, study: Option<&str>) -> anyhow::Result<Drawing> {
    let made = if backcut_paper::FIGURES.iter().any(|(known, _)| *known == name) {
        reproduction(folder)?.figure(name)
    } else if backcut_report::FIGURES.iter().any(|(known, _)| *known == name) {
        backcut_report::figure(&open(folder)?, name, study)
    } else {
        let known = backcut_report::FIGURES.iter().chain(backcut_paper::FIGURES);
        Err(ReportError::unknown("figure", name, known.map(|(known, _)| *known)))
    };
    made.told_after("failed to ")
}

/// A table that any study has, or one of the paper's.
fn table(folder: &Path, name: &str, study: Option<&str>) -> anyhow::Result<Table> {
    let made = if backcut_report::TABLES.iter().any(|(known, _)| *known == name) {
        backcut_report::table(&open(folder)?, name, study)
    } else {
        reproduction(folder)?.table(name)
    };
    made.told_after("failed to ")
}

/// A table for a terminal.
fn as_text(table: &Table) -> String {
    let plain = |cell: &String| backcut_text::escape::plain(cell);
    let mut columns = TextTable::of_words(table.columns.iter().map(plain));
    for row in &table.rows {
        columns.row(row.iter().map(plain));
    }
    let mut text = format!("{}\n\n{}", plain(&table.title), columns.text());
    for note in &table.notes {
        text += &backcut_text::wrapped(&format!("note: {}", plain(note)), look::columns(), 2);
    }
    text
}

fn list(folder: Option<&Path>) -> anyhow::Result<String> {
    let mut text = String::new();
    let mut add = |title: &str, names: &[(&str, &str)]| {
        let _ = writeln!(text, "{title}");
        for (name, what) in names {
            let _ = writeln!(text, "  {name:<17} {what}");
        }
    };
    let paper = backcut_paper::paper::Paper::load().told()?;
    add("figures of any study", backcut_report::FIGURES);
    add("tables of any study", backcut_report::TABLES);
    add("figures of the paper", backcut_paper::FIGURES);
    add("tables of the paper", &paper.table_names());
    if let Some(folder) = folder {
        text += &applicable(&reproduction(folder)?);
    }
    Ok(text)
}

/// Which figures the studies of a folder have, and why they lack the others.
fn applicable(beside: &Reproduction) -> String {
    let mut text = String::new();
    for study in beside.results.studies() {
        let _ = writeln!(text, "study {}", backcut_text::escape::plain(&study.name));
        for (name, _) in backcut_report::FIGURES {
            let made = backcut_report::figure(&beside.results, name, Some(&study.name));
            text += &has(name, made.err());
        }
    }
    text += "the paper's figures, from all studies\n";
    for (name, _) in backcut_paper::FIGURES {
        text += &has(name, beside.figure(name).err());
    }
    text
}

fn has(name: &str, lacks: Option<ReportError>) -> String {
    let words = match lacks {
        None => "yes".to_owned(),
        Some(ReportError::Missing { why, .. }) => format!("no: {why}"),
        Some(error) => format!("no: {error}"),
    };
    let line = format!("  {name:<17} {}", backcut_text::escape::plain(&words));
    backcut_text::wrapped(&line, look::columns(), 19)
}
