//! `backcut measure memory`: what a policy reads from its memory.

use anyhow::Result;
use backcut_measure::memory;
use backcut_measure::{Finding, Measurement, measure};
use backcut_systems::System;

use super::states::{Loaded, StateArgs, measured};
use super::tidy;
use crate::exit::Verdict;

/// The quadrotor's weights that read the velocity in world axes: columns 0..3 of the token.
const VELOCITY_READING: (&str, [usize; 2]) = ("embedding.weight", [0, 3]);

/// Options of `backcut measure memory`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    states: StateArgs,
    /// Windows to evaluate with: positions that stay visible, the current one included
    #[arg(long, value_name = "W,W,...", value_delimiter = ',', default_value = "1,2")]
    windows: Vec<usize>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Verdict> {
    if args.states.define {
        tidy::print_definitions("memory");
        return Ok(Verdict::Fine);
    }
    let mut all = Vec::new();
    for loaded in args.states.states()? {
        let findings = of_state(&loaded, &args.windows)?;
        if !args.states.json {
            print(&loaded, &findings, &args.windows);
        }
        all.push((loaded, findings));
    }
    if let Some(out) = &args.states.out {
        let rows = all.first().map_or(0, |(l, _)| System::<f32>::panel_rows(&l.system));
        tidy::write(out, "donors.csv", &donors(rows))?;
    }
    let all: Vec<tidy::Measured> = all.into_iter().map(|(l, f)| (l.label, f)).collect();
    if args.states.json {
        println!("{}", tidy::json(&all));
    }
    if let Some(out) = &args.states.out {
        tidy::write(out, "memory.csv", &tidy::csv(&all))?;
    }
    Ok(Verdict::Fine)
}

fn of_state(loaded: &Loaded, windows: &[usize]) -> Result<Vec<Finding>> {
    let (parameter, columns) = VELOCITY_READING;
    let measurements = [
        Measurement::Masking { windows: windows.to_vec() },
        Measurement::Donor {},
        Measurement::Attention {},
        Measurement::InputWeight { parameter: parameter.to_owned(), columns },
    ];
    let mut findings: Vec<Finding> = Vec::new();
    for measurement in &measurements {
        for finding in measured(&loaded.label, measure(measurement, &loaded.subject(), None))? {
            // Masking and donors both start from the same evaluation.
            let is_new = |f: &Finding| f.quantity != finding.quantity || f.part != finding.part;
            if findings.iter().all(is_new) {
                findings.push(finding);
            }
        }
    }
    Ok(findings)
}

/// Which trajectory's history each trajectory of the panel reads.
fn donors(rows: usize) -> String {
    let derangement = memory::panel_derangement(rows).unwrap_or_default();
    let lines = derangement.iter().enumerate().map(|(row, donor)| format!("{row},{donor}\n"));
    std::iter::once("trajectory,donor\n".to_owned()).chain(lines).collect()
}

fn print(loaded: &Loaded, findings: &[Finding], windows: &[usize]) {
    let find = |quantity: &str, part: &str| {
        findings.iter().find(|f| f.quantity == quantity && f.part == part)
    };
    let value = |quantity: &str, part: &str| find(quantity, part).and_then(|f| f.value);
    println!("{}\n", loaded.heading());
    println!("  {:<30} {:>10} {:>10} {:>14}", "history", "error m^2", "change", "per trajectory");
    if let Some(error) = value("panel.error", "all") {
        println!("  {:<30} {error:>10.5}", "its own");
    }
    let line = |name: &str, quantities: [&str; 3], part: &str| {
        let [error, change, relative] = quantities.map(|quantity| value(quantity, part));
        let Some((error, change)) = error.zip(change) else {
            let why = find(quantities[0], part).map_or("", |f| f.note.as_str());
            println!("  {name:<30} undefined");
            for line in tidy::fold(why, 74) {
                println!("      {line}");
            }
            return;
        };
        let relative = relative.map_or("undefined".to_owned(), |r| format!("{:+.1}%", 100.0 * r));
        println!("  {name:<30} {error:>10.5} {change:>+10.5} {relative:>14}");
    };
    for window in windows {
        let name = match window {
            1 => "the current token alone".to_owned(),
            w => format!("the last {w} tokens"),
        };
        let quantities = ["masking.error", "masking.change", "masking.relative"];
        line(&name, quantities, &format!("w={window}"));
    }
    let quantities = ["donor.error", "donor.cost", "donor.relative"];
    line("another trajectory's (v_I1)", quantities, "derangement");
    println!("\n  attention mass on earlier positions, by head (mean)");
    let mass: Vec<&Finding> = findings.iter().filter(|f| f.quantity == "attention.mass").collect();
    for layer in mass.iter().filter(|f| !f.part.contains(".head")) {
        let prefix = format!("{}.head", layer.part);
        let heads = mass.iter().filter(|f| f.part.starts_with(&prefix)).filter_map(|f| f.value);
        let heads: Vec<String> = heads.map(|m| format!("{m:.3}")).collect();
        let mean = layer.value.map_or(String::new(), |m| format!("({m:.3})"));
        println!("  {:<10} {} {mean}", layer.part, heads.join(" "));
    }
    for weight in findings.iter().filter(|f| f.quantity == "input_weight.norm") {
        let norm = weight.value.map_or(String::new(), |v| format!("{v:.4}"));
        println!("\n  weights that read the velocity: norm {norm} ({})", weight.part);
    }
    println!();
}
