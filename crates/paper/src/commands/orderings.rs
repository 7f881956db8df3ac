//! `backcut measure orderings`: do local scores, or a fixed order, say which graph persistent
//! training prefers?

use std::fmt::Write as _;

use crate::orderings::{Compared, advantage, agreement, agreement_of_both, fixed_orderings};
use anyhow::Result;
use backcut::command::{Told as _, Tools, Verdict, print};
use backcut::say::note;
use backcut_evidence::tables::rows::AgreementRow;
use backcut_evidence::tables::{Plain, to_csv};
use backcut_lab::measure::MeasureError;
use backcut_stats::agreement::Agreement;

use super::orderings_cases::{Args, Case, cases};
use super::save;

/// Runs the command.
pub fn run(args: &Args, _: Tools) -> Result<Verdict> {
    let (cases, beside) = cases(args)?;
    let lines = lines(&args.arms, &cases)?;
    if let Some(folder) = &args.out {
        let rows: Vec<AgreementRow> = lines.iter().filter_map(Line::row).collect();
        let path = save(folder, "orderings.csv", &to_csv(&rows)?)?;
        note!("wrote {}", path.display());
    }
    print(table(&args.arms, &cases, &beside, &lines))
}

/// A number with its interval; pairs and ties where it is a share of pairs.
type Found = (f64, [f64; 2], Option<[u64; 2]>);

/// A share or a difference of shares, with how it is called in a table and in words.
struct Line {
    quantity: &'static str,
    ordering: String,
    words: String,
    /// What was found, or why nothing.
    found: Result<Found, String>,
}

impl Line {
    fn share(
        quantity: &'static str,
        ordering: impl Into<String>,
        words: impl Into<String>,
        found: Result<Agreement, MeasureError>,
    ) -> Self {
        let share = |a: Agreement| (a.share, a.interval, Some([a.pairs as u64, a.ties as u64]));
        let found = found.map(share).map_err(|error| error.to_string());
        Self { quantity, ordering: ordering.into(), words: words.into(), found }
    }

    fn row(&self) -> Option<AgreementRow> {
        let (value, [lower, upper], counts) = *self.found.as_ref().ok()?;
        let [value, lower, upper] = [value, lower, upper].map(Plain);
        let (quantity, ordering) = (self.quantity.to_owned(), self.ordering.clone());
        let [pairs, ties] = [0, 1].map(|i| counts.map(|counts| counts[i]));
        Some(AgreementRow { quantity, ordering, value, lower, upper, pairs, ties })
    }
}

/// Some order of every case beside its labels.
fn beside<'a>(cases: &'a [Case], order: impl Fn(usize, &'a Case) -> &'a [f64]) -> Vec<Compared> {
    let compared = cases.iter().enumerate().map(|(i, case)| Compared {
        source: case.source.clone(),
        left: order(i, case).to_vec(),
        right: case.labels.clone(),
    });
    compared.collect()
}

fn lines(arms: &[String], cases: &[Case]) -> Result<Vec<Line>> {
    let all = fixed_orderings(arms.len());
    let fixed = format!("fixed: {}", arms.join(", "));
    let orders = [
        ("S_G", "S_G, by raw gradients", beside(cases, |_, case| &case.scores[0])),
        ("S_U", "S_U, by applied updates", beside(cases, |_, case| &case.scores[1])),
        (fixed.as_str(), fixed.as_str(), beside(cases, |_, _| &all[0])),
    ];
    let mut lines = Vec::new();
    for (name, words, compared) in &orders {
        // Without an interval for the scores there is nothing to say.
        let found = agreement(compared).told()?;
        lines.push(Line::share("agreement", *name, *words, Ok(found)));
    }
    let mut best: Option<(Agreement, &Vec<f64>)> = None;
    for order in &all {
        let found = agreement(&beside(cases, |_, _| order)).told()?;
        if best.as_ref().is_none_or(|(best, _)| found.share > best.share) {
            best = Some((found, order));
        }
    }
    if let Some((found, ranks)) = best {
        let mut names: Vec<(f64, &String)> = ranks.iter().copied().zip(arms).collect();
        names.sort_by(|a, b| a.0.total_cmp(&b.0));
        let names: Vec<&str> = names.iter().map(|(_, name)| name.as_str()).collect();
        let words = format!("best fixed, chosen here: {}", names.join(", "));
        lines.push(Line::share("agreement", "best fixed", words, Ok(found)));
    }
    let next: Vec<Vec<f64>> =
        (0..cases.len()).map(|i| cases[(i + 1) % cases.len()].labels.clone()).collect();
    let labels = "labels of the next source";
    let repeated = agreement(&beside(cases, |i, _| &next[i]));
    lines.push(Line::share("agreement", labels, format!("the {labels}"), repeated));
    for (name, _, compared) in &orders {
        let of_next = compared.iter().zip(&next);
        let again: Vec<Compared> =
            of_next.map(|(c, next)| Compared { right: next.clone(), ..c.clone() }).collect();
        let words = format!("{name}, with the next source's labels");
        lines.push(Line::share("agreement again", *name, words, agreement(&again)));
    }
    for (name, _, compared) in &orders {
        let words = format!("{name}, where both labels agree");
        let found = agreement_of_both(compared, &next);
        lines.push(Line::share("agreement of both", *name, words, found));
    }
    for (a, b) in [(1, 0), (1, 2), (0, 2)] {
        let ordering = format!("{} - {}", orders[a].0, orders[b].0);
        let found = advantage(&orders[a].2, &orders[b].2);
        let found = found.map(|a| (a.difference, a.interval, None)).map_err(|e| e.to_string());
        lines.push(Line { quantity: "advantage", words: ordering.clone(), ordering, found });
    }
    Ok(lines)
}

fn table(arms: &[String], cases: &[Case], beside: &[String], lines: &[Line]) -> String {
    let pairs = arms.len() * arms.len().saturating_sub(1) / 2;
    let mut out = format!("{} sources, {pairs} pairs of graphs each\n", cases.len());
    if !beside.is_empty() {
        let _ = writeln!(out, "labels of arms that are not here: {}", beside.join(", "));
    }
    let mut last = "";
    for line in lines {
        if line.quantity == "advantage" && last != line.quantity {
            let _ = writeln!(out, "\n  {:<44} points", "advantage");
        } else if last.is_empty() {
            let _ = writeln!(out, "\n  {:<44} agreement", "order");
        }
        last = line.quantity;
        let words = &line.words;
        let _ = match &line.found {
            Ok((value, ends, counts)) => {
                let [low, high] = ends.map(|end| 100.0 * end);
                let percent = if counts.is_some() { "%" } else { "" };
                writeln!(out, "  {words:<44} {:>5.1}{percent} [{low:.1}, {high:.1}]", 100.0 * value)
            }
            Err(why) => writeln!(out, "  {words:<44} none: {why}"),
        };
    }
    out
}
