//! Vectors in a safetensors file, read a buffer at a time.
//!
//! The form is the export's, specified in docs/format.md. **Why not mapped into memory:** that
//! takes `unsafe`, which no crate but the kernels may use, and a file that somebody shortens
//! meanwhile would end the process. A buffer per vector reads as fast as a page does, and every
//! error is one.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::Path;

use backcut_kernels::Real;
use safetensors::Dtype;
use safetensors::tensor::TensorInfo;

use super::described::Described;
use super::header::Header;
use super::tensors::{OTHERS, Tensors, WRITE_AGAIN, family, wrong};
use crate::measure::source::{OutsideError, Source, Vector};

pub use super::header::FORMAT;

/// Numbers that are read at a time.
const BUFFER: usize = 1 << 16;

/// A number as it lies in a file.
pub trait Stored: Real {
    /// What the file calls it.
    const DTYPE: Dtype;
    /// Appends numbers from their bytes, the lowest first; whether all are finite.
    fn append(bytes: &[u8], values: &mut Vec<Self>) -> bool;
}

/// Plain loops without a way out, which the compiler turns into wide ones.
macro_rules! stored {
    ($type:ty, $dtype:expr) => {
        impl Stored for $type {
            const DTYPE: Dtype = $dtype;

            fn append(bytes: &[u8], values: &mut Vec<Self>) -> bool {
                let (words, _) = bytes.as_chunks();
                values.extend(words.iter().map(|word| Self::from_le_bytes(*word)));
                values.iter().fold(true, |all, value| all & value.is_finite())
            }
        }
    };
}

stored!(f32, Dtype::F32);
stored!(f64, Dtype::F64);

/// A file in one of two precisions.
#[derive(Debug)]
pub enum Opened {
    /// Of `f32`.
    Single(GradientFile<f32>),
    /// Of `f64`.
    Double(GradientFile<f64>),
}

impl Opened {
    /// What the file holds.
    pub fn described(&self) -> &Described {
        match self {
            Self::Single(file) => &file.described,
            Self::Double(file) => &file.described,
        }
    }

    /// The same, to choose a reference or four arms.
    pub fn described_mut(&mut self) -> &mut Described {
        match self {
            Self::Single(file) => &mut file.described,
            Self::Double(file) => &mut file.described,
        }
    }
}

/// Vectors in a file.
#[derive(Debug)]
pub struct GradientFile<R> {
    /// What the file holds.
    pub described: Described,
    file: File,
    vectors: Vec<Place<R>>,
    bytes: Vec<u8>,
}

/// Where a vector's tensors lie, and what of it was read last.
#[derive(Debug, Default)]
struct Place<R> {
    family: String,
    /// Name, range of the vector, and the place in the file.
    tensors: Vec<(String, Range<usize>, u64)>,
    start: usize,
    buffer: Vec<R>,
    /// The tensor that was read last.
    at: usize,
}

/// Opens a file of gradients.
pub fn open(path: &Path) -> Result<Opened, OutsideError> {
    let io = |error: std::io::Error| wrong(error.to_string(), "give a safetensors file");
    let mut file = backcut_files::open(path).map_err(io)?;
    let tensors = Tensors::read(&mut file).map_err(|error| match error {
        Ok(error) => error,
        Err(error) => io(error),
    })?;
    let header = Header::read(&tensors.metadata)?;
    let is_number =
        |(name, _): &(&String, &TensorInfo)| family(name).is_some_and(|f| !OTHERS.contains(&f));
    let first = tensors.of_name.iter().find(is_number).map(|(_, info)| info.dtype);
    match first {
        Some(Dtype::F32) => GradientFile::new(file, &tensors, &header).map(Opened::Single),
        Some(Dtype::F64) => GradientFile::new(file, &tensors, &header).map(Opened::Double),
        Some(other) => {
            let what = format!("numbers of type {other:?}");
            Err(wrong(what, "convert them to float32 or float64 before they are saved"))
        }
        None => Err(wrong("no tensor `gradient/ARM/NAME`", "see docs/format.md")),
    }
}

