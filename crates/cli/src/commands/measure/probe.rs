//! `backcut measure probe`: ridge probes of what each layer stores.

use std::path::PathBuf;

use anyhow::Result;
use backcut_measure::Finding;
use backcut_measure::probe::{ProbeOptions, probe};

use super::states::{Loaded, StateArgs, measured};
use super::tidy;
use crate::exit::Verdict;

/// Options of `backcut measure probe`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    states: StateArgs,
    /// Probe on common inputs too: the observations of this checkpoint, fed to every policy
    #[arg(long, value_name = "FILE")]
    reference: Option<PathBuf>,
    /// The tap that holds the true quantity
    #[arg(long, value_name = "TAP", default_value = "true_velocity")]
    target: String,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Verdict> {
    if args.states.define {
        tidy::print_definitions("probe");
        return Ok(Verdict::Fine);
    }
    let reference = args.reference.as_deref().map(Loaded::new).transpose()?;
    let options = ProbeOptions { target: args.target.clone(), ..ProbeOptions::default() };
    let mut all: Vec<tidy::Measured> = Vec::new();
    for loaded in args.states.states()? {
        let own = measured(&loaded.label, probe(&loaded.subject(), None, &options))?;
        let common = match &reference {
            Some(reference) => {
                let found = probe(&loaded.subject(), Some(&reference.subject()), &options);
                Some(measured(&loaded.label, found)?)
            }
            None => None,
        };
        if !args.states.json {
            print(&loaded, &args.target, &own, common.as_deref());
        }
        let findings = own.into_iter().chain(common.into_iter().flatten()).collect();
        all.push((loaded.label, findings));
    }
    if args.states.json {
        println!("{}", tidy::json(&all));
    }
    if let Some(out) = &args.states.out {
        tidy::write(out, "probe.csv", &tidy::csv(&all))?;
    }
    Ok(Verdict::Fine)
}

fn print(loaded: &Loaded, target: &str, own: &[Finding], common: Option<&[Finding]>) {
    println!("{}\n", loaded.heading());
    println!("  held-out R^2 of `{target}`, ridge, 5 x 5 nested folds by trajectory");
    let common_heading = if common.is_some() { "common inputs" } else { "" };
    println!("  {:<20} {:>12} {common_heading:>14}", "read from", "own inputs");
    let mut notes: Vec<&str> = Vec::new();
    for (row, finding) in own.iter().enumerate() {
        let other = common.and_then(|list| list.get(row));
        let [first, second] = [Some(finding), other].map(|f| match f {
            None => String::new(),
            Some(Finding { value: Some(r2), .. }) => format!("{r2:.4}"),
            Some(Finding { note, .. }) => {
                notes.push(note);
                "undefined".to_owned()
            }
        });
        println!("  {:<20} {first:>12} {second:>14}", finding.part);
    }
    notes.dedup();
    for note in notes {
        println!("  undefined: {note}");
    }
    println!();
}
