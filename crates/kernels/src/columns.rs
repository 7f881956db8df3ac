//! A small machine for narrow values: it runs whole lists of instructions on columns of eight rows.
//!
//! Dynamics are made of many operations on one to twelve columns. Row by row, each of them is a call
//! that moves a handful of numbers. Here a value's columns lie one after the other, eight rows wide, so
//! that a column is a register, a slice or a concatenation moves whole registers, and one call runs the
//! list. The numbers are those of [`crate::elementwise`], bit by bit: the same functions of the same
//! operands in the same order, and a sum over columns in the one pattern of [`crate::reduce`].

use crate::Real;
use crate::elementwise::Operand::{First, Second};
use crate::elementwise::{Binary, Operand, Unary, slope_of, unary_of, unary_slope};
use crate::isa::dispatch;
use crate::reduce::LANES;

/// Rows of a column.
pub const ROWS: usize = 8;

/// Eight rows of one column.
pub type Column<R> = [R; ROWS];

/// An instruction on values; numbers are places in the file of columns, `n` is a width.
#[derive(Clone, Copy, PartialEq, Debug)]
#[expect(missing_docs, reason = "fields are places, in the words of the variant's own line")]
pub enum Forward {
    /// `y = x`
    Copy { x: usize, y: usize, n: usize },
    /// `y = op(x)`
    Unary { op: Unary, x: usize, y: usize, n: usize },
    /// `y = a op b`; all columns of `a` meet one of `b` if `single`.
    Binary { op: Binary, a: usize, b: usize, y: usize, n: usize, single: bool },
    /// `y = x * scale + offset`, constants at `at` and at `at + n`.
    Affine { x: usize, y: usize, n: usize, at: usize },
    /// `y = ` the ordered sum of the columns of `x`
    RowSum { x: usize, y: usize, n: usize },
    /// `y = ` the ordered sum of `weight * x^2`, weights at `at`
    WeightedSquare { x: usize, y: usize, n: usize, at: usize },
}

/// An instruction on adjoints; `d` places are in the file of adjoints, the others in that of values.
/// Adjoints are added to their target if `add`, and stored otherwise.
#[derive(Clone, Copy, PartialEq, Debug)]
#[expect(missing_docs, reason = "fields are places, in the words of the variant's own line")]
pub enum Backward {
    /// `dx = 0`
    Zero { dx: usize, n: usize },
    /// `dx = dy`
    Copy { dy: usize, dx: usize, n: usize, add: bool },
    /// The adjoint of `y = op(x)`.
    Unary { op: Unary, x: usize, y: usize, dy: usize, dx: usize, n: usize, add: bool },
    /// The adjoint of one operand of `y = a op b`, as [`Forward::Binary`] has it.
    Binary {
        op: Binary,
        operand: Operand,
        values: [usize; 3],
        dy: usize,
        dx: usize,
        n: usize,
        single: bool,
        add: bool,
    },
    /// The adjoint of [`Forward::Affine`].
    Affine { dy: usize, dx: usize, n: usize, at: usize, add: bool },
    /// The adjoint of [`Forward::RowSum`].
    RowSum { dy: usize, dx: usize, n: usize, add: bool },
    /// The adjoint of [`Forward::WeightedSquare`].
    WeightedSquare { x: usize, dy: usize, dx: usize, n: usize, at: usize, add: bool },
}

#[inline(always)]
fn map<R: Real>(x: Column<R>, f: impl Fn(R) -> R) -> Column<R> {
    let mut y = [R::ZERO; ROWS];
    for i in 0..ROWS {
        y[i] = f(x[i]);
    }
    y
}

#[inline(always)]
fn zip<R: Real>(a: Column<R>, b: Column<R>, f: impl Fn(R, R) -> R) -> Column<R> {
    let mut y = [R::ZERO; ROWS];
    for i in 0..ROWS {
        y[i] = f(a[i], b[i]);
    }
    y
}

#[inline(always)]
fn plus<R: Real>(a: Column<R>, b: Column<R>) -> Column<R> {
    zip(a, b, |a, b| a + b)
}

#[inline(always)]
fn put<R: Real>(target: &mut Column<R>, value: Column<R>, add: bool) {
    *target = if add { plus(*target, value) } else { value };
}

