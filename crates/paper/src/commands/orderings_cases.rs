//! The cases of `backcut measure orderings`: labels and scores by source, from the tables of one or
//! two studies.

use std::path::{Path, PathBuf};

use anyhow::Result;
use backcut::command::user;
use backcut_evidence::tables::rows::{Observation, UnitRow};
use backcut_evidence::tables::{UnitState, Work, folder, names};

/// Options of `backcut measure orderings`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A case is one source: its graphs ordered by the error after training, by the scores at the state they
started from, and by fixed orders. Agreement is the share of pairs of graphs that two orders order
alike, exact ties one half; intervals resample whole sources. Arms that the study does not have are
looked for in the tables, beside these, of the study that its anchor was trained for.")]
pub struct Args {
    /// Tables of a study that measured `scores`, as `backcut study collect` writes them
    pub(super) tables: PathBuf,
    /// The graphs' arms, in the order of the first fixed ordering
    #[arg(long, value_delimiter = ',', value_name = "ARM,ARM,...", default_value = "FF,FD,KF,KD")]
    pub(super) arms: Vec<String>,
    /// The arm at whose states the scores were measured
    #[arg(long, value_name = "ARM", default_value = "FF")]
    pub(super) anchor: String,
    /// The update whose errors are the labels [default: each arm's last]
    #[arg(long, value_name = "UPDATE")]
    pub(super) at: Option<u64>,
    /// Write `orderings.csv` into this folder too
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
}

/// A source: what happened to its graphs, and what the scores said.
pub struct Case {
    /// The source.
    pub source: String,
    /// The errors after training.
    pub labels: Vec<f64>,
    /// By raw gradients, and by applied updates.
    pub scores: [Vec<f64>; 2],
}

/// By raw gradients, and by applied updates.
const SCORES: [&str; 2] = ["S_G", "S_U"];

/// Every source that has scores, and the studies beside this one whose tables some labels come
/// from.
pub fn cases(args: &Args) -> Result<(Vec<Case>, Vec<String>)> {
    let mut labels = Labels::open(args)?;
    let findings = labels.observations.clone();
    let mut sources: Vec<&str> = Vec::new();
    for row in findings.iter().filter(|row| row.quantity == SCORES[0] && row.arm == args.anchor) {
        if !sources.contains(&row.source.as_str()) {
            sources.push(&row.source);
        }
    }
    if sources.is_empty() {
        let what = format!("no scores at states of the arm `{}`", args.anchor);
        return Err(user(what, "measure `kind = \"scores\"` there, or name another --anchor"));
    }
    let score = |source: &str, quantity: &str, cut: &String| -> Result<f64> {
        let is_it = |row: &&Observation| {
            let is_cut = row.of.as_deref().unwrap_or_default() == cut;
            row.source == source && row.arm == args.anchor && row.quantity == quantity && is_cut
        };
        findings.iter().find(is_it).and_then(|row| row.value).ok_or_else(|| {
            let what = format!("source {source} has no {quantity} of {cut}");
            user(what, "arms are called like their cuts: name them in the measurement's cuts")
        })
    };
    let mut cases = Vec::new();
    for source in sources {
        let of_source =
            args.arms.iter().map(|arm| labels.of(source, arm)).collect::<Result<_>>()?;
        let [by_gradient, by_update]: [Result<Vec<f64>>; 2] =
            SCORES.map(|name| args.arms.iter().map(|arm| score(source, name, arm)).collect());
        let scores = [by_gradient?, by_update?];
        cases.push(Case { source: source.to_owned(), labels: of_source, scores });
    }
    let from = labels.beside.into_iter().filter(|study| study.is_used).map(|study| study.name);
    Ok((cases, from.collect()))
}

/// The tables of a study whose arms are used here.
struct Beside {
    name: String,
    observations: Vec<Observation>,
    units: Vec<UnitRow>,
    is_used: bool,
}

