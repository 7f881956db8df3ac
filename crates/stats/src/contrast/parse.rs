//! Text to a contrast.

use std::fmt;

use serde::Serialize;

use crate::error::StatsError;

/// Nesting deeper than this is refused.
const MAX_DEPTH: usize = 64;

/// More operators than this are refused: a chain is a tree that leans left, as deep as it is long.
const MAX_OPERATORS: usize = 256;

/// Which side of zero was predicted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Above zero.
    Positive,
    /// Below zero.
    Negative,
}

/// A quantity of one source.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    /// A constant.
    Number(f64),
    /// A cell of the table.
    Cell(String),
    /// The negative of a quantity.
    Negate(Box<Expr>),
    /// Two quantities joined by one of `+ - * /`.
    Binary(char, Box<Expr>, Box<Expr>),
    /// The least-squares slope of a quantity over numeric conditions (all of them if none are
    /// listed).
    Slope(Box<Expr>, Vec<f64>),
}

/// What is averaged over sources.
#[derive(Clone, PartialEq, Debug)]
pub enum Body {
    /// The mean of one quantity.
    Mean(Expr),
    /// The mean of one quantity over the mean of another.
    RatioOfMeans(Expr, Expr),
}

impl Expr {
    fn any(&self, is_it: &impl Fn(&Self) -> bool) -> bool {
        is_it(self)
            || match self {
                Self::Number(_) | Self::Cell(_) => false,
                Self::Negate(of) | Self::Slope(of, _) => of.any(is_it),
                Self::Binary(_, a, b) => a.any(is_it) || b.any(is_it),
            }
    }
}

impl Body {
    /// Whether it divides and takes no difference of anything: of positive cells it can only be
    /// positive.
    pub fn is_bare_ratio(&self) -> bool {
        let differs =
            |e: &Expr| matches!(e, Expr::Negate(_) | Expr::Slope(..) | Expr::Binary('-', ..));
        match self {
            Self::Mean(of) => of.any(&|e| matches!(e, Expr::Binary('/', ..))) && !of.any(&differs),
            Self::RatioOfMeans(a, b) => !a.any(&differs) && !b.any(&differs),
        }
    }
}

/// A named comparison with an optional predicted direction.
#[derive(Clone, PartialEq, Debug)]
pub struct Contrast {
    /// The name shown in tables.
    pub name: String,
    /// The expression as it was written, without name and direction.
    pub text: String,
    /// What is averaged.
    pub body: Body,
    /// The predicted direction, if one was given.
    pub direction: Option<Direction>,
}

impl Contrast {
    /// Parses a contrast; without a name, the expression is its own name.
    pub fn parse(text: &str) -> Result<Self, StatsError> {
        let (name, start) = split_name(text);
        let mut parser = Parser { text, rest: start, depth: 0, operators: 0, stars: 0 };
        let body = parser.body()?;
        let body_end = parser.rest;
        let direction = parser.direction()?;
        parser.space();
        if parser.rest < text.len() {
            return Err(parser.problem("expected an operator or the end"));
        }
        let expression = text[start..body_end].trim().to_owned();
        let name = match name {
            Some("") => return Err(parser.problem_at(0, "the name before `=` is empty")),
            Some(name) => name.to_owned(),
            None => expression.clone(),
        };
        let contrast = Self { name, text: expression, body, direction };
        if contrast.cells().is_empty() {
            return Err(parser.problem_at(start, "there is no [cell] in it"));
        }
        Ok(contrast)
    }

    /// The contrast that is one column of a table, named by it.
    pub fn column(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            text: format!("[{name}]"),
            body: Body::Mean(Expr::Cell(name.to_owned())),
            direction: None,
        }
    }

    /// The cells it names, in order of appearance, stars unresolved.
    pub fn cells(&self) -> Vec<&str> {
        let mut cells = Vec::new();
        match &self.body {
            Body::Mean(expr) => expr.collect(&mut cells),
            Body::RatioOfMeans(above, below) => {
                above.collect(&mut cells);
                below.collect(&mut cells);
            }
        }
        cells
    }
}

impl fmt::Display for Contrast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name != self.text {
            write!(f, "{} = ", self.name)?;
        }
        f.write_str(&self.text)?;
        match self.direction {
            Some(Direction::Positive) => f.write_str(" > 0"),
            Some(Direction::Negative) => f.write_str(" < 0"),
            None => Ok(()),
        }
    }
}

impl Expr {
    pub(crate) fn collect<'a>(&'a self, cells: &mut Vec<&'a str>) {
        match self {
            Self::Number(_) => {}
            Self::Cell(name) => cells.push(name),
            Self::Negate(inner) | Self::Slope(inner, _) => inner.collect(cells),
            Self::Binary(_, left, right) => {
                left.collect(cells);
                right.collect(cells);
            }
        }
    }
}

/// The name before the first `=` outside brackets, and where the body starts.
fn split_name(text: &str) -> (Option<&str>, usize) {
    let mut inside = false;
    for (at, c) in text.char_indices() {
        match c {
            '[' => inside = true,
            ']' => inside = false,
            '=' if !inside => return (Some(text[..at].trim()), at + 1),
            _ => {}
        }
    }
    (None, 0)
}

struct Parser<'a> {
    text: &'a str,
    /// Byte offset of what is left.
    rest: usize,
    depth: usize,
    operators: usize,
    /// How many `slope(` surround the current position.
    stars: usize,
}

