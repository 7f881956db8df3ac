//! A small machine for narrow values: it runs whole lists of instructions on columns of eight rows.
//!
//! Dynamics are made of many operations on one to twelve columns. Row by row, each of them is a
//! call that moves a handful of numbers. Here a value's columns lie one after the other, eight rows
//! wide, so that a column is a register, a slice or a concatenation moves whole registers, and one
//! call runs the list. The numbers are those of [`crate::elementwise`], bit by bit: the same
//! functions of the same operands in the same order, and a sum over columns in the one pattern of
//! [`crate::reduce`].

use crate::Real;
use crate::elementwise::{
    AnyBinary, AnyUnary, BinaryFunction, BinaryLoop, Operand, Put, Slope, TowardsFirst,
    TowardsSecond, UnaryFunction, UnaryLoop,
};
use crate::isa::dispatch;
use crate::reduce::LANES;

/// Rows of a column.
pub const ROWS: usize = 8;

/// Eight rows of one column.
pub type Column<R> = [R; ROWS];

/// An instruction on values; numbers are places in the file of columns, `n` is a width.
#[derive(Clone, Copy, PartialEq, Debug)]
#[expect(missing_docs, reason = "fields are places, in the words of the variant's own line")]
pub enum Forward<U, B> {
    /// `y = x`
    Copy { x: usize, y: usize, n: usize },
    /// `y = op(x)`
    Unary { op: U, x: usize, y: usize, n: usize },
    /// `y = a op b`; all columns of `a` meet one of `b` if `single`.
    Binary { op: B, a: usize, b: usize, y: usize, n: usize, single: bool },
    /// `y = x * scale + offset`, constants at `at` and at `at + n`.
    Affine { x: usize, y: usize, n: usize, at: usize },
    /// `y = ` the ordered sum of the columns of `x`
    RowSum { x: usize, y: usize, n: usize },
    /// `y = ` the ordered sum of `weight * x^2`, weights at `at`
    WeightedSquare { x: usize, y: usize, n: usize, at: usize },
}

/// An instruction on adjoints; `d` places are in the file of adjoints, the others in that of
/// values. Adjoints are added to their target or stored, as `put` says.
#[derive(Clone, Copy, PartialEq, Debug)]
#[expect(missing_docs, reason = "fields are places, in the words of the variant's own line")]
pub enum Backward<U, B> {
    /// `dx = 0`
    Zero { dx: usize, n: usize },
    /// `dx = dy`
    Copy { dy: usize, dx: usize, n: usize, put: Put },
    /// The adjoint of `y = op(x)`.
    Unary { op: U, x: usize, y: usize, dy: usize, dx: usize, n: usize, put: Put },
    /// The adjoint of one operand of `y = a op b`, as [`Forward::Binary`] has it.
    Binary {
        op: B,
        operand: Operand,
        places: [usize; 3],
        dy: usize,
        dx: usize,
        n: usize,
        single: bool,
        put: Put,
    },
    /// The adjoint of [`Forward::Affine`].
    Affine { dy: usize, dx: usize, n: usize, at: usize, put: Put },
    /// The adjoint of [`Forward::RowSum`].
    RowSum { dy: usize, dx: usize, n: usize, put: Put },
    /// The adjoint of [`Forward::WeightedSquare`].
    WeightedSquare { x: usize, dy: usize, dx: usize, n: usize, at: usize, put: Put },
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
fn leave<R: Real>(target: &mut Column<R>, value: Column<R>, put: Put) {
    *target = if put == Put::Add { plus(*target, value) } else { value };
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

struct Map<'a, R> {
    file: &'a mut [Column<R>],
    x: usize,
    y: usize,
    n: usize,
}

impl<R: Real> UnaryLoop for Map<'_, R> {
    #[inline(always)]
    fn run<F: UnaryFunction>(self) {
        for i in 0..self.n {
            self.file[self.y + i] = map(self.file[self.x + i], F::value);
        }
    }
}

struct Zip<'a, R> {
    file: &'a mut [Column<R>],
    a: usize,
    b: usize,
    y: usize,
    n: usize,
    single: bool,
}

impl<R: Real> BinaryLoop for Zip<'_, R> {
    #[inline(always)]
    fn run<F: BinaryFunction>(self) {
        let Self { file, a, b, y, n, single } = self;
        for i in 0..n {
            let (a, b) = (file[a + i], file[if single { b } else { b + i }]);
            file[y + i] = zip(a, b, F::value);
        }
    }
}

