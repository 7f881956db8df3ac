//! A plain interpreter of any program on the tape, under any cut.
//!
//! Rows are independent of one another and run one after the other. Within a row a step is computed
//! site by site; what crosses from one step to the next (states, registers, keys and values) passes
//! one of three functions below, and those place the stop-gradients. Under `Steps(k)` every step is
//! computed in `k` copies: copy `i` reads its states from copy `i - 1`, copy 0 reads constants, and
//! registers and caches stay within a copy; so a path from the last copy's loss passes at most
//! `k - 1` state edges. Columns that a part of the cut exempts are read from their own copy.

use super::edges::{EdgeKey, EdgeKind, Edges, Fate, factor, memory_fate};
use super::held::held_registers;
use super::inputs::{
    FixedValues, Objective, OracleError, OracleInputs, OracleSpec, WrongEdge, check,
};
use super::operations::{Columns, Parameters, Row, attention, constants, detach, scaled};
use super::tape::{Scalar, Tape};
use crate::compile::program::Program;
use crate::credit::Resolved;
use crate::cut::{Cut, MemoryCredit, StateCredit};
use crate::ops::{Attend, Cross, Input, Op, Recall, Register, SetAttend, State, StepRow};
use crate::trace::{Node, Site};

/// A rollout and its gradient under one cut.
#[derive(Clone, PartialEq, Debug)]
pub struct OracleResult {
    /// Summed over rows and the steps after the prefix.
    pub loss: f64,
    /// The same, row by row.
    pub row_loss: Vec<f64>,
    /// `[site][step][row][column]`.
    pub values: Vec<Vec<Vec<Vec<f64>>>>,
    /// One derivative per parameter, in layout order.
    pub gradient: Vec<f64>,
    /// Derivatives with respect to the values, `[site][step][row][column]`; zero in the prefix.
    pub adjoints: Vec<Vec<Vec<Vec<f64>>>>,
    /// What the cut did to the edges of one row.
    pub edges: Edges,
}

/// All sites of one step (or of one token of the condition).
type Sites<'t> = Vec<Columns<'t>>;

/// Rolls `program` out and differentiates its loss under `cut`.
pub fn interpret(
    program: &Program,
    parameters: &[f64],
    inputs: &OracleInputs,
    spec: &OracleSpec,
    cut: Cut,
) -> Result<OracleResult, OracleError> {
    check(program, parameters, inputs, spec)?;
    let loss_site = program.loss_site().ok_or(OracleError::NoLoss)?;
    let resolved =
        &Resolved::new(program, cut).map_err(|error| OracleError::Cut(error.to_string()))?;
    let tape = Tape::new();
    let flat = parameters.iter().map(|&p| tape.leaf(p)).collect();
    let parameters = Parameters { layout: program.layout(), flat };
    let copies = match cut.state {
        StateCredit::Full => 1,
        // More copies than steps would all be the same.
        StateCredit::Steps(k) => (k.get() as usize).min(spec.steps),
    };

    let mut result = OracleResult {
        loss: 0.0,
        row_loss: Vec::new(),
        values: vec![vec![Vec::new(); spec.steps]; program.nodes().len()],
        gradient: Vec::new(),
        adjoints: Vec::new(),
        edges: Edges::new(),
    };
    let mut objective = Scalar::constant(0.0);
    let mut histories = Vec::new();
    for row in 0..spec.rows {
        let mut run = Run {
            tape: &tape,
            program,
            parameters: &parameters,
            inputs,
            spec,
            cut,
            resolved,
            held: held_registers(program),
            row,
            condition: Vec::new(),
            history: vec![Vec::new(); copies],
            edges: Edges::new(),
        };
        run.condition = run.condition();
        for t in 0..spec.steps {
            for copy in 0..copies {
                let sites = run.step(copy, t)?;
                run.history[copy].push(sites);
            }
        }
        let steps = &run.history[copies - 1];
        for (t, sites) in steps.iter().enumerate() {
            for (site, columns) in sites.iter().enumerate() {
                result.values[site][t].push(columns.iter().map(|x| x.value()).collect());
            }
        }
        let loss: Scalar = steps[spec.prefix..].iter().map(|sites| sites[loss_site][0]).sum();
        result.row_loss.push(loss.value());
        result.loss += loss.value();
        objective = objective + run.objective(steps, loss);
        result.edges = run.edges;
        histories.push(run.history);
    }
    let adjoints = tape.backward(objective);
    result.adjoints.clone_from(&result.values);
    for (site, steps) in result.adjoints.iter_mut().enumerate() {
        for (t, rows) in steps.iter_mut().enumerate() {
            for (row, columns) in rows.iter_mut().enumerate() {
                for (c, column) in columns.iter_mut().enumerate() {
                    *column = histories[row].iter().map(|copy| adjoints.of(copy[t][site][c])).sum();
                }
            }
        }
    }
    result.gradient = parameters.flat.iter().map(|&p| adjoints.of(p)).collect();
    Ok(result)
}