impl<R: Stored> GradientFile<R> {
    fn new(file: File, tensors: &Tensors, header: &Header) -> Result<Self, OutsideError> {
        let arms = header.arms.clone().unwrap_or_else(|| tensors.arms());
        tensors.check_names(&arms)?;
        let Some(first) = arms.first() else {
            return Err(wrong("no tensor `gradient/ARM/NAME`", "see docs/format.md"));
        };
        let named = tensors.family("param/");
        let named =
            if named.is_empty() { tensors.family(&format!("gradient/{first}/")) } else { named };
        let shapes: BTreeMap<&str, &[usize]> =
            named.iter().map(|(name, info)| (*name, info.shape.as_slice())).collect();
        let order: Vec<&str> = match &header.parameters {
            Some(order) => order.iter().map(String::as_str).collect(),
            None => named.iter().map(|(name, _)| *name).collect(),
        };
        check_order(&order, &shapes)?;
        let parameters: Vec<(String, usize)> =
            order.iter().map(|name| ((*name).to_owned(), shapes[name].iter().product())).collect();
        let optimizer = header.optimizing()?;
        let has = |family: &str| !tensors.family(family).is_empty();
        let mut families = Vec::new();
        if let Some(optimizer) = &optimizer {
            families.push("param".to_owned());
            let kept = if optimizer.step > 0 { optimizer.rule.keeps() } else { 0 };
            families.extend(["moment1", "moment2"].into_iter().take(kept).map(str::to_owned));
        } else if has("moment1/") || has("moment2/") {
            let hint = "add `optimizer` and `step` to the metadata, or leave the moments out";
            return Err(wrong("moments without an optimizer and its count of steps", hint));
        }
        families.extend(arms.iter().map(|arm| format!("gradient/{arm}")));
        let place = |family: &String| place::<R>(tensors, family, &order, &shapes);
        let vectors = families.iter().map(place).collect::<Result<_, _>>()?;
        let described = Described { parameters, arms, optimizer, factorial: None };
        described.check()?;
        Ok(Self { described, file, vectors, bytes: Vec::new() })
    }

    /// Where a vector lies. The order of the arms is the caller's, so they go by name.
    fn find(&self, vector: Vector) -> Result<usize, OutsideError> {
        let is_it = |place: &Place<R>| match vector {
            Vector::Parameters => place.family == "param",
            Vector::First => place.family == "moment1",
            Vector::Second => place.family == "moment2",
            Vector::Gradient(arm) => {
                place.family.strip_prefix("gradient/")
                    == self.described.arms.get(arm).map(String::as_str)
            }
        };
        let found = self.vectors.iter().position(is_it);
        found.ok_or_else(|| wrong(format!("no tensors of {vector:?}"), "see docs/format.md"))
    }

    fn fill(&mut self, vector: usize, from: usize) -> Result<(), OutsideError> {
        let Self { file, vectors, bytes, .. } = self;
        let place = &mut vectors[vector];
        let family = &place.family;
        let holds =
            |at: usize| place.tensors.get(at).is_some_and(|(_, range, _)| range.contains(&from));
        let next = [place.at, place.at + 1].into_iter().find(|at| holds(*at));
        place.at = next
            .unwrap_or_else(|| place.tensors.partition_point(|(_, range, _)| range.end <= from));
        let Some((name, range, offset)) = place.tensors.get(place.at) else {
            return Err(wrong(format!("`{family}` ends at {from}"), "see docs/format.md"));
        };
        let count = (range.end - from).min(BUFFER);
        bytes.resize(count * size_of::<R>(), 0);
        let at = offset + ((from - range.start) * size_of::<R>()) as u64;
        let read = file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(bytes));
        read.map_err(|error| wrong(format!("`{family}/{name}`: {error}"), WRITE_AGAIN))?;
        place.start = from;
        place.buffer.clear();
        let are_finite = R::append(bytes, &mut place.buffer);
        let is_odd = |value: &R| !value.to_f64().is_finite();
        if !are_finite && let Some(odd) = place.buffer.iter().position(is_odd) {
            let (index, value) = (from + odd - range.start, place.buffer[odd].to_f64());
            let what = format!("`{family}/{name}`: number {index} is {value}");
            return Err(wrong(what, "find out where it comes from: there is nothing to compare"));
        }
        Ok(())
    }
}