/// The ordered sum over `n` columns: partial sums `i % 16`, added by halving, as in `reduce`.
#[inline(always)]
fn sum<R: Real>(n: usize, fuse: impl Fn(usize, Column<R>) -> Column<R>) -> Column<R> {
    let zero = [R::ZERO; ROWS];
    let term = |i: usize| plus(fuse(i, zero), zero);
    match n {
        2 => plus(term(0), term(1)),
        3 => plus(plus(term(0), term(2)), term(1)),
        4 => plus(plus(term(0), term(2)), plus(term(1), term(3))),
        _ => {
            let mut p = [zero; LANES];
            for i in 0..n {
                p[i % LANES] = fuse(i, p[i % LANES]);
            }
            for half in [8, 4, 2, 1] {
                for i in 0..half {
                    p[i] = plus(p[i], p[i + half]);
                }
            }
            p[0]
        }
    }
}

#[inline(always)]
fn unary<R: Real>(file: &mut [Column<R>], (x, y, n): (usize, usize, usize), f: impl Fn(R) -> R) {
    for i in 0..n {
        file[y + i] = map(file[x + i], &f);
    }
}

#[inline(always)]
fn forward_body<R: Real>(list: &[Forward], constants: &[R], file: &mut [Column<R>]) {
    for instruction in list {
        match *instruction {
            Forward::Copy { x, y, n } => {
                for i in 0..n {
                    file[y + i] = file[x + i];
                }
            }
            Forward::Unary { op, x, y, n } => unary_of!(op, |f| unary(file, (x, y, n), f)),
            Forward::Binary { op, a, b, y, n, single } => {
                for i in 0..n {
                    let (a, b) = (file[a + i], file[if single { b } else { b + i }]);
                    file[y + i] = match op {
                        Binary::Add => zip(a, b, |a, b| a + b),
                        Binary::Sub => zip(a, b, |a, b| a - b),
                        Binary::Mul => zip(a, b, |a, b| a * b),
                        Binary::Div => zip(a, b, |a, b| a / b),
                    };
                }
            }
            Forward::Affine { x, y, n, at } => {
                for i in 0..n {
                    let (scale, offset) = (constants[at + i], constants[at + n + i]);
                    file[y + i] = map(file[x + i], |x| x.mul_add(scale, offset));
                }
            }
            Forward::RowSum { x, y, n } => {
                file[y] = sum(n, |i, sum| plus(sum, file[x + i]));
            }
            Forward::WeightedSquare { x, y, n, at } => {
                file[y] = sum(n, |i, sum| {
                    let (x, weight) = (file[x + i], constants[at + i]);
                    fused(map(x, |x| weight * x), x, sum)
                });
            }
        }
    }
}

#[inline(always)]
fn unary_adjoint<R: Real>(
    values: &[Column<R>],
    d: &mut [Column<R>],
    (x, y): (usize, usize),
    (dy, dx): (usize, usize),
    n: usize,
    add: bool,
    slope: impl Fn(R, R) -> R,
) {
    for i in 0..n {
        let slope = zip(values[x + i], values[y + i], &slope);
        let value = zip(d[dy + i], slope, |dy, slope| dy * slope);
        put(&mut d[dx + i], value, add);
    }
}

/// The adjoint of one operand of `y = a op b`: every column's own, or the ordered sum over all columns if
/// they met a `single` one.
#[inline(always)]
fn binary_adjoint<R: Real>(
    d: &mut [Column<R>],
    (dy, dx): (usize, usize),
    n: usize,
    is_summed: bool,
    add: bool,
    slope: impl Fn(usize) -> Column<R>,
) {
    if is_summed {
        let total = sum(n, |i, sum| fused(d[dy + i], slope(i), sum));
        put(&mut d[dx], total, add);
    } else {
        for i in 0..n {
            let value = zip(d[dy + i], slope(i), |dy, slope| dy * slope);
            put(&mut d[dx + i], value, add);
        }
    }
}

/// `a * b + c`
#[inline(always)]
fn fused<R: Real>(a: Column<R>, b: Column<R>, c: Column<R>) -> Column<R> {
    let mut out = c;
    for r in 0..ROWS {
        out[r] = a[r].mul_add(b[r], c[r]);
    }
    out
}

