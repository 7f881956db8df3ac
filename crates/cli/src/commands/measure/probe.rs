//! `backcut measure probe`: ridge probes of what each layer stores.

use std::path::PathBuf;

use anyhow::Result;
use backcut_measure::Finding;
use backcut_measure::probe::{ProbeOptions, probe};

use super::output::Results;
use super::states::{StateArgs, States, at};
use super::table::{Look, Table, defined, wrapped};
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
        print!("{}", defined("probe"));
        return Ok(Verdict::Fine);
    }
    let states = args.states.restore()?;
    let reference = args
        .reference
        .as_ref()
        .map(|path| States::restore(std::slice::from_ref(path)))
        .transpose()?;
    let options = ProbeOptions { target: args.target.clone(), ..ProbeOptions::default() };
    let mut found = Vec::new();
    for state in &states.all {
        let subject = states.subject(state);
        let mut findings = probe(&subject, None, &options).map_err(at(&state.label))?;
        for other in reference.iter().flat_map(|r| r.all.iter().map(move |s| r.subject(s))) {
            findings.extend(probe(&subject, Some(&other), &options).map_err(at(&state.label))?);
        }
        found.push(findings);
    }
    let results = Results::new(found);
    let text = text(&states, &results.of_state, &args.target);
    results.publish("probe", &args.states, &states, &text, &[])?;
    Ok(Verdict::Fine)
}

fn text(states: &States, found: &[Vec<Finding>], target: &str) -> String {
    let heading = format!("Held-out R^2 of `{target}`: ridge, 5 x 5 nested folds by trajectory.");
    let mut out = wrapped(&heading, 0);
    let mut reasons = String::new();
    for (quantity, inputs) in
        [("probe.r2", "on its own inputs"), ("probe.r2_common", "on the reference's inputs")]
    {
        let Some(first) = found.first() else { break };
        let taps = Look(first).parts(quantity, "");
        if taps.is_empty() {
            continue;
        }
        let head = [inputs, "cut"].into_iter().chain(taps.iter().copied());
        let mut table = Table::new(head);
        for (state, findings) in states.all.iter().zip(found) {
            let look = Look(findings);
            let label = [state.label.clone(), state.header.config.cut.to_string()];
            let cells = taps.iter().map(|tap| look.cell(quantity, "", tap));
            table.row(label.into_iter().chain(cells));
            let missing = look.reasons(&[quantity]);
            reasons += &missing.replace("  -:", &format!("  {}:", state.label));
        }
        out.push('\n');
        out += &table.text();
    }
    out + &reasons
}
