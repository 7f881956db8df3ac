//! Linear sites: where their gradients are accumulated, and what they mean to the memory half of a
//! cut.

use std::ops::Range;

use backcut_kernels::attention::Side;

use crate::trace::ops::{Concat, Linear, Op, Register, Slice};
use crate::trace::{Node, ParamId, Site};

/// A linear site and where its gradient is accumulated.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct LinearSite {
    pub site: Site,
    pub x: Site,
    pub n_in: usize,
    pub n_out: usize,
    pub weight: ParamId,
    pub bias: Option<ParamId>,
    /// A parameter used by an earlier site too: accumulate aside, add at the end.
    pub shared: bool,
    pub role: Role,
}

/// What a linear site's output means to the memory half of a cut.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Role {
    /// Projects the stored representation into these caches.
    pub projections: Vec<(usize, Side)>,
    /// Columns of what it reads that hold a register as it is.
    pub registers: Vec<(usize, Range<usize>)>,
}

impl Role {
    /// `W_K`, `W_V` and their likes: the weights whose credit `FD` drops and `F_SG` keeps.
    pub fn is_memory(&self) -> bool {
        !self.projections.is_empty() || !self.registers.is_empty()
    }
}

/// Which of the given columns of a site hold a register as it is, counted from `at`.
fn register_columns(
    nodes: &[Node],
    site: Site,
    columns: Range<usize>,
    at: usize,
    found: &mut Vec<(usize, Range<usize>)>,
) {
    match &nodes[site].op {
        Op::Register(Register(register)) => found.push((*register, at..at + columns.len())),
        Op::Slice(Slice { x, start }) => {
            let columns = start + columns.start..start + columns.end;
            register_columns(nodes, *x, columns, at, found);
        }
        Op::Concat(Concat(parts)) => {
            let mut first = 0;
            for &part in parts {
                let width = nodes[part].width;
                let low = columns.start.clamp(first, first + width);
                let high = columns.end.clamp(first, first + width);
                if low < high {
                    let at = at + low - columns.start;
                    register_columns(nodes, part, low - first..high - first, at, found);
                }
                first += width;
            }
        }
        _ => {}
    }
}

/// The linear sites of a graph; `used`: parameters that somebody used before.
pub(super) fn linear_sites(
    nodes: &[Node],
    used: &mut Vec<ParamId>,
    feeds: &[Vec<(usize, Side)>],
) -> Vec<LinearSite> {
    let mut sites = Vec::new();
    for (site, node) in nodes.iter().enumerate() {
        let Op::Linear(Linear { x, weight, bias }) = node.op else { continue };
        let projections = feeds.get(site).cloned().unwrap_or_default();
        let mut registers = Vec::new();
        register_columns(nodes, x, 0..nodes[x].width, 0, &mut registers);
        let role = Role { projections, registers };
        let shared = std::iter::once(weight).chain(bias).any(|p| used.contains(&p));
        used.extend(std::iter::once(weight).chain(bias));
        sites.push(LinearSite {
            site,
            x,
            n_in: nodes[x].width,
            n_out: node.width,
            weight,
            bias,
            shared,
            role,
        });
    }
    sites
}
