//! How ours and the paper's stand to each other: their difference with an interval.
//!
//! Two independent estimates with 95% intervals have a difference whose interval reaches, on either
//! side, the root of the sum of squares of the two arms that point there (Zou and Donner 2008,
//! "MOVER"): nothing is assumed symmetric. A count of sources has Wilson's interval, a correlation
//! Fisher's, a standard deviation the normal theory's; extremes and bounds have none.

use backcut_evidence::tables::Judgement;
use backcut_page::report::Results;
use backcut_stats::Verdict;
use backcut_stats::normal::normal_quantile;
use backcut_text::format::{estimate, exact};

use crate::compare::Ours;
use crate::entry::{Compare, Entry, Statistic};
use crate::published::{self, Basis};

/// Ours minus the paper's.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Difference {
    /// The number.
    pub value: f64,
    /// Its 95% interval.
    pub interval: Option<[f64; 2]>,
    /// What the paper's half of the interval rests on.
    pub basis: Option<Basis>,
    /// The paper's own pointwise 95% interval.
    pub paper: Option<[f64; 2]>,
}

impl Difference {
    /// Whether the interval excludes zero.
    pub fn is_apart(&self) -> Option<bool> {
        self.interval.map(|[low, high]| low > 0.0 || high < 0.0)
    }
}

/// What a comparison comes to, the gravest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Group {
    /// The same question has another answer here.
    Otherwise,
    /// The interval of the difference excludes zero; or it lies outside of what the paper says.
    Apart,
    /// The interval of the difference includes zero; or it lies inside of what the paper says.
    Alike,
    /// Nothing tells them apart or alike.
    Open,
}

impl Group {
    /// All of them, in order.
    pub const ALL: [Self; 4] = [Self::Otherwise, Self::Apart, Self::Alike, Self::Open];

    /// In words.
    pub fn title(self) -> &'static str {
        match self {
            Self::Otherwise => "Answered otherwise",
            Self::Apart => "Apart",
            Self::Alike => "Not told apart",
            Self::Open => "Without an interval",
        }
    }
}

/// How ours and the paper's stand to each other.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Agreement {
    /// Whether both lie on the same side of zero, or of what is neutral; unknown if the paper gives
    /// no value or the quantity has no direction.
    pub same_direction: Option<bool>,
    /// Whether neither interval includes what is neutral, so that a side can be told.
    pub is_resolved: bool,
    /// Whether the study here decided as the paper did; unknown unless both decide. A mean below a
    /// margin has the same sign on both sides of the question, so this is not the direction once
    /// more.
    pub same_decision: Option<bool>,
    /// Whether our interval includes zero as the paper's does, where it concludes from that.
    pub same_zero: Option<bool>,
    /// Whether ours lies in the range that the paper names.
    pub in_range: Option<bool>,
    /// Ours minus the paper's.
    pub difference: Option<Difference>,
    /// The same by the width of the paper's interval.
    pub widths: Option<f64>,
    /// ours / the paper's, for quantities that compare by it.
    pub factor: Option<f64>,
    /// Its 95% interval.
    pub factor_interval: Option<[f64; 2]>,
    /// In words.
    pub words: String,
}

/// Sizes within this factor of each other count as alike.
const ALIKE: f64 = 2.0;

impl Agreement {
    /// Whether ours and the paper's are within a factor of two.
    pub fn same_size(&self) -> Option<bool> {
        self.factor.map(|factor| (1.0 / ALIKE..=ALIKE).contains(&factor))
    }

    /// Whether the sides of zero are the same, if both can be told.
    pub fn same_resolved_direction(&self) -> Option<bool> {
        self.same_direction.filter(|_| self.is_resolved)
    }

    /// Whether the difference's interval excludes zero.
    pub fn is_apart(&self) -> Option<bool> {
        self.difference.as_ref().and_then(Difference::is_apart)
    }

