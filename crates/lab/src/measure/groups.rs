//! Parameter groups: the parts in which a gradient or an update is reported.
//!
//! Groups follow from the parameters' names alone (`block0.w_k.weight` belongs to `block0.w_k`), so
//! a user's own system has groups without declaring them. Numbered layers of a feed-forward and the
//! norms of a block are one group each. Across blocks, groups of one kind (`w_v`) can be pooled.

use std::ops::Range;

use backcut_engine::Layout;

/// The name of the part that is everything.
pub const ALL: &str = "all";

/// The name of the part that no output sees: keys' biases, which shift all scores of a query alike.
/// Its exact gradient is zero where nothing is cut, so its second moment is rounding, and `AdamW`
/// makes steps of that.
pub const REDUNDANT: &str = "redundant";

/// Whether a parameter is redundant: the bias of a projection whose name ends in `_k`.
pub fn is_redundant(parameter: &str) -> bool {
    parameter.ends_with("_k.bias")
}

/// Some tensors of a model under one name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// Its name, such as `block0.w_k`.
    pub name: String,
    /// Its places in the flat vector, in order.
    pub ranges: Vec<Range<usize>>,
    /// Whether it is set apart from the whole: [`groups_apart`].
    pub is_apart: bool,
}

impl Group {
    /// Places under a name, part of the whole.
    pub fn named(name: impl Into<String>, ranges: Vec<Range<usize>>) -> Self {
        Self { name: name.into(), ranges, is_apart: false }
    }

    /// Everything, under the name [`ALL`].
    pub fn whole(len: usize) -> Self {
        Self::named(ALL, std::iter::once(0..len).collect())
    }

    /// Number of weights.
    pub fn len(&self) -> usize {
        self.ranges.iter().map(ExactSizeIterator::len).sum()
    }

    /// A group without weights (never made from a layout).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The group's kind, whatever its block: `w_k` for `block0.w_k`.
    pub fn kind(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or(&self.name)
    }

    fn add(&mut self, range: Range<usize>) {
        match self.ranges.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => self.ranges.push(range),
        }
    }
}

/// The groups of a layout, in the order of their first tensors.
pub fn groups(layout: &Layout) -> Vec<Group> {
    let parameters = layout.parameters().iter();
    groups_by(parameters.map(|p| (p.name.as_str(), p.range())), &group_of)
}

/// The same, with redundant parameters in a group of their own at the end, which the whole leaves
/// out.
pub fn groups_apart(layout: &Layout) -> Vec<Group> {
    let named = layout.parameters().iter().map(|p| (p.name.as_str(), p.range()));
    let (redundant, others): (Vec<_>, Vec<_>) = named.partition(|(name, _)| is_redundant(name));
    let mut groups = groups_by(others.into_iter(), &group_of);
    let apart = groups_by(redundant.into_iter(), &|_| REDUNDANT.to_owned());
    groups.extend(apart.into_iter().map(|group| Group { is_apart: true, ..group }));
    groups
}

/// The places of everything but what is set apart; `None` if nothing is.
pub(crate) fn whole_ranges(groups: &[Group]) -> Option<Vec<Range<usize>>> {
    groups.iter().find(|group| group.is_apart)?;
    let kept = groups.iter().filter(|group| !group.is_apart);
    let mut ranges: Vec<_> = kept.flat_map(|group| group.ranges.clone()).collect();
    ranges.sort_by_key(|range| range.start);
    Some(ranges)
}

/// The groups of any named tensors, in the order of their first ones; `group_of` names the group of
/// each.
pub fn groups_by<'a>(
    parameters: impl Iterator<Item = (&'a str, Range<usize>)>,
    group_of: &dyn Fn(&str) -> String,
) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (parameter, range) in parameters {
        let name = group_of(parameter);
        let found = groups.iter().position(|g| g.name == name).unwrap_or_else(|| {
            groups.push(Group::named(name, Vec::new()));
            groups.len() - 1
        });
        groups[found].add(range);
    }
    groups
}

