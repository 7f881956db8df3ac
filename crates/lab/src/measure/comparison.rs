//! All arms' vectors at one layer, compared in one pass over memory.
//!
//! Which sums the findings need follows from the arms alone, so it is decided once: every vector
//! against the first one's, of cuts the placements of the memory cut against each other, the memory
//! effects and their interaction. Each sum is formed once and read by every finding that rests on
//! it.

use std::ops::Range;

use backcut_engine::{Cut, MemoryCredit};
use backcut_kernels::Real;
use backcut_kernels::reduce::{Fill, Term, survey, widen};

use crate::measure::finding::Of;
use crate::measure::geometry::Geometry;
use crate::measure::groups::Group;

/// Pairs that differ in the placement of the memory cut alone.
const PLACEMENTS: [(Cut, Cut); 2] = [(Cut::F_SG, Cut::FD), (Cut::K_SG, Cut::KD)];
/// The four graphs of the interaction, in its order of signs: `FF - FD - KF + KD`.
const FOUR: [Cut; 4] = [Cut::FF, Cut::FD, Cut::KF, Cut::KD];

/// What is asked of vectors under some arms: each against the first one, and some of them against
/// others.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Question {
    /// Names of the arms, the reference first.
    pub arms: Vec<String>,
    /// Cuts that detach memory, each with the cut of its own physical credit that keeps it, unless
    /// that is the reference.
    pub retained: Vec<(usize, usize)>,
    /// Arms whose difference lies in projections' weights alone: where they are kept, where
    /// dropped.
    pub placements: Vec<(usize, usize)>,
    /// Lengths relative to the reference's, `None` where an arm is missing.
    pub effects: Vec<(&'static str, Of, Option<Term>)>,
}

impl Question {
    /// What is asked of cuts, FF first.
    pub fn of_cuts(cuts: &[Cut]) -> Self {
        let find = |cut: Cut| cuts.iter().position(|c| *c == cut);
        let keeps = |cut: &Cut| {
            let full = Cut { memory: MemoryCredit::Full, ..*cut };
            find(full).filter(|_| full != *cut && full != Cut::FF)
        };
        let indexed = cuts.iter().enumerate();
        let [ff, fd, kf, kd] = FOUR.map(find);
        let cross = || Some(Term::Cross([ff?, fd?, kf?, kd?]));
        let names = FOUR.map(|cut| cut.to_string());
        let [a, b, c, d] = names.clone();
        Self {
            arms: cuts.iter().map(Cut::to_string).collect(),
            retained: indexed.filter_map(|(i, cut)| Some((i, keeps(cut)?))).collect(),
            placements: PLACEMENTS
                .into_iter()
                .filter_map(|(kept, dropped)| find(kept).zip(find(dropped)))
                .collect(),
            effects: vec![
                ("memory-effect", Of::Difference(a, b), ff.zip(fd).map(distance_of)),
                ("memory-effect", Of::Difference(c, d), kf.zip(kd).map(distance_of)),
                ("interaction", Of::Interaction(names), cross()),
            ],
        }
    }

    /// What is asked of freely named arms, of which four may be the corners of a design.
    pub fn of_arms(arms: &[String], factorial: Option<[usize; 4]>) -> Self {
        let four = |four @ [a, b, c, d]: [usize; 4]| {
            let name = |i: usize| arms[i].clone();
            vec![
                ("effect", Of::Difference(name(a), name(b)), Some(distance(a, b))),
                ("effect", Of::Difference(name(c), name(d)), Some(distance(c, d))),
                ("interaction", Of::Interaction(four.map(name)), Some(Term::Cross(four))),
            ]
        };
        let effects = factorial.map(four).unwrap_or_default();
        Self { arms: arms.to_vec(), effects, ..Self::default() }
    }

    /// An arm's name, as a finding has it.
    pub fn of(&self, arm: usize) -> Of {
        Of::One(self.arms[arm].clone())
    }

    /// Two arms' names, the second dropped from the first.
    pub fn difference(&self, (a, b): (usize, usize)) -> Of {
        Of::Difference(self.arms[a].clone(), self.arms[b].clone())
    }
}

/// Which sums are formed, over which ranges.
pub(crate) struct Plan {
    /// The groups' ranges in the layout's order, and the group that each belongs to.
    pieces: Vec<Range<usize>>,
    owners: Vec<usize>,
    groups: usize,
    arms: usize,
    terms: Vec<Term>,
    /// The terms of the raw gradients: those of the retained pairs too.
    raw: Vec<Term>,
    /// The group that the whole leaves out.
    apart: Option<usize>,
}

