//! `backcut stats`: the paired protocol on anyone's table.
//!
//! Resolves arguments into a checked family, runs it, and prints text or JSON. All statistics live
//! in `backcut-stats`; this file only reads bytes, chooses a format and words the hints. A row made
//! here is always descriptive: a table can not show what was frozen before measurement.

use std::path::{Path, PathBuf};

use backcut_stats::planning::{SampleSize, plan_noninferiority};
use backcut_stats::table::{Dialect, RawTable};
use backcut_stats::{
    Bound, Contrast, DRAWS, Family, FamilyParams, Layout, Report, SEED, SourceTable, StatsError,
    text,
};
use serde::Serialize;

use crate::common::{print_json, print_judged, write};
use crate::exit::{Told as _, Verdict, user};
use crate::look::{self, VERDICTS};

const EXAMPLES: &str = "\
Contrasts are expressions over bracketed cells; a cell is a column, or arm@condition of a long table:
  \"h1 = [w1@0.20] - [FF@0.20] > 0\"             a difference with a predicted direction
  \"r = ([F_SG@0.05] - [FF@0.05]) / [FF@0.05]\"  a ratio per source
  \"mean([R_cont]) / mean([R_scr])\"             a ratio of means
  \"slope([F_SG@*] - [FF@*])\"                   a slope over the numeric conditions
  \"[masking.change/w=1: FF@0.20@800]\"          of observations: quantity/part/cut, update

Exit code: 0 fine, 1 a prediction was contradicted or noninferiority not shown, 2 wrong input.";

/// Paired source-level inference on a table of seeds and errors.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Args {
    /// CSV or Parquet files, read as one table; `-` reads standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// A contrast, such as "h1 = [w1@0.20] - [FF@0.20] > 0" (repeatable)
    #[arg(long = "contrast", value_name = "EXPR")]
    contrasts: Vec<String>,
    /// Use a column as it is (repeatable)
    #[arg(long, value_name = "COLUMN")]
    values: Vec<String>,
    /// Size M of the family [default: the number of contrasts]
    #[arg(long, value_name = "M")]
    family_size: Option<usize>,
    /// Noninferiority margin: the upper bound must lie strictly below it
    #[arg(long, allow_negative_numbers = true)]
    margin: Option<f64>,
    /// Decide by one-sided bounds at alpha / M instead of two-sided ones at alpha / (2M)
    #[arg(long)]
    one_sided: bool,
    /// Level of the family
    #[arg(long, default_value_t = 0.05)]
    alpha: f64,
    /// Bootstrap draws
    #[arg(long, default_value_t = DRAWS)]
    draws: usize,
    /// Seed of every draw
    #[arg(long, default_value_t = SEED)]
    seed: u64,
    /// Count all sign patterns up to this many sources (at most 40); draw a million above
    #[arg(long, value_name = "N", default_value_t = 24)]
    exact_up_to: usize,
    /// Column that names the source [default: source, seed or stream]
    #[arg(long, value_name = "COLUMN")]
    source: Option<String>,
    /// Column that names the arm of a table with one row per value [default: arm]
    #[arg(long, value_name = "COLUMN")]
    arm: Option<String>,
    /// Column that names its condition [default: condition, if present]
    #[arg(long, value_name = "COLUMN")]
    condition: Option<String>,
    /// Column that holds its values [default: value]
    #[arg(long, value_name = "COLUMN")]
    value: Option<String>,
    /// What separates columns: a character, or `tab` [default: a comma]
    #[arg(long, value_name = "CHAR", value_parser = separator)]
    separator: Option<u8>,
    /// Numbers are written 1,5
    #[arg(long)]
    decimal_comma: bool,
    /// Column that names the cluster to resample whole [default: cluster, if present]
    #[arg(long, value_name = "COLUMN")]
    cluster: Option<String>,
    /// Column that names the stratum to resample within [default: stratum, if present]
    #[arg(long, value_name = "COLUMN")]
    stratum: Option<String>,
    /// Leave out sources with a missing value, and say which, instead of stopping
    #[arg(long)]
    drop_incomplete: bool,
    /// Also plan a new study: sources needed for this power at --margin
    #[arg(long, value_name = "POWER", num_args = 0..=1, default_missing_value = "0.8", require_equals = true)]
    plan: Option<f64>,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
    /// Write a forest plot
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args) -> anyhow::Result<Verdict> {
    let family = family(args);
    if let (Err(error), true) = (&family, args.contrasts.is_empty() && args.values.is_empty()) {
        // What to type depends on what is there.
        let hint =
            text::what_to_ask(&table(args, &[])?, |contrast| format!("--contrast {contrast}"));
        return Err(user(format!("failed to {error}"), hint));
    }
    let family = family.told_after("failed to ")?;
    let title = title(&args.files);
    let cells: Vec<&str> = family.params().contrasts.iter().flat_map(Contrast::cells).collect();
    let table = table(args, &cells)?;
    let judged = judge(args, &family, table).told_after("failed to ")?;
    if let Some(path) = &args.svg {
        write(path, backcut_page::report::forest(&judged.report, &title))?;
    }
    if args.json {
        print_json(&judged)?;
    } else {
        print_judged(plain(&judged, &title), VERDICTS)?;
    }
    let failed = judged.report.rows.iter().any(|row| row.verdict.failed());
    Ok(if failed { Verdict::Failed } else { Verdict::Fine })
}

/// How an error about a file begins.
fn in_file(file: &Path) -> String {
    if file == Path::new("-") {
        return "failed to ".to_owned();
    }
    format!("{}: failed to ", file.display())
}

