//! The drawing: a triangle of queries and positions, the line of states, the reach of one loss.
//!
//! All three share their columns: a column is a step, or a block of steps where there are too many.

use std::fmt::Write as _;

use backcut_engine::edges::{Edge, Fate, Through};

use super::{Explained, words};
use crate::look::columns;

const LABEL: usize = 9;

/// Cells that fit beside the labels, two characters each: 34 in 80 columns.
fn widest() -> usize {
    (columns() - LABEL - 3) / 2
}

const OWN: char = 'o';
const KEPT: char = '#';
const WEIGHTS: char = '-';
const SCALED: char = '~';
const DROPPED: char = '.';
const MIXED: char = '+';
const NOTHING: char = '.';

/// Steps as columns of the drawing.
struct Columns {
    steps: usize,
    per_cell: usize,
}

impl Columns {
    fn new(steps: usize) -> Self {
        Self { steps, per_cell: steps.div_ceil(widest()) }
    }

    fn cells(&self) -> usize {
        self.steps.div_ceil(self.per_cell)
    }

    fn steps_of(&self, cell: usize) -> std::ops::Range<usize> {
        cell * self.per_cell..((cell + 1) * self.per_cell).min(self.steps)
    }

    /// The number of every fourth column above it.
    fn header(&self, label: &str) -> String {
        let mut out = format!("{label:>LABEL$} ");
        for cell in (0..self.cells()).step_by(4) {
            let _ = write!(out, "{:<8}", cell * self.per_cell);
        }
        end(&out)
    }

    fn row(label: &str, cells: impl Iterator<Item = String>) -> String {
        let mut out = format!("{label:>LABEL$} ");
        cells.for_each(|cell| {
            let _ = write!(out, "{cell:<2}");
        });
        end(&out)
    }
}

fn end(line: &str) -> String {
    format!("{}\n", line.trim_end())
}

/// The whole drawing.
pub fn draw(explained: &Explained<'_>) -> String {
    let columns = Columns::new(explained.steps);
    let mut out = triangles(explained, &columns);
    out.push('\n');
    out.push_str(&states(explained, &columns));
    out.push('\n');
    out.push_str(&reach(explained, &columns));
    out
}

/// What one cell of the triangle shows, as more edges are seen.
#[derive(Clone, Copy, PartialEq)]
enum Cell {
    Unread,
    All(char),
}

impl Cell {
    fn see(&mut self, mark: char) {
        *self = match *self {
            Self::Unread => Self::All(mark),
            Self::All(seen) if seen == mark => Self::All(mark),
            Self::All(_) => Self::All(MIXED),
        };
    }
}

fn mark(fate: Fate) -> char {
    match fate {
        Fate::Kept => KEPT,
        Fate::WeightsOnly => WEIGHTS,
        Fate::Scaled(_) => SCALED,
        Fate::Dropped => DROPPED,
    }
}

/// Memory edges: one triangle if a cut treats all caches alike, one for each kind of treatment
/// otherwise.
fn triangles(explained: &Explained<'_>, columns: &Columns) -> String {
    let mut kinds: Vec<(Vec<String>, Vec<Cell>)> = Vec::new();
    for (index, name) in explained.program.cache_names().enumerate() {
        for (other, side) in [(Through::Values, "keys"), (Through::Keys, "values")] {
            let of_side =
                |e: &&Edge| e.through.is_cache() && e.through != other && e.index == index;
            let cells = cells(explained.edges.edges().iter().filter(of_side), columns);
            let name = format!("{name}.{side}");
            match kinds.iter_mut().find(|(_, known)| *known == cells) {
                Some((names, _)) => names.push(name),
                None => kinds.push((vec![name], cells)),
            }
        }
    }
    if kinds.is_empty() {
        let registers: Vec<&str> = explained.program.memory_names().collect();
        return match registers[..] {
            [] => "MEMORY: the program stores nothing\n".to_owned(),
            _ => words::wrap(
                &format!(
                    "MEMORY is carried from step to step by {}; the counts below say what is kept",
                    registers.join(", ")
                ),
                0,
            ),
        };
    }
    let layers = match explained.program.cache_names().count() {
        1 => "the only layer",
        2 => "both layers",
        _ => "every layer",
    };
    let same = kinds.len() == 1;
    let drawn = kinds.iter().map(|(names, cells)| {
        let of = if same { format!("the same in {layers}") } else { names.join(", ") };
        let sides = ["keys", "values"].map(|side| names.iter().any(|name| name.ends_with(side)));
        let weights = match sides {
            [true, false] => "W_K",
            [false, true] => "W_V",
            _ => "W_K and W_V",
        };
        triangle(&of, cells, columns, (explained.prefix, weights))
    });
    drawn.collect::<Vec<String>>().join("\n")
}

