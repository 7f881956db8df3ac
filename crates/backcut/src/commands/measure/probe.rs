//! `backcut measure probe`: ridge probes of what each layer stores.

use std::path::PathBuf;

use anyhow::Result;
use backcut_lab::measure::probe::{ProbeOptions, probe};
use backcut_lab::measure::{Finding, Subject};
use backcut_study::Tools;

use super::output::Results;
use super::states::{StateArgs, States, reference};
use super::table::{Look, Table, wrapped};
use crate::exit::{Told as _, Verdict, user};

/// Options of `backcut measure probe`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub states: StateArgs,
    /// Probe on common inputs too: the observations of this checkpoint, fed to every policy
    #[arg(long, value_name = "FILE")]
    reference: Option<PathBuf>,
    /// The tap that holds the true quantity [default: what the system's policy must infer]
    #[arg(long, value_name = "TAP")]
    target: Option<String>,
    /// The tap of the observation
    #[arg(long, value_name = "TAP", default_value = "token")]
    token: String,
    /// Taps and registers whose name ends so are what a layer stored
    #[arg(long, value_name = "ENDING")]
    stored: Option<String>,
}

/// Runs the command.
pub fn run(args: &Args, tools: Tools) -> Result<Verdict> {
    let states = args.states.restore(tools)?;
    let reference = reference(args.reference.as_ref(), tools)?;
    let reference = reference.as_ref().map(Subject::of);
    let target = match (&args.target, states.all.first().and_then(|s| s.restored.built.latent)) {
        (Some(target), _) => target.clone(),
        (None, Some(latent)) => latent.tap.to_owned(),
        (None, None) => return Err(user("nothing to probe for", "name a tap with --target")),
    };
    let stored = args.stored.clone().unwrap_or_else(|| ProbeOptions::default().stored);
    let options = ProbeOptions { target: target.clone(), token: args.token.clone(), stored };
    for system in states.systems().iter().filter(|_| args.stored.is_some()) {
        options.check(system.system().program()).told()?;
    }
    let results = Results::new(states.each(|subject, state| {
        let mut findings = probe(subject, None, &options).told_at(&state.label)?;
        if let Some(reference) = &reference {
            findings.extend(probe(subject, Some(reference), &options).told_at(&state.label)?);
        }
        Ok(findings)
    })?);
    let text = text(&states, &results.of_state, &target);
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
            let label = [state.label.clone(), state.restored.header.config.cut.to_string()];
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