impl Parser<'_> {
    fn body(&mut self) -> Result<Body, StatsError> {
        if !self.word("mean") {
            return Ok(Body::Mean(self.sum()?));
        }
        let above = self.parenthesized()?;
        self.expect('/', "expected `/ mean(...)`: a ratio of means is mean(...) / mean(...)")?;
        if !self.word("mean") {
            return Err(self.problem("expected `mean(...)`"));
        }
        Ok(Body::RatioOfMeans(above, self.parenthesized()?))
    }

    fn direction(&mut self) -> Result<Option<Direction>, StatsError> {
        let direction = if self.take('>') {
            Direction::Positive
        } else if self.take('<') {
            Direction::Negative
        } else {
            return Ok(None);
        };
        self.space();
        let at = self.rest;
        if self.number()? != 0.0 {
            return Err(self.problem_at(at, "a direction compares with 0; subtract the rest"));
        }
        Ok(Some(direction))
    }

    fn sum(&mut self) -> Result<Expr, StatsError> {
        self.binary(['+', '-'], Self::product)
    }

    fn product(&mut self) -> Result<Expr, StatsError> {
        self.binary(['*', '/'], Self::factor)
    }

    fn binary(
        &mut self,
        operators: [char; 2],
        operand: fn(&mut Self) -> Result<Expr, StatsError>,
    ) -> Result<Expr, StatsError> {
        let mut left = operand(self)?;
        while let Some(operator) = operators.into_iter().find(|c| self.take(*c)) {
            self.operators += 1;
            if self.operators > MAX_OPERATORS {
                return Err(self.problem("too many operators (at most 256)"));
            }
            left = Expr::Binary(operator, Box::new(left), Box::new(operand(self)?));
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Expr, StatsError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.problem("nested too deeply (at most 64 levels)"));
        }
        let expr = self.factor_inner();
        self.depth -= 1;
        expr
    }

    fn factor_inner(&mut self) -> Result<Expr, StatsError> {
        if self.take('-') {
            return Ok(Expr::Negate(Box::new(self.factor()?)));
        }
        if self.take('[') {
            return self.cell();
        }
        if self.peek() == Some('(') {
            return self.parenthesized();
        }
        if self.word("slope") {
            return self.slope();
        }
        match self.peek() {
            Some(c) if c.is_ascii_digit() || c == '.' => self.number().map(Expr::Number),
            Some(_) => {
                Err(self
                    .problem("expected [cell], a number, `(` or slope(...); cells are bracketed"))
            }
            None => Err(self.problem("it ends where a [cell] was expected")),
        }
    }

    fn cell(&mut self) -> Result<Expr, StatsError> {
        let from = self.rest;
        let Some(length) = self.text[from..].find(']') else {
            return Err(self.problem_at(from - 1, "this `[` is never closed"));
        };
        let name = self.text[from..from + length].trim();
        if name.is_empty() {
            return Err(self.problem("the cell has no name"));
        }
        if self.stars == 0 && (name == "*" || name.ends_with("@*")) {
            return Err(self.problem("a star stands for conditions only inside slope(...)"));
        }
        self.rest = from + length + 1;
        Ok(Expr::Cell(name.to_owned()))
    }

    fn slope(&mut self) -> Result<Expr, StatsError> {
        if self.stars > 0 {
            return Err(self.problem("a slope inside a slope"));
        }
        self.expect('(', "expected `(` after slope")?;
        self.stars += 1;
        let inner = self.sum()?;
        self.stars -= 1;
        let mut over = Vec::new();
        if self.word("over") {
            over.push(self.number()?);
            while self.take(',') {
                over.push(self.number()?);
            }
        }
        self.expect(')', "expected `)`")?;
        Ok(Expr::Slope(Box::new(inner), over))
    }

    fn parenthesized(&mut self) -> Result<Expr, StatsError> {
        self.expect('(', "expected `(`")?;
        let inner = self.sum()?;
        self.expect(')', "expected `)`")?;
        Ok(inner)
    }

    fn number(&mut self) -> Result<f64, StatsError> {
        self.space();
        let rest = &self.text[self.rest..];
        let mut length = 0;
        for (at, c) in rest.char_indices() {
            let sign_of_exponent = matches!(c, '+' | '-') && rest[..at].ends_with(['e', 'E']);
            if !(c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E') || sign_of_exponent) {
                break;
            }
            length = at + c.len_utf8();
        }
        match rest[..length].parse::<f64>() {
            Ok(value) if value.is_finite() => {
                self.rest += length;
                Ok(value)
            }
            _ => Err(self.problem("expected a number")),
        }
    }

    fn space(&mut self) {
        let rest = &self.text[self.rest..];
        self.rest += rest.len() - rest.trim_start().len();
    }

    fn peek(&mut self) -> Option<char> {
        self.space();
        self.text[self.rest..].chars().next()
    }

    fn take(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        if found {
            self.rest += c.len_utf8();
        }
        found
    }

    fn word(&mut self, word: &str) -> bool {
        self.space();
        let found = self.text[self.rest..]
            .strip_prefix(word)
            .is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_'));
        if found {
            self.rest += word.len();
        }
        found
    }

    fn expect(&mut self, c: char, problem: &str) -> Result<(), StatsError> {
        if self.take(c) { Ok(()) } else { Err(self.problem(problem)) }
    }

    fn problem(&self, problem: &str) -> StatsError {
        self.problem_at(self.rest, problem)
    }

    fn problem_at(&self, byte: usize, problem: &str) -> StatsError {
        StatsError::Syntax {
            text: self.text.to_owned(),
            at: self.text[..byte].chars().count() + 1,
            problem: problem.to_owned(),
        }
    }
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
