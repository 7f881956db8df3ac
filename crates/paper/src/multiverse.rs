//! Which claims depend on what nobody published: the study `multiverse`, claim by claim.
//!
//! The tables say what became of a claim in every universe; the study file says which choices a universe is made of. A
//! claim *holds* where the interval decides for it. The choice that moves a claim most is the factor whose levels' mean
//! effects lie furthest apart; the design is balanced, so each is a mean over the others' levels alike.

use backcut_report::Results;
use backcut_report::results::Judged;
use backcut_stats::Verdict;
use backcut_study::file::StudyFile;
use backcut_tables::Judgement;
use backcut_text::format::number;

use crate::Reproduction;

/// The study whose tables are read.
pub const STUDY: &str = "multiverse";

/// What the contrasts that are called by a letter say; the other names say it themselves.
const MEANINGS: [(&str, &str); 13] = [
    ("H1", "no memory costs at 0.20 m/s"),
    ("H2", "the cut costs with hidden velocity"),
    ("H3", "the cut costs more at 0.20 than at 0.05 m/s"),
    ("cost at 0.05", "the cut costs at 0.05 m/s"),
    ("cost at 0.20", "the cut costs at 0.20 m/s"),
    ("cost, hidden", "the same as H2, relative to FF"),
    ("SEG-2 at 0.20", "segments of two steps cost less than F_SG at 0.20 m/s"),
    ("SEG-2, hidden", "segments of two steps cost less than F_SG with hidden velocity"),
    ("SEG-8 at 0.20", "segments of eight steps cost less than F_SG at 0.20 m/s"),
    ("SEG-8, hidden", "segments of eight steps cost less than F_SG with hidden velocity"),
    ("A4", "the late cut costs more at 0.20 than at 0.05 m/s"),
    ("A6", "the late cut costs less than 5% at 0.05 m/s"),
    ("value grows more than cost", "from 0.20 m/s to hidden velocity"),
];

const FILE: &str = include_str!("../studies/second/multiverse.toml");

/// Factors with their levels, and the universes' levels.
#[derive(Clone, PartialEq, Debug)]
pub struct Design {
    /// Factors and the names of their levels.
    pub factors: Vec<(String, Vec<String>)>,
    /// Universes, each with a level of every factor.
    pub universes: Vec<(String, Vec<String>)>,
}

impl Design {
    /// That of the study file.
    pub fn load() -> Result<Self, String> {
        let file = StudyFile::parse(FILE, "multiverse.toml").map_err(|error| error.to_string())?;
        let factors = file.factors.iter();
        Ok(Self {
            factors: factors
                .map(|(n, levels)| (n.clone(), levels.keys().cloned().collect()))
                .collect(),
            universes: file.universes.iter().map(|(n, u)| (n.clone(), u.levels.clone())).collect(),
        })
    }

    /// The levels of a universe, if the file has it.
    pub fn levels(&self, universe: &str) -> Option<&[String]> {
        let found = self.universes.iter().find(|(name, _)| name == universe);
        found.map(|(_, levels)| levels.as_slice())
    }
}

/// A claim in one universe.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// The universe.
    pub universe: String,
    /// The effect.
    pub mean: f64,
    /// The family's interval.
    pub interval: Option<[f64; 2]>,
    /// The decision of the interval.
    pub verdict: Option<Verdict>,
}

impl Outcome {
    /// The interval decides for the claim.
    pub fn holds(&self) -> bool {
        matches!(self.verdict, Some(Verdict::Supported | Verdict::Noninferior))
    }
}

/// A claim in all universes.
#[derive(Clone, PartialEq, Debug)]
pub struct Claim {
    /// Its name in the study.
    pub name: String,
    /// Its outcomes, the smallest effect first.
    pub outcomes: Vec<Outcome>,
    /// Universes in which it was not computed.
    pub missing: usize,
}

/// Every claim of the collected study, in the order of the first universe's families.
pub fn claims(results: &Results) -> Vec<Claim> {
    let mut claims: Vec<Claim> = Vec::new();
    for row in results.study(STUDY).map(|study| study.analysis.as_slice()).unwrap_or_default() {
        let Some((universe, _)) = row.family.split_once(": ") else { continue };
        let at = claims.iter().position(|claim| claim.name == row.contrast).unwrap_or_else(|| {
            claims.push(Claim { name: row.contrast.clone(), outcomes: vec![], missing: 0 });
            claims.len() - 1
        });
        match outcome(universe, row) {
            Some(outcome) => claims[at].outcomes.push(outcome),
            None => claims[at].missing += 1,
        }
    }
    for claim in &mut claims {
        claim.outcomes.sort_by(|a, b| a.mean.total_cmp(&b.mean));
    }
    claims
}

fn outcome(universe: &str, row: &Judged) -> Option<Outcome> {
    let verdict = row.verdict.as_ref().and_then(Judgement::verdict).map(Verdict::by_interval);
    Some(Outcome {
        universe: universe.to_owned(),
        mean: row.mean?,
        interval: row.interval(),
        verdict,
    })
}

