//! Edges that a cut treats otherwise than its two halves say.
//!
//! A [`Cut`](super::Cut) is copied freely and compared by value, so the list of its parts is kept
//! once for the whole process and referred to: cuts come from command lines and study files, of
//! which a process sees few.

use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

use super::MemoryCredit;

/// What is left of the edges that a name stands for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Part {
    /// The beginning or the end of their dotted names.
    pub edge: String,
    /// A state's edge, or a declared one, is kept (`F`), scaled (`A0.5`) or closed (`D`); of memory
    /// everything is possible.
    pub credit: MemoryCredit,
}

/// The parts of a cut, sorted by name, each name once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Parts(&'static [Part]);

impl Parts {
    /// No edge is treated otherwise.
    pub const NONE: Self = Self(&[]);

    /// Sorts; `Err` is a name that comes twice.
    pub fn new(mut parts: Vec<Part>) -> Result<Self, String> {
        parts.sort_by(|a, b| a.edge.cmp(&b.edge));
        if let Some(twice) = parts.windows(2).find(|pair| pair[0].edge == pair[1].edge) {
            return Err(twice[0].edge.clone());
        }
        Ok(if parts.is_empty() { Self::NONE } else { Self(kept(parts)) })
    }
}

impl Deref for Parts {
    type Target = [Part];

    fn deref(&self) -> &[Part] {
        self.0
    }
}

/// The one list that equals this one.
fn kept(parts: Vec<Part>) -> &'static [Part] {
    static KEPT: Mutex<Vec<&'static [Part]>> = Mutex::new(Vec::new());
    let mut lists = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = lists.iter().find(|list| ***list == parts[..]) {
        return found;
    }
    let list: &'static [Part] = Box::leak(parts.into_boxed_slice());
    lists.push(list);
    list
}

/// The dotted names that a part may stand for: those that begin or end with it, whole words only.
pub(crate) fn stands_for(part: &str, name: &str) -> bool {
    let rest = |side: Option<&str>, at: fn(&str) -> bool| {
        side.is_some_and(|rest| rest.is_empty() || at(rest))
    };
    rest(name.strip_prefix(part), |rest| rest.starts_with('.'))
        || rest(name.strip_suffix(part), |rest| rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stand_for_beginnings_and_ends() {
        for (part, name, is) in [
            ("keys", "block0.keys", true),
            ("block0", "block0.keys", true),
            ("block0.keys", "block0.keys", true),
            ("block", "block0.keys", false),
            ("eys", "block0.keys", false),
            ("block1", "block10.h", false),
            ("h", "block0.h", true),
            ("a", "a.b.a", true),
            ("b", "a.b.a", false),
            ("", "a", false),
        ] {
            assert_eq!(stands_for(part, name), is, "{part} {name}");
        }
    }

    #[test]
    fn equal_lists_are_one() {
        let list = || vec![Part { edge: "x".into(), credit: MemoryCredit::Full }];
        let (a, b) = (Parts::new(list()).unwrap(), Parts::new(list()).unwrap());
        assert!(std::ptr::eq(a.0, b.0));
    }
}