/// The groups' ranges in the layout's order, each with the group that it belongs to.
fn owned(groups: &[Group]) -> (Vec<Range<usize>>, Vec<usize>) {
    let of = |(owner, group): (usize, &Group)| {
        group.ranges.iter().map(move |range| (range.clone(), owner)).collect::<Vec<_>>()
    };
    let mut pieces: Vec<_> = groups.iter().enumerate().flat_map(of).collect();
    pieces.sort_by_key(|(range, _)| range.start);
    pieces.into_iter().unzip()
}

impl Plan {
    pub fn new(groups: &[Group], question: &Question) -> Self {
        let (pieces, owners) = owned(groups);
        let arms = question.arms.len();
        let mut terms: Vec<Term> = (0..arms).map(Term::Square).collect();
        let add = |terms: &mut Vec<Term>, term: Term| {
            if !terms.contains(&term) {
                terms.push(term);
            }
        };
        (1..arms).for_each(|i| terms.extend([dot(i, 0), distance(i, 0)]));
        question.placements.iter().for_each(|&pair| add(&mut terms, distance_of(pair)));
        question.effects.iter().filter_map(|e| e.2).for_each(|term| add(&mut terms, term));
        let mut raw = terms.clone();
        for &(a, b) in &question.retained {
            add(&mut raw, dot(a, b));
            add(&mut raw, distance(a, b));
        }
        let apart = groups.iter().position(|group| group.is_apart);
        Self { pieces, owners, groups: groups.len(), arms, terms, raw, apart }
    }

    /// The ranges that are summed one after the other, and the group of each.
    pub fn pieces(&self) -> impl Iterator<Item = (&Range<usize>, usize)> {
        self.pieces.iter().zip(self.owners.iter().copied())
    }

    /// Compares the vectors of several layers in one pass: vector `i` of layer `l` is
    /// `l * arms + i`.
    pub fn compare_layers<'a>(&'a self, layers: usize, fill: &'a mut Fill<'a>) -> Vec<Comparison> {
        let terms = |layer: usize| {
            let at = move |i: usize| layer * self.arms + i;
            self.terms.iter().map(move |term| match *term {
                Term::Square(a) => Term::Square(at(a)),
                Term::Dot(a, b) => Term::Dot(at(a), at(b)),
                Term::Distance(a, b) => Term::Distance(at(a), at(b)),
                Term::Cross(four) => Term::Cross(four.map(at)),
            })
        };
        let all: Vec<Term> = (0..layers).flat_map(terms).collect();
        let sums = self.sum(layers * self.arms, all, fill);
        let count = self.terms.len();
        let part = |layer: usize| {
            let own = layer * count..(layer + 1) * count;
            Comparison {
                terms: self.terms.clone(),
                groups: sums.groups[own.clone()].to_vec(),
                whole: sums.whole[own.clone()].to_vec(),
                everything: sums.everything[own].to_vec(),
            }
        };
        (0..layers).map(part).collect()
    }

    /// Compares raw gradients, of which `fill` writes the range it is asked for.
    pub fn compare_raw<'a>(&'a self, fill: &'a mut Fill<'a>) -> Comparison {
        self.sum(self.arms, self.raw.clone(), fill)
    }

    /// The same of gradients in memory.
    pub fn compare_gradients<R: Real>(&self, gradients: &[&[R]]) -> Comparison {
        self.compare_raw(&mut |i, range, tile| widen(&gradients[i][range], tile))
    }

    fn sum<'a>(&'a self, count: usize, terms: Vec<Term>, fill: &'a mut Fill<'a>) -> Comparison {
        let found = survey(count, &terms, &self.pieces, fill);
        let mut groups = vec![vec![0.0; self.groups]; terms.len()];
        for (sums, owner) in found.pieces.iter().zip(&self.owners) {
            for (group, sum) in groups.iter_mut().zip(sums) {
                group[*owner] += sum;
            }
        }
        let (mut whole, everything) = (found.whole.clone(), found.whole);
        if let Some(apart) = self.apart {
            for (whole, sums) in whole.iter_mut().zip(&groups) {
                let kept = sums.iter().enumerate().filter(|(group, _)| *group != apart);
                *whole = kept.map(|(_, sum)| sum).sum();
            }
        }
        Comparison { terms, groups, whole, everything }
    }
}

/// One order for pairs that mean the same: swapping the two changes no bit of either sum.
fn dot(a: usize, b: usize) -> Term {
    Term::Dot(a.min(b), a.max(b))
}

fn distance(a: usize, b: usize) -> Term {
    Term::Distance(a.min(b), a.max(b))
}

fn distance_of((a, b): (usize, usize)) -> Term {
    distance(a, b)
}

