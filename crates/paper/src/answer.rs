//! One published number with ours of every programme, and what all of them come to.

use std::collections::BTreeSet;

use backcut_report::Results;

use crate::Reproduction;
use crate::agreement::{Agreement, Group, agreement};
use crate::compare::{Ours, ours};
use crate::entry::{Entry, Subject};
use crate::published::Basis;

/// The folder below a folder of results that holds the second programme's.
pub const SECOND: &str = "second";

/// The order of the programmes, as columns name them.
pub const PROGRAMMES: [&str; 2] = ["first programme", "second programme"];

/// Ours with how it stands to the paper's, or why there is none.
pub type Found = Result<(Ours, Agreement), String>;

/// One published number with ours of every programme.
#[derive(Debug)]
pub struct Answer<'p> {
    /// The number.
    pub entry: &'p Entry,
    /// Whether it is a claim, not a table's row.
    pub is_claim: bool,
    /// In the order of the programmes.
    pub found: Vec<Found>,
}

impl Answer<'_> {
    /// What the last programme that has it comes to; none if none has it. The first programme departed from published
    /// settings, and its values stand beside.
    pub fn group(&self) -> Option<Group> {
        self.found.iter().flatten().last().map(|(_, agreement)| agreement.group())
    }

    /// Why no programme has it.
    pub fn absent(&self) -> Option<&str> {
        let has_one = self.found.iter().any(Result::is_ok);
        self.found.first().filter(|_| !has_one)?.as_ref().err().map(String::as_str)
    }
}

impl Reproduction {
    /// The programmes whose tables are here, in order.
    pub fn programmes(&self) -> impl Iterator<Item = &Results> {
        std::iter::once(&self.results).chain(&self.second)
    }

    /// How a programme's column is called.
    pub fn column(&self, programme: usize) -> &'static str {
        if self.second.is_none() { "ours" } else { PROGRAMMES[programme.min(1)] }
    }

    /// Ours of every programme for a published number; the vessel has one programme.
    pub fn answer<'p>(&self, entry: &'p Entry) -> Answer<'p> {
        let find = |results: &Results| {
            let ours = ours(results, entry)?;
            let agreement = agreement(results, entry, &ours);
            Ok((ours, agreement))
        };
        let count = if entry.system == Subject::Vessel { 1 } else { 2 };
        let found = self.programmes().take(count).map(find).collect();
        Answer { entry, is_claim: false, found }
    }

    /// Every published number once: claims, and rows that no claim is about.
    pub fn answers(&self, subject: Subject) -> Vec<Answer<'_>> {
        let claimed: BTreeSet<&str> =
            self.paper.claims.iter().filter_map(|claim| claim.cell.as_deref()).collect();
        let rows = self.paper.tables.iter().flat_map(|table| {
            let key = |row: &Entry| format!("{}/{}/{}", table.name, row.id, row.condition);
            table.rows.iter().map(move |row| (key(row), row))
        });
        let rows = rows.filter(|(key, _)| !claimed.contains(key.as_str())).map(|(_, row)| row);
        let claims = self.paper.claims.iter().map(|claim| (true, claim));
        let all = claims.chain(rows.map(|row| (false, row)));
        all.filter(|(_, entry)| entry.system == subject)
            .map(|(is_claim, entry)| Answer { is_claim, ..self.answer(entry) })
            .collect()
    }
}

/// The numbers that a programme has.
fn found<'a>(answers: &'a [Answer<'a>], programme: usize) -> Vec<(&'a Entry, &'a Agreement)> {
    let here = answers.iter().filter_map(|answer| {
        let (_, agreement) = answer.found.get(programme)?.as_ref().ok()?;
        Some((answer.entry, agreement))
    });
    here.collect()
}

/// What the numbers of one programme come to.
pub fn tally(answers: &[Answer<'_>], programme: usize, what: &str) -> String {
    let here = found(answers, programme);
    let of = |group: Group| here.iter().filter(|(_, a)| a.group() == group).count();
    let [otherwise, apart, alike, open] = Group::ALL.map(of);
    let share = |answer: fn(&Agreement) -> Option<bool>| {
        let given: Vec<bool> = here.iter().filter_map(|(_, a)| answer(a)).collect();
        (given.iter().filter(|yes| **yes).count(), given.len())
    };
    let (signs, signed) = share(Agreement::same_resolved_direction);
    let (decided, decisions) = share(|a| a.same_decision);
    let names: Vec<&str> = here
        .iter()
        .filter(|(_, a)| a.same_decision == Some(false))
        .map(|(entry, _)| entry.id.as_str())
        .collect();
    let named =
        if names.is_empty() { String::new() } else { format!(" (not {})", names.join("; ")) };
    format!(
        "{} of {} published numbers about {what} have one here: {otherwise} answer the paper's question otherwise, {apart} \
         are apart from the paper's, {alike} are not told apart, {open} have nothing to tell by. Of {decisions} \
         decisions {decided} are the paper's{named}; of {signed} signs that could differ and are resolved on both sides, \
         {signs} are the paper's.",
        here.len(),
        answers.len(),
    )
}

/// The same, and what the intervals of the differences rest on.
pub fn whole_tally(answers: &[Answer<'_>], programme: usize, what: &str) -> String {
    let (here, mut text) = (found(answers, programme), tally(answers, programme, what));
    let based = |basis: Basis| {
        here.iter().filter(|(_, a)| a.difference.is_some_and(|d| d.basis == Some(basis))).count()
    };
    let bases = [Basis::PerSource, Basis::Printed, Basis::Counted, Basis::AsOurs].map(based);
    if bases.iter().sum::<usize>() > 0 {
        let [values, printed, counted, as_ours] = bases;
        text += &format!(
            " The paper's side of a difference's interval comes {values} times from its values per source, {printed} times \
             from an interval that it prints, {counted} times from a count, spread or correlation of a known number of \
             sources, and {as_ours} times is as wide as ours, since it prints none."
        );
    }
    text
}
