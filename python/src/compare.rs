//! Gradients of several arms against the first one's, and what an optimizer makes of them.
//!
//! All of it is `backcut_lab::measure::outside`, which also reads the files of
//! `backcut measure gradients`: this file only turns arrays and a request into what it takes.

use backcut_kernels::optim::rule::{Stretch, update_on};
use backcut_kernels::reduce::norm_squared;
use backcut_kernels::{Isa, Real};
use backcut_lab::measure::groups_by;
use backcut_lab::measure::outside::{Described, InMemory, Optimizing, compare, untagged};
use backcut_systems::{Clip, Kind};
use numpy::{IntoPyArray as _, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{internal, told};

/// What is compared. Vectors are flat, tensors one after the other.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    tensors: Vec<Tensor>,
    arms: Vec<String>,
    /// The rule, its settings beside its `kind`.
    optimizer: Option<Map<String, Value>>,
    /// The clip of the global norm.
    clip: Option<f64>,
    /// Updates that the optimizer has made.
    step: u64,
    /// Four arms in the order of the interaction's signs: a - b - c + d.
    factorial: Option<[usize; 4]>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tensor {
    name: String,
    len: usize,
    /// Its group, where that is not the one that its name says.
    group: Option<String>,
}

/// The rules that there are, each with its settings and their usual values.
#[pyfunction]
pub fn rules() -> Vec<(&'static str, Vec<(&'static str, f64)>)> {
    let of = |kind: &Kind| {
        let usual = kind.usual();
        (kind.name(), kind.settings().iter().map(|name| (*name, usual.value(name))).collect())
    };
    Kind::ALL.iter().map(of).collect()
}

/// How many moments a rule keeps under its settings.
#[pyfunction]
pub fn moments_of(rule: &str) -> PyResult<usize> {
    let form = serde_json::from_str(rule).map_err(internal)?;
    Ok(untagged(form).map_err(internal)?.keeps())
}

type Flat<'py, R> = PyReadonlyArray1<'py, R>;

/// Compares vectors in single precision.
#[pyfunction]
pub fn compare_f32(
    py: Python<'_>,
    params: Flat<'_, f32>,
    gradients: Vec<Flat<'_, f32>>,
    moments: Vec<Flat<'_, f32>>,
    request: &str,
) -> PyResult<String> {
    run(py, slice(&params)?, &slices(&gradients)?, &slices(&moments)?, request)
}

/// Compares vectors in double precision.
#[pyfunction]
pub fn compare_f64(
    py: Python<'_>,
    params: Flat<'_, f64>,
    gradients: Vec<Flat<'_, f64>>,
    moments: Vec<Flat<'_, f64>>,
    request: &str,
) -> PyResult<String> {
    run(py, slice(&params)?, &slices(&gradients)?, &slices(&moments)?, request)
}

/// What a rule adds to the parameters under every gradient, in single precision.
#[pyfunction]
pub fn updates_f32<'py>(
    py: Python<'py>,
    params: Flat<'py, f32>,
    gradients: Vec<Flat<'py, f32>>,
    moments: Vec<Flat<'py, f32>>,
    request: &str,
) -> PyResult<Vec<Bound<'py, PyArray1<f32>>>> {
    let made = updates(slice(&params)?, &slices(&gradients)?, &slices(&moments)?, request)?;
    Ok(made.into_iter().map(|update| update.into_pyarray(py)).collect())
}

/// The same in double precision.
#[pyfunction]
pub fn updates_f64<'py>(
    py: Python<'py>,
    params: Flat<'py, f64>,
    gradients: Vec<Flat<'py, f64>>,
    moments: Vec<Flat<'py, f64>>,
    request: &str,
) -> PyResult<Vec<Bound<'py, PyArray1<f64>>>> {
    let made = updates(slice(&params)?, &slices(&gradients)?, &slices(&moments)?, request)?;
    Ok(made.into_iter().map(|update| update.into_pyarray(py)).collect())
}

fn updates<R: Real>(
    parameters: &[R],
    gradients: &[&[R]],
    moments: &[&[R]],
    request: &str,
) -> PyResult<Vec<Vec<R>>> {
    let request: Request = serde_json::from_str(request).map_err(internal)?;
    let optimizer = request.optimizer.ok_or_else(|| internal("updates without an optimizer"))?;
    let (clip, step) = (Clip::from(request.clip.unwrap_or(f64::INFINITY)), request.step + 1);
    let (zeros, all) = (vec![R::ZERO; parameters.len()], 0..parameters.len());
    let moment = |i: usize| moments.get(i).copied().unwrap_or(&zeros);
    let rule = [Stretch { range: all.clone(), rule: untagged(optimizer).map_err(internal)? }];
    let of = |gradient: &&[R]| {
        let factor = R::from_f64(clip.factor(norm_squared(gradient).sqrt()));
        let (first, second, mut made) = (moment(0), moment(1), zeros.clone());
        let isa = Isa::detect();
        update_on(
            isa,
            &rule,
            step,
            factor,
            parameters,
            first,
            second,
            gradient,
            all.clone(),
            &mut made,
        );
        made
    };
    Ok(gradients.iter().map(of).collect())
}

fn slice<'a, R: numpy::Element>(array: &'a Flat<'_, R>) -> PyResult<&'a [R]> {
    array.as_slice().map_err(internal)
}

fn slices<'a, R: numpy::Element>(list: &'a [Flat<'_, R>]) -> PyResult<Vec<&'a [R]>> {
    list.iter().map(slice).collect()
}

fn run<R: Real>(
    py: Python<'_>,
    parameters: &[R],
    gradients: &[&[R]],
    moments: &[&[R]],
    request: &str,
) -> PyResult<String> {
    let request: Request = serde_json::from_str(request).map_err(internal)?;
    let (step, clip) = (request.step, request.clip.unwrap_or(f64::INFINITY));
    let rule = request.optimizer.map(untagged).transpose().map_err(internal)?;
    let optimizer = rule.map(|rule| Optimizing { rule, clip, step });
    let mut start = 0;
    let ranges = request.tensors.iter().map(|tensor| {
        start += tensor.len;
        (tensor.name.as_str(), start - tensor.len..start)
    });
    let group_of = |name: &str| {
        let tensor = request.tensors.iter().find(|tensor| tensor.name == name);
        let asked = tensor.and_then(|tensor| tensor.group.clone());
        asked.unwrap_or_else(|| backcut_lab::measure::group_of(name))
    };
    let groups = groups_by(ranges, &group_of);
    let described = Described {
        parameters: request.tensors.iter().map(|t| (t.name.clone(), t.len)).collect(),
        arms: request.arms,
        optimizer,
        factorial: request.factorial,
    };
    let moment = |i: usize| moments.get(i).copied().unwrap_or_default();
    let (first, second) = (moment(0), moment(1));
    let mut source = InMemory { parameters, first, second, gradients: gradients.to_vec() };
    let found =
        py.detach(|| source.check().and_then(|()| compare(&described, &groups, &mut source)));
    let found = found.map_err(|error| told("", &error))?;
    let rows = found.iter().map(|f| {
        json!({"quantity": f.quantity, "arm": f.of, "part": f.part, "value": f.value, "note": f.note})
    });
    Ok(Value::Array(rows.collect()).to_string())
}
