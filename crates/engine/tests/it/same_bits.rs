//! The same bits on every code path, for every chunk length, batch and number of threads.

use crate::common::{Case, KINDS, backward_many, bits, cuts, spec};
use backcut_engine::Workspace;
use backcut_kernels::{Isa, Real};
use backcut_oracle::{OracleInputs, OracleSpec, PolicySizes, trace_policy};

/// Values of all sites (watched, so that narrow ones are rows) and gradients of all kinds of cuts,
/// as bits.
fn everything<R: Real>(case: &Case, isa: Isa, chunk: usize) -> (Vec<u64>, Vec<u64>) {
    let (model, rollout) = case.rolled::<R>(isa);
    let mut watched = rollout.clone();
    model.roll_checked(&mut watched).unwrap();
    let sites = 0..case.program.nodes().len();
    let values = sites.flat_map(|site| bits(watched.values(site))).collect();
    let cuts = cuts(&KINDS);
    let mut workspace = Workspace::with_chunk(&rollout, &cuts, chunk).unwrap();
    workspace.backward(&model, &rollout).unwrap();
    (values, (0..cuts.len()).flat_map(|i| bits(workspace.gradient(i))).collect())
}

#[test]
fn every_dispatch_path() {
    for seed in 0..6 {
        let case = Case::random(seed, OracleSpec { prefix: 1, ..spec(1 + 3 * seed as usize, 6) });
        let paths = Isa::available();
        assert_eq!(paths.last(), Some(&Isa::portable()));
        for isa in &paths[1..] {
            assert!(
                everything::<f32>(&case, *isa, 4) == everything::<f32>(&case, paths[0], 4),
                "f32, seed {seed}: {isa:?} differs from {:?}",
                paths[0]
            );
            assert!(
                everything::<f64>(&case, *isa, 4) == everything::<f64>(&case, paths[0], 4),
                "f64, seed {seed}: {isa:?} differs from {:?}",
                paths[0]
            );
        }
    }
}

/// Heads of 16 features in whole squares, of 24 = 16 + 8, of 9 = 8 + 1; more steps than neighbours.
#[test]
fn every_dispatch_path_of_wide_heads() {
    for (width, heads, rows) in [(32, 2, 8), (48, 2, 8), (18, 2, 5)] {
        let sizes = PolicySizes { width, heads, layers: 1, max_steps: 10 };
        let case = Case::new(trace_policy(sizes).unwrap(), 3, spec(rows, 10));
        let paths = Isa::available();
        for isa in &paths[1..] {
            assert!(
                everything::<f32>(&case, *isa, 4) == everything::<f32>(&case, paths[0], 4),
                "f32, width {width}: {isa:?}"
            );
            assert!(
                everything::<f64>(&case, *isa, 4) == everything::<f64>(&case, paths[0], 4),
                "f64, width {width}: {isa:?}"
            );
        }
    }
}

#[test]
fn a_workspace_used_on_other_reads() {
    let cuts = cuts(&KINDS);
    let of = |window| Case::random_caches(1, OracleSpec { window, ..spec(3, 13) });
    let case = of(None);
    let windowed = Case { program: case.program.clone(), ..of(Some(3)) };
    let (model, all) = case.rolled::<f32>(Isa::detect());
    let (other, few) = windowed.rolled::<f32>(Isa::detect());
    let mut workspace = Workspace::new(&all, &cuts).unwrap();
    for (model, rollout) in [(&model, &all), (&other, &few), (&model, &all)] {
        workspace.backward(model, rollout).unwrap();
        for (i, fresh) in backward_many(model, rollout, &cuts).iter().enumerate() {
            assert!(bits(workspace.gradient(i)) == bits(fresh), "{}", cuts[i]);
        }
    }
}

#[test]
fn every_chunk_length() {
    for seed in 0..6 {
        let prefix = seed as usize % 3;
        let case = Case::random(seed, OracleSpec { prefix, ..spec(5, 13) });
        let one = everything::<f32>(&case, Isa::detect(), 1);
        let one_f64 = everything::<f64>(&case, Isa::detect(), 1);
        for chunk in [3, 4, 8, 16, 100] {
            assert!(one == everything::<f32>(&case, Isa::detect(), chunk), "chunk {chunk}");
            assert!(one_f64 == everything::<f64>(&case, Isa::detect(), chunk), "chunk {chunk}");
        }
    }
}

