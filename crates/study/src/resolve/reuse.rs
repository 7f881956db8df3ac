//! Arms of other studies, brought onto a grid of this one.

use std::collections::BTreeSet;

use backcut_text::nearest;

use super::resolver::{Resolver, indices};
use crate::error::StudyError;
use crate::study::{Arm, Grid, Study};

impl Resolver<'_> {
    /// Takes arms of another study, and what they branch from, onto a grid of this one.
    pub(super) fn adopt(
        &mut self,
        study: &Study,
        names: &[String],
        own: Option<usize>,
        has_prefix: bool,
    ) -> Result<(), StudyError> {
        let ours = &self.file.name;
        let draws = study.grids.iter().filter_map(|grid| Some(&grid.drawn.as_ref()?.study));
        let origins = study.arms.iter().filter_map(|arm| arm.origin.as_ref());
        if [&study.name].into_iter().chain(draws).chain(origins).any(|name| name == ours) {
            let what = format!("reuse: study {ours} takes arms over from a study of its own name");
            return Err(StudyError::invalid(what, "sources are known by who drew them: rename it"));
        }
        let mut grid_of = vec![None; study.grids.len()];
        let mut arm_of = vec![None; study.arms.len()];
        for name in names {
            let found: Vec<usize> = indices(&study.arms, |a| a.name == *name);
            if found.is_empty() {
                let known: Vec<&str> = study.arms.iter().map(|a| a.name.as_str()).collect();
                let hint = nearest(name, known.iter().copied()).map_or_else(
                    || format!("it has {}", known.join(", ")),
                    |k| format!("did you mean `{k}`?"),
                );
                return Err(StudyError::invalid(
                    format!("reuse: study {} has no arm `{name}`", study.name),
                    hint,
                ));
            }
            for index in found {
                self.adopt_arm(study, index, own, has_prefix, &mut grid_of, &mut arm_of)?;
            }
        }
        Ok(())
    }

    pub(super) fn adopt_arm(
        &mut self,
        study: &Study,
        index: usize,
        own: Option<usize>,
        has_prefix: bool,
        grid_of: &mut [Option<usize>],
        arm_of: &mut [Option<usize>],
    ) -> Result<usize, StudyError> {
        if let Some(known) = arm_of[index] {
            return Ok(known);
        }
        let theirs = &study.arms[index];
        let from = match theirs.from {
            Some((parent, at)) => {
                Some((self.adopt_arm(study, parent, own, has_prefix, grid_of, arm_of)?, at))
            }
            None => None,
        };
        let their_grid = &study.grids[theirs.grid];
        let (grid, pairs) = if let Some(own) = own {
            (own, matching(&self.grids[own], their_grid, theirs, &study.name)?)
        } else {
            let grid = *grid_of[theirs.grid].get_or_insert_with(|| {
                let mut grid = their_grid.clone();
                if has_prefix {
                    for (label, _) in &mut grid.conditions {
                        *label = format!("{}/{label}", study.name);
                    }
                }
                self.grids.push(grid);
                self.grids.len() - 1
            });
            (grid, theirs.conditions.iter().map(|&c| (c, c)).collect())
        };
        let conditions = pairs.iter().map(|&(ours, _)| ours).collect();
        let systems = pairs.iter().map(|(o, t)| (*o, theirs.systems[t].clone())).collect();
        if self.arms.iter().any(|a| a.name == theirs.name && a.grid == grid) {
            return Err(StudyError::invalid(
                format!(
                    "reuse: arm `{}` comes from two studies onto the same sources",
                    theirs.name
                ),
                "reuse it once, or leave out [sources]",
            ));
        }
        let origin = theirs.origin.clone().unwrap_or_else(|| study.name.clone());
        let origin = Some(origin);
        self.arms.push(Arm { grid, conditions, systems, from, origin, ..theirs.clone() });
        arm_of[index] = Some(self.arms.len() - 1);
        Ok(self.arms.len() - 1)
    }
}

/// The conditions of our grid under which a reused arm has run, with our seeds among its own;
/// beside each the same condition of theirs.
fn matching(
    ours: &Grid,
    theirs: &Grid,
    arm: &Arm,
    study: &str,
) -> Result<Vec<(usize, usize)>, StudyError> {
    if ours.drawn.is_some() || theirs.drawn.is_some() {
        let what = format!("reuse: its own sources and those of study {study} are not the same");
        let hint = "leave out [sources]: the drawn sources of the reused study are taken over";
        return Err(StudyError::invalid(what, hint));
    }
    let known: BTreeSet<u64> = theirs.sources.iter().copied().collect();
    if let Some(seed) = ours.sources.iter().find(|s| !known.contains(s)) {
        let what = format!("reuse: study {study} has no source {seed}");
        return Err(StudyError::invalid(what, "reused arms need the same seeds"));
    }
    let mut conditions = Vec::new();
    for (index, (label, choice)) in ours.conditions.iter().enumerate() {
        let found = arm.conditions.iter().find(|&&c| theirs.conditions[c].0 == *label);
        let Some(&found) = found else { continue };
        if theirs.conditions[found].1 != *choice {
            let what = format!("reuse: condition `{label}` means something else in study {study}");
            return Err(StudyError::invalid(what, "give it the same settings, or another label"));
        }
        conditions.push((index, found));
    }
    if conditions.is_empty() {
        let what = format!("reuse: arm `{}` of study {study} shares no condition", arm.name);
        return Err(StudyError::invalid(what, "label the conditions alike"));
    }
    Ok(conditions)
}
