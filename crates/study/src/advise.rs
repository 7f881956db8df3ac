//! A finished study in plain sentences: what memory is worth here, what a cut costs, how short a
//! segment may be, and what was not tested.
//!
//! **It never says more than the intervals do.** Every sentence about a difference carries its
//! interval; what an interval does not exclude is not denied; a segment is called short enough only
//! if noninferiority is shown at the stated margin. All comparisons of a condition share one level.

use std::fmt;

use backcut_engine::{Cut, MemoryCredit};
use backcut_stats::{Bound, Contrast, FamilyParams, FamilyRow, SourceTable, Verdict};
use backcut_systems::Stream;
use backcut_text::counted;
use serde_json::Value;

use crate::results::Results;
use crate::study::Arm;

/// What the advice compares with, and says so.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Advice {
    /// A cut within this share of FF's error is called close enough.
    pub margin: f64,
    /// The level that the comparisons of a condition share.
    pub level: f64,
}

impl Default for Advice {
    fn default() -> Self {
        Self { margin: 0.05, level: 0.05 }
    }
}

/// A sentence with what it rests on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sentence {
    /// The condition it is about; none for the study as a whole.
    pub condition: Option<String>,
    /// The sentence.
    pub text: String,
    /// What it rests on.
    pub evidence: String,
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        if self.evidence.is_empty() { Ok(()) } else { write!(f, " ({})", self.evidence) }
    }
}

/// Arms that differ in what they remember or pass back, and in nothing else.
struct Group<'a> {
    /// Index of their grid.
    grid: usize,
    /// What they share, in words.
    start: String,
    full: &'a Arm,
    others: Vec<&'a Arm>,
}

impl Advice {
    /// The sentences of a study.
    pub fn on(self, results: &Results) -> Vec<Sentence> {
        let mut sentences = Vec::new();
        let groups = groups(&results.study.arms);
        if groups.is_empty() {
            sentences.push(plain(
                "No arm under FF stands beside another one that differs only in \
                                  its cut or window: nothing can be compared.",
            ));
        }
        for group in &groups {
            for &condition in &group.full.conditions {
                let label = &results.study.grids[group.grid].conditions[condition].0;
                let name = if groups.len() > 1 {
                    format!("{label}, {}", group.start)
                } else {
                    label.clone()
                };
                let (shared, said) = self.condition(results, group, condition);
                let heading = format!("{name}{shared}");
                for (text, evidence) in said {
                    sentences.push(Sentence { condition: Some(heading.clone()), text, evidence });
                }
            }
        }
        sentences.extend(left_out(&results.study.arms, &groups));
        sentences.extend(untested(&groups));
        sentences
    }

    /// What all comparisons of a condition share, and what they say.
    fn condition(
        self,
        results: &Results,
        group: &Group,
        condition: usize,
    ) -> (String, Vec<(String, String)>) {
        let label = &results.study.grids[group.grid].conditions[condition].0;
        let others: Vec<&&Arm> =
            group.others.iter().filter(|arm| arm.conditions.contains(&condition)).collect();
        let full = &group.full.name;
        let contrast = |arm: &Arm| {
            let (x, f) = (format!("[{}@{label}]", arm.name), format!("[{full}@{label}]"));
            Contrast::parse(&format!("{} = ({x} - {f}) / {f}", arm.name))
        };
        let contrasts: Vec<Contrast> = others.iter().filter_map(|arm| contrast(arm).ok()).collect();
        let table = match table(results, group, &others, condition) {
            Ok(table) => table,
            Err(what) => return nothing(&what),
        };
        let size = contrasts.len();
        let judge = |margin: Option<f64>, bound: Bound, contrasts: Vec<Contrast>, size: usize| {
            let params = FamilyParams {
                size: Some(size),
                alpha: self.level,
                margin,
                bound,
                ..FamilyParams::new(contrasts)
            };
            let report = params.check().and_then(|family| family.run(&table));
            report.map(|report| report.rows).map_err(|error| error.to_string())
        };
        let rows = match judge(None, Bound::TwoSided, contrasts.clone(), size) {
            Ok(rows) => rows,
            Err(what) => return nothing(&what),
        };
        let since = |arm: &Arm| leaves(arm, group.full, &results.study.arms);
        let mut sentences: Vec<(String, String)> = others
            .iter()
            .zip(&rows)
            .map(|(arm, row)| difference(arm, since(arm), full, row))
            .collect();
        let segments: Vec<(u32, usize)> =
            others.iter().enumerate().filter_map(|(i, arm)| Some((segment(arm)?, i))).collect();
        if !segments.is_empty() {
            let of: Vec<Contrast> = segments.iter().map(|(_, i)| contrasts[*i].clone()).collect();
            if let Ok(rows) = judge(Some(self.margin), Bound::OneSided, of, segments.len()) {
                sentences.push(self.shortest(&segments, &rows, full));
            }
        }
        let sources = rows.first().map_or(0, |row| row.n);
        let (level, comparisons) = (percent(1.0 - self.level), counted(size, "comparison"));
        (format!(" ({sources} sources; {level} shared by {comparisons})"), sentences)
    }

