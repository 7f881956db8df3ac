//! How the rule of [`crate::ledger::status`] is applied to a study's entries: which of them can
//! grant a contrast, and, if none can, what stands in the way.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::ledger::Ledger;
use crate::ledger::draw::seeds;
use crate::ledger::entry::{Contrast, Entry, Frozen, Reused};
use crate::ledger::sample::Sample;
use crate::ledger::standing::{Standing, Status};
use backcut_files::Hash;

/// A result that a contrast uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Used {
    /// Its unit.
    pub unit: Hash,
    /// The SHA-256 of what it holds now.
    pub content: Hash,
    /// The ledger's head when it ran; [`Hash::ZERO`] if the ledger was empty.
    pub head: Hash,
}

/// A status with its reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Granted {
    /// The status.
    pub status: Status,
    /// The reason, for the row.
    pub why: String,
    /// The entry that grants it; none for what is post hoc.
    pub entry: Option<Hash>,
    /// How many of its results are reused from other studies, by that entry's list.
    pub reused: usize,
    /// What of it was known, in words.
    pub known: Option<String>,
    /// The entry drew its sources.
    pub by_construction: bool,
}

impl Granted {
    pub(crate) fn plain(status: Status, why: impl Into<String>) -> Self {
        let (why, entry, reused) = (why.into(), None, 0);
        Self { status, why, entry, reused, known: None, by_construction: false }
    }

    /// As it is printed.
    pub fn standing(&self) -> Standing {
        let claims = self.status > Status::Descriptive;
        Standing {
            status: self.status,
            by_construction: self.by_construction && self.status == Status::Confirmatory,
            known: self.known.clone().filter(|_| claims),
        }
    }

    pub(crate) fn lowered(self, status: Status, why: &str) -> Self {
        let why = format!("{why} ({})", self.why);
        Self { status, why, ..self }
    }
}

/// What holds a frozen plan: an entry, or a proposal that is not appended yet.
#[derive(Clone, Copy)]
pub(crate) enum Bearer<'a> {
    Entry(&'a Entry),
    Proposed,
}

impl fmt::Display for Bearer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entry(entry) => write!(f, "entry {}", entry.index),
            Self::Proposed => f.write_str("this entry"),
        }
    }
}

pub(crate) type History<'a> = [(Bearer<'a>, &'a Frozen)];

/// The contrast of that name as an entry means it, with its sample and who shares its level, where
/// the entry does not spell them out: one of version 1, or one whose sources are drawn. Told by
/// whoever understands studies; none if it cannot be told.
pub type Recall<'a> = dyn Fn(&Entry, &Contrast) -> Option<Contrast> + 'a;

/// The rule. `ran` adds what only results can tell.
pub(crate) fn decide<'a>(
    history: &History<'a>,
    contrast: &Contrast,
    recall: &Recall,
    ran: impl Fn(Bearer<'a>, &Frozen) -> Result<(), String>,
) -> Granted {
    let Some(first) = standing_since(history, contrast) else {
        return Granted::plain(Status::PostHoc, absence(history, contrast));
    };
    let place_hash = |place: Bearer| match place {
        Bearer::Entry(entry) => Some(entry.hash),
        Bearer::Proposed => None,
    };
    if contrast.direction.is_none() {
        let (place, _) = history[first];
        let why = format!("declared in {place}, predicts nothing");
        return Granted { entry: place_hash(place), ..Granted::plain(Status::Descriptive, why) };
    }
    let mut refusals = Vec::new();
    for i in first..history.len() {
        let (place, frozen) = history[i];
        let verdict = same_sample(place, frozen, contrast, recall)
            .and_then(|sample| lists(&history[..i], history[i], sample, &contrast.idle))
            .and_then(|granted| ran(place, frozen).map(|()| granted));
        match verdict {
            Ok(granted) => {
                let why = format!("frozen in {place} {}", granted.why);
                return Granted { why, entry: place_hash(place), ..granted };
            }
            Err(why) => refusals.push(format!("frozen in {place}, but {why}")),
        }
    }
    // The first entry says why the contrast does not keep its first standing, the last why the
    // latest amendment does not help; those between add nothing.
    refusals.dedup();
    let why = match &refusals[..] {
        [first, .., last] => format!("{first}; {last}"),
        few => few.concat(),
    };
    Granted::plain(Status::PostHoc, why)
}

