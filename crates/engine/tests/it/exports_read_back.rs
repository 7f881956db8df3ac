//! What is exported is what the rollout was given, bit by bit, and enough to run it again.

use std::sync::Arc;

use crate::common::{Case, Float, bits, cpu, spec};
use backcut_engine::oracle::{FixedValues, OracleSpec, Random};
use backcut_engine::{Cut, ExportError, Model, Rollout, export};
use backcut_kernels::Isa;
use safetensors::{Dtype, SafeTensors};

/// A tensor of the file in the working precision.
fn read<R: Float>(file: &SafeTensors<'_>, name: &str) -> (Vec<usize>, Vec<R>) {
    let tensor = file.tensor(name).unwrap_or_else(|_| panic!("no tensor {name}"));
    let bytes = tensor.data();
    let values = match tensor.dtype() {
        Dtype::F32 => {
            bytes.as_chunks().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect()
        }
        Dtype::F64 => bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
        other => panic!("{name} is {other:?}"),
    };
    let values: Vec<f64> = values;
    (tensor.shape().to_vec(), values.into_iter().map(R::from_f64).collect())
}

fn metadata(bytes: &[u8]) -> serde_json::Value {
    let (_, header) = SafeTensors::read_metadata(bytes).unwrap();
    serde_json::from_str(&header.metadata().as_ref().unwrap()["backcut"]).unwrap()
}

/// Builds a second rollout from the file alone and rolls it.
fn again<R: Float>(case: &Case, bytes: &[u8]) -> (Model<R>, Rollout<R>) {
    let file = SafeTensors::deserialize(bytes).unwrap();
    let program = &case.program;
    let mut values = Vec::new();
    for parameter in program.layout().parameters() {
        let (shape, part) = read::<R>(&file, &format!("param/{}", parameter.name));
        assert_eq!(shape, [parameter.rows, parameter.cols]);
        values.extend(part);
    }
    let model = cpu().model(program, values).unwrap();
    let OracleSpec { rows, steps, .. } = case.spec;
    let mut rollout = cpu().rollout(program, rows, steps, case.spec.forward_spec()).unwrap();
    for (name, width) in program.inputs() {
        let (shape, part) = read::<R>(&file, &format!("input/{name}"));
        assert_eq!(shape, [steps, rows, width]);
        rollout.input_mut(name).unwrap().copy_from_slice(&part);
    }
    for (name, width) in program.condition_inputs() {
        let (shape, part) = read::<R>(&file, &format!("condition/{name}"));
        assert_eq!(shape, [rows, program.tokens(), width]);
        rollout.condition_input_mut(name).unwrap().copy_from_slice(&part);
    }
    for carried in program.states().iter().chain(program.registers()) {
        let (shape, part) = read::<R>(&file, &format!("initial/{}", carried.name));
        assert_eq!(shape, [rows, carried.width]);
        rollout.initial_mut(&carried.name).unwrap().copy_from_slice(&part);
    }
    cpu().roll(&model, &mut rollout).unwrap();
    (model, rollout)
}

fn check<R: Float>(case: &Case) {
    let (model, rollout) = case.rolled::<R>(Isa::detect());
    let cuts = [Cut::FF, Cut::F_SG, "SEG-2".parse().unwrap()];
    let mut workspace = cpu().workspace(&rollout, &cuts).unwrap();
    cpu().backward(&model, &rollout, &mut workspace).unwrap();
    let gradients: Vec<(Cut, &[R])> =
        cuts.iter().enumerate().map(|(i, cut)| (*cut, workspace.gradient(i))).collect();
    let bytes = export(&model, &rollout, &gradients).unwrap();
    assert_eq!(bytes, export(&model, &rollout, &gradients).unwrap());

    let (model, rollout) = again::<R>(case, &bytes);
    let mut workspace = cpu().workspace(&rollout, &cuts).unwrap();
    cpu().backward(&model, &rollout, &mut workspace).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    for (i, cut) in cuts.iter().enumerate() {
        for parameter in case.program.layout().parameters() {
            let (_, from_file) = read::<R>(&file, &format!("gradient/{cut}/{}", parameter.name));
            assert!(bits(&from_file) == bits(&workspace.gradient(i)[parameter.range()]));
        }
    }
    let metadata = metadata(&bytes);
    assert_eq!(metadata["loss"].as_f64().unwrap(), rollout.loss().unwrap());
    assert_eq!(metadata["cuts"], serde_json::json!(["FF", "F_SG", "SEG-2"]));
    assert_eq!(metadata["prefix"], case.spec.prefix);
}

