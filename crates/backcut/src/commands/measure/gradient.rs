//! `backcut measure gradient`: what does this detach do to my gradient?

use std::fmt::Write as _;

use anyhow::Result;
use backcut_lab::measure::{ALL, GradientOptions, Of, gradient};
use backcut_study::Tools;

use super::figure::{Dots, Lines, Point};
use super::lead::{self, Compared};
use super::output::Results;
use super::states::{StateArgs, parse_cuts};
use super::table::{Column, Look, Row, by_part, number, sheet, wrapped};
use crate::common::parse_cut;
use crate::exit::{Told as _, Verdict};

/// Options of `backcut measure gradient`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub states: StateArgs,
    /// Cuts to compare with FF
    #[arg(long, value_delimiter = ',', default_value = "FF,FD,F_SG,KF,KD,K_SG")]
    cuts: Vec<String>,
    /// Batches: the next one and N - 1 fresh ones after it, at the same parameters
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    windows: u32,
    /// Split the gradients of these cuts by age (they must detach memory), or `none`
    #[arg(long, value_name = "CUTS|none", value_delimiter = ',', default_value = "FD")]
    ages: Vec<String>,
    /// Also by parameter group
    #[arg(long)]
    groups: bool,
}

const LEAD: Compared =
    Compared { noun: "the gradient", difference: "gradient.difference", cosine: "gradient.cosine" };

const LENGTHS: [Column; 4] = [
    Column::new("|g|", "gradient.norm"),
    Column::new("|g|/|ref|", "gradient.ratio"),
    Column::new("|g-ref|/|ref|", "gradient.difference"),
    Column::new("cosine", "gradient.cosine"),
];
const AGES: [Column; 2] =
    [Column::new("|part|", "age.norm"), Column::new("|sum up to it|", "age.reach")];

/// Runs the command.
pub fn run(args: &Args, tools: Tools) -> Result<Verdict> {
    let cuts = parse_cuts(&args.cuts)?;
    let wanted = args.ages.iter().filter(|text| *text != "none");
    let ages = wanted.map(|text| parse_cut(text)).collect::<Result<Vec<_>>>()?;
    let options = GradientOptions { windows: args.windows as usize, ages, paths: true };
    let states = args.states.restore(tools)?;
    let results = Results::new(states.each_rig(&cuts, false, |rig, subject, state| {
        gradient(rig, subject, &options).told_at(&state.label)
    })?);
    let look = Look(&results.summary);
    let mut text = lead::sentence(look, &LEAD);
    text += &wrapped(&states.introduction(), 2);
    text += &batches(args.windows, states.all.first().map(|s| s.restored.state.update), look);
    text += &tables(look, args.groups);
    let figures = figures(look);
    results.publish("gradient", &args.states, &states, &text, &figures)?;
    Ok(Verdict::Fine)
}

fn batches(windows: u32, update: Option<u64>, look: Look) -> String {
    let loss = look.cell("gradient.loss", "", ALL);
    match (windows, update) {
        (1, Some(update)) if !look.has_bands() => {
            format!("batch of update {}, loss {loss}\n", update + 1)
        }
        (1, _) => format!("each with the batch of its next update, loss {loss}\n"),
        (n, _) => format!("{n} batches from the next on, medians [16th, 84th percentile]\n"),
    }
}

fn tables(look: Look, by_groups: bool) -> String {
    let mut out = String::new();
    let cuts = look.cuts("gradient.norm");
    let (plain, pairs): (Vec<&Of>, Vec<&Of>) =
        cuts.into_iter().partition(|cut| matches!(cut, Of::One(_)));
    out += "\ngradient against FF\n";
    out += &sheet(look, "cut", &Row::of_cuts("", &plain), &LENGTHS);
    if !pairs.is_empty() {
        out += "\nagainst the same physical credit with full memory\n";
        out += &sheet(look, "cut", &Row::of_cuts("", &pairs), &LENGTHS);
    }
    let others: Vec<&Of> = plain.iter().copied().filter(|c| **c != "FF").collect();
    if !others.is_empty() && !by_groups {
        out += "  by parameter group: --groups\n";
    }
    if !others.is_empty() && by_groups {
        for (title, quantity) in [
            ("|g - g_FF| / |g_FF| by parameter group", "gradient.difference"),
            ("cosine with g_FF by parameter group", "gradient.cosine"),
        ] {
            let _ = writeln!(out, "\n{title}");
            out += &by_part(look, quantity, &others);
        }
    }
    let shown = ["gradient.ratio", "gradient.difference", "gradient.cosine"];
    out += &look.reasons(&shown);
    for cut in look.cuts("age.norm") {
        out += &ages(look, cut);
    }
    out += &paths(look);
    out
}