impl Claim {
    /// The factor whose levels' means lie furthest apart: its name, and the lowest and highest level with their means.
    pub fn moved_by<'d>(&self, design: &'d Design) -> Option<(&'d str, [(&'d str, f64); 2])> {
        let mut best: Option<(&str, [(&str, f64); 2])> = None;
        for (place, (factor, levels)) in design.factors.iter().enumerate() {
            let mean = |level: &str| {
                let is = |o: &&Outcome| {
                    let levels = design.levels(&o.universe);
                    levels.and_then(|levels| levels.get(place)).is_some_and(|own| own == level)
                };
                let values: Vec<f64> = self.outcomes.iter().filter(is).map(|o| o.mean).collect();
                (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
            };
            let means = levels.iter().filter_map(|level| Some((level.as_str(), mean(level)?)));
            let mut means: Vec<(&str, f64)> = means.collect();
            means.sort_by(|a, b| a.1.total_cmp(&b.1));
            let (Some(&low), Some(&high)) = (means.first(), means.last()) else { continue };
            if best.is_none_or(|(_, [a, b])| high.1 - low.1 > b.1 - a.1) {
                best = Some((factor, [low, high]));
            }
        }
        best
    }

    /// In how many of some universes it holds.
    fn holds_in<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> [usize; 2] {
        outcomes.fold([0, 0], |[holds, all], o| [holds + usize::from(o.holds()), all + 1])
    }

    /// Its name with what it says.
    fn told(&self) -> String {
        let found = MEANINGS.iter().find(|(name, _)| *name == self.name);
        found.map_or_else(|| self.name.clone(), |(name, words)| format!("{name} ({words})"))
    }

    /// The same in a table's cell.
    pub fn short(&self, design: &Design) -> String {
        let [holds, _] = Self::holds_in(self.outcomes.iter());
        let all = self.outcomes.len() + self.missing;
        let by = self.moved_by(design).map(|(factor, _)| format!("; most moved by {factor}"));
        format!("{} holds in {holds} of {all}{}", self.name, by.unwrap_or_default())
    }

    /// In how many universes it holds, and which choice moves it most.
    pub fn sentence(&self, design: &Design) -> String {
        let is = |wanted: Verdict| {
            self.outcomes.iter().filter(move |o| o.verdict == Some(wanted)).count()
        };
        let all = self.outcomes.len() + self.missing;
        let [holds, _] = Self::holds_in(self.outcomes.iter());
        let [supported, noninferior, contradicted, not_shown] =
            [Verdict::Supported, Verdict::Noninferior, Verdict::Contradicted, Verdict::NotShown]
                .map(is);
        let counts = if noninferior + not_shown > 0 {
            format!("noninferior in {noninferior}, not shown in {not_shown}")
        } else {
            let open = self.outcomes.len() - supported - contradicted;
            format!(
                "supported in {supported}, unresolved in {open}, contradicted in {contradicted}"
            )
        };
        let mut text = format!("{} holds in {holds} of {all} universes ({counts})", self.told());
        if self.missing > 0 {
            text += &format!("; in {} it was not computed", self.missing);
        }
        if let Some((factor, ends)) = self.moved_by(design) {
            let place = design.factors.iter().position(|(name, _)| name == factor);
            let told = ends.map(|(level, mean)| {
                let has_level = |o: &&Outcome| {
                    let own = design.levels(&o.universe).zip(place).and_then(|(l, p)| l.get(p));
                    own.is_some_and(|own| own == level)
                };
                let [holds, all] = Self::holds_in(self.outcomes.iter().filter(has_level));
                format!("{} with {level}, where it holds in {holds} of {all}", number(mean))
            });
            text += &format!(
                "; the choice that moves it most is {factor} (a mean of {})",
                told.join("; ")
            );
        }
        text + "."
    }
}

/// What a page says of the multiverse before its sentences.
pub const WORDS: &str = "A universe is one configuration that the paper does not exclude: nine choices that nobody published, 24 of their \
    combinations, eight drawn sources each. A claim holds in a universe where the interval of its family decides for it; \
    with eight sources an open one says little. Effects are relative to FF's error, except H1 to H3, A4 and the last (m\u{b2}).";

impl Reproduction {
    /// The claims of the multiverse with its design, if its tables are here.
    pub(crate) fn multiverse(&self) -> Option<(Vec<Claim>, Design)> {
        let claims = claims(self.holding(STUDY));
        Some((claims, Design::load().ok()?)).filter(|(claims, _)| !claims.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_design_is_balanced_and_any_two_choices_are_orthogonal() {
        let design = Design::load().unwrap();
        assert!(design.universes.len() >= 24);
        for a in 0..design.factors.len() {
            for b in 0..a {
                let mut counts = std::collections::BTreeMap::new();
                for (_, levels) in &design.universes {
                    *counts.entry((&levels[a], &levels[b])).or_insert(0) += 1;
                }
                let pairs = design.factors[a].1.len() * design.factors[b].1.len();
                assert_eq!(counts.len(), pairs, "{a} {b}");
                assert!(counts.values().all(|n| *n == design.universes.len() / pairs), "{a} {b}");
            }
        }
    }

    #[test]
    fn a_sentence_counts_universes_and_names_the_choice_that_matters() {
        let design = Design::load().unwrap();
        // An effect that only the start of the weights moves.
        let of = |universe: &(String, Vec<String>)| {
            let is_gpt = universe.1[0] == "gpt";
            let verdict = if is_gpt { Verdict::Contradicted } else { Verdict::Supported };
            let mean = if is_gpt { -1.0 } else { 2.0 };
            let verdict = Some(verdict);
            Outcome { universe: universe.0.clone(), mean, interval: None, verdict }
        };
        let outcomes = design.universes.iter().map(of).collect();
        let claim = Claim { name: "H1".into(), outcomes, missing: 0 };
        let sentence = claim.sentence(&design);
        assert!(
            sentence.starts_with(
                "H1 (no memory costs at 0.20 m/s) holds in 12 of 24 universes (supported in 12, unresolved in 0, contradicted in 12);"
            ),
            "{sentence}"
        );
        assert!(sentence.contains("moves it most is start"), "{sentence}");
        assert!(sentence.contains("−1.00 with gpt, where it holds in 0 of 12"), "{sentence}");
        assert!(sentence.contains("2.00 with pytorch, where it holds in 12 of 12"), "{sentence}");
        assert_eq!(claim.short(&design), "H1 holds in 12 of 24; most moved by start");
    }
}
