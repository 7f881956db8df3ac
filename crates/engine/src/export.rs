//! Writing down what a rollout was given, so that others can run it: safetensors.
//!
//! Two readers: another framework that checks a gradient, and a person who looks at the inputs behind
//! a NaN. So the file holds inputs and parameters, not the record, and a rollout that failed exports as
//! well as one that did not.
//!
//! | tensor | shape |
//! | --- | --- |
//! | `param/NAME` | `[rows, columns]` |
//! | `input/NAME` | `[steps, rows, columns]` |
//! | `condition/NAME` | `[rows, tokens, columns]` |
//! | `initial/NAME` | `[rows, columns]`, states and registers |
//! | `override/I/NAME` | `[steps, rows, columns]` of the I-th override, from its first step |
//! | `mask` | `[steps, steps]`, true where the query of the first index reads the second |
//! | `gradient/CUT/NAME` | `[rows, columns]` |
//!
//! Everything is plain row-major. The metadata has one key, `backcut`, whose value is JSON: a map of
//! several keys would be written in the order of a hash map, and equal content must be equal files.

use std::collections::{BTreeMap, HashMap};

use backcut_kernels::Real;
use safetensors::Dtype;
use safetensors::tensor::TensorView;

use crate::cut::Cut;
use crate::forward::MemoryReads;
use crate::model::Model;
use crate::rollout::Rollout;

/// Version of the names and shapes above.
pub const EXPORT_VERSION: u32 = 1;

/// Why nothing was exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// Model and rollout belong to different programs.
    #[error("the rollout belongs to another program than the model")]
    WrongProgram,
    /// A gradient of another length than the parameters.
    #[error("the gradient under {cut} has {got} values, the program {want} parameters")]
    WrongLength {
        /// The cut.
        cut: Cut,
        /// Values given.
        got: usize,
        /// Values needed.
        want: usize,
    },
    /// The format refused the tensors.
    #[error("the tensors do not make a safetensors file: {0}")]
    Format(#[from] safetensors::SafeTensorError),
}

