//! `backcut report`: figures, tables, the page and the comparison with the paper, from collected tables.
//!
//! Everything is made by `backcut-report`; this file reads folders, writes files and fills in the one thing that
//! no table holds: the edges that the design drawing shows, from the engine's own list.

mod edges;
mod png;

pub use edges::design;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use backcut_report::{
    FIGURES, Format, PageOptions, ReportError, Results, figure, page, reproduction, summary_text,
    table, table_names,
};
use clap::{Subcommand, ValueEnum};

use crate::exit::{UserError, Verdict};

const EXAMPLES: &str = "\
RESULTS is a folder with one folder per study, as `backcut study collect` writes it.

  backcut report page results --out report.html
  backcut report figure memory-value results --out memory-value.svg
  backcut report table c5 results --format md
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
    },
    /// One figure as SVG, with its data beside it.
    Figure {
        /// The figure's name, as `backcut report list` prints it
        name: String,
        /// The folder of results
        results: PathBuf,
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
        /// How to write it
        #[arg(long, value_enum, default_value_t = TableFormat::Md)]
        format: TableFormat,
    },
    /// The comparison with the paper, claim by claim, as Markdown on standard output.
    Reproduction {
        /// The folder of results
        results: PathBuf,
    },
    /// A study's claims beside the paper's, for a terminal.
    Summary {
        /// The folder of results
        results: PathBuf,
        /// The study
        study: String,
    },
    /// Every figure and table by name.
    List,
}

#[derive(Clone, Copy, ValueEnum)]
enum TableFormat {
    Html,
    Md,
    Latex,
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<Verdict> {
    match &args.what {
        What::Page { results, out, title } => {
            let results = open(results)?;
            let mut options = PageOptions::default();
            if let Some(title) = title {
                options.title.clone_from(title);
            }
            let made = page(&results, &options).map_err(|e| user_error(&e))?;
            if out == Path::new("-") {
                return print(&made.html);
            }
            write(out, made.html.as_bytes())?;
            eprintln!("wrote {} ({} kB)", out.display(), made.html.len().div_ceil(1000));
        }
        What::Figure { name, results, out, png } => {
            let made = figure(&open(results)?, name).map_err(|e| user_error(&e))?;
            let out = out.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.svg")));
            let data = out.with_extension("csv");
            write(&out, made.svg.as_bytes())?;
            write(&data, made.csv.as_bytes())?;
            eprintln!("wrote {} and {}", out.display(), data.display());
            if *png {
                let image = out.with_extension("png");
                png::write(&made.svg, &out, &image)?;
                eprintln!("wrote {}", image.display());
            }
        }
        What::Table { name, results, format } => {
            let format = match format {
                TableFormat::Html => Format::Html,
                TableFormat::Md => Format::Markdown,
                TableFormat::Latex => Format::Latex,
            };
            return print(&table(&open(results)?, name, format).map_err(|e| user_error(&e))?);
        }
        What::Reproduction { results } => {
            return print(&reproduction(&open(results)?).map_err(|e| user_error(&e))?);
        }
        What::Summary { results, study } => {
            return print(&summary_text(&open(results)?, study).map_err(|e| user_error(&e))?);
        }
        What::List => return print(&list()?),
    }
    Ok(Verdict::Fine)
}

fn open(folder: &Path) -> anyhow::Result<Results> {
    let results = Results::open(folder).map_err(|e| user_error(&e))?;
    Ok(results.with_design(edges::design()?))
}

fn list() -> anyhow::Result<String> {
    let mut text = String::from("figures\n");
    for (name, what) in FIGURES {
        let _ = writeln!(text, "  {name:<16} {what}");
    }
    text += "tables\n";
    for (name, what) in table_names().map_err(|e| user_error(&e))? {
        let _ = writeln!(text, "  {name:<16} {what}");
    }
    Ok(text)
}

fn print(text: &str) -> anyhow::Result<Verdict> {
    std::io::stdout().write_all(text.as_bytes()).context("failed to write to standard output")?;
    Ok(Verdict::Fine)
}

fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    std::fs::write(path, bytes).map_err(|error| {
        UserError::new(format!("failed to write {}: {error}", path.display()))
            .hint("name a file in a folder that exists and can be written")
            .into()
    })
}

/// A report error as the user sees it.
pub fn user_error(error: &ReportError) -> UserError {
    UserError::new(format!("failed to {error}")).hint(error.hint())
}