/// Errors after training: from the tables themselves, or from those of the study that the anchor
/// was trained for.
struct Labels<'a> {
    args: &'a Args,
    observations: Vec<Observation>,
    units: Vec<UnitRow>,
    beside: Vec<Beside>,
}

impl<'a> Labels<'a> {
    fn open(args: &'a Args) -> Result<Self> {
        let (observations, units) = tables(&args.tables)?;
        Ok(Self { args, observations, units, beside: Vec::new() })
    }

    /// The error of an arm.
    fn of(&mut self, source: &str, arm: &str) -> Result<f64> {
        let own = self
            .observations
            .iter()
            .any(|row| row.is_error() && row.source == source && row.arm == arm);
        let anchor = unit(&self.units, source, &self.args.anchor);
        // An arm that the study does not have: the study that its anchor was trained for may have
        // it.
        let origin = anchor.map(|unit| unit.origin.clone()).filter(|name| !name.is_empty() && !own);
        let Some((name, anchor)) = origin.zip(anchor.cloned()) else {
            return label(&self.observations, source, arm, self.args.at);
        };
        let known = self.beside.iter().position(|study| study.name == name);
        let place = known.unwrap_or(self.beside.len());
        if known.is_none() {
            self.beside.push(self.opened(&name, arm)?);
        }
        let study = &mut self.beside[place];
        study.is_used = true;
        // Scores and labels belong together only if both studies mean the same trained states.
        if unit(&study.units, source, &self.args.anchor).map(|unit| &unit.unit)
            != Some(&anchor.unit)
        {
            let what = format!(
                "source {source}: `{}` was not trained as in the tables of {name}",
                self.args.anchor
            );
            let hint = format!("collect {name} again, or give the tables that belong together");
            return Err(user(what, hint));
        }
        label(&study.observations, source, arm, self.args.at)
    }

    fn opened(&self, name: &str, arm: &str) -> Result<Beside> {
        let folder = self.args.tables.canonicalize().unwrap_or_else(|_| self.args.tables.clone());
        let folder: PathBuf = folder.parent().unwrap_or(&folder).join(name);
        if !folder.is_dir() {
            let what = format!(
                "no arm `{arm}` in {}, and no tables of {name}, which it uses, at {}",
                self.args.tables.display(),
                folder.display()
            );
            return Err(user(what, format!("collect {name} into the same folder")));
        }
        let (observations, units) = tables(&folder)?;
        Ok(Beside { name: name.to_owned(), observations, units, is_used: false })
    }
}

/// The unit that trained an arm for a source.
fn unit<'u>(units: &'u [UnitRow], source: &str, arm: &str) -> Option<&'u UnitRow> {
    let is_it =
        |unit: &&UnitRow| unit.what == Work::Train && unit.source == source && unit.arm == arm;
    units.iter().find(is_it)
}

fn label(observations: &[Observation], source: &str, arm: &str, at: Option<u64>) -> Result<f64> {
    let is_meant = |row: &&Observation| row.is_error() && row.source == source && row.arm == arm;
    let of_arm = observations.iter().filter(is_meant);
    let mut of_arm = of_arm.filter(|row| row.state == UnitState::Done);
    let found = match at {
        Some(at) => of_arm.find(|row| row.update == at),
        None => of_arm.max_by_key(|row| row.update),
    };
    found.and_then(|row| row.value).ok_or_else(|| {
        let what = format!("arm `{arm}` of source {source} has no error there");
        user(what, "choose another --at or --arms, or finish the study")
    })
}

/// What was observed, and the units.
fn tables(path: &Path) -> Result<(Vec<Observation>, Vec<UnitRow>)> {
    let hint = "give the folder that `backcut study collect` wrote for a study with scores";
    let told = |error: folder::FolderError| user(format!("failed to {error}"), hint);
    let numbers = folder::observations(path).map_err(told)?;
    let units = folder::rows(path, names::UNITS).map_err(told)?;
    numbers.zip(units).ok_or_else(|| user(format!("no tables in {}", path.display()), hint))
}
