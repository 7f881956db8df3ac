//! A run of narrow sites, backward: in columns, with the adjoints that cross its border turned to
//! and from rows.

use backcut_kernels::Real;
use backcut_kernels::columns::{self, ROWS};

use crate::backward::workspace::Workspace;
use crate::compile::narrow::Run;
use crate::credit::BackwardError;
use crate::forward::model::Model;
use crate::forward::rollout::Rollout;
use crate::trace::Scope;

impl<R: Real> Workspace<R> {
    pub(super) fn run_columns<const CHECKED: bool>(
        &mut self,
        model: &Model<R>,
        rollout: &Rollout<R>,
        run: &Run,
        t: usize,
    ) -> Result<(), BackwardError> {
        let (isa, narrow) = (model.isa(), &rollout.narrow);
        let groups = self.rows.div_ceil(ROWS);
        let (kept, _) = rollout.columns.kept.as_chunks();
        let (file, _) = self.columns.as_chunks_mut();
        let watched = CHECKED || !self.taps.is_empty();
        for lane in 0..self.plan.lanes {
            for group in 0..groups {
                let file = &mut file[(lane * groups + group) * narrow.columns..][..narrow.columns];
                let values = &kept[(t * groups + group) * narrow.kept..][..narrow.kept];
                let rows = |width: usize| {
                    group * ROWS * width..((group + 1) * ROWS).min(self.rows) * width
                };
                for &site in &run.takes_adjoints {
                    let width = self.program.step.width(site);
                    let from = &self.adjoints.data[self.adjoints.range(site, lane)];
                    columns::take(isa, width, &from[rows(width)], &mut file[narrow.at(site)..]);
                }
                columns::backward(isa, &run.backward, model.constants(Scope::Step), values, file);
                let all = if watched { &run.reached[..] } else { &[] };
                for &site in run.gives_adjoints.iter().chain(all) {
                    let width = self.program.step.width(site);
                    let range = self.adjoints.range(site, lane);
                    let to = &mut self.adjoints.data[range];
                    columns::give(isa, width, &file[narrow.at(site)..], &mut to[rows(width)]);
                }
            }
        }
        if watched {
            for &site in &run.reached {
                if CHECKED {
                    self.check_adjoint(isa, rollout, site, t)?;
                }
                self.keep_tap(site, t);
            }
        }
        Ok(())
    }
}