#[inline(always)]
fn forward_body<R: Real, U: AnyUnary, B: AnyBinary>(
    list: &[Forward<U, B>],
    constants: &[R],
    file: &mut [Column<R>],
) {
    for instruction in list {
        match *instruction {
            Forward::Copy { x, y, n } => {
                for i in 0..n {
                    file[y + i] = file[x + i];
                }
            }
            Forward::Unary { op, x, y, n } => op.choose(Map { file, x, y, n }),
            Forward::Binary { op, a, b, y, n, single } => {
                op.choose(Zip { file, a, b, y, n, single });
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

/// `a * b + c`
#[inline(always)]
fn fused<R: Real>(a: Column<R>, b: Column<R>, c: Column<R>) -> Column<R> {
    let mut out = c;
    for r in 0..ROWS {
        out[r] = a[r].mul_add(b[r], c[r]);
    }
    out
}

/// A column that may not have been kept, where nothing reads it.
#[inline(always)]
fn if_read<R: Real>(is_read: bool, values: &[Column<R>], place: usize) -> Column<R> {
    if is_read { values[place] } else { [R::ZERO; ROWS] }
}

struct UnaryAdjoint<'a, R> {
    values: &'a [Column<R>],
    d: &'a mut [Column<R>],
    x: usize,
    y: usize,
    dy: usize,
    dx: usize,
    n: usize,
    put: Put,
}

impl<R: Real> UnaryLoop for UnaryAdjoint<'_, R> {
    #[inline(always)]
    fn run<F: UnaryFunction>(self) {
        let Self { values, d, put, .. } = self;
        for i in 0..self.n {
            let x = if_read(F::READS.x, values, self.x + i);
            let y = if_read(F::READS.y, values, self.y + i);
            let value = zip(d[self.dy + i], zip(x, y, F::slope), |dy, slope| dy * slope);
            leave(&mut d[self.dx + i], value, put);
        }
    }
}

/// The adjoint of one operand of `y = a op b`: every column's own, or the ordered sum over all
/// columns if they met a `single` one.
struct BinaryAdjoint<'a, R> {
    operand: Operand,
    values: &'a [Column<R>],
    d: &'a mut [Column<R>],
    places: [usize; 3],
    dy: usize,
    dx: usize,
    n: usize,
    single: bool,
    put: Put,
}

impl<R: Real> BinaryLoop for BinaryAdjoint<'_, R> {
    #[inline(always)]
    fn run<F: BinaryFunction>(self) {
        match self.operand {
            Operand::First => self.towards::<TowardsFirst<F>>(),
            Operand::Second => self.towards::<TowardsSecond<F>>(),
        }
    }
}

impl<R: Real> BinaryAdjoint<'_, R> {
    #[inline(always)]
    fn towards<S: Slope>(self) {
        let Self { values, d, places: [a, b, y], dy, dx, n, single, put, .. } = self;
        let stride = usize::from(!single);
        let slope = |i: usize| {
            let a = if_read(S::READS.a, values, a + i);
            let b = if_read(S::READS.b, values, b + i * stride);
            let y = if_read(S::READS.y, values, y + i);
            let mut slope = a;
            for r in 0..ROWS {
                slope[r] = S::of(a[r], b[r], y[r]);
            }
            slope
        };
        if single && S::OPERAND == Operand::Second {
            let total = sum(n, |i, sum| fused(d[dy + i], slope(i), sum));
            leave(&mut d[dx], total, put);
        } else {
            for i in 0..n {
                let value = zip(d[dy + i], slope(i), |dy, slope| dy * slope);
                leave(&mut d[dx + i], value, put);
            }
        }
    }
}

#[inline(always)]
fn backward_body<R: Real, U: AnyUnary, B: AnyBinary>(
    list: &[Backward<U, B>],
    constants: &[R],
    values: &[Column<R>],
    d: &mut [Column<R>],
) {
    for instruction in list {
        match *instruction {
            Backward::Zero { dx, n } => d[dx..dx + n].fill([R::ZERO; ROWS]),
            Backward::Copy { dy, dx, n, put } => {
                for i in 0..n {
                    let value = d[dy + i];
                    leave(&mut d[dx + i], value, put);
                }
            }
            Backward::Unary { op, x, y, dy, dx, n, put } => {
                op.choose(UnaryAdjoint { values, d, x, y, dy, dx, n, put });
            }
            Backward::Binary { op, operand, places, dy, dx, n, single, put } => {
                op.choose(BinaryAdjoint { operand, values, d, places, dy, dx, n, single, put });
            }
            Backward::Affine { dy, dx, n, at, put } => {
                for i in 0..n {
                    let scale = constants[at + i];
                    let value = map(d[dy + i], |dy| dy * scale);
                    leave(&mut d[dx + i], value, put);
                }
            }
            Backward::RowSum { dy, dx, n, put } => {
                for i in 0..n {
                    let value = d[dy];
                    leave(&mut d[dx + i], value, put);
                }
            }
            Backward::WeightedSquare { x, dy, dx, n, at, put } => {
                let two = R::from_f64(2.0);
                for i in 0..n {
                    let weight = two * constants[at + i];
                    let slope = map(values[x + i], |x| weight * x);
                    let value = zip(d[dy], slope, |dy, slope| dy * slope);
                    leave(&mut d[dx + i], value, put);
                }
            }
        }
    }
}

dispatch! {
    /// Runs a list on a file of columns.
    pub fn forward<R: Real, U: AnyUnary, B: AnyBinary>(
        list: &[Forward<U, B>],
        constants: &[R],
        file: &mut [Column<R>],
    ) = forward_body;
}
dispatch! {
    /// Runs a list on a file of adjoints, given the values.
    pub fn backward<R: Real, U: AnyUnary, B: AnyBinary>(
        list: &[Backward<U, B>],
        constants: &[R],
        values: &[Column<R>],
        adjoints: &mut [Column<R>],
    ) = backward_body;
}

/// Rows of a matrix (`width` columns, `rows` of them at most eight) to columns; missing rows are
/// zero.
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
