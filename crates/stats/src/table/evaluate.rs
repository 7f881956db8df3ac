//! A contrast on a table: one value per source, or an error that names cell and source.

use super::{Cell, SourceTable};
use crate::contrast::{Body, Contrast, Expr};
use crate::error::{StatsError, name_list};

/// One value per source, in the table's order.
#[derive(Clone, PartialEq, Debug)]
pub struct Evaluated {
    /// The quantity that is averaged (the numerator of a ratio of means).
    pub values: Vec<f64>,
    /// The denominator of a ratio of means.
    pub denominators: Option<Vec<f64>>,
}

impl Contrast {
    /// The contrast's value for every source of the table.
    pub fn evaluate(&self, table: &SourceTable) -> Result<Evaluated, StatsError> {
        let scope = Scope { contrast: &self.text, table, condition: None };
        Ok(match &self.body {
            Body::Mean(expr) => Evaluated { values: scope.values(expr)?, denominators: None },
            Body::RatioOfMeans(above, below) => {
                Evaluated { values: scope.values(above)?, denominators: Some(scope.values(below)?) }
            }
        })
    }

    /// Every cell of the table that the contrast reads, stars resolved.
    pub fn cells_in(&self, table: &SourceTable) -> Result<Vec<String>, StatsError> {
        let mut cells = Vec::new();
        for name in self.cells() {
            match name.strip_suffix('*') {
                Some(prefix) if prefix.is_empty() || prefix.ends_with('@') => {
                    cells.extend(numeric_conditions(table, name)?.into_iter().map(|(_, n)| n));
                }
                _ => {
                    table.cell(name)?;
                    cells.push(name.to_owned());
                }
            }
        }
        Ok(cells)
    }
}

struct Scope<'a> {
    contrast: &'a str,
    table: &'a SourceTable,
    /// What a star stands for, inside a slope.
    condition: Option<f64>,
}

impl Scope<'_> {
    fn values(&self, expr: &Expr) -> Result<Vec<f64>, StatsError> {
        let values = match expr {
            Expr::Number(value) => vec![*value; self.table.sources().len()],
            Expr::Cell(name) => self.cell(name)?,
            Expr::Negate(inner) => self.values(inner)?.into_iter().map(|v| -v).collect(),
            Expr::Binary(operator, left, right) => {
                let left = self.values(left)?;
                let right = self.values(right)?;
                if let ('/', Some(i)) = (*operator, right.iter().position(|v| *v == 0.0)) {
                    let contrast = self.contrast.to_owned();
                    return Err(StatsError::ZeroDenominator { contrast, place: self.place(i) });
                }
                left.iter().zip(right).map(|(a, b)| apply(*operator, *a, b)).collect()
            }
            Expr::Slope(inner, over) => self.slope(inner, over)?,
        };
        match values.iter().position(|v| !v.is_finite()) {
            None => Ok(values),
            Some(i) => Err(StatsError::Overflow {
                contrast: self.contrast.to_owned(),
                place: self.place(i),
            }),
        }
    }

    fn place(&self, source: usize) -> String {
        format!("source {}", self.table.sources()[source])
    }

    fn cell(&self, name: &str) -> Result<Vec<f64>, StatsError> {
        let resolved = match self.condition {
            Some(condition) if name == "*" || name.ends_with("@*") => {
                numeric_conditions(self.table, name)?
                    .into_iter()
                    .find(|(value, _)| *value == condition)
                    .map(|(_, cell)| cell)
                    .ok_or_else(|| StatsError::Undefined {
                        what: "the slope",
                        problem: format!("[{name}] has no condition {condition}"),
                    })?
            }
            _ => name.to_owned(),
        };
        let cells = self.table.cell(&resolved)?;
        let sources = self.table.sources();
        let cell = format!("[{resolved}]");
        let empty = || sources.iter().zip(cells).filter(|(_, c)| **c == Cell::Empty);
        if empty().next().is_some() {
            return Err(StatsError::Unpaired {
                cell,
                count: empty().count(),
                total: sources.len(),
                sources: name_list(empty().map(|(source, _)| source.as_str())),
            });
        }
        let mut values = Vec::with_capacity(cells.len());
        for (source, entry) in sources.iter().zip(cells) {
            match entry {
                Cell::Number(value) => values.push(*value),
                Cell::Text(text) => {
                    let (source_name, text) = (source.clone(), text.clone());
                    return Err(StatsError::NotFinite { cell, source_name, text });
                }
                Cell::Empty => {}
            }
        }
        Ok(values)
    }

    /// Least squares over the conditions: sum of (x - mean x) y / sum of (x - mean x)^2.
    fn slope(&self, inner: &Expr, over: &[f64]) -> Result<Vec<f64>, StatsError> {
        let undefined = |problem: String| StatsError::Undefined { what: "the slope", problem };
        let conditions =
            if over.is_empty() { self.shared_conditions(inner)? } else { over.to_vec() };
        let mut distinct = conditions.clone();
        distinct.sort_by(f64::total_cmp);
        distinct.dedup();
        if distinct.len() < 2 || distinct.len() != conditions.len() {
            return Err(undefined(format!(
                "it needs two or more distinct conditions, not {conditions:?}"
            )));
        }
        let center = conditions.iter().sum::<f64>() / conditions.len() as f64;
        let spread: f64 = conditions.iter().map(|x| (x - center) * (x - center)).sum();
        let mut slopes = vec![0.0; self.table.sources().len()];
        for condition in conditions {
            let scope = Scope { condition: Some(condition), ..*self };
            let weight = (condition - center) / spread;
            for (slope, value) in slopes.iter_mut().zip(scope.values(inner)?) {
                *slope += weight * value;
            }
        }
        Ok(slopes)
    }

    /// The numeric conditions of every starred cell, which must be the same for all of them.
    fn shared_conditions(&self, inner: &Expr) -> Result<Vec<f64>, StatsError> {
        let mut cells = Vec::new();
        inner.collect(&mut cells);
        let mut shared: Option<(&str, Vec<f64>)> = None;
        for name in cells.into_iter().filter(|n| *n == "*" || n.ends_with("@*")) {
            let found: Vec<f64> =
                numeric_conditions(self.table, name)?.into_iter().map(|(value, _)| value).collect();
            match &shared {
                None => shared = Some((name, found)),
                Some((first, conditions)) if *conditions != found => {
                    return Err(StatsError::Undefined {
                        what: "the slope",
                        problem: format!(
                            "[{first}] has conditions {conditions:?} and [{name}] has {found:?}; \
                             list the shared ones after `over`"
                        ),
                    });
                }
                Some(_) => {}
            }
        }
        shared.map(|(_, conditions)| conditions).ok_or_else(|| StatsError::Undefined {
            what: "the slope",
            problem: "there is no starred cell such as [FF@*] in it".into(),
        })
    }
}