/// The files as one table of sources.
fn table(args: &Args, cells: &[&str]) -> anyhow::Result<SourceTable> {
    let layout = Layout {
        source: args.source.clone(),
        cluster: args.cluster.clone(),
        stratum: args.stratum.clone(),
        arm: args.arm.clone(),
        condition: args.condition.clone(),
        value: args.value.clone(),
    };
    let separator = args.separator.unwrap_or(Dialect::default().separator);
    if args.decimal_comma && separator == b',' {
        let what = "--decimal-comma where columns are separated by commas too";
        return Err(user(what, "add --separator ';'"));
    }
    let dialect = Dialect { separator, decimal_comma: args.decimal_comma };
    let mut tables = Vec::new();
    for file in &args.files {
        let bytes = read(file)?;
        let place = in_file(file);
        let mut raw = RawTable::from_bytes_in(&bytes, dialect).told_after(&place)?;
        // Files of one source each need not repeat its name on every row.
        if args.files.len() > 1 && !layout.has_source(&raw.header) {
            raw.add_column("source", &file.file_stem().unwrap_or_default().to_string_lossy());
        }
        tables.push(raw);
    }
    let table =
        RawTable::join(tables).and_then(|raw| SourceTable::with_cells(&raw, &layout, cells));
    let place = match args.files.as_slice() {
        [file] => in_file(file),
        _ => "failed to ".to_owned(),
    };
    table.told_after(place)
}

fn separator(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        _ if text == "tab" || text == "\\t" => Ok(b'\t'),
        [one] if !one.is_ascii_alphanumeric() && !b"\"\r\n.-+".contains(one) => Ok(*one),
        _ => Err("one character such as `;`, or `tab`".to_owned()),
    }
}

/// What is printed: the report, what was left out, and the plan.
#[derive(Serialize)]
struct Judged {
    #[serde(flatten)]
    report: Report,
    left_out: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    plans: Vec<NamedPlan>,
}

#[derive(Serialize)]
struct NamedPlan {
    contrast: String,
    power_wanted: f64,
    #[serde(flatten)]
    plan: SampleSize,
}

impl NamedPlan {
    fn sentence(&self) -> String {
        let Self { contrast, power_wanted, plan } = self;
        match plan {
            SampleSize::Sources { count, power } => format!(
                "plan: {contrast}: {count} sources for power {power_wanted} (they give \
                 {power:.3})\n"
            ),
            SampleSize::NoNumber { mean, margin } => format!(
                "plan: {contrast}: no number of sources is enough;\n      \
                 its mean {mean:.4} is not below the margin {margin}\n"
            ),
            SampleSize::MoreThan { count } => {
                format!("plan: {contrast}: more than {count} sources for power {power_wanted}\n")
            }
        }
    }
}

fn family(args: &Args) -> Result<Family, StatsError> {
    let mut contrasts: Vec<Contrast> =
        args.contrasts.iter().map(|t| Contrast::parse(t)).collect::<Result<_, _>>()?;
    contrasts.extend(args.values.iter().map(|name| Contrast::column(name)));
    FamilyParams {
        size: args.family_size,
        alpha: args.alpha,
        margin: args.margin,
        bound: if args.one_sided { Bound::OneSided } else { Bound::TwoSided },
        draws: args.draws,
        seed: args.seed,
        exact_up_to: args.exact_up_to,
        ..FamilyParams::new(contrasts)
    }
    .check()
}

fn judge(args: &Args, family: &Family, mut table: SourceTable) -> Result<Judged, StatsError> {
    let (report, left_out) = if args.drop_incomplete {
        family.run_on_complete(&table)?
    } else {
        (family.run(&table)?, Vec::new())
    };
    table = table.without(&left_out);
    let plans = plans(args, family, &table)?;
    Ok(Judged { report, left_out, plans })
}

fn plans(args: &Args, family: &Family, table: &SourceTable) -> Result<Vec<NamedPlan>, StatsError> {
    let Some(power) = args.plan else { return Ok(Vec::new()) };
    let Some(margin) = args.margin else {
        return Err(StatsError::Parameter {
            name: "plan",
            value: power.to_string(),
            problem: "a plan is for noninferiority and needs --margin",
        });
    };
    let params = family.params();
    let level = params.bound.tail(params.alpha, family.size());
    let units = backcut_stats::bootstrap::Units::of(table);
    let plan = |contrast: &Contrast| {
        let values = units.average(&contrast.evaluate(table)?.values);
        let plan = plan_noninferiority(&values, margin, level, power)?;
        Ok(NamedPlan { contrast: contrast.name.clone(), power_wanted: power, plan })
    };
    params.contrasts.iter().map(plan).collect()
}

fn plain(judged: &Judged, title: &str) -> String {
    let mut output = text::render_in(&judged.report, title, look::columns());
    for plan in &judged.plans {
        output.push_str(&plan.sentence());
    }
    output
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    let outcome = if file == Path::new("-") {
        backcut_files::read_from(std::io::stdin().lock())
    } else {
        backcut_files::read(file)
    };
    outcome.map_err(|error| {
        let what = format!("failed to read {}: {error}", file.display());
        user(what, "give a CSV or Parquet file, or `-` for standard input")
    })
}

fn title(files: &[PathBuf]) -> String {
    let [file] = files else { return format!("{} files", files.len()) };
    if *file == Path::new("-") {
        return "standard input".into();
    }
    file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}
