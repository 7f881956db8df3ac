//! How the rule of [`crate::status`] is applied to a study's entries: which of them can grant a
//! contrast, and, if none can, what stands in the way.

use std::fmt;

use crate::entry::{Contrast, Entry, Frozen, Reused};
use crate::hash::Hash;
use crate::ledger::Ledger;
use crate::status::{Granted, Status, Used};

/// Where a frozen plan stands.
#[derive(Clone, Copy)]
pub(crate) enum Place<'a> {
    Entry(&'a Entry),
    Proposed,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entry(entry) => write!(f, "entry {}", entry.index),
            Self::Proposed => f.write_str("this entry"),
        }
    }
}

pub(crate) type History<'a> = [(Place<'a>, &'a Frozen)];

/// The rule. `ran` adds what only results can tell.
pub(crate) fn decide<'a>(
    history: &History<'a>,
    contrast: &Contrast,
    units: &[Hash],
    ran: impl Fn(Place<'a>, &Frozen) -> Result<(), String>,
) -> Granted {
    let Some(first) = standing_since(history, contrast) else {
        return Granted::plain(Status::PostHoc, absence(history, contrast));
    };
    let place_hash = |place: Place| match place {
        Place::Entry(entry) => Some(entry.hash),
        Place::Proposed => None,
    };
    if contrast.direction.is_none() {
        let (place, _) = history[first];
        let why = format!("declared in {place}, predicts nothing");
        return Granted { entry: place_hash(place), ..Granted::plain(Status::Descriptive, why) };
    }
    let mut refusals = Vec::new();
    for i in first..history.len() {
        let (place, frozen) = history[i];
        let verdict = lists(&history[..i], frozen, units)
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
    if refusals.len() > 2 {
        refusals.drain(1..refusals.len() - 1);
    }
    Granted::plain(Status::PostHoc, refusals.join("; "))
}

/// The first entry of the unbroken run, up to the latest, that has the contrast in this wording; none
/// if the latest does not.
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

/// What an entry's lists allow for these units.
fn lists(earlier: &History, frozen: &Frozen, units: &[Hash]) -> Result<Granted, String> {
    if units.is_empty() {
        return Err("it uses no results".into());
    }
    let has = |list: &[Hash], unit: &Hash| list.binary_search(unit).is_ok();
    let was_own = |unit: &Hash| earlier.iter().any(|(_, frozen)| has(&frozen.new, unit));
    let is_reused = |unit: &Hash| listed(frozen, *unit).is_some();
    let (mut unlisted, mut known, mut reused) = (Vec::new(), Vec::new(), 0);
    for unit in units {
        let new = has(&frozen.new, unit);
        if !new && !is_reused(unit) {
            unlisted.push(*unit);
        } else if new && has(&frozen.existing, unit) || !new && was_own(unit) {
            known.push(*unit);
        } else if !new {
            reused += 1;
        }
    }
    let count = units.len();
    if let Some(list) = counted(&unlisted, count) {
        return Err(format!("{list} not listed there"));
    }
    if let Some(list) = counted(&known, count) {
        return Err(format!("{list} known by then"));
    }
    if reused == count {
        return Err(format!("all of its {count} results are reused: they were known by then"));
    }
    let new = plural(count - reused, "new result");
    let (status, why) = if reused > 0 {
        let older = plural(reused, "reused result");
        (Status::Prespecified, format!("before its {new} ran; {older} may be older"))
    } else if frozen.existing.is_empty() {
        (Status::Confirmatory, format!("before its {new} and any other on its sources ran"))
    } else {
        let existing = plural(frozen.existing.len(), "other result");
        let why = format!("before its {new} ran; {existing} on the study's sources existed");
        (Status::Prespecified, why)
    };
    Ok(Granted { reused, ..Granted::plain(status, why) })
}

fn listed(frozen: &Frozen, unit: Hash) -> Option<&Reused> {
    let place = frozen.reused.binary_search_by_key(&unit, |reused| reused.unit).ok()?;
    frozen.reused.get(place)
}

/// What only the results can tell: what they hold and under which head they ran.
pub(crate) fn check_results(
    ledger: &Ledger,
    place: Place,
    frozen: &Frozen,
    used: &[Used],
) -> Result<(), String> {
    check_contents(frozen, used)?;
    match place {
        Place::Entry(entry) => check_heads(ledger, entry, frozen, used),
        Place::Proposed => Ok(()),
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
    let own = || used.iter().filter(|used| frozen.new.binary_search(&used.unit).is_ok());
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
