//! All cuts' vectors at one layer, compared in one pass over memory.
//!
//! Which sums the findings need follows from the cuts alone, so it is decided once per rig: every vector
//! against FF's, the placements of the memory cut against each other, the memory effects and their
//! interaction. Each sum is formed once and read by every finding that rests on it.

use std::ops::Range;

use backcut_engine::{Cut, MemoryCredit};
use backcut_kernels::Real;
use backcut_kernels::reduce::{Fill, Term, survey, widen};

use crate::measure::geometry::Geometry;
use crate::measure::groups::Group;
use crate::measure::layers::FOUR;

/// Pairs that differ in the placement of the memory cut alone.
pub(crate) const PLACEMENTS: [(Cut, Cut); 2] = [(Cut::F_SG, Cut::FD), (Cut::K_SG, Cut::KD)];

/// What is compared under some cuts, FF first.
pub(crate) struct Plan {
    /// The groups' ranges in the layout's order, and the group that each belongs to.
    pieces: Vec<Range<usize>>,
    owners: Vec<usize>,
    groups: usize,
    cuts: usize,
    terms: Vec<Term>,
    /// The group that the whole leaves out.
    apart: Option<usize>,
    /// Cuts that detach memory, each with the cut of its own physical credit that keeps it, unless
    /// that is FF.
    pub retained: Vec<(usize, usize)>,
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
    /// Freely named vectors: each against the first, and four of them against each other.
    pub fn of_arms(groups: &[Group], arms: usize, four: Option<[usize; 4]>) -> Self {
        let (pieces, owners) = owned(groups);
        let mut terms: Vec<Term> = (0..arms).map(Term::Square).collect();
        terms.extend((1..arms).flat_map(|i| [dot(i, 0), distance(i, 0)]));
        if let Some([a, b, c, d]) = four {
            for term in [distance(a, b), distance(c, d), Term::Cross([a, b, c, d])] {
                if !terms.contains(&term) {
                    terms.push(term);
                }
            }
        }
        let (groups, apart) = (groups.len(), None);
        Self { pieces, owners, groups, cuts: arms, terms, apart, retained: Vec::new() }
    }

    /// How many vectors are compared.
    pub fn vectors(&self) -> usize {
        self.cuts
    }

    /// The ranges that are summed one after the other, and the group of each.
    pub fn pieces(&self) -> impl Iterator<Item = (&Range<usize>, usize)> {
        self.pieces.iter().zip(self.owners.iter().copied())
    }