/// The sample that the contrast uses, if it is the one that the entry froze.
fn same_sample<'c>(
    place: Bearer,
    frozen: &Frozen,
    contrast: &'c Contrast,
    recall: &Recall,
) -> Result<&'c Sample, String> {
    let here = contrast.sample.as_ref().ok_or("it does not say what it uses")?;
    let spelled = || frozen.contrast(&contrast.name).filter(|c| c.sample.is_some()).cloned();
    let there = match place {
        Bearer::Entry(entry) if frozen.draw.is_some() => recall(entry, contrast),
        Bearer::Entry(entry) => spelled().or_else(|| recall(entry, contrast)),
        Bearer::Proposed => Some(contrast.clone()),
    };
    let there = there.ok_or("its sample there cannot be told")?;
    if there.shared_by != contrast.shared_by {
        let say = |n: Option<u64>| n.map_or_else(|| "no".to_owned(), |n| n.to_string());
        return Err(format!(
            "its level was shared by {} comparisons, and is by {} here",
            say(there.shared_by),
            say(contrast.shared_by)
        ));
    }
    let there = there.sample.ok_or("its sample there cannot be told")?;
    match there.departure(here) {
        Some(departure) => Err(format!("with another sample: {departure}")),
        None => Ok(here),
    }
}

/// The first entry of the unbroken run, up to the latest, that has the contrast in this wording;
/// none if the latest does not.
pub(crate) fn standing_since(history: &History, contrast: &Contrast) -> Option<usize> {
    let stands =
        |frozen: &Frozen| frozen.contrast(&contrast.name).is_some_and(|c| c.same_wording(contrast));
    let first = history.iter().rposition(|(_, frozen)| !stands(frozen)).map_or(0, |last| last + 1);
    (first < history.len()).then_some(first)
}

/// Why the contrast does not stand in the latest entry.
fn absence(history: &History, contrast: &Contrast) -> String {
    let Some((latest, frozen)) = history.last() else {
        return "its study was never frozen".into();
    };
    match frozen.contrast(&contrast.name) {
        None => format!("{latest}, the study's latest, does not have it"),
        Some(other) => format!("{latest} words it differently: {}", difference(other, contrast)),
    }
}

