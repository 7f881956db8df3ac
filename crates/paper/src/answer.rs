//! One published number with ours of every programme, and what all of them come to.

use std::collections::BTreeSet;

use backcut_page::report::Results;

use crate::agreement::{Agreement, Group, agreement};
use crate::beside::Reproduction;
use crate::compare::{Ours, ours};
use crate::entry::{Entry, Subject};
use crate::published::Basis;

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

    /// Where it stands in its group: changed decisions above all, then by distance.
    pub fn rank(&self) -> f64 {
        let of = |(_, agreement): &(_, Agreement)| {
            let changed = f64::from(u8::from(agreement.same_decision == Some(false)));
            1e6 * changed + agreement.widths.map_or(0.0, |w| w.abs().min(1e5))
        };
        self.found.iter().flatten().map(of).fold(0.0, f64::max)
    }

    /// Why no programme has it.
    pub fn absent(&self) -> Option<&str> {
        let has_one = self.found.iter().any(Result::is_ok);
        self.found.first().filter(|_| !has_one)?.as_ref().err().map(String::as_str)
    }
}

impl Reproduction {
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
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tally {
    /// Published numbers that have one here, and all of them.
    pub here: [usize; 2],
    /// How many are in each group, in the order of [`Group::ALL`].
    pub groups: [usize; 4],
    /// Decisions that are the paper's, and all that were made on both sides.
    pub decisions: [usize; 2],
    /// Whose decision is not the paper's.
    pub otherwise: Vec<String>,
    /// Signs that are the paper's, and all that could differ and are resolved on both sides.
    pub signs: [usize; 2],
    /// What the paper's side of the differences' intervals rests on: values per source, printed intervals, counts, ours.
    pub bases: [usize; 4],
}

impl Tally {
    /// Counts what one programme has.
    pub fn of(answers: &[Answer<'_>], programme: usize) -> Self {
        let here = found(answers, programme);
        let of = |group: Group| here.iter().filter(|(_, a)| a.group() == group).count();
        let share = |answer: fn(&Agreement) -> Option<bool>| {
            let given: Vec<bool> = here.iter().filter_map(|(_, a)| answer(a)).collect();
            [given.iter().filter(|yes| **yes).count(), given.len()]
        };
        let differs = |(_, a): &&(&Entry, &Agreement)| a.same_decision == Some(false);
        let based = |basis: Basis| {
            let is_it = |a: &Agreement| a.difference.is_some_and(|d| d.basis == Some(basis));
            here.iter().filter(|(_, a)| is_it(a)).count()
        };
        Self {
            here: [here.len(), answers.len()],
            groups: Group::ALL.map(of),
            decisions: share(|a| a.same_decision),
            otherwise: here.iter().filter(differs).map(|(entry, _)| entry.id.clone()).collect(),
            signs: share(Agreement::same_resolved_direction),
            bases: [Basis::PerSource, Basis::Printed, Basis::Counted, Basis::AsOurs].map(based),
        }
    }

    /// Shares that say how close ours is to the paper's, with what they count; [`Tally::words`] has the rest.
    pub fn shares(&self) -> Vec<(String, &'static str)> {
        let all = [
            (self.decisions, "decisions about a claim are the paper's"),
            (self.signs, "effects that both resolve have its sign"),
            ([self.groups[2], self.here[0]], "numbers agree within their intervals"),
        ];
        let some = all.into_iter().filter(|([_, all], _)| *all > 0);
        some.map(|([same, all], what)| (format!("{same} of {all}"), what)).collect()
    }

    /// In words, `what` being what the numbers are about.
    pub fn words(&self, what: &str) -> String {
        let [otherwise, apart, alike, open] = self.groups;
        let [here, all] = self.here;
        let [decided, decisions] = self.decisions;
        let [signs, signed] = self.signs;
        let named = match self.otherwise.join("; ") {
            names if names.is_empty() => names,
            names => format!(" (not {names})"),
        };
        format!(
            "{here} of {all} published numbers about {what} have one here: {alike} not told apart from the paper's, {apart} apart \
             from it, {otherwise} with another answer to its question, {open} with nothing to tell by. Decisions as in the \
             paper: {decided} of {decisions}{named}. Signs as in the paper, where both resolve one that could differ: {signs} \
             of {signed}."
        )
    }

    /// What the intervals of the differences rest on; nothing where there is none.
    pub fn bases_words(&self) -> Option<String> {
        let [values, printed, counted, as_ours] = self.bases;
        (self.bases.iter().sum::<usize>() > 0).then(|| {
            format!(
                "The paper's side of a difference's interval comes from its values per source ({values} times), from an interval \
                 that it prints ({printed}), from a count, spread or correlation of a known number of sources ({counted}), or is \
                 as wide as ours, since it prints none ({as_ours})."
            )
        })
    }

    /// Both.
    pub fn whole(&self, what: &str) -> String {
        let bases = self.bases_words().map_or_else(String::new, |words| format!(" {words}"));
        self.words(what) + &bases
    }
}