/// The rows `rows` of a case's inputs, in that order.
fn some_rows(inputs: &OracleInputs, rows: &[usize]) -> OracleInputs {
    let pick = |all: &Vec<Vec<f64>>| rows.iter().map(|&r| all[r].clone()).collect::<Vec<_>>();
    OracleInputs {
        inputs: inputs.inputs.iter().map(|steps| steps.iter().map(pick).collect()).collect(),
        condition: inputs
            .condition
            .iter()
            .map(|all| rows.iter().map(|&r| all[r].clone()).collect())
            .collect(),
        states: inputs.states.iter().map(pick).collect(),
        registers: inputs.registers.iter().map(pick).collect(),
    }
}

/// One row's values at every site and step.
fn row_values<R: Real>(case: &Case, row: usize) -> Vec<u64> {
    let (model, mut rollout) = case.rolled::<R>(Isa::detect());
    let mut all = vec![rollout.row_loss().unwrap()[row].to_bits()];
    // Watched, so that narrow sites are rows as well.
    model.roll_checked(&mut rollout).unwrap();
    all.push(rollout.row_loss().unwrap()[row].to_bits());
    for site in 0..case.program.nodes().len() {
        let width = case.program.width(site);
        for t in 0..rollout.steps() {
            all.extend(bits(&rollout.value(site, t)[row * width..][..width]));
        }
    }
    all
}

#[test]
fn a_row_alone_and_in_any_batch() {
    for seed in 0..4 {
        let batch = Case::random(seed, spec(256, 5));
        for row in [0, 7, 8, 100, 255] {
            let first = row.min(248);
            let eight: Vec<usize> = (first..first + 8).collect();
            let of = |rows: &[usize]| Case {
                program: batch.program.clone(),
                parameters: batch.parameters.clone(),
                inputs: some_rows(&batch.inputs, rows),
                spec: spec(rows.len(), 5),
            };
            let (alone, in_eight) = (of(&[row]), of(&eight));
            let expected = row_values::<f32>(&alone, 0);
            assert!(expected == row_values::<f32>(&in_eight, row - first), "row {row} in 8");
            assert!(expected == row_values::<f32>(&batch, row), "row {row} in 256");
            let expected = row_values::<f64>(&alone, 0);
            assert!(expected == row_values::<f64>(&in_eight, row - first), "row {row} in 8");
            assert!(expected == row_values::<f64>(&batch, row), "row {row} in 256");
        }
    }
}

#[test]
fn any_number_of_threads_running_units() {
    let unit = |seed: usize| {
        let case = Case::random(seed as u64, spec(3, 6));
        everything::<f32>(&case, Isa::detect(), 8)
    };
    let units = 14;
    let expected: Vec<_> = (0..units).map(unit).collect();
    for threads in [1, 2, 7] {
        let mut found: Vec<_> = std::thread::scope(|scope| {
            let handles: Vec<_> = (0..threads)
                .map(|thread| {
                    let mine = (thread..units).step_by(threads);
                    scope.spawn(move || mine.map(|seed| (seed, unit(seed))).collect::<Vec<_>>())
                })
                .collect();
            handles.into_iter().flat_map(|handle| handle.join().unwrap()).collect()
        });
        found.sort_by_key(|(seed, _)| *seed);
        let found: Vec<_> = found.into_iter().map(|(_, bits)| bits).collect();
        assert!(found == expected, "{threads} threads");
    }
}

/// A workspace that was used before gives what a fresh one gives.
#[test]
fn a_used_workspace() {
    let cuts = cuts(&KINDS);
    let (first, second) = (Case::random(1, spec(3, 7)), Case::random(1, spec(3, 7)));
    let (model, mut rollout) = first.rolled::<f32>(Isa::detect());
    let mut workspace = Workspace::new(&rollout, &cuts).unwrap();
    workspace.backward(&model, &rollout).unwrap();
    let fresh: Vec<_> = (0..cuts.len()).map(|i| bits(workspace.gradient(i))).collect();
    let mut other = second.inputs.clone();
    other.states[0].iter_mut().flatten().for_each(|x| *x += 0.5);
    other.write_into(&mut rollout).unwrap();
    model.roll(&mut rollout).unwrap();
    workspace.backward(&model, &rollout).unwrap();
    assert!(bits(workspace.gradient(0)) != fresh[0]);
    first.inputs.write_into(&mut rollout).unwrap();
    model.roll(&mut rollout).unwrap();
    workspace.backward(&model, &rollout).unwrap();
    for (i, fresh) in fresh.iter().enumerate() {
        assert!(bits(workspace.gradient(i)) == *fresh, "{}", cuts[i]);
    }
}