/// What an entry's lists allow for a sample.
fn lists(
    earlier: &History,
    (place, frozen): (Bearer, &Frozen),
    sample: &Sample,
    idle: &[String],
) -> Result<Granted, String> {
    let units = sample.set();
    let count = units.len();
    if units.is_empty() {
        return Err("it uses no results".into());
    }
    let has = |list: &[Hash], unit: &Hash| list.binary_search(unit).is_ok();
    let was_own = |unit: &Hash| earlier.iter().any(|(_, frozen)| has(&frozen.new, unit));
    let is_reused = |unit: &Hash| listed(frozen, *unit).is_some();
    // Which units a drawing entry has is not in it: they follow from its hash.
    let is_new = |unit: &Hash| has(&frozen.new, unit) || frozen.draw.is_some() && !is_reused(unit);
    // Version 1 did not tell what was known from what merely stood on the same sources.
    let is_known = |unit: &Hash| has(&frozen.existing, unit) || has(&frozen.known, unit);
    let is_own = |unit: &Hash| was_own(unit) || frozen.draw.is_some();
    let may_be_taken = |unit: &Hash| has(&frozen.known, unit) && !is_own(unit);
    let (mut unlisted, mut seen) = (Vec::new(), Vec::new());
    let (mut reused, mut taken) = (BTreeSet::new(), BTreeSet::new());
    for unit in &units {
        let new = is_new(unit);
        if !new && !is_reused(unit) {
            unlisted.push(*unit);
        } else if new && is_known(unit) && !may_be_taken(unit) || !new && was_own(unit) {
            seen.push(*unit);
        } else if new && is_known(unit) {
            taken.insert(*unit);
        } else if !new {
            reused.insert(*unit);
        }
    }
    if let Some(list) = counted(&unlisted, count) {
        return Err(format!("{list} not listed there"));
    }
    if let Some(list) = counted(&seen, count) {
        return Err(format!("{list} known by then"));
    }
    let old: BTreeSet<Hash> = reused.union(&taken).copied().collect();
    if old.len() == count {
        let how = if taken.is_empty() { "are reused: they " } else { "" };
        return Err(format!("all of its {count} results {how}were known by then"));
    }
    // Known sources with new ones added to them are a sample that was chosen on what it showed.
    if let Some((cell, known, all)) = known_in_part(sample, &old) {
        return Err(format!("{cell} was known in part by then ({known} of {all} results)"));
    }
    let matters = |cell: &str| idle.iter().all(|name| name != cell);
    if !sample.units().any(|(cell, unit)| matters(cell) && !old.contains(&unit)) {
        let idle = idle.join(", ");
        return Err(format!("what is new in it has no influence ({idle}): the rest was known"));
    }
    let once = sample.one_for_many();
    if sample.units().all(|(cell, _)| !matters(cell) || once.contains(cell)) {
        let cells = once.into_iter().collect::<Vec<_>>().join(", ");
        return Err(format!("one result stands for all sources ({cells}), so they are no sample"));
    }
    let new = plural(count - old.len(), "new result");
    if !old.is_empty() {
        let mut why = format!("before its {new} ran");
        if !reused.is_empty() {
            why += &format!("; {} may be older", plural(reused.len(), "reused result"));
        }
        if !taken.is_empty() {
            why += &format!("; {} known under another name", plural(taken.len(), "result"));
        }
        let cells = sample.units().filter(|(_, unit)| old.contains(unit)).map(|(cell, _)| cell);
        let known = format!("{} known ({} of {count} results)", arms(cells), old.len());
        let granted = Granted::plain(Status::Prespecified, format!("{why}; {RESTS_ON}"));
        return Ok(Granted { reused: reused.len(), known: Some(known), ..granted });
    }
    // Whoever amends knows the sources: what ran on them elsewhere, no draw can tell.
    let is_drawing = frozen.draw.is_some() && earlier.iter().all(|(_, f)| f.draw.is_none());
    if is_drawing && once.is_empty() && is_drawn_by(place, frozen, sample) {
        let why = format!("by construction: its sources were drawn then, so its {new} are younger");
        let granted = Granted::plain(Status::Confirmatory, why);
        return Ok(Granted { by_construction: true, ..granted });
    }
    let not_drawn = match (is_drawing, once.is_empty()) {
        (false, _) => String::new(),
        (true, true) => "; not by construction: others drew its sources".to_owned(),
        (true, false) => {
            let cells = once.into_iter().collect::<Vec<_>>().join(", ");
            format!("; not by construction: one result stands for all sources of {cells}")
        }
    };
    if frozen.existing.is_empty() {
        let why =
            format!("before its {new} and any other on its sources ran; {RESTS_ON}{not_drawn}");
        return Ok(Granted::plain(Status::Confirmatory, why));
    }
    let existing = plural(frozen.existing.len(), "other result");
    let why = format!(
        "before its {new} ran; {existing} on the study's sources existed; {RESTS_ON}{not_drawn}"
    );
    Ok(Granted::plain(Status::Prespecified, why))
}

/// Whether the sources of all places are those that a freeze draws.
fn is_drawn_by(place: Bearer, frozen: &Frozen, sample: &Sample) -> bool {
    let count = frozen.draw.map_or(0, |draw| draw.sources);
    let drawn: BTreeSet<String> = match place {
        Bearer::Entry(entry) => seeds(entry.hash, count).iter().map(u64::to_string).collect(),
        Bearer::Proposed => (1..=count).map(|i| format!("draw {i}")).collect(),
    };
    sample.sources().into_iter().all(|source| drawn.contains(source))
}

