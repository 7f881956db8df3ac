//! Names of cuts, parsed and printed.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use backcut_text::Hinted;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Alpha, Cut, MemoryCredit, Part, Parts, StateCredit};

impl fmt::Display for MemoryCredit {
    /// As in a part: `F`, `D`, `SG`, `SEG-8`, `A0.5`, `RSEG-8`, `RT-0.1`, `URT-0.1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("F"),
            Self::Projected => f.write_str("D"),
            Self::Stored { segment: None } => f.write_str("SG"),
            Self::Stored { segment: Some(length) } => write!(f, "SEG-{length}"),
            Self::Scaled { alpha } => write!(f, "A{}", alpha.get()),
            Self::Shifted { length } => write!(f, "RSEG-{length}"),
            Self::Random { chance, unbiased: false } => write!(f, "RT-{}", chance.get()),
            Self::Random { chance, unbiased: true } => write!(f, "URT-{}", chance.get()),
        }
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let physical = match self.state {
            StateCredit::Full => "F".to_owned(),
            StateCredit::Steps(k) if k.get() == 1 => "K".to_owned(),
            StateCredit::Steps(k) => format!("K{k}"),
        };
        let memory = self.memory;
        let mut name = match memory {
            MemoryCredit::Full | MemoryCredit::Projected => format!("{physical}{memory}"),
            // Of what is drawn or has segments, full physical credit goes without saying.
            MemoryCredit::Stored { segment: Some(_) }
            | MemoryCredit::Shifted { .. }
            | MemoryCredit::Random { .. }
                if physical == "F" =>
            {
                memory.to_string()
            }
            _ => format!("{physical}_{memory}"),
        };
        for Part { edge, credit } in self.parts.iter() {
            name += &format!(":{edge}={credit}");
        }
        f.pad(&name)
    }
}

/// Why a text is not a cut, and what would be one.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{text}` is not a cut: {reason}")]
pub struct CutError {
    text: String,
    reason: String,
    hint: &'static str,
}

impl Hinted for CutError {
    fn hint(&self) -> Cow<'_, str> {
        self.hint.into()
    }
}

const GRAMMAR: &str = "a cut is F, K or K<k> (physical credit), then F, D, _SG, _SEG-<L> or \
                       _A<alpha> (memory credit): FF FD KF KD F_SG K_SG SEG-8 K_SEG-8 K4F F_A0.5; \
                       drawn for every update: RSEG-8 RT-0.1 URT-0.1; edges apart: FF:keys=D \
                       F_SG:block1=F";
const CREDITS: &str =
    "credit of memory is F, D, SG, SEG-<L>, A<alpha>, RSEG-<L>, RT-<p> or URT-<p>";
const PARTS: &str = "a part is <edge>=<credit>, as FF:keys=D, F_SG:block1=F or FF:velocity=A0.5; \
                     each edge once, its name without spaces";