/// All groups of one kind as one: every block's `w_v`. `None` if there is no such kind.
pub fn pooled(groups: &[Group], kind: &str) -> Option<Group> {
    let mut of_kind = groups.iter().filter(|g| g.kind() == kind).peekable();
    of_kind.peek()?;
    let mut pool = Group::named(kind, Vec::new());
    of_kind.flat_map(|g| g.ranges.clone()).for_each(|range| pool.add(range));
    Some(pool)
}

/// The group that a parameter's name says.
pub fn group_of(parameter: &str) -> String {
    let module = match parameter.rsplit_once('.') {
        Some((module, "weight" | "bias" | "gain")) => module,
        _ => parameter,
    };
    let (block, leaf) = module.rsplit_once('.').map_or(("", module), |(b, l)| (b, l));
    let family = match leaf.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "feed" => "feed-forward",
        "norm" if !block.is_empty() => "norms",
        _ => leaf,
    };
    if block.is_empty() { family.to_owned() } else { format!("{block}.{family}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backcut_systems::System;
    use backcut_systems::quadrotor::QuadrotorConfig;

    #[test]
    fn the_quadrotors_groups_are_those_of_the_policy() {
        let system = QuadrotorConfig::default().check().unwrap();
        let layout = System::<f32>::program(&system).layout();
        let groups = groups(layout);
        let names: Vec<&str> = groups.iter().map(|g| g.name.as_str()).collect();
        let of_block = |b: usize| {
            ["norms", "w_q", "w_k", "w_v", "w_o", "feed-forward"].map(|p| format!("block{b}.{p}"))
        };
        let mut want = vec!["embedding".to_owned(), "position".to_owned()];
        want.extend(of_block(0));
        want.extend(of_block(1));
        want.extend(["norm".to_owned(), "head".to_owned()]);
        assert_eq!(names, want);
    }

    #[test]
    fn every_weight_belongs_to_exactly_one_group() {
        let system = QuadrotorConfig::default().check().unwrap();
        let layout = System::<f32>::program(&system).layout();
        let mut count = vec![0; layout.len()];
        let groups = groups(layout);
        for range in groups.iter().flat_map(|g| g.ranges.clone()) {
            count[range].iter_mut().for_each(|c| *c += 1);
        }
        assert!(count.iter().all(|c| *c == 1));
        let pool = pooled(&groups, "w_v").unwrap();
        assert_eq!(pool.len(), 2 * groups.iter().find(|g| g.kind() == "w_v").unwrap().len());
        assert_eq!(pooled(&groups, "nothing"), None);
    }

    #[test]
    fn keys_biases_are_set_apart_and_nothing_else() {
        let mut config = QuadrotorConfig::default();
        let layout_of = |config: &QuadrotorConfig| {
            let system = config.clone().check().unwrap();
            System::<f32>::program(&system).layout().clone()
        };
        let layout = layout_of(&config);
        let apart = groups_apart(&layout);
        let redundant: Vec<&Group> = apart.iter().filter(|g| g.is_apart).collect();
        assert_eq!(redundant.len(), 1);
        assert_eq!(redundant[0].len(), 128, "64 of each block");
        let kept: usize = whole_ranges(&apart).unwrap().iter().map(ExactSizeIterator::len).sum();
        assert_eq!(kept + 128, layout.len());
        assert_eq!(whole_ranges(&groups(&layout)), None);
        config.policy.key_bias = false;
        let without = layout_of(&config);
        assert_eq!(whole_ranges(&groups_apart(&without)), None, "nothing to set apart");
    }

    #[test]
    fn names_without_a_known_form_are_their_own_group() {
        assert_eq!(group_of("a.b.w_k.bias"), "a.b.w_k");
        assert_eq!(group_of("decoder.feed12.weight"), "decoder.feed-forward");
        assert_eq!(group_of("norm.gain"), "norm");
        assert_eq!(group_of("table"), "table");
    }
}
