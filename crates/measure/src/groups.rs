//! Parameter groups: the parts in which a gradient or an update is reported.
//!
//! Groups follow from the parameters' names alone (`block0.w_k.weight` belongs to `block0.w_k`), so a
//! user's own system has groups without declaring them. Numbered layers of a feed-forward and the norms
//! of a block are one group each. Across blocks, groups of one kind (`w_v`) can be pooled.

use std::ops::Range;

use backcut_engine::Layout;

/// The name of the part that is everything.
pub const ALL: &str = "all";

/// Some tensors of a model under one name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// Its name, such as `block0.w_k`.
    pub name: String,
    /// Its places in the flat vector, in order.
    pub ranges: Vec<Range<usize>>,
}

impl Group {
    /// Everything, under the name [`ALL`].
    pub fn whole(len: usize) -> Self {
        Self { name: ALL.to_owned(), ranges: std::iter::once(0..len).collect() }
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

/// The groups of any named tensors, in the order of their first ones; `group_of` names the group of each.
pub fn groups_by<'a>(
    parameters: impl Iterator<Item = (&'a str, Range<usize>)>,
    group_of: &dyn Fn(&str) -> String,
) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (parameter, range) in parameters {
        let name = group_of(parameter);
        let found = groups.iter().position(|g| g.name == name).unwrap_or_else(|| {
            groups.push(Group { name, ranges: Vec::new() });
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
    let mut pool = Group { name: kind.to_owned(), ranges: Vec::new() };
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
    fn names_without_a_known_form_are_their_own_group() {
        assert_eq!(group_of("a.b.w_k.bias"), "a.b.w_k");
        assert_eq!(group_of("decoder.feed12.weight"), "decoder.feed-forward");
        assert_eq!(group_of("norm.gain"), "norm");
        assert_eq!(group_of("table"), "table");
    }
}