/// One row of a rollout, as far as it has come.
struct Run<'a, 't> {
    tape: &'t Tape,
    program: &'a Program,
    parameters: &'a Parameters<'a, 't>,
    inputs: &'a OracleInputs,
    spec: &'a OracleSpec,
    cut: Cut,
    /// Which credit each edge has.
    resolved: &'a Resolved,
    /// For each column of each site, the register that it holds as it is.
    held: Vec<Vec<Option<usize>>>,
    row: usize,
    /// `[token][site]`.
    condition: Vec<Sites<'t>>,
    /// `[copy][step][site]`.
    history: Vec<Vec<Sites<'t>>>,
    edges: Edges,
}

impl<'t> Run<'_, 't> {
    /// The condition of this row, all tokens of a site before the next site.
    fn condition(&self) -> Vec<Sites<'t>> {
        let mut tokens: Vec<Sites<'t>> = vec![Vec::new(); self.program.tokens()];
        for node in self.program.condition_nodes() {
            let site: Vec<Columns<'t>> = (0..tokens.len())
                .map(|token| match node.op {
                    Op::Input(Input(i)) => constants(&self.inputs.condition[i][self.row][token]),
                    Op::SetAttend(SetAttend { q, key, value, heads }) => {
                        let (keys, values) = read_tokens(&tokens, key, value);
                        attention(&tokens[token][q], &keys, &values, heads)
                    }
                    _ => self.within_step(node, &tokens[token]),
                })
                .collect();
            for (sites, columns) in tokens.iter_mut().zip(site) {
                sites.push(columns);
            }
        }
        tokens
    }

    /// An instruction that reads nothing but earlier sites of its own step and row.
    fn within_step(&self, node: &Node, sites: &[Columns<'t>]) -> Columns<'t> {
        let row = Row { width: node.width, sites, parameters: self.parameters };
        node.op.oracle(&row).expect("the interpreter knows what reads beyond its step")
    }

    /// Every site of step `t`, in one copy.
    fn step(&mut self, copy: usize, t: usize) -> Result<Sites<'t>, OracleError> {
        let program = self.program;
        let mut sites = Sites::new();
        for (site, node) in program.nodes().iter().enumerate() {
            let columns = match node.op {
                Op::Input(Input(i)) => constants(&self.inputs.inputs[i][t][self.row]),
                Op::State(State(i)) => self.state(i, copy, t),
                Op::Register(Register(i)) => self.register(i, copy, t),
                Op::StepRow(StepRow(table)) => self.parameters.row(table, t).to_vec(),
                Op::Attend(Attend { q, key, value, cache, heads }) => {
                    let (mut keys, mut values) = self.cache([key, value], cache, copy, t)?;
                    keys.push(sites[key].clone());
                    values.push(sites[value].clone());
                    attention(&sites[q], &keys, &values, heads)
                }
                Op::Cross(Cross { q, key, value, heads }) => {
                    let (keys, values) = read_tokens(&self.condition, key, value);
                    attention(&sites[q], &keys, &values, heads)
                }
                Op::Recall(Recall(source)) => self.condition[0][source].clone(),
                Op::Linear(ref linear) => {
                    let is_dropped = |i: usize| self.is_dropped_column(linear.x, i, t);
                    self.parameters.linear_without(&sites[linear.x], linear, is_dropped)
                }
                _ => self.within_step(node, &sites),
            };
            let columns = self.overridden(site, t).unwrap_or(columns);
            // A place of its own for every site, also for one that only hands a value on.
            let place = |&x: &Scalar<'t>| self.tape.place(x);
            let in_prefix = t < self.spec.prefix;
            let points = program.points.iter().zip(&self.resolved.points);
            let through: f64 = points.filter(|(p, _)| p.site == site).map(|(_, f)| f).product();
            sites.push(if in_prefix {
                detach(&columns)
            } else if through == 1.0 {
                columns.iter().map(place).collect()
            } else {
                columns.iter().map(|x| place(&x.scale_gradient(through))).collect()
            });
        }
        Ok(sites)
    }

    /// What is differentiated: the loss, or what the caller put in its place.
    fn objective(&self, steps: &[Sites<'t>], loss: Scalar<'t>) -> Scalar<'t> {
        let Some(Objective { loss: weight, seeds }) = &self.spec.objective else { return loss };
        let mut sum = loss * *weight;
        for FixedValues { site, first, values } in seeds {
            let site = self.program.tap(site).unwrap_or_default();
            let learning = self.spec.prefix.max(*first)..first + values.len();
            for (sites, seed) in
                steps[learning.clone()].iter().zip(&values[learning.start - first..])
            {
                let terms = sites[site].iter().zip(&seed[self.row]).map(|(&x, &seed)| x * seed);
                sum = sum + terms.sum::<Scalar>();
            }
        }
        sum
    }

    /// What is fed from outside in place of a site's value.
    fn overridden(&self, site: Site, t: usize) -> Option<Columns<'t>> {
        let fixed = self.spec.overrides.iter().rfind(|fixed| {
            self.program.tap(&fixed.site) == Some(site)
                && (fixed.first..fixed.first + fixed.values.len()).contains(&t)
        })?;
        Some(constants(&fixed.values[t - fixed.first][self.row]))
    }

    /// The physical half of a cut: what step `t` receives of a state.
    fn state(&mut self, index: usize, copy: usize, t: usize) -> Columns<'t> {
        if t == 0 {
            return constants(&self.inputs.states[index][self.row]);
        }
        let carried = &self.program.states()[index];
        let passages = &self.resolved.states[index];
        let mut columns = Columns::new();
        for (part, passage) in passages.iter().enumerate() {
            let name = match carried.parts.get(part).filter(|_| passages.len() > 1) {
                Some((part, _)) => format!("{}.{part}", carried.name),
                None => carried.name.clone(),
            };
            let kind = EdgeKind::State(name);
            let limited = passage.counts && self.cut.state != StateCredit::Full;
            let fate = match passage.factor {
                _ if limited && copy == 0 => Fate::Dropped,
                0.0 => Fate::Dropped,
                1.0 => Fate::Kept,
                _ => Fate::Scaled,
            };
            let fate = self.unless_wrong(&kind, t - 1, t, fate);
            let from = if limited { copy.saturating_sub(1) } else { copy };
            let before = &self.history[from][t - 1][carried.next][passage.columns.clone()];
            columns.extend(match fate {
                Fate::Dropped => detach(before),
                Fate::Scaled => scaled(before, passage.factor),
                Fate::Kept | Fate::WeightOnly => before.to_vec(),
            });
            self.count(kind, copy, t - 1, t, fate);
        }
        columns
    }

    /// The memory half of a cut for a register: what step `t` receives of it.
    fn register(&mut self, index: usize, copy: usize, t: usize) -> Columns<'t> {
        if t == 0 {
            return constants(&self.inputs.registers[index][self.row]);
        }
        let carried = &self.program.registers()[index];
        let before = &self.history[copy][t - 1][carried.next];
        if t <= self.spec.prefix {
            return detach(before);
        }
        let kind = EdgeKind::Register(carried.name.clone());
        let credit = self.resolved.registers[index];
        let fate = self.fate(&kind, credit, t - 1, t);
        let columns = match fate {
            Fate::Kept => before.clone(),
            Fate::WeightOnly | Fate::Dropped => detach(before),
            Fate::Scaled => scaled(before, factor(credit, 1)),
        };
        self.count(kind, copy, t - 1, t, fate);
        columns
    }

    /// Under `FD` the weights of columns that hold a register are constants, as a stored key is.
    fn is_dropped_column(&self, x: Site, column: usize, t: usize) -> bool {
        let Some(index) = self.held[x][column] else { return false };
        let register = &self.program.registers()[index];
        let kind = EdgeKind::Register(register.name.clone());
        t > self.spec.prefix
            && self.overridden(register.read, t).is_none()
            && self.fate(&kind, self.resolved.registers[index], t - 1, t) == Fate::Dropped
    }

    /// The memory half of a cut for a cache: keys and values of earlier steps as step `t` reads them.
    fn cache(
        &mut self,
        [key, value]: [Site; 2],
        cache: usize,
        copy: usize,
        t: usize,
    ) -> Result<(Vec<Columns<'t>>, Vec<Columns<'t>>), OracleError> {
        let name = self.program.cache_names().nth(cache).unwrap_or_default().to_owned();
        let kind = EdgeKind::Cache(name.clone());
        let [of_key, of_value] = self.resolved.caches[cache];
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for j in 0..t {
            let in_window = self.spec.window.is_none_or(|window| t - j < window);
            let in_mask = self.spec.mask.as_ref().is_none_or(|mask| mask[t][j]);
            if !(in_window && in_mask) {
                continue;
            }
            keys.push(self.stored(key, of_key, &kind, copy, j, t)?);
            values.push(self.stored(value, of_value, &kind, copy, j, t)?);
            if j < self.spec.prefix {
                continue;
            }
            let fates = [of_key, of_value].map(|credit| self.fate(&kind, credit, j, t));
            let factors = [of_key, of_value].map(|credit| factor(credit, t - j));
            if fates[0] == fates[1] && factors[0] == factors[1] {
                self.count(kind.clone(), copy, j, t, fates[0]);
            } else {
                self.count(EdgeKind::Keys(name.clone()), copy, j, t, fates[0]);
                self.count(EdgeKind::Values(name.clone()), copy, j, t, fates[1]);
            }
        }
        Ok((keys, values))
    }

    /// The key or value of step `j` as the query of step `t > j` sees it.
    fn stored(
        &self,
        site: Site,
        credit: MemoryCredit,
        cache: &EdgeKind,
        copy: usize,
        j: usize,
        t: usize,
    ) -> Result<Columns<'t>, OracleError> {
        let sites = &self.history[copy][j];
        if j < self.spec.prefix || self.overridden(site, j).is_some() {
            return Ok(detach(&sites[site]));
        }
        match (self.fate(cache, credit, j, t), &self.program.nodes()[site].op) {
            (Fate::Kept, _) => Ok(sites[site].clone()),
            (Fate::Dropped, _) => Ok(detach(&sites[site])),
            (Fate::WeightOnly, Op::Linear(linear)) => {
                Ok(self.parameters.linear(&detach(&sites[linear.x]), linear))
            }
            (Fate::Scaled, Op::Linear(linear)) => {
                let x = scaled(&sites[linear.x], factor(credit, t - j));
                Ok(self.parameters.linear(&x, linear))
            }
            (fate, op) => {
                let (cut, made_by) = (self.cut, op.name());
                Err(OracleError::Cut(format!("{cut}: {fate:?} of what `{made_by}` makes")))
            }
        }
    }

    /// What credit of memory leaves of an edge; segments count from the first step after the prefix.
    fn fate(&self, kind: &EdgeKind, credit: MemoryCredit, j: usize, t: usize) -> Fate {
        let OracleSpec { prefix, draw, .. } = *self.spec;
        self.unless_wrong(kind, j, t, memory_fate(credit, draw, j - prefix, t - prefix))
    }

    fn unless_wrong(&self, kind: &EdgeKind, j: usize, t: usize, fate: Fate) -> Fate {
        let is_this = |edge: &WrongEdge| edge.kind == *kind && (edge.from, edge.to) == (j, t);
        if !self.spec.wrong_edge.as_ref().is_some_and(is_this) {
            fate
        } else if fate == Fate::Kept {
            Fate::Dropped
        } else {
            Fate::Kept
        }
    }

    /// Counts an edge once, in the copy whose loss is taken; inside the prefix there are none.
    fn count(&mut self, kind: EdgeKind, copy: usize, j: usize, t: usize, fate: Fate) {
        if copy + 1 == self.history.len() && j >= self.spec.prefix {
            *self.edges.entry(EdgeKey { kind, distance: t - j, fate }).or_default() += 1;
        }
    }
}

/// A site's columns for all tokens, as keys and as values.
fn read_tokens<'t>(
    tokens: &[Sites<'t>],
    key: Site,
    value: Site,
) -> (Vec<Columns<'t>>, Vec<Columns<'t>>) {
    tokens.iter().map(|sites| (sites[key].clone(), sites[value].clone())).unzip()
}
