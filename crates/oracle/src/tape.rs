//! A scalar reverse-mode tape in `f64`: read it top to bottom.
//!
//! A [`Scalar`] is a number and, if a derivative can reach it, its place on a [`Tape`]. Arithmetic
//! appends a node with at most two parents and the slope towards each. [`Tape::backward`] walks the
//! nodes once, last to first. A constant has no place, so a stop-gradient is forgetting the place.

use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

use backcut_engine::ops::{Arithmetic, Function};

/// A parent's place and the slope towards it. Absent parents have slope zero and the node's own
/// place.
type Parent = (usize, f64);

/// What was computed, in order.
#[derive(Default)]
pub struct Tape {
    nodes: RefCell<Vec<[Parent; 2]>>,
}

/// A number, and where it lies on the tape if it is not a constant.
#[derive(Clone, Copy)]
#[must_use]
pub struct Scalar<'t> {
    value: f64,
    place: Option<(&'t Tape, usize)>,
}

/// Derivatives of one number with respect to everything on the tape.
pub struct Adjoints(Vec<f64>);

impl Adjoints {
    /// The derivative with respect to `x`; zero for a constant.
    pub fn of(&self, x: Scalar<'_>) -> f64 {
        x.place.map_or(0.0, |(_, place)| self.0[place])
    }
}

impl Tape {
    /// An empty tape.
    pub fn new() -> Self {
        Self::default()
    }

    /// A number to differentiate with respect to.
    pub fn leaf(&self, value: f64) -> Scalar<'_> {
        self.node(value, &[])
    }

    /// The same number at a place of its own, so that its derivative can be told from others'.
    pub fn place(&self, x: Scalar<'_>) -> Scalar<'_> {
        self.node(x.value, &[(x, 1.0)])
    }

    /// Nodes so far.
    pub fn len(&self) -> usize {
        self.nodes.borrow().len()
    }

    /// Nothing computed yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn node(&self, value: f64, parents: &[(Scalar<'_>, f64)]) -> Scalar<'_> {
        let mut nodes = self.nodes.borrow_mut();
        let place = nodes.len();
        let mut node = [(place, 0.0); 2];
        for (parent, &(x, slope)) in node.iter_mut().zip(parents) {
            if let Some((_, place)) = x.place {
                *parent = (place, slope);
            }
        }
        nodes.push(node);
        Scalar { value, place: Some((self, place)) }
    }

    /// Derivatives of `root` with respect to every number on the tape.
    pub fn backward(&self, root: Scalar<'_>) -> Adjoints {
        let nodes = self.nodes.borrow();
        let mut adjoints = vec![0.0; nodes.len()];
        if let Some((_, place)) = root.place {
            adjoints[place] = 1.0;
            for node in (0..=place).rev() {
                for (parent, slope) in nodes[node] {
                    if parent != node {
                        adjoints[parent] += adjoints[node] * slope;
                    }
                }
            }
        }
        Adjoints(adjoints)
    }
}

impl Scalar<'_> {
    /// A number that nothing flows back to.
    pub fn constant(value: f64) -> Self {
        Self { value, place: None }
    }

    /// The number.
    pub fn value(self) -> f64 {
        self.value
    }

    /// Stop-gradient: the same number, a constant.
    pub fn detach(self) -> Self {
        Self::constant(self.value)
    }

    /// The same number; `factor` times the derivative.
    pub fn scale_gradient(self, factor: f64) -> Self {
        self.unary(self.value, factor)
    }

    fn unary(self, value: f64, slope: f64) -> Self {
        match self.place {
            Some((tape, _)) => tape.node(value, &[(self, slope)]),
            None => Self::constant(value),
        }
    }

    fn binary(self, other: Self, value: f64, slopes: [f64; 2]) -> Self {
        match self.place.or(other.place) {
            Some((tape, _)) => tape.node(value, &[(self, slopes[0]), (other, slopes[1])]),
            None => Self::constant(value),
        }
    }

    /// A function of one argument, by the standard library.
    pub fn apply(self, function: Function) -> Self {
        let [value, slope] = function.reference(self.value);
        self.unary(value, slope)
    }

    /// A function of two arguments, by the standard library.
    pub fn combine(self, function: Arithmetic, other: Self) -> Self {
        let [value, slopes @ ..] = function.reference(self.value, other.value);
        self.binary(other, value, slopes)
    }
}

/// The functions that attention, norms and dynamics are written in.
macro_rules! by_name {
    ($($method:ident: $function:ident,)*) => {
        impl Scalar<'_> {
            $(#[doc = concat!("`", stringify!($method), "(x)`")]
            pub fn $method(self) -> Self {
                self.apply(Function::$function)
            })*
        }
    };
}

by_name! {
    sin: Sin,
    exp: Exp,
    tanh: Tanh,
    sqrt: Sqrt,
    recip: Recip,
    square: Square,
}

macro_rules! operator {
    ($trait:ident, $method:ident, $function:ident) => {
        impl $trait for Scalar<'_> {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                self.combine(Arithmetic::$function, other)
            }
        }
    };
}

operator!(Add, add, Sum);
operator!(Sub, sub, Difference);
operator!(Mul, mul, Product);
operator!(Div, div, Quotient);

impl Neg for Scalar<'_> {
    type Output = Self;
    fn neg(self) -> Self {
        self.apply(Function::Neg)
    }
}

impl Mul<f64> for Scalar<'_> {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        self.unary(self.value * factor, factor)
    }
}

impl Add<f64> for Scalar<'_> {
    type Output = Self;
    fn add(self, summand: f64) -> Self {
        self.unary(self.value + summand, 1.0)
    }
}

impl std::iter::Sum for Scalar<'_> {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        terms.fold(Self::constant(0.0), |sum, term| sum + term)
    }
}