    /// Compares the vectors of several layers in one pass: vector `i` of layer `l` is `l * vectors + i`.
    pub fn compare_layers<'a>(&'a self, layers: usize, fill: &'a mut Fill<'a>) -> Vec<Comparison> {
        let terms = |layer: usize| {
            let at = move |i: usize| layer * self.cuts + i;
            self.terms.iter().map(move |term| match *term {
                Term::Square(a) => Term::Square(at(a)),
                Term::Dot(a, b) => Term::Dot(at(a), at(b)),
                Term::Distance(a, b) => Term::Distance(at(a), at(b)),
                Term::Cross(four) => Term::Cross(four.map(at)),
            })
        };
        let all: Vec<Term> = (0..layers).flat_map(terms).collect();
        let sums = self.sum_over(layers * self.cuts, all, fill);
        let count = self.terms.len();
        let part = |layer: usize| Comparison {
            terms: self.terms.clone(),
            groups: sums.groups[layer * count..][..count].to_vec(),
            whole: sums.whole[layer * count..][..count].to_vec(),
        };
        (0..layers).map(part).collect()
    }

    pub fn new(groups: &[Group], cuts: &[Cut]) -> Self {
        let (pieces, owners) = owned(groups);
        let find = |cut: Cut| cuts.iter().position(|c| *c == cut);
        let keeps = |cut: &Cut| {
            let full = Cut { memory: MemoryCredit::Full, ..*cut };
            find(full).filter(|_| full != *cut && full != Cut::FF)
        };
        let indexed = cuts.iter().enumerate();
        let retained = indexed.filter_map(|(i, cut)| Some((i, keeps(cut)?))).collect();
        let mut terms: Vec<Term> = (0..cuts.len()).map(Term::Square).collect();
        terms.extend((1..cuts.len()).flat_map(|i| [dot(i, 0), distance(i, 0)]));
        let apart = PLACEMENTS.into_iter().chain([(Cut::KF, Cut::KD)]);
        terms.extend(apart.filter_map(|(a, b)| Some(distance(find(a)?, find(b)?))));
        if let [Some(a), Some(b), Some(c), Some(d)] = FOUR.map(find) {
            terms.push(Term::Cross([a, b, c, d]));
        }
        let apart = groups.iter().position(|group| group.is_apart);
        Self { pieces, owners, groups: groups.len(), cuts: cuts.len(), terms, apart, retained }
    }

    /// Compares the vectors of a layer, of which `fill` writes the range it is asked for.
    pub fn compare<'a>(&'a self, fill: &'a mut Fill<'a>) -> Comparison {
        self.sum(self.terms.clone(), fill)
    }

    /// Compares raw gradients: the retained pairs as well.
    pub fn compare_raw<R: Real>(&self, gradients: &[&[R]]) -> Comparison {
        let mut terms = self.terms.clone();
        for term in self.retained.iter().flat_map(|&(a, b)| [dot(a, b), distance(a, b)]) {
            if !terms.contains(&term) {
                terms.push(term);
            }
        }
        self.sum(terms, &mut |i, range, tile| widen(&gradients[i][range], tile))
    }

    fn sum<'a>(&'a self, terms: Vec<Term>, fill: &'a mut Fill<'a>) -> Comparison {
        self.sum_over(self.cuts, terms, fill)
    }

    fn sum_over<'a>(
        &'a self,
        count: usize,
        terms: Vec<Term>,
        fill: &'a mut Fill<'a>,
    ) -> Comparison {
        let found = survey(count, &terms, &self.pieces, fill);
        let mut groups = vec![vec![0.0; self.groups]; terms.len()];
        for (sums, owner) in found.pieces.iter().zip(&self.owners) {
            for (group, sum) in groups.iter_mut().zip(sums) {
                group[*owner] += sum;
            }
        }
        let mut whole = found.whole;
        if let Some(apart) = self.apart {
            for (whole, sums) in whole.iter_mut().zip(&groups) {
                let kept = sums.iter().enumerate().filter(|(group, _)| *group != apart);
                *whole = kept.map(|(_, sum)| sum).sum();
            }
        }
        Comparison { terms, groups, whole }
    }
}

/// One order for pairs that mean the same: swapping the two changes no bit of either sum.
fn dot(a: usize, b: usize) -> Term {
    Term::Dot(a.min(b), a.max(b))
}

fn distance(a: usize, b: usize) -> Term {
    Term::Distance(a.min(b), a.max(b))
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

    /// `|(a - b) - (c - d)|^2`
    pub fn cross(&self, four: [usize; 4]) -> f64 {
        self.whole[self.place(Term::Cross(four))]
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
        let plan = Plan::new(&groups, &Cut::SIX);
        let found = plan.compare_raw(&vectors);
        let against_full = (0..vectors.len()).map(|i| (i, 0));
        for (a, b) in against_full.chain(plan.retained.iter().copied()) {
            let pair = |group: &Group| Geometry::of(group, vectors[a], vectors[b]);
            assert_eq!(found.whole(a, b), pair(&Group::whole(n)), "{a} {b}");
            assert_eq!(found.groups(a, b), groups.each_ref().map(pair), "{a} {b}");
        }
        let place = |cut: Cut| Cut::SIX.iter().position(|c| *c == cut).unwrap();
        for (a, b) in PLACEMENTS.map(|(a, b)| (place(a), place(b))) {
            let pair = |group: &Group| Geometry::of(group, vectors[a], vectors[b]).distance;
            assert_eq!(found.distances(a, b), groups.each_ref().map(pair), "{a} {b}");
        }
        let four = FOUR.map(place);
        let [a, b, c, d] = four.map(|i| vectors[i]);
        assert_eq!(found.cross(four), reduce::double_difference_squared(a, b, c, d));
    }
}