/// The sums of one layer.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    terms: Vec<Term>,
    /// For every term, by group.
    groups: Vec<Vec<f64>>,
    /// For every term, everything as one sum in the layout's order: for squares the number that
    /// training logs and clips by. Where a group is set apart, the sum of the others.
    whole: Vec<f64>,
    /// The same with what is set apart.
    everything: Vec<f64>,
}

impl Comparison {
    fn place(&self, term: Term) -> usize {
        let place = self.terms.iter().position(|t| *t == term);
        place.expect("findings ask for what was planned")
    }

    /// Vector `a` against `b` in every group.
    pub fn groups(&self, a: usize, b: usize) -> Vec<Geometry> {
        let group = |term: Term| &self.groups[self.place(term)];
        let (squares, references) = (group(Term::Square(a)), group(Term::Square(b)));
        let pair = (a != b).then(|| (group(dot(a, b)), group(distance(a, b))));
        let geometry = |i: usize| match pair {
            Some((dot, distance)) => Geometry {
                square: squares[i],
                reference: references[i],
                dot: dot[i],
                distance: distance[i],
            },
            None => Geometry::of_itself(squares[i]),
        };
        (0..squares.len()).map(geometry).collect()
    }

    /// Vector `a` against `b`, everything as one sum.
    pub fn whole(&self, a: usize, b: usize) -> Geometry {
        if a == b {
            return Geometry::of_itself(self.square(a));
        }
        Geometry {
            square: self.square(a),
            reference: self.square(b),
            dot: self.whole[self.place(dot(a, b))],
            distance: self.distance(a, b),
        }
    }

    /// `|a|^2`
    pub fn square(&self, a: usize) -> f64 {
        self.whole[self.place(Term::Square(a))]
    }

    /// `|a|^2` by group.
    pub fn squares(&self, a: usize) -> &[f64] {
        &self.groups[self.place(Term::Square(a))]
    }

    /// `|a - b|^2` of different vectors.
    pub fn distance(&self, a: usize, b: usize) -> f64 {
        self.whole[self.place(distance(a, b))]
    }

    /// `|a - b|^2` of different vectors by group.
    pub fn distances(&self, a: usize, b: usize) -> &[f64] {
        &self.groups[self.place(distance(a, b))]
    }

    /// A sum over the whole.
    pub fn sum(&self, term: Term) -> f64 {
        self.whole[self.place(term)]
    }

    /// `|a|`, with what is set apart: the number that is clipped by.
    pub fn norm(&self, a: usize) -> f64 {
        self.everything[self.place(Term::Square(a))].sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backcut_kernels::reduce;

    #[test]
    fn one_pass_has_the_bits_of_pairwise_comparisons() {
        // Groups of several ranges that take turns and start between multiples of sixteen.
        let group = |name: &str, ranges: &[Range<usize>]| Group::named(name, ranges.to_vec());
        let n = 2000;
        let groups = [
            group("a", &[0..37, 90..700]),
            group("b", &[37..90, 1999..n]),
            group("c", &[700..905, 905..1999]),
        ];
        let vector = |k: usize| -> Vec<f32> {
            (0..n).map(|i| ((i * k % 2311) as f32 - 1009.7) / 300.0).collect()
        };
        let vectors = [37, 41, 5, 11, 1201, 7].map(vector);
        let vectors: Vec<&[f32]> = vectors.iter().map(Vec::as_slice).collect();
        let question = Question::of_cuts(&Cut::SIX);
        let plan = Plan::new(&groups, &question);
        let found = plan.compare_gradients(&vectors);
        let against_full = (0..vectors.len()).map(|i| (i, 0));
        for (a, b) in against_full.chain(question.retained.iter().copied()) {
            let pair = |group: &Group| Geometry::of(group, vectors[a], vectors[b]);
            assert_eq!(found.whole(a, b), pair(&Group::whole(n)), "{a} {b}");
            assert_eq!(found.groups(a, b), groups.each_ref().map(pair), "{a} {b}");
        }
        assert_eq!(question.placements.len(), 2);
        for (a, b) in question.placements {
            let pair = |group: &Group| Geometry::of(group, vectors[a], vectors[b]).distance;
            assert_eq!(found.distances(a, b), groups.each_ref().map(pair), "{a} {b}");
        }
        let four = FOUR.map(|cut| Cut::SIX.iter().position(|c| *c == cut).unwrap());
        let [a, b, c, d] = four.map(|i| vectors[i]);
        let cross = reduce::double_difference_squared(a, b, c, d);
        assert_eq!(found.sum(Term::Cross(four)), cross);
    }
}
