//! Norm of the weights that read some input columns.

use std::ops::Range;

use backcut_kernels::reduce;

use crate::measure::error::MeasureError;
use crate::measure::finding::Finding;
use crate::measure::subject::Subject;

/// The Frobenius norm of a parameter's part that reads the input columns `columns`.
///
/// A linear site's weight is stored inputs by outputs, row-major, so input columns are its rows.
/// The quadrotor's world-frame velocity reading is columns 0..3 of the token: `embedding.weight`,
/// `0..3`.
pub fn input_weight(
    subject: &Subject,
    parameter: &str,
    columns: Range<usize>,
) -> Result<Vec<Finding>, MeasureError> {
    let layout = subject.system.program().layout();
    let Some(found) = layout.parameters().iter().find(|p| p.name == parameter) else {
        let known: Vec<&str> = layout.parameters().iter().map(|p| p.name.as_str()).collect();
        let known = known.join(", ");
        return Err(MeasureError::Unfit(format!("no parameter `{parameter}`; known: {known}")));
    };
    let Range { start, end } = columns;
    if start >= end || end > found.rows {
        let what = format!("`{parameter}` has {} input columns, not {start}..{end}", found.rows);
        return Err(MeasureError::Unfit(what));
    }
    let first = found.offset + start * found.cols;
    let values = subject.state.params.get(first..first + (end - start) * found.cols);
    let values = values.ok_or_else(|| {
        MeasureError::Unfit("the state belongs to a policy of another size".to_owned())
    })?;
    let norm = reduce::norm_squared(values).sqrt();
    let part = format!("{parameter}[{start}..{end}]");
    Ok(vec![Finding::new("input_weight.norm", "", part, norm)])
}
