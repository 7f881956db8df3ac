//! `backcut measure memory`: what a policy reads from its memory.

use anyhow::Result;
use backcut_lab::measure::memory::panel_derangement;
use backcut_lab::measure::{ALL, Finding, Measurement, Of, Subject, measure};
use backcut_study::Tools;

use super::output::{Results, write};
use super::states::{Named, StateArgs, States};
use super::table::{Column, Look, Row, Table, sheet, wrapped};
use crate::exit::{Told as _, Verdict};

/// Options of `backcut measure memory`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub states: StateArgs,
    /// Windows to evaluate with: positions that stay visible, the current one included
    #[arg(long, value_name = "W,W,...", value_delimiter = ',', default_value = "1,2")]
    windows: Vec<usize>,
}

/// Runs the command.
pub fn run(args: &Args, tools: Tools) -> Result<Verdict> {
    let states = args.states.restore(tools)?;
    let results =
        Results::new(states.each(|subject, state| of_state(subject, state, &args.windows))?);
    let text = match results.of_state.as_slice() {
        [only] => one(&states, Look(only), &args.windows),
        several => many(&states, several, &args.windows),
    };
    results.publish("memory", &args.states, &states, &text, &[])?;
    if let Some((folder, state)) = args.states.out.as_ref().zip(states.all.first()) {
        let donors = donors(state.restored.built.system().panel_rows());
        write(&folder.join("donors.csv"), donors.as_bytes())?;
    }
    Ok(Verdict::Fine)
}

/// Which trajectory's history each trajectory of the panel reads.
fn donors(rows: usize) -> String {
    let derangement = panel_derangement(rows).unwrap_or_default();
    let lines = derangement.iter().enumerate().map(|(row, donor)| format!("{row},{donor}\n"));
    std::iter::once("trajectory,donor\n".to_owned()).chain(lines).collect()
}

fn of_state(subject: &Subject, state: &Named, windows: &[usize]) -> Result<Vec<Finding>> {
    let mut measurements = vec![
        Measurement::Masking { windows: windows.to_vec() },
        Measurement::Donor { memories: vec![] },
        Measurement::Attention { ages: false },
    ];
    measurements.extend(state.restored.built.latent.map(|latent| {
        let (parameter, columns) = latent.weights;
        Measurement::InputWeight { parameter: parameter.to_owned(), columns }
    }));
    let mut findings: Vec<Finding> = Vec::new();
    for measurement in &measurements {
        for finding in measure(measurement, subject, None).told_at(&state.label)? {
            // Masking and donors both start from the same evaluation.
            if Look(&findings).find(&finding.quantity, "", &finding.part).is_none() {
                findings.push(finding);
            }
        }
    }
    Ok(findings)
}

/// An error, to the digit that tells policies apart.
fn error_text(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |v| format!("{v:.5}"))
}

/// What the policy must infer.
fn latent(states: &States) -> &'static str {
    let of = states.all.first().and_then(|state| state.restored.built.latent);
    of.map_or("latent quantity", |latent| latent.name)
}

/// The error's heading, with its unit.
fn heading(name: &str, states: &States) -> String {
    let unit = states.all.first().map_or("", |state| state.restored.built.error.unit);
    format!("{name} {unit}").trim_end().to_owned()
}

/// A relative change as a percentage.
fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |v| format!("{:+.1}%", 100.0 * v))
}

/// Everything about one state.
fn one(states: &States, look: Look, windows: &[usize]) -> String {
    let (error, own) = (heading("error", states), Of::Nothing);
    let named = |window: &usize| {
        let name = match window {
            1 => "the current token alone".to_owned(),
            w => format!("the last {w} tokens"),
        };
        Row::new(name, "masking", &own, &format!("w={window}"))
    };
    let mut rows = vec![Row::new("its own", "panel", &own, ALL)];
    rows.extend(windows.iter().map(named));
    rows.push(Row::new("another trajectory's (v_I1)", "donor", &own, "derangement"));
    let columns = [
        Column::formed(&error, ".error", |look, quantity, of, part| {
            error_text(look.value(quantity, of, part))
        }),
        Column::formed("change", "", |look, prefix, of, part| match prefix {
            "panel" => String::new(),
            "donor" => error_text(look.value("donor.cost", of, part)),
            _ => error_text(look.value(&format!("{prefix}.change"), of, part)),
        }),
        Column::formed("mean per trajectory", "", |look, prefix, of, part| match prefix {
            "panel" => String::new(),
            _ => percent(look.value(&format!("{prefix}.relative"), of, part)),
        }),
    ];
    let errors = sheet(look, "history", &rows, &columns);
    let mut masses = Table::new(["attention mass on earlier positions", "mean", "by head"]);
    let parts = look.parts("attention.mass", "");
    for layer in parts.iter().filter(|part| !part.contains(".head")) {
        let prefix = format!("{layer}.head");
        let heads = parts.iter().filter(|part| part.starts_with(&prefix));
        let heads: Vec<String> = heads.map(|h| look.cell("attention.mass", "", h)).collect();
        let mean = look.cell("attention.mass", "", layer);
        masses.row([(*layer).to_owned(), mean, heads.join(" ")]);
    }
    let undefined = look.reasons(&["masking.error", "masking.relative", "donor.error"]);
    let weight = look.parts("input_weight.norm", "");
    let what = latent(states);
    let weight = weight.iter().map(|part| {
        let norm = look.cell("input_weight.norm", "", part);
        format!("  weights that read the {what}: norm {norm} ({part})\n")
    });
    let weight: String = weight.collect();
    let introduction = wrapped(&states.introduction(), 2);
    format!("{introduction}\n{errors}{undefined}\n{}\n{weight}", masses.text())
}

/// One line per state.
fn many(states: &States, found: &[Vec<Finding>], windows: &[usize]) -> String {
    let head = ["state".to_owned(), "cut".to_owned(), heading("error", states)].into_iter();
    let masked = windows.iter().map(|w| format!("w={w}"));
    let mut table =
        Table::new(head.chain(masked).chain([heading("v_I1", states), "norm".to_owned()]));
    let mut reasons = String::new();
    for (state, findings) in states.all.iter().zip(found) {
        let look = Look(findings);
        let label = [state.label.clone(), state.restored.header.config.cut.to_string()];
        let error = error_text(look.value("panel.error", "", "all"));
        let masked =
            windows.iter().map(|w| percent(look.value("masking.relative", "", &format!("w={w}"))));
        let donor = error_text(look.value("donor.cost", "", "derangement"));
        let norm = look.parts("input_weight.norm", "");
        let norm = norm.first().map(|part| look.cell("input_weight.norm", "", part));
        table.row(label.into_iter().chain([error]).chain(masked).chain([donor]).chain(norm));
        let missing = look.reasons(&["masking.error", "masking.relative", "donor.error"]);
        reasons += &missing.replace("  -:", &format!("  {}:", state.label));
    }
    let note = format!(
        "w=...: history masked at evaluation, mean change per trajectory. v_I1: cost of another \
         trajectory's history. norm: weights that read the {}.",
        latent(states)
    );
    format!("{}{reasons}\n{}", table.text(), wrapped(&note, 0))
}