#[inline(always)]
fn backward_body<R: Real>(
    list: &[Backward],
    constants: &[R],
    values: &[Column<R>],
    d: &mut [Column<R>],
) {
    for instruction in list {
        match *instruction {
            Backward::Zero { dx, n } => d[dx..dx + n].fill([R::ZERO; ROWS]),
            Backward::Copy { dy, dx, n, add } => {
                for i in 0..n {
                    let value = d[dy + i];
                    put(&mut d[dx + i], value, add);
                }
            }
            Backward::Unary { op, x, y, dy, dx, n, add } => {
                unary_slope!(op, |f| unary_adjoint(values, d, (x, y), (dy, dx), n, add, f));
            }
            Backward::Binary { op, operand, values: [a, b, y], dy, dx, n, single, add } => {
                let is_summed = single && operand == Operand::Second;
                let stride = usize::from(!single);
                // One loop for each of them: a choice inside would cost more than the arithmetic.
                macro_rules! with_slope {
                    ($op:expr, $operand:expr, |$i:ident| [$a:expr, $b:expr, $y:expr]) => {
                        binary_adjoint(d, (dy, dx), n, is_summed, add, |$i| {
                            let (a, b, y): (Column<R>, Column<R>, Column<R>) = ($a, $b, $y);
                            let mut slope = a;
                            for r in 0..ROWS {
                                slope[r] = slope_of($op, $operand, a[r], b[r], y[r]);
                            }
                            slope
                        })
                    };
                }
                let none = [R::ZERO; ROWS];
                match (op, operand) {
                    (Binary::Add, _) | (Binary::Sub, First) => {
                        with_slope!(Binary::Add, First, |_i| [none, none, none]);
                    }
                    (Binary::Sub, Second) => {
                        with_slope!(Binary::Sub, Second, |_i| [none, none, none]);
                    }
                    (Binary::Mul, First) => {
                        with_slope!(Binary::Mul, First, |i| [none, values[b + i * stride], none]);
                    }
                    (Binary::Mul, Second) => {
                        with_slope!(Binary::Mul, Second, |i| [values[a + i], none, none]);
                    }
                    (Binary::Div, First) => {
                        with_slope!(Binary::Div, First, |i| [none, values[b + i * stride], none]);
                    }
                    (Binary::Div, Second) => with_slope!(Binary::Div, Second, |i| [
                        none,
                        values[b + i * stride],
                        values[y + i]
                    ]),
                }
            }
            Backward::Affine { dy, dx, n, at, add } => {
                for i in 0..n {
                    let scale = constants[at + i];
                    let value = map(d[dy + i], |dy| dy * scale);
                    put(&mut d[dx + i], value, add);
                }
            }
            Backward::RowSum { dy, dx, n, add } => {
                for i in 0..n {
                    let value = d[dy];
                    put(&mut d[dx + i], value, add);
                }
            }
            Backward::WeightedSquare { x, dy, dx, n, at, add } => {
                let two = R::from_f64(2.0);
                for i in 0..n {
                    let weight = two * constants[at + i];
                    let slope = map(values[x + i], |x| weight * x);
                    let value = zip(d[dy], slope, |dy, slope| dy * slope);
                    put(&mut d[dx + i], value, add);
                }
            }
        }
    }
}

dispatch! {
    /// Runs a list on a file of columns.
    pub fn forward<R: Real>(list: &[Forward], constants: &[R], file: &mut [Column<R>]) = forward_body;
}
dispatch! {
    /// Runs a list on a file of adjoints, given the values.
    pub fn backward<R: Real>(list: &[Backward], constants: &[R], values: &[Column<R>], adjoints: &mut [Column<R>]) = backward_body;
}

/// Rows of a matrix (`width` columns, `rows` of them at most eight) to columns; missing rows are zero.
#[inline(always)]
fn take_body<R: Real>(width: usize, rows: &[R], columns: &mut [Column<R>]) {
    for (i, column) in columns[..width].iter_mut().enumerate() {
        *column = [R::ZERO; ROWS];
        for (number, row) in column.iter_mut().zip(rows.chunks_exact(width)) {
            *number = row[i];
        }
    }
}

/// Columns to the rows of a matrix, as many as it has.
#[inline(always)]
fn give_body<R: Real>(width: usize, columns: &[Column<R>], rows: &mut [R]) {
    for (r, row) in rows.chunks_exact_mut(width).enumerate() {
        for (number, column) in row.iter_mut().zip(columns) {
            *number = column[r];
        }
    }
}

dispatch! {
    /// At most eight rows of `width` columns, turned to columns; missing rows become zero.
    pub fn take<R: Real>(width: usize, rows: &[R], columns: &mut [Column<R>]) = take_body;
}
dispatch! {
    /// Columns, turned to rows of `width` columns: as many as `rows` holds, at most eight.
    pub fn give<R: Real>(width: usize, columns: &[Column<R>], rows: &mut [R]) = give_body;
}