/// What is wrong, and a hint.
type Wrong = (String, &'static str);

/// Memory credit as in a part, in upper case.
fn memory_credit(text: &str) -> Result<MemoryCredit, Wrong> {
    let length = |digits: &str, hint| {
        let length = digits.parse().ok().and_then(NonZeroU32::new);
        length.ok_or_else(|| (format!("a segment of `{digits}` steps"), hint))
    };
    Ok(match text {
        "F" => MemoryCredit::Full,
        "D" => MemoryCredit::Projected,
        "SG" => MemoryCredit::Stored { segment: None },
        _ => {
            if let Some(digits) = text.strip_prefix("SEG-") {
                let hint =
                    "SEG-<L> needs a whole number L >= 1; SEG-1 equals F_SG, SEG-<T> equals FF";
                MemoryCredit::Stored { segment: Some(length(digits, hint)?) }
            } else if let Some(digits) = text.strip_prefix("RSEG-") {
                let hint = "RSEG-<L> needs a whole number L >= 1: segments as SEG-<L>, the first \
                            boundary drawn";
                MemoryCredit::Shifted { length: length(digits, hint)? }
            } else if let Some(factor) = text.strip_prefix('A') {
                let alpha = factor.parse().ok().and_then(Alpha::new).ok_or_else(|| {
                    let hint =
                        "_A<alpha> needs a factor from 0 (as F_SG) to 1 (as FF), such as F_A0.5";
                    (format!("a factor of `{factor}`"), hint)
                })?;
                MemoryCredit::Scaled { alpha }
            } else if let Some(chance) = text.strip_prefix('U').unwrap_or(text).strip_prefix("RT-")
            {
                let unbiased = text.starts_with('U');
                let found = chance.parse().ok().and_then(Alpha::new);
                let fits = |chance: &Alpha| !unbiased || chance.get() < 1.0;
                let chance = found.filter(fits).ok_or_else(|| {
                    let hint = "RT-<p> cuts every boundary with probability p from 0 to 1; \
                                URT-<p>, whose survivors are divided by 1 - p, needs p < 1";
                    (format!("a probability of `{chance}`"), hint)
                })?;
                MemoryCredit::Random { chance, unbiased }
            } else {
                return Err((format!("`{text}` is no memory credit"), CREDITS));
            }
        }
    })
}

/// The two halves, in upper case.
fn halves(text: &str) -> Result<(StateCredit, MemoryCredit), Wrong> {
    let is_short = ["SEG-", "RSEG-", "RT-", "URT-"].iter().any(|short| text.starts_with(short));
    let text: Cow<'_, str> = if is_short { format!("F_{text}").into() } else { text.into() };
    let (state, rest) = if let Some(rest) = text.strip_prefix('F') {
        (StateCredit::Full, rest)
    } else if let Some(after) = text.strip_prefix('K') {
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = after.split_at(digits);
        let steps = if digits.is_empty() { Some(1) } else { digits.parse::<u32>().ok() };
        let steps = steps.and_then(NonZeroU32::new).ok_or_else(|| {
            let hint = "K<k> needs k >= 1: K is one step, K4 is four; F is full physical credit";
            (format!("physical credit of {digits} steps"), hint)
        })?;
        (StateCredit::Steps(steps), rest)
    } else {
        return Err(("it names no physical credit (F, K or K<k>)".into(), GRAMMAR));
    };
    let memory = match rest {
        "F" => MemoryCredit::Full,
        "D" => MemoryCredit::Projected,
        _ => match rest.strip_prefix('_').filter(|rest| !["F", "D"].contains(rest)) {
            Some(known) => memory_credit(known).map_err(|(what, hint)| match hint {
                CREDITS => (format!("`{rest}` is no memory credit"), GRAMMAR),
                hint => (what, hint),
            })?,
            None => return Err((format!("`{rest}` is no memory credit"), GRAMMAR)),
        },
    };
    Ok((state, memory))
}

fn part(text: &str) -> Result<Part, Wrong> {
    let Some((edge, credit)) = text.split_once('=') else {
        return Err((format!("`{text}` says no credit"), PARTS));
    };
    let is_word = |word: &str| {
        let fits = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        !word.is_empty() && word.chars().all(fits)
    };
    if !edge.split('.').all(is_word) {
        return Err((format!("`{edge}` is no name of an edge"), PARTS));
    }
    let credit = memory_credit(&credit.to_ascii_uppercase())?;
    Ok(Part { edge: edge.to_owned(), credit })
}

impl FromStr for Cut {
    type Err = CutError;

    fn from_str(text: &str) -> Result<Self, CutError> {
        let error = |(reason, hint)| CutError { text: text.to_owned(), reason, hint };
        let mut pieces = text.trim().split(':');
        let base = pieces.next().unwrap_or_default().to_ascii_uppercase();
        let (state, memory) = halves(&base).map_err(error)?;
        let parts = pieces.map(part).collect::<Result<Vec<Part>, Wrong>>().map_err(error)?;
        let parts =
            Parts::new(parts).map_err(|edge| error((format!("`{edge}` comes twice"), PARTS)))?;
        Ok(Self { state, memory, parts })
    }
}

impl Serialize for Cut {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Cut {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|e: CutError| serde::de::Error::custom(format!("{e}; {}", e.hint())))
    }
}