/// The bytes of a safetensors file with the parameters of `model`, everything that `rollout` was
/// given, and the gradients.
///
/// ```
/// # use std::sync::Arc;
/// use backcut_engine::{Cpu, Cut, Executor, ForwardSpec, Trace, export};
/// # let t = Trace::new();
/// # let x = t.input("x", 1);
/// # t.loss(t.linear("policy", x, 1).square());
/// # let program = Arc::new(t.compile()?);
/// let cpu: &dyn Executor<f32> = Cpu::detect();
/// let model = cpu.model(&program, program.layout().initialise(1))?;
/// let mut rollout = cpu.rollout(&program, 2, 3, ForwardSpec::default())?;
/// cpu.roll(&model, &mut rollout)?;
/// let mut workspace = cpu.workspace(&rollout, &[Cut::FF])?;
/// cpu.backward(&model, &rollout, &mut workspace)?;
/// let bytes = export(&model, &rollout, &[(Cut::FF, workspace.gradient(0))])?;
/// let file = safetensors::SafeTensors::deserialize(&bytes)?;
/// assert_eq!(file.tensor("input/x")?.shape(), [3, 2, 1]);
/// assert_eq!(file.tensor("gradient/FF/policy.weight")?.shape(), [1, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn export<R: Real>(
    model: &Model<R>,
    rollout: &Rollout<R>,
    gradients: &[(Cut, &[R])],
) -> Result<Vec<u8>, ExportError> {
    let program = model.program();
    if !std::sync::Arc::ptr_eq(program, rollout.program()) {
        return Err(ExportError::WrongProgram);
    }
    let mut tensors = Tensors::default();
    tensors.parameters("param", model, model.values());
    for &(cut, gradient) in gradients {
        let (got, want) = (gradient.len(), program.layout().len());
        if got != want {
            return Err(ExportError::WrongLength { cut, got, want });
        }
        tensors.parameters(&format!("gradient/{cut}"), model, gradient);
    }
    let (rows, steps) = (rollout.rows(), rollout.steps());
    for input in &program.inputs {
        let shape = [steps, rows, program.width(input.site)];
        tensors.numbers(format!("input/{}", input.name), &shape, rollout.values(input.site));
    }
    let record = &rollout.condition;
    for input in &program.condition_inputs {
        let values = &record.values[record.frame.range(input.site, 0)];
        let shape = [rows, program.tokens(), program.condition.width(input.site)];
        tensors.numbers(format!("condition/{}", input.name), &shape, values);
    }
    let states = program.states().iter().zip(&rollout.initial_states);
    for (carried, values) in
        states.chain(program.registers().iter().zip(&rollout.initial_registers))
    {
        tensors.numbers(format!("initial/{}", carried.name), &[rows, carried.width], values);
    }
    for (i, (given, fixed)) in rollout.spec.overrides.iter().zip(&rollout.fixed).enumerate() {
        let shape = [fixed.last - fixed.first, rows, program.width(fixed.site)];
        tensors.numbers(format!("override/{i}/{}", given.site), &shape, &fixed.values);
    }
    let reads = &rollout.spec.reads;
    if let MemoryReads::Mask(_) = reads {
        let cells = (0..steps).flat_map(|t| (0..steps).map(move |j| (t, j)));
        let visible = cells.map(|(t, j)| u8::from(reads.shows(t, j))).collect();
        tensors.of_name.insert("mask".to_owned(), (Dtype::BOOL, vec![steps, steps], visible));
    }
    let names: Vec<String> = gradients.iter().map(|(cut, _)| cut.to_string()).collect();
    let overrides = rollout.spec.overrides.iter();
    let overrides: Vec<_> = overrides.map(|o| serde_json::json!([o.site, o.first])).collect();
    let window = match reads {
        MemoryReads::Window(w) => Some(w.get()),
        MemoryReads::All | MemoryReads::Mask(_) => None,
    };
    let metadata = serde_json::json!({
        "format": "backcut-export",
        "kind": "export",
        "version": EXPORT_VERSION,
        "rows": rows,
        "steps": steps,
        "tokens": program.tokens(),
        "prefix": rollout.spec.prefix,
        "window": window,
        "donor": rollout.spec.donor.is_some(),
        "overrides": overrides,
        "cuts": names,
        "loss": rollout.loss(),
        "states": program.states().iter().map(|c| &c.name).collect::<Vec<_>>(),
        "registers": program.registers().iter().map(|c| &c.name).collect::<Vec<_>>(),
    });
    tensors.to_bytes(metadata.to_string())
}

/// Tensors by name, with type, shape and bytes.
#[derive(Default)]
struct Tensors {
    of_name: BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)>,
}

impl Tensors {
    fn numbers<R: Real>(&mut self, name: String, shape: &[usize], values: &[R]) {
        let dtype = if size_of::<R>() == 4 { Dtype::F32 } else { Dtype::F64 };
        // The low bytes of the widened bit pattern are the number's own.
        let own = |v: &R| v.bits().to_le_bytes().into_iter().take(size_of::<R>());
        let bytes = values.iter().flat_map(own).collect();
        self.of_name.insert(name, (dtype, shape.to_vec(), bytes));
    }

    fn parameters<R: Real>(&mut self, family: &str, model: &Model<R>, flat: &[R]) {
        for parameter in model.program().layout().parameters() {
            let name = format!("{family}/{}", parameter.name);
            self.numbers(name, &[parameter.rows, parameter.cols], &flat[parameter.range()]);
        }
    }

    fn to_bytes(&self, metadata: String) -> Result<Vec<u8>, ExportError> {
        let mut views = Vec::with_capacity(self.of_name.len());
        for (name, (dtype, shape, bytes)) in &self.of_name {
            views.push((name.as_str(), TensorView::new(*dtype, shape.clone(), bytes)?));
        }
        let metadata = HashMap::from([("backcut".to_owned(), metadata)]);
        Ok(safetensors::serialize(views, Some(metadata))?)
    }
}
