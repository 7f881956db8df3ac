//! A run of narrow sites, forward: in columns, with the values that cross its border turned to and
//! from rows.

use backcut_kernels::Real;
use backcut_kernels::columns::{self, ROWS};

use crate::compile::narrow::{Narrow, Run};
use crate::forward::model::Model;
use crate::forward::rollout::{Columns, Rollout};
use crate::trace::Scope;

impl<R: Real> Model<R> {
    pub(crate) fn run_columns(&self, rollout: &mut Rollout<R>, run: &Run, t: usize) {
        let all_rows = rollout.rows();
        let Rollout { step, columns, narrow, .. } = rollout;
        let (file, _) = columns.file.as_chunks_mut();
        for (group, file) in file.chunks_exact_mut(narrow.columns).enumerate() {
            let rows = |range: std::ops::Range<usize>| {
                let width = range.len() / all_rows;
                let (first, last) = (group * ROWS, ((group + 1) * ROWS).min(all_rows));
                (width, range.start + first * width..range.start + last * width)
            };
            for &site in &run.takes {
                let (width, rows) = rows(step.frame.range(site, t));
                columns::take(self.isa(), width, &step.values[rows], &mut file[narrow.at(site)..]);
            }
            columns::forward(self.isa(), &run.forward, self.constants(Scope::Step), file);
            for &site in &run.gives {
                let (width, rows) = rows(step.frame.range(site, t));
                columns::give(self.isa(), width, &file[narrow.at(site)..], &mut step.values[rows]);
            }
        }
    }
}

impl<R: Real> Columns<R> {
    /// Keeps what a backward will need of step `t`.
    pub fn keep(&mut self, narrow: &Narrow, t: usize) {
        let len = narrow.kept * ROWS;
        if narrow.columns == 0 || len == 0 {
            return;
        }
        let groups = self.file.len() / (narrow.columns * ROWS);
        let kept = self.kept[t * groups * len..].chunks_exact_mut(len);
        for (to, from) in kept.zip(self.file.chunks_exact(narrow.columns * ROWS)) {
            to.copy_from_slice(&from[..len]);
        }
    }
}