/// That an order names every parameter once.
fn check_order(order: &[&str], shapes: &BTreeMap<&str, &[usize]>) -> Result<(), OutsideError> {
    let mut seen = std::collections::BTreeSet::new();
    for name in order {
        if !shapes.contains_key(name) {
            let what = format!("parameter `{name}` is listed, and `param/{name}` is missing");
            return Err(wrong(what, "save it, or leave it out of `parameters`"));
        }
        if !seen.insert(*name) {
            return Err(wrong(format!("parameter `{name}` is listed twice"), "list it once"));
        }
    }
    match shapes.keys().find(|name| !seen.contains(*name)) {
        Some(name) => Err(wrong(
            format!("an extra tensor `param/{name}`, which `parameters` does not list"),
            "list it, or leave it out",
        )),
        None => Ok(()),
    }
}

/// Where a vector's tensors lie; every parameter has one, of its shape.
fn place<R: Stored>(
    tensors: &Tensors,
    family: &str,
    order: &[&str],
    shapes: &BTreeMap<&str, &[usize]>,
) -> Result<Place<R>, OutsideError> {
    let own = tensors.family(&format!("{family}/"));
    if own.is_empty() {
        let what = match family.strip_prefix("gradient/") {
            Some(arm) => format!("arm `{arm}` has no gradient"),
            None => format!("no tensors `{family}/...`"),
        };
        let hint = match family {
            "param" | "moment1" | "moment2" => {
                "an optimizer needs parameters, and moments after its first step"
            }
            _ => "save it as gradient/ARM/NAME, or leave the arm out",
        };
        return Err(wrong(what, hint));
    }
    if let Some((name, _)) = own.iter().find(|(name, _)| !shapes.contains_key(name)) {
        let what = format!("an extra tensor `{family}/{name}`: there is no such parameter");
        return Err(wrong(what, "every arm has the gradients of the same parameters"));
    }
    let infos: BTreeMap<&str, &TensorInfo> = own.into_iter().collect();
    let (mut places, mut at) = (Vec::new(), 0);
    for name in order {
        let Some(info) = infos.get(name) else {
            let what = format!("`{family}/{name}` is missing");
            return Err(wrong(
                what,
                "save a gradient for every parameter: zeros, if nothing reaches it",
            ));
        };
        if info.shape != shapes[name] {
            let what = format!(
                "`{family}/{name}` has the shape {:?}, its parameter {:?}",
                info.shape, shapes[name]
            );
            return Err(wrong(what, "save it in the parameter's own shape"));
        }
        if info.dtype != R::DTYPE {
            let what = format!("`{family}/{name}` is {:?}, others are {:?}", info.dtype, R::DTYPE);
            return Err(wrong(what, "save all of them in one precision"));
        }
        let len: usize = info.shape.iter().product();
        places.push(((*name).to_owned(), at..at + len, tensors.start + info.data_offsets.0 as u64));
        at += len;
    }
    let family = family.to_owned();
    Ok(Place { family, tensors: places, start: 0, buffer: Vec::new(), at: 0 })
}

impl<R: Stored> Source<R> for GradientFile<R> {
    fn read(
        &mut self,
        vector: Vector,
        range: Range<usize>,
        values: &mut [R],
    ) -> Result<(), OutsideError> {
        let (slot, mut at) = (self.find(vector)?, range.start);
        while at < range.end {
            let place = &self.vectors[slot];
            let held = place.start..place.start + place.buffer.len();
            if !held.contains(&at) {
                self.fill(slot, at)?;
                continue;
            }
            let end = held.end.min(range.end);
            let from = &place.buffer[at - held.start..end - held.start];
            values[at - range.start..end - range.start].copy_from_slice(from);
            at = end;
        }
        Ok(())
    }
}