    /// What it comes to.
    pub fn group(&self) -> Group {
        let by_side = self.same_resolved_direction().map(|same| !same);
        let apart = [
            self.in_range.map(|inside| !inside),
            self.is_apart(),
            self.same_size().map(|same| !same || self.same_direction == Some(false)),
            by_side.filter(|_| self.difference.is_none()),
        ];
        if self.same_decision == Some(false) || self.same_zero == Some(false) {
            return Group::Otherwise;
        }
        match apart.into_iter().flatten().next() {
            Some(true) => Group::Apart,
            Some(false) => Group::Alike,
            None if self.same_decision.or(self.same_zero).is_some() => Group::Alike,
            None => Group::Open,
        }
    }
}

/// Compares ours with the paper's.
pub fn agreement(results: &Results, entry: &Entry, ours: &Ours) -> Agreement {
    // "supported, not confirmed by the exact test" is the same decision: the interval decides.
    let theirs: Option<Verdict> = entry.decision.parse().ok();
    let mine = ours.verdict.as_ref().and_then(Judgement::verdict);
    let decided = theirs.zip(mine).map(|(theirs, mine)| theirs.by_interval() == mine.by_interval());
    let includes = |ends: [f64; 2], place: f64| ends[0] <= place && place <= ends[1];
    let same_zero = entry.includes_zero.zip(ours.interval.or(ours.pointwise));
    let same_zero = same_zero.map(|(theirs, ends)| theirs == includes(ends, 0.0));
    let in_range = entry.range.map(|range| includes(range, ours.value));
    let mut agreement =
        Agreement { same_decision: decided, same_zero, in_range, ..Agreement::default() };
    let mut words = Vec::new();
    if let Some(paper) = entry.paper {
        let neutral = entry.neutral.unwrap_or(0.0);
        let same = paper == neutral || (paper > neutral) == (ours.value > neutral);
        agreement.same_direction = has_direction(entry).then_some(same);
        let difference = difference(results, entry, ours, paper);
        let theirs = difference.and_then(|d| d.paper).or(entry.interval);
        let open = [theirs, ours.pointwise.or(ours.interval)];
        agreement.is_resolved = open.iter().all(|e| e.is_none_or(|e| !includes(e, neutral)));
        agreement.difference = difference;
        let width = theirs.map(|[low, high]| high - low).filter(|width| *width > 0.0);
        agreement.widths = width.and_then(|width| Some(difference?.value / width));
        agreement.factor =
            (entry.compare == Compare::Factor && paper != 0.0).then(|| ours.value / paper);
        agreement.factor_interval =
            agreement.factor.and_then(|_| ratio(results, entry, ours, paper));
        words.push(match entry.compare {
            Compare::Factor => by_factor(entry, &agreement, same),
            Compare::Sign => {
                by_sign(&agreement, same, open.map(|e| e.is_some_and(|e| includes(e, neutral))))
            }
            Compare::Beside => "side by side: sizes belong to the ships and the model".to_owned(),
            Compare::Size | Compare::Difference => by_difference(&agreement),
        });
    }
    words.extend(in_range.map(|inside| {
        let [low, high] = entry.range.unwrap_or_default().map(exact);
        format!("{} the paper's {low} to {high}", if inside { "inside" } else { "outside" })
    }));
    words.extend(same_zero.map(|same| {
        let includes = entry.includes_zero == Some(true);
        match (same, includes) {
            (true, true) => "both intervals include zero",
            (true, false) => "both intervals exclude zero",
            (false, true) => "the paper's interval includes zero, ours does not",
            (false, false) => "the paper's interval excludes zero, ours does not",
        }
        .to_owned()
    }));
    words.extend(theirs.zip(mine).filter(|(theirs, mine)| theirs != mine).map(|(theirs, mine)| {
        if decided == Some(true) {
            let confirms =
                if theirs == theirs.by_interval() { "confirms" } else { "does not confirm" };
            let here = if mine == mine.by_interval() { "confirms" } else { "does not confirm" };
            return format!(
                "decided alike, but the paper's exact test {confirms} it and ours {here} it"
            );
        }
        format!("the paper decided: {theirs}; we: {mine}")
    }));
    agreement.words =
        if words.is_empty() { "the paper gives no number".to_owned() } else { words.join("; ") };
    agreement
}