/// The cells that a starred name covers, in increasing order of condition.
fn numeric_conditions(table: &SourceTable, star: &str) -> Result<Vec<(f64, String)>, StatsError> {
    let prefix = star.strip_suffix('*').unwrap_or(star);
    let mut found: Vec<(f64, String)> = table
        .cell_names()
        .filter_map(|name| {
            let value = name.strip_prefix(prefix)?.parse::<f64>().ok()?;
            value.is_finite().then(|| (value, name.to_owned()))
        })
        .collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    if let Some(pair) = found.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(StatsError::Undefined {
            what: "the slope",
            problem: format!("[{}] and [{}] are the same condition", pair[0].1, pair[1].1),
        });
    }
    if found.is_empty() {
        let what = "cells with numeric conditions for";
        return Err(StatsError::missing(what, star, table.cell_names()));
    }
    Ok(found)
}

fn apply(operator: char, a: f64, b: f64) -> f64 {
    match operator {
        '+' => a + b,
        '-' => a - b,
        '*' => a * b,
        _ => a / b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Layout;

    fn table() -> SourceTable {
        let csv = "seed,FF@0.0,FF@0.1,FF@0.2,FD@0.0,FD@0.1,FD@0.2,gap,bad\n\
                   1,1,2,3,2,4,6,,x\n2,1,1,1,0,0,0,5,1\n";
        SourceTable::from_csv(csv.as_bytes(), &Layout::default()).unwrap()
    }

    fn values(text: &str) -> Result<Vec<f64>, StatsError> {
        Contrast::parse(text).unwrap().evaluate(&table()).map(|e| e.values)
    }

    #[test]
    fn arithmetic_per_source() {
        assert_eq!(values("([FD@0.2] - [FF@0.2]) / [FF@0.2]").unwrap(), [1.0, -1.0]);
        assert_eq!(values("-[FF@0.1] * 2 + 1").unwrap(), [-3.0, -1.0]);
    }

    #[test]
    fn slopes_over_stars() {
        let slopes = values("slope([FD@*] - [FF@*])").unwrap();
        assert!((slopes[0] - 10.0).abs() < 1e-12 && slopes[1].abs() < 1e-12, "{slopes:?}");
        let two = values("slope([FF@*] over 0, 0.2)").unwrap();
        assert!((two[0] - 10.0).abs() < 1e-12, "{two:?}");
        assert!(values("slope([FF@*] over 0, 0.3)").is_err());
        assert!(values("slope([gap])").is_err());
        assert!(values("slope([*])").is_err());
        // What has no star is the same at every condition.
        let shifted = values("slope([FF@*] - [FD@0.1])").unwrap();
        assert!((shifted[0] - 10.0).abs() < 1e-12 && shifted[1].abs() < 1e-12, "{shifted:?}");
    }

    #[test]
    fn slopes_are_told_far_from_zero_and_over_the_same_conditions_only() {
        let csv = "seed,a@100000001,a@100000002,a@100000003,b@1,b@2\n1,1,2,3,1,2\n2,2,4,6,1,2\n";
        let table = SourceTable::from_csv(csv.as_bytes(), &Layout::default()).unwrap();
        let evaluate = |text: &str| Contrast::parse(text).unwrap().evaluate(&table);
        let slopes = evaluate("slope([a@*])").unwrap().values;
        assert!((slopes[0] - 1.0).abs() < 1e-6 && (slopes[1] - 2.0).abs() < 1e-6, "{slopes:?}");
        let error = evaluate("slope([a@*] - [b@*])").unwrap_err().to_string();
        assert!(error.contains("list the shared ones after `over`"), "{error}");
    }

    #[test]
    fn gaps_text_zero_and_overflow_are_errors() {
        assert!(matches!(values("[gap]"), Err(StatsError::Unpaired { count: 1, total: 2, .. })));
        assert!(matches!(values("[bad]"), Err(StatsError::NotFinite { .. })));
        assert!(matches!(values("1 / [FD@0.0]"), Err(StatsError::ZeroDenominator { .. })));
        assert!(matches!(values("[FF@0.0] * 1e308 * 10"), Err(StatsError::Overflow { .. })));
        assert!(matches!(values("[nope]"), Err(StatsError::MissingColumn { .. })));
    }
}