/// The first cell of which some results were known and some not, with their numbers.
fn known_in_part<'s>(
    sample: &'s Sample,
    known: &BTreeSet<Hash>,
) -> Option<(&'s str, usize, usize)> {
    let mut cells: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (cell, unit) in sample.units() {
        let (old, all) = cells.entry(cell).or_default();
        *old += usize::from(known.contains(&unit));
        *all += 1;
    }
    let part = cells.into_iter().find(|(_, (old, all))| *old > 0 && old < all);
    part.map(|(cell, (old, all))| (cell, old, all))
}

/// What a status rests on where the sources were not drawn.
const RESTS_ON: &str = "this rests on the heads that its records carry";

/// The arms of cells (`FF` of `FF@0.20`), each once.
fn arms<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let arm = |cell: &'a str| cell.split_once('@').map_or(cell, |(arm, _)| arm);
    let arms: BTreeSet<&str> = cells.map(arm).collect();
    arms.into_iter().collect::<Vec<_>>().join(", ")
}

fn listed(frozen: &Frozen, unit: Hash) -> Option<&Reused> {
    let place = frozen.reused.binary_search_by_key(&unit, |reused| reused.unit).ok()?;
    frozen.reused.get(place)
}

/// What only the results can tell: what they hold and under which head they ran.
pub(crate) fn check_results(
    ledger: &Ledger,
    place: Bearer,
    frozen: &Frozen,
    used: &[Used],
) -> Result<(), String> {
    check_contents(frozen, used)?;
    match place {
        Bearer::Entry(entry) => check_heads(ledger, entry, frozen, used),
        Bearer::Proposed => Ok(()),
    }
}

fn check_contents(frozen: &Frozen, used: &[Used]) -> Result<(), String> {
    let is_changed = |used: &&Used| {
        listed(frozen, used.unit).is_some_and(|reused| reused.content != used.content)
    };
    let changed: Vec<Hash> = used.iter().filter(is_changed).map(|used| used.unit).collect();
    match counted(&changed, used.len()) {
        Some(list) => Err(format!("{list} reused with another content than listed there")),
        None => Ok(()),
    }
}

fn check_heads(
    ledger: &Ledger,
    entry: &Entry,
    frozen: &Frozen,
    used: &[Used],
) -> Result<(), String> {
    let own = || used.iter().filter(|used| listed(frozen, used.unit).is_none());
    let is_known = |used: &&Used| used.head == Hash::ZERO || ledger.contains(used.head);
    let lost: Vec<Hash> = own().filter(|used| !is_known(used)).map(|used| used.unit).collect();
    if let Some(list) = counted(&lost, used.len()) {
        return Err(format!("{list} from a run under a head that this ledger does not have"));
    }
    let is_older = |used: &&Used| !ledger.is_ancestor(entry.hash, used.head);
    let older: Vec<Hash> = own().filter(is_older).map(|used| used.unit).collect();
    match counted(&older, used.len()) {
        Some(list) => Err(format!("{list} from a run under an earlier head")),
        None => Ok(()),
    }
}

/// `3 of 48 results are (first: unit 0123456789ab)`, or nothing for none.
fn counted(units: &[Hash], of: usize) -> Option<String> {
    let first = units.first()?.short();
    let verb = if units.len() == 1 { "is" } else { "are" };
    Some(format!("{} of {} (first: unit {first}) {verb}", units.len(), plural(of, "result")))
}

fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn difference(frozen: &Contrast, here: &Contrast) -> String {
    let none = || "no prediction".to_owned();
    let fields = [
        ("family", frozen.family.clone(), here.family.clone()),
        ("expression", frozen.expression.clone(), here.expression.clone()),
        (
            "direction",
            frozen.direction.clone().unwrap_or_else(none),
            here.direction.clone().unwrap_or_else(none),
        ),
    ];
    let changed = fields.iter().filter(|(_, frozen, here)| frozen != here);
    let changed: Vec<_> =
        changed.map(|(field, frozen, here)| format!("{field} `{frozen}`, here `{here}`")).collect();
    changed.join("; ")
}
