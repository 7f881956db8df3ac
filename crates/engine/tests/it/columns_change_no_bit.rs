//! Narrow sites run column by column, or one by one where a roll is watched.
//! The two ways give the same bits: values, losses, gradients under every cut, adjoints of taps.

use crate::common::{Case, KINDS, bits, cuts, spec};
use backcut_engine::{Model, Rollout, Seeds, StateJacobians, Trace, Workspace};
use backcut_kernels::{Isa, Real};
use backcut_oracle::every_drift;

/// Rolled in columns, and the same batch rolled in rows.
fn both_ways<R: Real>(case: &Case, isa: Isa) -> (Model<R>, [Rollout<R>; 2]) {
    let (model, in_columns) = case.rolled::<R>(isa);
    let mut in_rows = in_columns.clone();
    model.roll_checked(&mut in_rows).unwrap();
    (model, [in_columns, in_rows])
}

pub fn agrees<R: Real>(case: &Case, isa: Isa, kinds: &[&str]) {
    let (model, rollouts) = both_ways::<R>(case, isa);
    let names = case.program.tap_names();
    let seen = rollouts.each_ref().map(|rollout| {
        let of_site = |name: &&str| bits(rollout.values(case.program.tap(name).unwrap()));
        (rollout.row_loss().map(bits), names.iter().map(of_site).collect::<Vec<_>>())
    });
    assert_eq!(seen[0], seen[1], "values, {isa}");
    let cuts = cuts(kinds);
    for keeps in [false, true] {
        let found = rollouts.each_ref().map(|rollout| {
            let mut workspace = Workspace::new(rollout, &cuts).unwrap();
            let kept: Vec<&&str> = names
                .iter()
                .filter(|name| keeps && workspace.keep_adjoints(name).is_ok())
                .collect();
            workspace.backward(&model, rollout).unwrap();
            let gradients: Vec<_> = (0..cuts.len()).map(|i| bits(workspace.gradient(i))).collect();
            let mut adjoints = Vec::new();
            for name in kept {
                for t in case.spec.prefix..case.spec.steps {
                    for i in 0..cuts.len() {
                        adjoints.push(bits(workspace.adjoint(name, i, t).unwrap()));
                    }
                }
            }
            let mut checked = Workspace::new(rollout, &cuts).unwrap();
            checked.backward_checked(&model, rollout).unwrap();
            let checked: Vec<_> = (0..cuts.len()).map(|i| bits(checked.gradient(i))).collect();
            assert_eq!(checked, gradients, "checked, {isa}");
            (gradients, adjoints)
        });
        assert!(!keeps || !found[0].1.is_empty());
        assert!(found[0] == found[1], "gradients, {isa}");
    }
}

#[test]
fn random_programs_agree() {
    let mut in_columns = 0;
    for seed in 0..24 {
        // Fewer rows than a column, one column's, and more; a prefix now and then.
        let rows = [1, 3, 8, 11, 16][seed as usize % 5];
        let mut spec = spec(rows, 5);
        spec.prefix = seed as usize % 2;
        let case = Case::random(seed, spec).rounded_to_f32();
        in_columns += usize::from(case.program.sites_in_columns() > 0);
        for isa in Isa::available() {
            agrees::<f32>(&case, isa, &KINDS);
            agrees::<f64>(&case, isa, &KINDS);
        }
    }
    assert!(in_columns > 12, "{in_columns} programs ran in columns");
}

#[test]
fn seeds_and_jacobians_agree() {
    for seed in 0..6 {
        let case = Case::random(seed, spec(11, 5)).rounded_to_f32();
        let (model, rollouts) = both_ways::<f32>(&case, Isa::detect());
        let width = case.program.width(case.program.tap("action").unwrap());
        let values: Vec<f32> = (0..5 * 11 * width).map(|i| (i as f32).sin()).collect();
        let one = Seeds { loss: 0.5, taps: vec![("action".to_owned(), values)] };
        let found = rollouts.each_ref().map(|rollout| {
            let mut workspace = Workspace::for_seeds(rollout, &cuts(&KINDS)).unwrap();
            workspace.backward_seeded(&model, rollout, &vec![one.clone(); KINDS.len()]).unwrap();
            let jacobians = StateJacobians::new(&model, rollout).unwrap();
            let gradients = (0..KINDS.len()).flat_map(|i| bits(workspace.gradient(i)));
            let places = (0..5).flat_map(|t| (0..11).map(move |row| (t, row)));
            let local = places.flat_map(|(t, row)| {
                [bits(jacobians.at(t, row)), bits(jacobians.loss_at(t, row))].concat()
            });
            gradients.chain(local).collect::<Vec<_>>()
        });
        assert!(found[0] == found[1], "seed {seed}");
    }
}

/// Every function, on operands that come from rows and from columns, twice, wide and single, with a
/// policy between two runs that both read the state and each other's values.
pub fn every_narrow_instruction() -> Case {
    let t = Trace::new();
    let state = t.state("state", 6);
    let unit = state.tanh() * 0.4 + 1.2;
    let part = t.tap("part", unit.slice(1, 3));
    let (single, small) = (unit.column(0), part * 0.3);
    let functions = [
        -part,
        part.square(),
        part.recip(),
        part.sqrt(),
        part.exp(),
        part.ln(),
        part.sin(),
        part.cos(),
        part.tan(),
        part.tanh(),
        small.atanh(),
        part.sigmoid(),
        small.atanh_ratio(),
        small.sin_ratio(),
    ];
    let mut sum = (part * part - part / unit.slice(2, 3)) / single;
    for term in functions.into_iter().chain(every_drift(small)) {
        sum = sum + term * single - small;
    }
    let sum = t.tap("sum", sum * 0.1);
    let token = t.concat(&[sum, part, t.input("noise", 2)]);
    let action = t.linear("policy", token, 4).tanh();
    let wide = t.concat(&[action, sum.affine(&[0.5, -1.0, 2.0], &[0.1, 0.0, -0.2]), part.sum()]);
    t.next("state", state * 0.5 + wide.slice(1, 6) * 0.3);
    t.loss(wide.weighted_square(&[0.5, 2.0, -1.0, 1.0, 0.1, 0.2, 0.3, 0.4]));
    let program = t.compile().unwrap();
    assert!(program.sites_in_columns() > 60, "{}", program.sites_in_columns());
    Case::new(program, 7, spec(11, 6)).rounded_to_f32()
}

#[test]
fn every_narrow_instruction_agrees() {
    let case = every_narrow_instruction();
    // No memory, so only cuts of the state.
    for isa in Isa::available() {
        agrees::<f32>(&case, isa, &["FF", "KF", "K2F", "K3F"]);
        agrees::<f64>(&case, isa, &["FF", "KF", "K2F", "K3F"]);
    }
}