/// A sign that cannot differ counts for nothing: rates, norms, counts and spreads have none, unless
/// something else is neutral.
fn has_direction(entry: &Entry) -> bool {
    let is_unsigned =
        matches!(entry.statistic, Statistic::Deviation | Statistic::BelowZero | Statistic::Pearson)
            || matches!(entry.compare, Compare::Difference | Compare::Factor | Compare::Beside);
    !is_unsigned || entry.neutral.is_some()
}

fn by_difference(agreement: &Agreement) -> String {
    let Some(difference) = agreement.difference else {
        return "no difference is defined".to_owned();
    };
    let value = estimate(difference.value, difference.interval);
    let sign = match (agreement.same_direction, agreement.is_resolved) {
        (Some(false), true) => "opposite direction, ",
        (Some(false), false) => "opposite signs, ",
        _ => "",
    };
    let verdict = match difference.is_apart() {
        Some(true) => "apart: ",
        Some(false) => "not told apart: ",
        None if difference.value == 0.0 => return "the same".to_owned(),
        None => "",
    };
    format!("{sign}{verdict}ours minus the paper's {value}")
}

fn by_factor(entry: &Entry, agreement: &Agreement, is_same: bool) -> String {
    let side = match (entry.neutral, is_same) {
        (None, _) => String::new(),
        (Some(side), true) => format!("same side of {side}, "),
        (Some(side), false) => format!("other side of {side}, "),
    };
    let told = |factor| estimate(factor, agreement.factor_interval);
    let factor = agreement.factor.map_or_else(String::new, told);
    format!("{side}{factor} times the paper's")
}

fn by_sign(agreement: &Agreement, is_same: bool, [theirs, mine]: [bool; 2]) -> String {
    let direction = if is_same { "same direction" } else { "opposite signs" };
    let words = match (theirs, mine) {
        (true, true) => format!("{direction}, both unresolved"),
        (_, true) => format!("{direction}, ours unresolved"),
        (true, _) => format!("{direction}, the paper's unresolved"),
        _ if is_same || !agreement.is_resolved => direction.to_owned(),
        _ => "opposite direction".to_owned(),
    };
    words + "; sizes do not compare"
}

fn difference(results: &Results, entry: &Entry, ours: &Ours, paper: f64) -> Option<Difference> {
    if matches!(entry.compare, Compare::Sign | Compare::Factor | Compare::Beside) {
        return None;
    }
    let rounding = 1e-12 * paper.abs();
    let value = Some(ours.value - paper).filter(|d| d.abs() > rounding).unwrap_or(0.0);
    let n = entry.n.map(f64::from);
    let known = |mine: Option<[f64; 2]>, theirs: Option<[f64; 2]>, basis: Basis| {
        let interval = mine.zip(theirs).map(|(m, t)| apart([ours.value, paper], m, t));
        let basis = interval.is_some().then_some(basis);
        Difference { value, interval, basis, paper: theirs }
    };
    let count = Some(ours.n as f64).filter(|n| *n > 0.0);
    Some(match entry.statistic {
        Statistic::Mean => {
            let mine = (ours.value, ours.pointwise, ours.n);
            match published::interval(results, entry, mine) {
                Some((theirs, basis)) => {
                    let shown = (basis != Basis::AsOurs).then_some(theirs);
                    Difference { paper: shown, ..known(ours.pointwise, Some(theirs), basis) }
                }
                None => known(None, None, Basis::Printed),
            }
        }
        Statistic::BelowZero => {
            known(count.map(|n| wilson(ours.value, n)), n.map(|n| wilson(paper, n)), Basis::Counted)
        }
        Statistic::Pearson => {
            let of = |r: f64, n: Option<f64>| n.filter(|n| *n > 3.0).map(|n| fisher(r, n));
            known(of(ours.value, count), of(paper, n), Basis::Counted)
        }
        Statistic::Deviation => {
            let of = |s: f64, n: Option<f64>| n.filter(|n| *n > 1.0).map(|n| spread(s, n));
            known(of(ours.value, count), of(paper, n), Basis::Counted)
        }
        _ => known(None, None, Basis::Printed),
    })
}

