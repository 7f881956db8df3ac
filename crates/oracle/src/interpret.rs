//! A plain interpreter of any program on the tape, under any cut.
//!
//! Rows are independent of one another and run one after the other. Within a row a step is computed
//! site by site; what crosses from one step to the next (states, registers, keys and values) passes
//! one of three functions below, and those place the stop-gradients. Under `Steps(k)` every step is
//! computed in `k` copies: copy `i` reads its states from copy `i - 1`, copy 0 reads constants, and
//! registers and caches stay within a copy; so a path from the last copy's loss passes at most
//! `k - 1` state edges. Columns that a part of the cut exempts are read from their own copy.

use backcut_engine::edges::{Edge, Fate, Through};
use backcut_engine::ops::{
    Attend, Concat, Cross, Input, Op, Recall, Register, SetAttend, Slice, State, StepRow,
};
use backcut_engine::{Cut, MemoryCredit, Node, Program, Resolved, Site, StateCredit};

use crate::fate::memory_fate;
use crate::inputs::{
    FixedValues, Objective, OracleError, OracleInputs, OracleSpec, WrongEdge, check,
};
use crate::operations::{Columns, Parameters, attention, constants, detach, scaled, within_step};
use crate::tape::{Scalar, Tape};

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
    /// What the cut did to the edges of one row, noted as it was done.
    pub edges: Vec<Edge>,
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
        edges: Vec::new(),
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
            edges: Vec::new(),
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
    edges: Vec<Edge>,
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
        within_step(node, sites, self.parameters)
            .expect("the interpreter knows what reads beyond its step")
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
            let declared = program.declared_edges().zip(&self.resolved.points);
            let through: f64 =
                declared.filter(|((_, at), _)| *at == site).map(|(_, factor)| factor).product();
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
        let next = self.program.states()[index].next;
        let passages = &self.resolved.states[index];
        let mut columns = Columns::new();
        for (part, passage) in passages.iter().enumerate() {
            let limited = passage.counts && self.cut.state != StateCredit::Full;
            let fate = match passage.factor {
                _ if limited && copy == 0 => Fate::Dropped,
                0.0 => Fate::Dropped,
                1.0 => Fate::Kept,
                factor => Fate::Scaled(factor),
            };
            let part = (passages.len() > 1).then_some(part);
            let edge = Edge { through: Through::State, index, part, from: t - 1, to: t, fate };
            let edge = self.unless_wrong(edge);
            let from = if limited { copy.saturating_sub(1) } else { copy };
            let before = &self.history[from][t - 1][next][passage.columns.clone()];
            columns.extend(received(before, edge.fate));
            self.note(edge, copy);
        }
        columns
    }

    /// The memory half of a cut for a register: what step `t` receives of it.
    fn register(&mut self, index: usize, copy: usize, t: usize) -> Columns<'t> {
        if t == 0 {
            return constants(&self.inputs.registers[index][self.row]);
        }
        let before = &self.history[copy][t - 1][self.program.registers()[index].next];
        if t <= self.spec.prefix {
            return detach(before);
        }
        let edge =
            self.memory_edge(Through::Register, index, self.resolved.registers[index], t - 1, t);
        let columns = received(before, edge.fate);
        self.note(edge, copy);
        columns
    }

    /// Under `FD` the weights of columns that hold a register are constants, as a stored key is.
    fn is_dropped_column(&self, x: Site, column: usize, t: usize) -> bool {
        let Some(index) = self.held[x][column] else { return false };
        let edge = |credit| self.memory_edge(Through::Register, index, credit, t - 1, t);
        t > self.spec.prefix
            && self.overridden(self.program.registers()[index].read, t).is_none()
            && edge(self.resolved.registers[index]).fate == Fate::Dropped
    }

    /// The memory half of a cut for a cache: keys and values of earlier steps as step `t` reads
    /// them.
    fn cache(
        &mut self,
        [key, value]: [Site; 2],
        cache: usize,
        copy: usize,
        t: usize,
    ) -> Result<(Vec<Columns<'t>>, Vec<Columns<'t>>), OracleError> {
        let credits = self.resolved.caches[cache];
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for j in 0..t {
            let in_window = self.spec.window.is_none_or(|window| t - j < window);
            let in_mask = self.spec.mask.as_ref().is_none_or(|mask| mask[t][j]);
            if !(in_window && in_mask) {
                continue;
            }
            let [of_key, of_value] = if j < self.spec.prefix {
                [Fate::Dropped; 2]
            } else {
                let edges = credits.map(|c| self.memory_edge(Through::Cache, cache, c, j, t));
                let [of_key, of_value] = edges;
                if of_key == of_value {
                    self.note(of_key, copy);
                } else {
                    self.note(Edge { through: Through::Keys, ..of_key }, copy);
                    self.note(Edge { through: Through::Values, ..of_value }, copy);
                }
                edges.map(|edge| edge.fate)
            };
            keys.push(self.stored(key, of_key, copy, j)?);
            values.push(self.stored(value, of_value, copy, j)?);
        }
        Ok((keys, values))
    }

    /// The key or value of step `j` as a later query sees it.
    fn stored(
        &self,
        site: Site,
        fate: Fate,
        copy: usize,
        j: usize,
    ) -> Result<Columns<'t>, OracleError> {
        let sites = &self.history[copy][j];
        if self.overridden(site, j).is_some() {
            return Ok(detach(&sites[site]));
        }
        match (fate, &self.program.nodes()[site].op) {
            (Fate::Kept, _) => Ok(sites[site].clone()),
            (Fate::Dropped, _) => Ok(detach(&sites[site])),
            // The projection is computed again, of what was stored as this query may reach it.
            (Fate::WeightsOnly | Fate::Scaled(_), Op::Linear(linear)) => {
                Ok(self.parameters.linear(&received(&sites[linear.x], fate), linear))
            }
            (fate, op) => {
                let (cut, made_by) = (self.cut, op.name());
                Err(OracleError::Cut(format!("{cut}: {fate:?} of what `{made_by}` makes")))
            }
        }
    }

    /// An edge of memory with what its credit leaves of it; segments count from the first step
    /// after the prefix.
    fn memory_edge(
        &self,
        through: Through,
        index: usize,
        credit: MemoryCredit,
        from: usize,
        to: usize,
    ) -> Edge {
        let OracleSpec { prefix, draw, .. } = *self.spec;
        let fate = memory_fate(credit, draw, from - prefix, to - prefix);
        self.unless_wrong(Edge { through, index, part: None, from, to, fate })
    }

    fn unless_wrong(&self, edge: Edge) -> Edge {
        let Edge { through, index, from, to, fate, .. } = edge;
        let fate = match self.spec.wrong_edge {
            Some(wrong) if wrong == (WrongEdge { through, index, from, to }) => {
                if fate == Fate::Kept { Fate::Dropped } else { Fate::Kept }
            }
            _ => fate,
        };
        Edge { fate, ..edge }
    }

    /// Notes an edge once, in the copy whose loss is taken; inside the prefix there are none.
    fn note(&mut self, edge: Edge, copy: usize) {
        if copy + 1 == self.history.len() && edge.from >= self.spec.prefix {
            self.edges.push(edge);
        }
    }
}

