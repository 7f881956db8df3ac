//! A value of the step being traced, with the arithmetic that ordinary code expects.

use std::ops::{Add, Div, Mul, Neg, Sub};

use backcut_kernels::elementwise::{Binary, Unary};

use super::{Op, Scope, Site, Trace};

/// A value of the step: one row per trajectory, [`Var::width`] columns.
#[derive(Clone, Copy)]
pub struct Var<'t> {
    trace: &'t Trace,
    scope: Scope,
    site: Site,
}

impl<'t> Var<'t> {
    pub(super) fn new(trace: &'t Trace, scope: Scope, site: Site) -> Self {
        Self { trace, scope, site }
    }

    pub(super) fn site(self) -> Site {
        self.site
    }

    pub(super) fn scope(self) -> Scope {
        self.scope
    }

    /// Columns.
    pub fn width(self) -> usize {
        self.trace.width_of(self.scope, self.site)
    }

    fn unary(self, op: Unary) -> Self {
        let op = Op::Unary { op, x: self.site };
        let label = op.name();
        self.trace.push(self.scope, op, self.width(), label)
    }

    #[track_caller]
    fn binary(self, op: Binary, other: Self) -> Self {
        let (wa, wb) = (self.width(), other.width());
        if self.scope != other.scope {
            self.trace.fail(
                "arithmetic mixes a step with the condition".into(),
                "steps read the condition by cross-attention or recall",
            );
        }
        if wa != wb && wa != 1 && wb != 1 {
            self.trace.fail(
                format!("arithmetic on {wa} and {wb} columns"),
                "use equal widths, or one column that serves all",
            );
        }
        if wa == 1 && wb > 1 {
            // One column first: rewrite so that the wide operand comes first.
            return match op {
                Binary::Add | Binary::Mul => other.binary(op, self),
                Binary::Sub => -(other - self),
                Binary::Div => other.unary(Unary::Recip) * self,
            };
        }
        let op = Op::Binary { op, a: self.site, b: other.site };
        let label = op.name();
        self.trace.push(self.scope, op, wa.max(wb), label)
    }

    /// `self * scale + offset` with constants for each column.
    #[track_caller]
    pub fn affine(self, scale: &[f64], offset: &[f64]) -> Self {
        let width = self.width();
        if scale.len() != width || offset.len() != width {
            self.trace.fail(
                format!(
                    "affine with {} factors and {} offsets on {width} columns",
                    scale.len(),
                    offset.len()
                ),
                "give one factor and one offset per column",
            );
            return self;
        }
        let op = Op::Affine { x: self.site, scale: scale.to_vec(), offset: offset.to_vec() };
        self.trace.push(self.scope, op, width, "affine")
    }

    /// Columns `start..start + width`.
    #[track_caller]
    pub fn slice(self, start: usize, width: usize) -> Self {
        if width == 0 || start + width > self.width() {
            self.trace.fail(
                format!("columns {start}..{} of {} columns", start + width, self.width()),
                "stay inside the value's columns",
            );
            return self;
        }
        self.trace.push(self.scope, Op::Slice { x: self.site, start }, width, "slice")
    }

    /// One column.
    #[track_caller]
    pub fn column(self, index: usize) -> Self {
        self.slice(index, 1)
    }

    /// `self - [b, b, ..., b]`: a repeated operand along the columns.
    #[track_caller]
    pub fn sub_tiled(self, b: Self) -> Self {
        let (wide, narrow) = (self.width(), b.width());
        if narrow == 0 || wide % narrow != 0 || self.scope != b.scope {
            self.trace.fail(
                format!("{narrow} columns do not tile {wide}"),
                "the repeated operand's width must divide the other's",
            );
            return self;
        }
        let op = Op::SubTiled { a: self.site, b: b.site, times: wide / narrow };
        self.trace.push(self.scope, op, wide, "sub tiled")
    }

    /// The sum of the columns.
    pub fn sum(self) -> Self {
        self.trace.push(self.scope, Op::RowSum(self.site), 1, "row sum")
    }

    /// The sum of `weight[c] * x[c]^2` over the columns.
    #[track_caller]
    pub fn weighted_square(self, weight: &[f64]) -> Self {
        if weight.len() != self.width() {
            self.trace.fail(
                format!("{} weights for {} columns", weight.len(), self.width()),
                "give one weight per column",
            );
            return self;
        }
        let op = Op::WeightedSquare { x: self.site, weight: weight.to_vec() };
        self.trace.push(self.scope, op, 1, "weighted square")
    }

    /// GELU, tanh form.
    pub fn gelu(self) -> Self {
        self.trace.push(self.scope, Op::Gelu { x: self.site }, self.width(), "gelu")
    }

    /// x^2
    pub fn square(self) -> Self {
        self.unary(Unary::Square)
    }
    /// 1 / x
    pub fn recip(self) -> Self {
        self.unary(Unary::Recip)
    }
    /// sqrt(x)
    pub fn sqrt(self) -> Self {
        self.unary(Unary::Sqrt)
    }
    /// e^x
    pub fn exp(self) -> Self {
        self.unary(Unary::Exp)
    }
    /// ln(x)
    pub fn ln(self) -> Self {
        self.unary(Unary::Ln)
    }
    /// sin(x)
    pub fn sin(self) -> Self {
        self.unary(Unary::Sin)
    }
    /// cos(x)
    pub fn cos(self) -> Self {
        self.unary(Unary::Cos)
    }
    /// tan(x)
    pub fn tan(self) -> Self {
        self.unary(Unary::Tan)
    }
    /// tanh(x)
    pub fn tanh(self) -> Self {
        self.unary(Unary::Tanh)
    }
    /// atanh(x)
    pub fn atanh(self) -> Self {
        self.unary(Unary::Atanh)
    }
    /// 1 / (1 + e^-x)
    pub fn sigmoid(self) -> Self {
        self.unary(Unary::Sigmoid)
    }
    /// atanh(z) / z, smooth at zero
    pub fn atanh_ratio(self) -> Self {
        self.unary(Unary::AtanhRatio)
    }
    /// sin(h) / h, smooth at zero
    pub fn sin_ratio(self) -> Self {
        self.unary(Unary::SinRatio)
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, $op:expr) => {
        impl<'t> $trait for Var<'t> {
            type Output = Var<'t>;
            #[track_caller]
            fn $method(self, other: Var<'t>) -> Var<'t> {
                self.binary($op, other)
            }
        }
    };
}

operator!(Add, add, Binary::Add);
operator!(Sub, sub, Binary::Sub);
operator!(Mul, mul, Binary::Mul);
operator!(Div, div, Binary::Div);

impl Neg for Var<'_> {
    type Output = Self;
    fn neg(self) -> Self {
        self.unary(Unary::Neg)
    }
}

impl<'t> Add<f64> for Var<'t> {
    type Output = Var<'t>;
    #[track_caller]
    fn add(self, constant: f64) -> Var<'t> {
        let n = self.width();
        self.affine(&vec![1.0; n], &vec![constant; n])
    }
}

impl<'t> Sub<f64> for Var<'t> {
    type Output = Var<'t>;
    #[track_caller]
    fn sub(self, constant: f64) -> Var<'t> {
        let n = self.width();
        self.affine(&vec![1.0; n], &vec![-constant; n])
    }
}

impl<'t> Mul<f64> for Var<'t> {
    type Output = Var<'t>;
    #[track_caller]
    fn mul(self, constant: f64) -> Var<'t> {
        let n = self.width();
        self.affine(&vec![constant; n], &vec![0.0; n])
    }
}