/// The interval of ours / the paper's: the difference's rule on logarithms. Where the paper prints
/// none, its half is as wide as ours, relative to the value.
fn ratio(results: &Results, entry: &Entry, ours: &Ours, paper: f64) -> Option<[f64; 2]> {
    let is_positive = |[low, _]: &[f64; 2]| *low > 0.0;
    let mine = ours.pointwise.filter(is_positive)?;
    let [value, paper] = [ours.value, paper].map(f64::ln);
    let mine = mine.map(f64::ln);
    let printed = published::interval(results, entry, (ours.value, None, 0)).map(|(ends, _)| ends);
    let theirs = if let Some(ends) = printed {
        Some(ends).filter(is_positive)?.map(f64::ln)
    } else {
        let more = entry.n.filter(|_| ours.n > 0).map_or(1.0, |n| ours.n as f64 / f64::from(n));
        mine.map(|end| paper + (end - value) * more.sqrt())
    };
    let ends = apart([value, paper], mine, theirs).map(f64::exp);
    Some(ends).filter(|ends| ends.iter().all(|end| end.is_finite()))
}

/// The interval of the difference of two independent estimates from theirs.
fn apart([a, b]: [f64; 2], [a_low, a_high]: [f64; 2], [b_low, b_high]: [f64; 2]) -> [f64; 2] {
    let value = a - b;
    [value - (a - a_low).hypot(b_high - b), value + (a_high - a).hypot(b - b_low)]
}

/// Wilson's interval of a count of `n`, as a count.
fn wilson(count: f64, n: f64) -> [f64; 2] {
    let z = normal_quantile(0.975);
    let (p, z2) = (count / n, z * z);
    let middle = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = z / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
    [(middle - half) * n, (middle + half) * n]
}

/// Fisher's interval of a correlation.
fn fisher(r: f64, n: f64) -> [f64; 2] {
    let (middle, half) = (r.atanh(), normal_quantile(0.975) / (n - 3.0).sqrt());
    [(middle - half).tanh(), (middle + half).tanh()]
}

/// The interval of a standard deviation of normal values.
fn spread(deviation: f64, n: f64) -> [f64; 2] {
    let half = normal_quantile(0.975) / (2.0 * (n - 1.0)).sqrt();
    [deviation * (-half).exp(), deviation * half.exp()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::Paper;

    #[test]
    fn every_decision_of_the_paper_is_a_verdict() {
        let paper = Paper::load().unwrap();
        let entries = paper.claims.iter().chain(paper.tables.iter().flat_map(|t| &t.rows));
        let mut decided = entries.filter(|e| !e.decision.is_empty()).peekable();
        assert!(decided.peek().is_some());
        assert!(decided.all(|e| e.decision.parse::<Verdict>().is_ok()));
    }

    #[test]
    fn arms_of_two_intervals_add_as_squares() {
        let [low, high] = apart([5.0, 1.0], [2.0, 6.0], [0.0, 5.0]);
        assert_eq!((low, high), (4.0 - 5.0, 4.0 + 2f64.sqrt()));
    }

    #[test]
    fn arms_of_a_ratio_add_on_logarithms() {
        // Ours twice the paper's, both known to a factor of e: a factor of e to the root of two.
        let [low, high] =
            apart([2f64.ln(), 0.0], [2f64.ln() - 1.0, 2f64.ln() + 1.0], [-1.0, 1.0]).map(f64::exp);
        let arm = 2f64.sqrt().exp();
        assert!((low - 2.0 / arm).abs() < 1e-12 && (high - 2.0 * arm).abs() < 1e-12);
    }

    #[test]
    fn known_intervals_of_counts_correlations_and_spreads() {
        // Wilson, 9 of 10: 0.5958 to 0.9821.
        let [low, high] = wilson(9.0, 10.0);
        assert!((low - 5.958).abs() < 1e-3 && (high - 9.821).abs() < 1e-3, "{low} {high}");
        let [low, high] = fisher(0.5, 28.0);
        assert!((low - 0.155_8).abs() < 1e-3 && (high - 0.735_3).abs() < 1e-3, "{low} {high}");
        let [low, high] = spread(2.0, 9.0);
        assert!(low > 1.2 && low < 1.3 && high > 3.2 && high < 3.3, "{low} {high}");
    }
}