fn ages(look: Look, cut: &Of) -> String {
    let mut out =
        format!("\n{cut} by age: steps between a loss and the action that answers for it\n");
    let row = |part: &str| Row::new(part.trim_start_matches("age "), "", cut, part);
    let rows: Vec<Row> = look.parts("age.norm", cut).into_iter().map(row).collect();
    out += &sheet(look, "age", &rows, &AGES);
    let cancellation = look.band("age.cancellation", cut, ALL);
    let rest = look.cell("age.rest", cut, ALL);
    out += &wrapped(
        &format!(
            "  cancellation {cancellation}; the parts miss the gradient by {rest} of its norm"
        ),
        2,
    );
    out + &look.reasons(&["age.cancellation", "age.rest"])
}

fn paths(look: Look) -> String {
    let resultant = look.band("seed.resultant", "", ALL);
    let mut out = format!("\nresultant of the losses' own gradients: {resultant}\n");
    let at = look.parts("vjp.norm", "");
    let cell = |part: &&str| {
        look.value("vjp.norm", "", part).map(|value| format!("{} at {part}", number(value)))
    };
    let norms: Vec<String> = at.iter().filter_map(cell).collect();
    if !at.is_empty() {
        let norms = if norms.is_empty() { "-".to_owned() } else { norms.join(", ") };
        out += &wrapped(&format!("|da_t/dtheta|: {norms}"), 2);
    }
    out + &look.reasons(&["seed.resultant", "vjp.norm"])
}

/// A value with the ends of its band, for figures.
pub fn point<W: Copy>(look: Look, quantity: &str, cut: W, part: &str) -> Option<Point>
where
    Of: PartialEq<W>,
{
    let of = |suffix: &str| look.value(&format!("{quantity}{suffix}"), cut, part);
    Some((of("")?, of(".p16").zip(of(".p84"))))
}

fn figures(look: Look) -> Vec<(&'static str, String)> {
    let mut figures = Vec::new();
    let cuts = look.cuts("gradient.norm").into_iter();
    let cuts: Vec<&Of> = cuts.filter(|cut| matches!(cut, Of::One(name) if name != "FF")).collect();
    if let Some(first) = cuts.first() {
        let row = |part: &str| {
            let points = cuts.iter().map(|cut| point(look, "gradient.difference", *cut, part));
            (part.to_owned(), points.collect())
        };
        let rows = look.parts("gradient.difference", *first).into_iter().map(row).collect();
        let title = "|g - g_FF| / |g_FF| by parameter group".to_owned();
        let series = cuts.iter().map(ToString::to_string).collect();
        figures.push(("gradient", Dots { title, series, rows }.svg()));
    }
    if let Some(&cut) = look.cuts("age.norm").first() {
        let parts = look.parts("age.norm", cut);
        let of = |quantity: &str| -> Vec<f64> {
            parts.iter().map(|p| look.value(quantity, cut, p).unwrap_or(0.0)).collect()
        };
        let lines = Lines {
            title: format!("{cut}: gradient against backward distance"),
            axis: "steps between action and loss".to_owned(),
            at: parts.iter().map(|part| part.trim_start_matches("age ").to_owned()).collect(),
            series: vec![
                ("norm of the bin".to_owned(), of("age.norm")),
                ("norm of the sum up to it".to_owned(), of("age.reach")),
            ],
        };
        figures.push(("ages", lines.svg()));
    }
    figures
}