    /// The shortest segment that noninferiority is shown for.
    fn shortest(
        self,
        segments: &[(u32, usize)],
        rows: &[FamilyRow],
        full: &str,
    ) -> (String, String) {
        let is_shown = |row: &FamilyRow| {
            matches!(row.verdict, Verdict::Noninferior | Verdict::NoninferiorNotByExact)
        };
        let mut judged: Vec<(u32, &FamilyRow)> =
            segments.iter().map(|(length, _)| *length).zip(rows).collect();
        judged.sort_by_key(|(length, _)| *length);
        let margin = percent(self.margin);
        let tried: Vec<String> = judged.iter().map(|(length, _)| length.to_string()).collect();
        let evidence = |more: String| {
            let level = percent(1.0 - self.level);
            format!("{more}one-sided {level} over {} lengths: {}", judged.len(), tried.join(", "))
        };
        let Some((length, row)) = judged.iter().find(|(_, row)| is_shown(row)) else {
            let text =
                format!("No segment that was tried is shown to be within {margin} of {full}");
            return (text, evidence(String::new()));
        };
        let longer = judged.iter().filter(|(l, row)| l > length && !is_shown(row));
        let longer: Vec<String> = longer.map(|(length, _)| length.to_string()).collect();
        let but = if longer.is_empty() {
            String::new()
        } else {
            format!("not shown for the longer {}; ", longer.join(", "))
        };
        let text = format!("Segments of {length} steps are the shortest within {margin} of {full}");
        (text, evidence(format!("at most {}; {but}", percent(row.family[1]))))
    }
}

fn nothing(why: &str) -> (String, Vec<(String, String)>) {
    (String::new(), vec![(format!("Nothing is said: {why}."), String::new())])
}

/// What one arm's difference from FF says.
fn difference(arm: &Arm, since: Option<u64>, full: &str, row: &FamilyRow) -> (String, String) {
    let from = since.map_or_else(String::new, |at| format!(" from update {at} on"));
    let what = match (window(arm), arm.cut) {
        (Some(1), cut) if cut == Cut::FF => format!("Having no memory{from} (`{}`)", arm.name),
        (Some(steps), cut) if cut == Cut::FF => {
            format!("Seeing {steps} steps only{from} (`{}`)", arm.name)
        }
        (_, cut) if cut.to_string() == arm.name => format!("Training under {cut}{from}"),
        (_, cut) => format!("Training under {cut}{from} (`{}`)", arm.name),
    };
    let text = match row.verdict {
        Verdict::AboveZero | Verdict::AboveZeroNotByExact => {
            format!("{what} raises the error by {} of {full}'s", percent(row.estimate))
        }
        Verdict::BelowZero | Verdict::BelowZeroNotByExact => {
            format!("{what} lowers the error by {} of {full}'s", percent(-row.estimate))
        }
        _ => format!("{what} was not told apart from {full}"),
    };
    let exact = match row.verdict {
        Verdict::AboveZeroNotByExact | Verdict::BelowZeroNotByExact => {
            "; the exact test does not confirm it"
        }
        _ => "",
    };
    let [low, high] = row.family.map(percent);
    (text, format!("{low} to {high}{exact}"))
}

fn plain(text: &str) -> Sentence {
    Sentence { condition: None, text: text.to_owned(), evidence: String::new() }
}

fn percent(share: f64) -> String {
    let text = format!("{:.1}", 100.0 * share);
    format!("{}%", text.strip_suffix(".0").unwrap_or(&text))
}

/// How many positions an arm sees, if fewer than the policy could.
fn window(arm: &Arm) -> Option<u64> {
    arm.settings.get("window").and_then(Value::as_u64)
}

fn is_memoryless(arm: &Arm) -> bool {
    window(arm) == Some(1)
}

fn segment(arm: &Arm) -> Option<u32> {
    let MemoryCredit::Stored { segment } = arm.cut.memory else { return None };
    let length = segment?.get();
    (Cut::segments(length) == Some(arm.cut)).then_some(length)
}