#[test]
fn a_rollout_from_the_file_has_the_same_gradients() {
    for seed in 0..6 {
        let prefix = seed as usize % 2;
        let case = Case::random(seed, OracleSpec { prefix, ..spec(2, prefix + 4) });
        check::<f64>(&case);
        check::<f32>(&case);
    }
}

#[test]
fn windows_masks_and_overrides_are_written_down() {
    let mut random = Random::new(4);
    let mask: Vec<Vec<bool>> =
        (0..5).map(|_| (0..5).map(|_| !random.one_in(3)).collect()).collect();
    let mut case = Case::random_caches(3, OracleSpec { mask: Some(mask.clone()), ..spec(2, 5) });
    let width = case.program.width(case.program.tap("body").unwrap());
    let values = vec![vec![vec![0.25; width]; 2]; 2];
    case.spec.overrides.push(FixedValues { site: "body".into(), first: 1, values });
    let (model, rollout) = case.rolled::<f64>(Isa::detect());
    let bytes = export(&model, &rollout, &[]).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(read::<f64>(&file, "override/0/body"), (vec![2, 2, width], vec![0.25; 4 * width]));
    assert_eq!(metadata(&bytes)["overrides"], serde_json::json!([["body", 1]]));
    let written = file.tensor("mask").unwrap();
    assert_eq!((written.dtype(), written.shape()), (Dtype::BOOL, [5, 5].as_slice()));
    for (i, (&written, &shown)) in written.data().iter().zip(mask.iter().flatten()).enumerate() {
        let (t, j) = (i / 5, i % 5);
        assert_eq!(written == 1, j == t || (j < t && shown), "{t} reads {j}");
    }
    let case = Case::random_caches(3, OracleSpec { window: Some(2), ..spec(2, 5) });
    let (model, rollout) = case.rolled::<f64>(Isa::detect());
    assert_eq!(metadata(&export(&model, &rollout, &[]).unwrap())["window"], 2);
}

#[test]
fn the_inputs_of_a_failed_rollout_can_be_looked_at() {
    let case = Case::random(1, spec(2, 3));
    let (model, mut rollout) = case.rolled::<f64>(Isa::detect());
    rollout.input_mut("noise").unwrap()[3] = f64::NAN;
    assert!(cpu().roll(&model, &mut rollout).is_err());
    let bytes = export(&model, &rollout, &[]).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let (_, noise) = read::<f64>(&file, "input/noise");
    assert!(noise[3].is_nan() && noise[..3].iter().all(|v| v.is_finite()));
    assert!(metadata(&bytes)["loss"].is_null());
}

#[test]
fn what_does_not_fit_is_refused() {
    let case = Case::random(1, spec(2, 3));
    let (model, rollout) = case.rolled::<f64>(Isa::detect());
    let short = export(&model, &rollout, &[(Cut::FF, &[0.0; 3])]);
    assert!(matches!(short, Err(ExportError::WrongLength { got: 3, .. })));
    let program = Arc::new(case.program.as_ref().clone());
    let values = model.values().to_vec();
    let stranger = cpu().model(&program, values).unwrap();
    assert!(matches!(export(&stranger, &rollout, &[]), Err(ExportError::WrongProgram)));
}