fn cells<'e>(edges: impl Iterator<Item = &'e Edge>, columns: &Columns) -> Vec<Cell> {
    let size = columns.cells();
    let mut cells = vec![Cell::Unread; size * size];
    for edge in edges {
        let (t, j) = (edge.to / columns.per_cell, edge.from / columns.per_cell);
        cells[t * size + j].see(mark(edge.fate));
    }
    for i in 0..size {
        let own = &mut cells[i * size + i];
        match columns.per_cell {
            1 => *own = Cell::All(OWN),
            // A block's own positions are kept, whatever else it holds.
            _ => own.see(KEPT),
        }
    }
    cells
}

fn triangle(
    of: &str,
    cells: &[Cell],
    columns: &Columns,
    (prefix, weights): (usize, &str),
) -> String {
    let size = columns.cells();
    let what = format!("MEMORY, {of}: query of step t (row) reads step j (column)");
    let mut out = words::wrap(&what, 0);
    if columns.per_cell > 1 {
        let _ = writeln!(out, "each cell stands for {0} x {0} steps", columns.per_cell);
    }
    out.push_str(&columns.header("t   j ="));
    for t in 0..size {
        let marks = (0..=t).map(|j| match cells[t * size + j] {
            Cell::Unread => String::new(),
            Cell::All(mark) => mark.to_string(),
        });
        out.push_str(&Columns::row(&format!("{}   ", t * columns.per_cell), marks));
    }
    out.push('\n');
    out.push_str(&legend(cells, prefix, weights));
    out
}

/// What the marks mean; `weights` project what is stored.
fn legend(cells: &[Cell], prefix: usize, weights: &str) -> String {
    let (only, all) = if weights.contains(" and ") {
        ("receive credit", "receive all credit")
    } else {
        ("receives credit", "receives all credit")
    };
    let lines = [
        (OWN, "own step: always kept".to_owned()),
        (
            KEPT,
            "kept: credit reaches what step j stored, and whatever that was made from".to_owned(),
        ),
        (WEIGHTS, format!("weights only: {weights} {only}, what step j stored does not")),
        (SCALED, format!("scaled: {weights} {all}, what step j stored a part of it")),
        (DROPPED, format!("cut: neither what step j stored nor {weights} {only}")),
        (MIXED, "some of each, own steps (always kept) among them".to_owned()),
    ];
    let mut out = String::new();
    for (mark, meaning) in lines {
        if cells.contains(&Cell::All(mark)) {
            let _ = writeln!(out, "  {mark}  {meaning}");
        }
    }
    if cells_unread(cells) {
        let why = match prefix {
            0 => "not read in the forward, so no edge".to_owned(),
            _ => format!("the {prefix} steps before the first action pass no credit"),
        };
        let _ = writeln!(out, "     blank: {why}");
    }
    out
}

/// Whether the triangle has holes: only a forward window makes them.
fn cells_unread(cells: &[Cell]) -> bool {
    let size = cells.len().isqrt();
    (0..size).any(|t| cells[t * size..][..=t].contains(&Cell::Unread))
}

