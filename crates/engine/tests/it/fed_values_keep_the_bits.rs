//! Sites that are fed from outside, batch by batch: the sites around them still run in columns, to
//! the bits of one instruction after the other, and to the oracle's gradients.

use crate::columns_change_no_bit::{agrees, every_narrow_instruction};
use crate::common::{Case, KINDS, backward_many, bits, cut, cuts, distance, norm, spec};
use backcut_engine::{Fed, ForwardError, ForwardSpec, Rollout};
use backcut_kernels::Isa;
use backcut_oracle::{FixedValues, Random};

/// Feeds a site over all steps, or over some.
fn feed(case: &mut Case, random: &mut Random, site: &str) {
    let (rows, steps) = (case.spec.rows, case.spec.steps);
    let width = case.program.width(case.program.tap(site).unwrap());
    let first = if random.one_in(2) { 0 } else { random.between(0, steps - 1) };
    let end = if first == 0 { steps } else { random.between(first + 1, steps) };
    let mut number = || f64::from(random.uniform(0.2, 0.9) as f32);
    let mut row = || (0..width).map(|_| number()).collect::<Vec<_>>();
    let values = (first..end).map(|_| (0..rows).map(|_| row()).collect()).collect();
    case.spec.overrides.push(FixedValues { site: site.into(), first, values });
}

/// Every name that a program knows, each a few times: states, registers, inputs, taps of every
/// kind.
#[test]
fn random_programs_agree() {
    let (mut whole, mut parts) = (0, 0);
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let rows = [1, 3, 8, 11][seed as usize % 4];
        let mut case = Case::random(seed, spec(rows, 6)).rounded_to_f32();
        case.spec.prefix = seed as usize % 2;
        let program = case.program.clone();
        let mut sites = Vec::new();
        for name in program.tap_names() {
            let site = program.tap(name).unwrap();
            if random.one_in(3) && !sites.contains(&site) {
                sites.push(site);
                feed(&mut case, &mut random, name);
            }
        }
        let rollout = Rollout::<f64>::new(&program, rows, 6, case.spec.forward_spec()).unwrap();
        let in_columns = rollout.sites_in_columns();
        whole += usize::from(in_columns > 0 && in_columns == program.sites_in_columns());
        parts += usize::from(in_columns > 0 && in_columns < program.sites_in_columns());
        agrees::<f32>(&case, Isa::detect(), &KINDS);
        agrees::<f64>(&case, Isa::detect(), &KINDS);
        for name in KINDS {
            let (found, oracle) = (case.gradient::<f64>(name), case.oracle(cut(name)).gradient);
            // Where everything on the way to the loss is fed there is nothing to learn.
            let agrees = if norm(&oracle) > 0.0 {
                distance(&found, &oracle) < 1e-10
            } else {
                norm(&found) == 0.0
            };
            assert!(agrees, "seed {seed}, {name}");
        }
    }
    assert!(whole > 3 && parts > 3, "all runs stay in {whole} programs, a part in {parts}");
}

/// A state, an input, and taps in the middle of narrow arithmetic, which split its runs.
#[test]
fn narrow_arithmetic_agrees() {
    for names in [&["state"][..], &["noise"], &["part"], &["part", "sum"], &["state", "sum"]] {
        let mut case = every_narrow_instruction();
        for name in names {
            feed(&mut case, &mut Random::new(3), name);
        }
        let forward = case.spec.forward_spec();
        let rollout = Rollout::<f64>::new(&case.program, 11, 6, forward).unwrap();
        let (all, left) = (case.program.sites_in_columns(), rollout.sites_in_columns());
        let narrow = names.iter().filter(|name| ["part", "sum"].contains(name)).count();
        assert!(left + 8 > all && (left < all) == (narrow > 0), "{names:?}: {left} of {all}");
        for isa in Isa::available() {
            agrees::<f32>(&case, isa, &["FF", "KF", "K2F", "K3F"]);
            agrees::<f64>(&case, isa, &["FF", "KF", "K2F", "K3F"]);
        }
    }
}

#[test]
fn every_batch_has_its_own_values() {
    let cuts = cuts(&KINDS);
    let case = |seed| {
        let mut case = Case::random(1, spec(3, 6));
        let mut random = Random::new(seed);
        for name in ["body", "action", "register"] {
            let width = case.program.width(case.program.tap(name).unwrap());
            let mut row = || (0..width).map(|_| random.uniform(-1.0, 1.0)).collect::<Vec<_>>();
            let values = (0..4).map(|_| (0..3).map(|_| row()).collect()).collect();
            case.spec.overrides.push(FixedValues { site: name.into(), first: 1, values });
        }
        case
    };
    let (first, second) = (case(5), case(6));
    let (model, mut rollout) = first.rolled::<f32>(Isa::detect());
    let fresh = backward_many(&model, &rollout, &cuts);
    second.spec.feed_into(&mut rollout).unwrap();
    assert!(rollout.loss().is_none(), "what was fed has changed");
    model.roll(&mut rollout).unwrap();
    assert_ne!(bits(&backward_many(&model, &rollout, &cuts)[0]), bits(&fresh[0]));
    first.spec.feed_into(&mut rollout).unwrap();
    model.roll(&mut rollout).unwrap();
    for (again, fresh) in backward_many(&model, &rollout, &cuts).iter().zip(&fresh) {
        assert_eq!(bits(again), bits(fresh));
    }
}

#[test]
fn what_cannot_be_fed_is_refused() {
    let case = Case::random(1, spec(2, 5));
    let fed = |site: &str, steps| Fed { site: site.to_owned(), steps };
    let make = |fed| {
        let spec = ForwardSpec { fed, ..ForwardSpec::default() };
        Rollout::<f64>::new(&case.program, 2, 5, spec)
    };
    let beyond = ForwardError::FedSteps { name: "body".into(), fed: 2..6, steps: 5 };
    assert_eq!(make(vec![fed("body", 2..6)]).unwrap_err(), beyond);
    assert!(matches!(make(vec![fed("body", 3..3)]), Err(ForwardError::FedSteps { .. })));
    assert!(matches!(make(vec![fed("boddy", 0..1)]), Err(ForwardError::UnknownSite { .. })));
    let twice = make(vec![fed("body", 0..1), fed("body", 3..4)]).unwrap_err();
    assert_eq!(twice, ForwardError::FedTwice("body".into()));
    let mut rollout = make(vec![fed("body", 1..4)]).unwrap();
    let width = case.program.width(case.program.tap("body").unwrap());
    assert_eq!(rollout.fed_mut("body").map(|values| values.len()), Some(3 * 2 * width));
    assert!(rollout.fed_mut("action").is_none(), "nobody said that it is fed");
}
