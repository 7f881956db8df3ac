//! Adjoints that a caller puts in at taps, and adjoints read out at them, under every kind of cut.

use crate::common::{Case, KINDS, cut, cuts, distance, spec};
use backcut_engine::{Seeds, Workspace};
use backcut_kernels::Isa;
use backcut_oracle::{FixedValues, Objective, OracleSpec, Random};

/// Random seeds at some taps.
fn objective(case: &Case, random: &mut Random) -> Objective {
    let seeds = ["action", "stored0", "stored1"].iter().map(|site| {
        let width = case.program.width(case.program.tap(site).unwrap());
        let mut row = || (0..width).map(|_| random.uniform(-1.0, 1.0)).collect::<Vec<_>>();
        let mut step = || (0..case.spec.rows).map(|_| row()).collect::<Vec<_>>();
        let values = (0..case.spec.steps).map(|_| step()).collect();
        FixedValues { site: (*site).to_owned(), first: 0, values }
    });
    Objective { loss: 0.5, seeds: seeds.collect() }
}

#[test]
fn every_cut_from_its_own_seeds() {
    for seed in 0..6 {
        let prefix = seed as usize % 3;
        let mut case = Case::random(seed, OracleSpec { prefix, ..spec(2, prefix + 5) });
        let mut random = Random::new(seed);
        let objectives: Vec<Objective> =
            KINDS.iter().map(|_| objective(&case, &mut random)).collect();
        let flat = |seed: &FixedValues| (seed.site.clone(), seed.values.concat().concat());
        let seeds: Vec<Seeds<f64>> = objectives
            .iter()
            .map(|o| Seeds { loss: o.loss, taps: o.seeds.iter().map(flat).collect() })
            .collect();
        let (model, rollout) = case.rolled::<f64>(Isa::detect());
        let mut workspace = Workspace::for_seeds(&rollout, &cuts(&KINDS)).unwrap();
        workspace.backward_seeded(&model, &rollout, &seeds).unwrap();
        for (i, (name, objective)) in KINDS.iter().zip(objectives).enumerate() {
            case.spec.objective = Some(objective);
            let error = distance(workspace.gradient(i), &case.oracle(cut(name)).gradient);
            assert!(error < 1e-10, "seed {seed}, {name}: {error:.1e}");
        }
    }
}

#[test]
fn adjoints_at_taps() {
    let taps = ["action", "stored0", "stored1", "body", "register"];
    for seed in 0..6 {
        let prefix = seed as usize % 3;
        let case = Case::random(seed, OracleSpec { prefix, ..spec(2, prefix + 5) });
        let (model, rollout) = case.rolled::<f64>(Isa::detect());
        let mut workspace = Workspace::new(&rollout, &cuts(&KINDS)).unwrap();
        for tap in taps {
            workspace.keep_adjoints(tap).unwrap();
        }
        workspace.backward(&model, &rollout).unwrap();
        for (i, name) in KINDS.iter().enumerate() {
            let oracle = case.oracle(cut(name));
            for tap in taps {
                // Under FD all that flows to a register is dropped, at its readers or behind it.
                if tap == "register" && name.ends_with('D') {
                    continue;
                }
                let steps = &oracle.adjoints[case.program.tap(tap).unwrap()];
                for (t, rows) in steps.iter().enumerate().skip(prefix) {
                    let found = workspace.adjoint(tap, i, t).unwrap();
                    let error = distance(found, &rows.concat());
                    assert!(error < 1e-10, "{seed}, {name}, `{tap}`, step {t}: {error:.1e}");
                }
            }
        }
    }
}
