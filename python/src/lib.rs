//! The compiled half of the Python package `backcut`.
//!
//! **Does**: hands tables, names of cuts and flat vectors from Python to the crates that know what
//! to do with them, and hands back JSON, text and drawings.
//!
//! **Refuses**: to compute anything of its own that another crate computes, to know a framework, to
//! hold state between calls.
//!
//! **One design decision.** Results cross the border as JSON: numbers keep every bit (shortest
//! decimals that read back the same), there is one way to write a report, and no class has to be
//! described twice. Only parameters and gradients cross as numpy arrays, without a copy. So each
//! function here is a few lines, and what users see is plain Python.

#![expect(
    clippy::needless_pass_by_value,
    reason = "arguments from Python are handed over as they are made"
)]

mod command;
mod compare;
mod credit;
mod explain;
mod frame;
mod matrix;
mod stats;

use backcut_text::Hinted;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

create_exception!(backcut, Error, PyValueError, "Input that makes no sense: what, and a hint.");

/// An error as Python users see it: what, and on a line of its own what to do.
pub(crate) fn told(lead: &str, error: &impl Hinted) -> PyErr {
    wrong(format!("{lead}{error}"), &error.hint())
}

/// The same in words of one's own.
pub(crate) fn wrong(what: impl std::fmt::Display, hint: &str) -> PyErr {
    if hint.is_empty() {
        Error::new_err(what.to_string())
    } else {
        Error::new_err(format!("{what}\nhint: {hint}"))
    }
}

/// What a bug looks like.
pub(crate) fn internal(error: impl std::fmt::Display) -> PyErr {
    pyo3::exceptions::PyRuntimeError::new_err(format!("backcut: {error}"))
}

/// Text that a terminal can be shown: controls and what reorders lines become their code point.
#[pyfunction]
fn shown(text: &str) -> String {
    backcut_text::escape::lines(text)
}

/// The compiled half of `backcut`.
#[pymodule]
fn _backcut(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(shown, module)?)?;
    let error = module.py().get_type::<Error>();
    // Whoever raises it: names in it are others' words.
    let text = c"lambda error: shown(ValueError.__str__(error))";
    error.setattr("__str__", module.py().eval(text, Some(&module.dict()), None)?)?;
    module.add("Error", error)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(command::run, module)?)?;
    module.add_function(wrap_pyfunction!(stats::stats, module)?)?;
    module.add_function(wrap_pyfunction!(credit::credit, module)?)?;
    module.add_function(wrap_pyfunction!(explain::cut, module)?)?;
    module.add_function(wrap_pyfunction!(explain::explain, module)?)?;
    module.add_function(wrap_pyfunction!(matrix::matrices, module)?)?;
    module.add_function(wrap_pyfunction!(compare::rules, module)?)?;
    module.add_function(wrap_pyfunction!(compare::moments_of, module)?)?;
    module.add_function(wrap_pyfunction!(compare::compare_f32, module)?)?;
    module.add_function(wrap_pyfunction!(compare::compare_f64, module)?)?;
    module.add_function(wrap_pyfunction!(compare::updates_f32, module)?)?;
    module.add_function(wrap_pyfunction!(compare::updates_f64, module)?)?;
    Ok(())
}