/// The line of physical states, with every edge between neighbours.
fn states(explained: &Explained<'_>, columns: &Columns) -> String {
    let edges = &explained.edges;
    let tally = edges.tally(|e| e.through == Through::State);
    let link = match (tally.dropped, tally.kept + tally.scaled) {
        (0, _) => "=",
        (_, 0) => "|",
        _ => "+",
    };
    let note = match edges.state_edges_per_path() {
        _ if link == "+" => "cut in parts: the counts below say which".to_owned(),
        _ if tally.scaled > 0 => "scaled, some or all: the counts below say which".to_owned(),
        None => "kept: credit passes through all of them".to_owned(),
        Some(0) => "cut: no credit passes from one step to the one before".to_owned(),
        Some(1) => "kept, but any one path passes at most 1 of them".to_owned(),
        Some(count) => format!("kept, but any one path passes at most {count} of them"),
    };
    let mut out = format!("STATE edges ({link}) are {note}\n");
    let last = columns.cells() - 1;
    let cells = (0..=last).map(|cell| if cell < last { format!("o{link}") } else { "o".into() });
    out.push_str(&Columns::row("", cells));
    out
}

/// For each step, through how many state edges the loss reaches it.
fn reach(explained: &Explained<'_>, columns: &Columns) -> String {
    let reach = &explained.reach;
    let step = reach.loss_step();
    let mut out =
        format!("REACH of the loss at step {step}: how few state edges suffice to get there\n");
    out.push_str(&columns.header("step"));
    let fewest = |of: &dyn Fn(usize) -> Option<usize>| -> Vec<Option<usize>> {
        (0..columns.cells()).map(|cell| columns.steps_of(cell).filter_map(of).min()).collect()
    };
    let tap = |name: &str| explained.program.tap(name);
    let stored: Vec<_> = explained.stored().filter_map(tap).collect();
    let to_stored = |j: usize| stored.iter().filter_map(|&site| reach.at(j, site)).min();
    let mut rows = vec![
        ("action", fewest(&|j| reach.at(j, tap("action")?))),
        ("stored", fewest(&to_stored)),
        ("W_K, W_V", fewest(&|j| reach.stored_weights(j))),
    ];
    let caches = explained.program.cache_names().count();
    rows.retain(|(name, _)| match *name {
        "action" => tap("action").is_some(),
        "stored" => !stored.is_empty(),
        _ => caches > 0,
    });
    if rows.is_empty() {
        return String::new(); // nothing of what is followed has a name here
    }
    let names: Vec<&str> = rows.iter().map(|(name, _)| *name).collect();
    let is_tall = rows.iter().flat_map(|(_, row)| row).any(|cell| *cell >= Some(10));
    for (label, row) in rows {
        for (line, label) in digits(&row).into_iter().zip([label, "", "", ""]) {
            out.push_str(&Columns::row(label, line.into_iter()));
        }
    }
    let meanings = [
        ("action", "action: what the policy did. "),
        ("stored", "stored: its representation in any layer. "),
        (
            "W_K, W_V",
            "W_K, W_V: the weights that project what that step stored, by way of later queries. ",
        ),
    ];
    let shown = meanings.into_iter().filter(|(name, _)| names.contains(name));
    let mut legend = shown.map(|(_, meaning)| meaning).collect::<String>() + "A dot: no credit.";
    if is_tall {
        legend += " Digits of one number stand below one another.";
    }
    out.push_str(&words::wrap(&legend, 2));
    out
}

/// Counts as lines of one digit per column, because a column has no room for two beside each other.
fn digits(row: &[Option<usize>]) -> Vec<Vec<String>> {
    let words: Vec<String> = row
        .iter()
        .map(|cell| cell.map_or_else(|| NOTHING.to_string(), |count| count.to_string()))
        .collect();
    let tallest = words.iter().map(String::len).max().unwrap_or(0);
    let digit = |word: &String, line: usize| {
        let at = (line + word.len()).checked_sub(tallest);
        at.map_or_else(String::new, |at| word[at..=at].to_owned())
    };
    (0..tallest).map(|line| words.iter().map(|word| digit(word, line)).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_never_run_into_each_other() {
        let lines = digits(&[Some(31), Some(9), None, Some(107)]);
        let lines: Vec<String> =
            lines.iter().map(|l| Columns::row("x", l.iter().cloned())).collect();
        assert_eq!(lines.concat(), "        x       1\n        x 3     0\n        x 1 9 . 7\n");
        assert_eq!(digits(&[Some(3), None]).len(), 1);
    }
}
