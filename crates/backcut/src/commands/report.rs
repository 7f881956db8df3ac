//! `backcut report`: figures, tables and the page of collected studies.
//!
//! What any study has is made by `backcut-page`; a [`Publication`] that the program has may add
//! its own.

mod png;

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use backcut_page::draw::Drawing;
use backcut_page::report::{FIGURES, Format, ReportError, Results, Table, page};
use clap::{Arg, ArgAction, ArgMatches, Command, Subcommand, ValueEnum};

use super::measure::table::Table as TextTable;
use crate::common::{print, print_document, print_judged, write};
use crate::exit::{Told as _, Verdict};
use crate::look::{self, VERDICTS};
use crate::publication::{Beside, Publication};
use crate::say::{self, note};

const EXAMPLES: &str = "\
RESULTS is the folder of one study, or a folder with one folder per study, as `backcut study collect`
writes it.

  backcut report page results/mine --out report.html
  backcut report figure curves results --study mine
  backcut report list results
  backcut report table contrasts results --format latex";

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
        #[command(flatten)]
        paper: ForPaper,
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
    /// A study's contrasts for a terminal, beside published ones where there are any.
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

/// `--paper`, of programs that have a publication to show.
#[derive(Clone, Copy)]
struct ForPaper(bool);

const PAPER: &str = "paper";

/// Adds `--paper` to the page.
pub fn offer_paper(command: Command) -> Command {
    let paper = Arg::new(PAPER)
        .long(PAPER)
        .action(ArgAction::SetTrue)
        .help("The paper's claims, figures and tables beside ours, instead of study by study");
    command.mut_subcommand("report", |report| report.mut_subcommand("page", |page| page.arg(paper)))
}

impl clap::Args for ForPaper {
    fn augment_args(command: Command) -> Command {
        command // which programs have it is known later
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

impl clap::FromArgMatches for ForPaper {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(matches.try_get_one(PAPER).ok().flatten().copied().unwrap_or(false)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Runs the command.
pub fn run(args: &Args, publication: Option<&dyn Publication>) -> anyhow::Result<Verdict> {
    match &args.what {
        What::Page { results, out, title, paper } => {
            let html = match publication.filter(|_| paper.0) {
                Some(publication) => publication.beside(results)?.page(title.as_deref()),
                None => page::of_studies(&open(results)?, title.as_deref()),
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
            let made = figure(results, name, study.as_deref(), publication)?;
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
            let made = table(results, name, study.as_deref(), publication)?;
            return match format.unwrap_or(usual) {
                TableFormat::Text => print_judged(as_text(&made), VERDICTS),
                TableFormat::Html => print_document(made.write(Format::Html)),
                TableFormat::Md => print_document(made.write(Format::Markdown)),
                TableFormat::Latex => print_document(made.write(Format::Latex)),
            };
        }
        What::Summary { results, study } => {
            let columns = look::columns();
            let summary = match beside(results, publication)? {
                Some(beside) => beside.summary(study, columns),
                None => backcut_page::report::summary(&open(results)?, study, columns),
            };
            return print_judged(summary.told_after("failed to ")?, VERDICTS);
        }
        What::List { results } => return print(&list(results.as_deref(), publication)?),
    }
    Ok(Verdict::Fine)
}

fn open(folder: &Path) -> anyhow::Result<Results> {
    Results::open(folder).told_after("failed to ")
}

/// A folder of results with a publication beside it, if this program has one.
fn beside(
    folder: &Path,
    publication: Option<&dyn Publication>,
) -> anyhow::Result<Option<Box<dyn Beside>>> {
    publication.map(|publication| publication.beside(folder)).transpose()
}

/// A figure that any study has, or one of the publication's.
fn figure(
    folder: &Path,
    name: &str,
    study: Option<&str>,
    publication: Option<&dyn Publication>,
) -> anyhow::Result<Drawing> {
    let published = publication.map_or(&[][..], Publication::figures);
    let is_in = |figures: &[(&str, &str)]| figures.iter().any(|(known, _)| *known == name);
    let made = match publication.filter(|_| is_in(published)) {
        Some(publication) => publication.beside(folder)?.figure(name),
        None if is_in(FIGURES) => backcut_page::report::figure(&open(folder)?, name, study),
        None => {
            let known = FIGURES.iter().chain(published);
            Err(ReportError::unknown("figure", name, known.map(|(known, _)| *known)))
        }
    };
    made.told_after("failed to ")
}

/// A table that any study has, or one of the publication's.
fn table(
    folder: &Path,
    name: &str,
    study: Option<&str>,
    publication: Option<&dyn Publication>,
) -> anyhow::Result<Table> {
    let is_any = backcut_page::report::TABLES.iter().any(|(known, _)| *known == name);
    let made = match publication.filter(|_| !is_any) {
        Some(publication) => publication.beside(folder)?.table(name),
        None => backcut_page::report::table(&open(folder)?, name, study),
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

fn list(folder: Option<&Path>, publication: Option<&dyn Publication>) -> anyhow::Result<String> {
    let mut text = String::new();
    let mut add = |title: &str, names: &[(&str, &str)]| {
        let _ = writeln!(text, "{title}");
        for (name, what) in names {
            let _ = writeln!(text, "  {name:<17} {what}");
        }
    };
    add("figures of any study", FIGURES);
    add("tables of any study", backcut_page::report::TABLES);
    if let Some(publication) = publication {
        let tables = publication.tables()?;
        let tables: Vec<_> = tables.iter().map(|(n, what)| (n.as_str(), what.as_str())).collect();
        add("figures of the paper", publication.figures());
        add("tables of the paper", &tables);
    }
    let Some(folder) = folder else { return Ok(text) };
    match beside(folder, publication)? {
        Some(beside) => {
            beside.leave_intervals_out();
            text += &applicable(beside.results());
            text += "the paper's figures, from all studies\n";
            for (name, _) in publication.map_or(&[][..], Publication::figures) {
                text += &has(name, beside.figure(name).err());
            }
        }
        None => text += &applicable(&open(folder)?),
    }
    Ok(text)
}

/// Which figures the studies of a folder have, and why they lack the others.
fn applicable(results: &Results) -> String {
    let mut text = String::new();
    results.leave_intervals_out();
    for study in results.studies() {
        let _ = writeln!(text, "study {}", backcut_text::escape::plain(&study.name));
        for (name, _) in FIGURES {
            let made = backcut_page::report::figure(results, name, Some(&study.name));
            text += &has(name, made.err());
        }
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