/// Values of an earlier step, with the stop-gradient that a fate is.
fn received<'t>(values: &[Scalar<'t>], fate: Fate) -> Columns<'t> {
    match fate {
        Fate::Kept => values.to_vec(),
        Fate::WeightsOnly | Fate::Dropped => detach(values),
        Fate::Scaled(factor) => scaled(values, factor),
    }
}

/// For each column of each site of the step, the register that it holds as it is: read, sliced, put
/// side by side.
fn held_registers(program: &Program) -> Vec<Vec<Option<usize>>> {
    let mut held: Vec<Vec<Option<usize>>> = Vec::new();
    for node in program.nodes() {
        held.push(match &node.op {
            Op::Register(Register(index)) => vec![Some(*index); node.width],
            Op::Slice(Slice { x, start }) => held[*x][*start..start + node.width].to_vec(),
            Op::Concat(Concat(parts)) => {
                parts.iter().flat_map(|&part| held[part].clone()).collect()
            }
            _ => vec![None; node.width],
        });
    }
    held
}

/// A site's columns for all tokens, as keys and as values.
fn read_tokens<'t>(
    tokens: &[Sites<'t>],
    key: Site,
    value: Site,
) -> (Vec<Columns<'t>>, Vec<Columns<'t>>) {
    tokens.iter().map(|sites| (sites[key].clone(), sites[value].clone())).unzip()
}