/// Every arm under FF with its full memory, with the arms that differ from it in cut or window
/// alone, from their start on or from an update on at which they leave it.
fn groups(arms: &[Arm]) -> Vec<Group<'_>> {
    let others_than_window = |arm: &Arm| {
        let mut settings = arm.settings.clone();
        settings.remove("window");
        settings
    };
    let alike = |a: &Arm, b: &Arm| {
        a.grid == b.grid
            && b.program.is_none()
            && (a.from == b.from || leaves(b, a, arms).is_some())
            && a.updates == b.updates
            && a.stream == b.stream
            && a.optimizer == b.optimizer
            && others_than_window(a) == others_than_window(b)
    };
    let is_full = |arm: &&Arm| arm.program.is_none() && arm.cut == Cut::FF && window(arm).is_none();
    let mut groups: Vec<Group> = Vec::new();
    for full in arms.iter().filter(is_full) {
        let others: Vec<&Arm> =
            arms.iter().filter(|arm| arm.name != full.name && alike(full, arm)).collect();
        if !others.is_empty() && groups.iter().all(|group| !alike(group.full, full)) {
            let start = match full.from {
                Some((parent, at)) => format!("from {} at {at}", arms[parent].name),
                None => "from initialization".to_owned(),
            };
            let start = match full.stream {
                Stream::A => start,
                Stream::B => format!("{start}, stream b"),
            };
            groups.push(Group { grid: full.grid, start, full, others });
        }
    }
    groups
}

/// The update at which an arm leaves another one.
fn leaves(arm: &Arm, other: &Arm, arms: &[Arm]) -> Option<u64> {
    arm.from.filter(|(parent, _)| arms[*parent].name == other.name).map(|(_, at)| at)
}

/// Arms of a study that no group compares.
fn left_out(arms: &[Arm], groups: &[Group]) -> Option<Sentence> {
    let is_compared = |arm: &Arm| {
        let is_it = |other: &Arm| other.name == arm.name;
        groups.iter().any(|group| is_it(group.full) || group.others.iter().any(|o| is_it(o)))
    };
    let names: Vec<String> =
        arms.iter().filter(|arm| !is_compared(arm)).map(|arm| format!("`{}`", arm.name)).collect();
    let text = format!(
        "Not compared, since nothing under FF differs from it in cut or window alone: {}.",
        names.join(", ")
    );
    (!names.is_empty() && !groups.is_empty()).then(|| plain(&text))
}

/// The errors of a group's arms under a condition, by source.
fn table(
    results: &Results,
    group: &Group,
    others: &[&&Arm],
    condition: usize,
) -> Result<SourceTable, String> {
    let wanted = |name: &str| name == group.full.name || others.iter().any(|arm| arm.name == name);
    let mut values = Vec::new();
    for place in results.plan.places.iter().filter(|place| place.measured.is_none()) {
        let arm = &results.study.arms[place.arm as usize];
        if arm.grid != group.grid || place.condition as usize != condition || !wanted(&arm.name) {
            continue;
        }
        let (cell, source) = results.study.cell(place);
        let error = results.error(place, None);
        let error = error.ok_or_else(|| format!("{cell} of source {source} has no result"))?;
        values.push((source.to_string(), cell.to_string(), error));
    }
    let values = values.iter().map(|(source, cell, error)| (source.as_str(), cell, *error));
    SourceTable::from_values(values).map_err(|error| error.to_string())
}

/// What a reader might take for granted and this study cannot tell.
fn untested(groups: &[Group]) -> Vec<Sentence> {
    let arms = || groups.iter().flat_map(|group| &group.others);
    let mut missing = Vec::new();
    if !arms().any(|arm| is_memoryless(arm)) {
        missing.push("what memory is worth here (an arm with window = 1)");
    }
    if !arms().any(|arm| arm.cut == Cut::F_SG) {
        missing.push("what a cut at every step costs (F_SG)");
    }
    if !arms().any(|arm| segment(arm).is_some()) {
        missing.push("how short a segment may be (SEG-L)");
    }
    let is_late = |arm: &Arm| arm.from.is_some();
    if !groups
        .iter()
        .any(|group| is_late(group.full) || group.others.iter().any(|arm| is_late(arm)))
    {
        missing.push("cuts after a warm start");
    }
    if groups.iter().all(|group| group.full.from.is_some()) {
        missing.push("cuts from initialization");
    }
    let mut sentences = Vec::new();
    if !missing.is_empty() && !groups.is_empty() {
        sentences.push(plain(&format!("Not tested: {}.", missing.join("; "))));
    }
    sentences.push(plain(
        "This is a description of what ran, not a prediction that came true: other systems, \
         horizons, policies and optimizers were not tried.",
    ));
    sentences
}
