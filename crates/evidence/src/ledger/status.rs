//! What a row may claim, derived from the ledger alone.
//!
//! A contrast is granted by **one entry** of its study, the earliest that can:
//!
//! - it stands in that entry, and in every later entry of the study, with the same wording (family,
//!   expression, direction). An amendment that leaves it alone changes nothing; one that rewords it
//!   or drops it ends what the earlier entries could grant;
//! - it uses **exactly the sample** that the entry froze: the same unit in every place (cell,
//!   point, source), none more and none fewer ([`crate::ledger::Sample`]);
//! - every result in it is listed there, as *new* or as *reused*;
//! - every new one ran under that entry or a later one;
//! - every reused one still has the content that was listed. Such results were known, and so were
//!   those that existed under another name ([`crate::ledger::Frozen::known`]); the status says so
//!   wherever it is printed. Whole cells may be known, never some of a cell's sources, and what is
//!   new must have an influence: a contrast of nothing but known results predicts nothing;
//! - a unit that an earlier entry of the same study lists as new stays the study's own, whatever an
//!   amendment calls it: an amendment cannot take over results that it has seen.
//!
//! Then it is *prespecified*; and *confirmatory* if besides it uses nothing reused and the entry
//! knew of no result on the study's sources. Otherwise it is *post hoc*. A contrast that predicts
//! nothing, or asks for no more, is *descriptive*. A study gets what it asks for if that is less.
//!
//! A result carries the ledger's head at the time it ran. Whoever computed it honestly could not
//! have known that hash earlier; but a head is text, and a text can be rewritten. Where the entry
//! itself drew the sources ([`crate::ledger::Draw`]) nothing has to be believed: such a contrast is
//! confirmatory *by construction*. That is granted place by place: each lies on a source that this
//! very entry drew, with a result of its own. Where one result stands for several sources, they are
//! no sample of it. That an unwelcome ledger was not thrown away and begun again is more than any
//! ledger can show.

use crate::ledger::Ledger;
use crate::ledger::entry::{Contrast, Frozen};
use crate::ledger::grounds::{self, Bearer, History};
pub use crate::ledger::grounds::{Granted, Recall, Used};
use crate::ledger::standing::Status;

/// The status of a contrast as it is analysed, from the results that it uses.
pub fn grant(
    ledger: &Ledger,
    study: &str,
    contrast: &Contrast,
    used: &[Used],
    recall: &Recall,
) -> Granted {
    let history: Vec<_> = ledger.entries_of(study).map(|(e, f)| (Bearer::Entry(e), f)).collect();
    let granted = grounds::decide(&history, contrast, recall, |place, frozen| {
        grounds::check_results(ledger, place, frozen, used)
    });
    cap(&history, contrast, granted)
}

/// The highest status that a contrast of `proposed` (not yet appended) could come to have. Earlier
/// entries of the same study count.
pub fn can_grant(
    ledger: &Ledger,
    proposed: &Frozen,
    contrast: &Contrast,
    recall: &Recall,
) -> Granted {
    let mut proposed = proposed.clone();
    proposed.sort();
    let mut history: Vec<_> =
        ledger.entries_of(&proposed.study).map(|(e, f)| (Bearer::Entry(e), f)).collect();
    history.push((Bearer::Proposed, &proposed));
    grounds::decide(&history, contrast, recall, |_, _| Ok(()))
}

/// A study that asks for more than it could ever be granted.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("contrast `{contrast}` asks to be {asks}, but can only be {}: {}", can.status, can.why)]
pub struct Overclaim {
    /// The contrast.
    pub contrast: String,
    /// What it asks for.
    pub asks: Status,
    /// What it can be granted.
    pub can: Box<Granted>,
}

/// Refuses a study that asks too much, before it is frozen or amended.
pub fn check_asks(ledger: &Ledger, proposed: &Frozen, recall: &Recall) -> Result<(), Overclaim> {
    for contrast in &proposed.contrasts {
        // Whatever stands in an entry may be called a description or an afterthought.
        let Some(asks) = contrast.asks.filter(|asks| *asks > Status::Descriptive) else { continue };
        let can = can_grant(ledger, proposed, contrast, recall);
        if asks > can.status {
            let (contrast, can) = (contrast.name.clone(), Box::new(can));
            return Err(Overclaim { contrast, asks, can });
        }
    }
    Ok(())
}

/// A study gets what it asks for if that is less: the least that any entry of the run asks, so that
/// no later entry can ask for more than the first.
fn cap(history: &History, contrast: &Contrast, granted: Granted) -> Granted {
    let Some(first) = grounds::standing_since(history, contrast) else { return granted };
    let asked = history[first..].iter().filter_map(|(place, frozen)| {
        Some((frozen.contrast(&contrast.name)?.asks?, format!("{place} asks for no more")))
    });
    let granted = match asked.min_by_key(|(asks, _)| *asks) {
        // A description claims nothing, so it does not matter what was known by then.
        Some((Status::Descriptive, why)) if granted.status == Status::PostHoc => {
            Granted { status: Status::Descriptive, why, ..granted }
        }
        Some((asks, why)) if asks < granted.status => granted.lowered(asks, &why),
        _ => granted,
    };
    match contrast.asks {
        Some(asks) if asks < granted.status => granted.lowered(asks, "it asks for no more"),
        _ => granted,
    }
}
