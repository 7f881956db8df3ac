//! Cuts that are equal by definition give the same bits; cuts that are not, do not.

use crate::common::{Case, KINDS, backward_many, bits, cut, cuts, distance, spec};
use backcut_engine::Cut;
use backcut_kernels::{Isa, Real};
use backcut_oracle::OracleSpec;
use proptest::prelude::*;

/// What the names have to satisfy in one precision; panics say which pair does not.
struct Check<'a, R> {
    case: &'a Case,
    marker: std::marker::PhantomData<R>,
}

impl<'a, R: Real> Check<'a, R> {
    fn new(case: &'a Case) -> Self {
        Self { case, marker: std::marker::PhantomData }
    }

    fn gradient(&self, name: &str) -> Vec<R> {
        self.case.gradient(name)
    }

    fn same(&self, a: &str, b: &str) {
        assert!(bits(&self.gradient(a)) == bits(&self.gradient(b)), "{a} is not {b}");
    }

    fn differ(&self, a: &str, b: &str) {
        let b_gradient: Vec<f64> = self.gradient(b).iter().map(|g| g.to_f64()).collect();
        let apart = distance(&self.gradient(a), &b_gradient);
        assert!(apart > 1e-6, "{a} and {b} are only {apart:.1e} apart");
    }
}

fn in_both(case: &Case, check: impl Fn(&dyn Pairs)) {
    check(&Check::<f32>::new(case));
    check(&Check::<f64>::new(case));
}

/// The same questions in either precision.
trait Pairs {
    fn same(&self, a: &str, b: &str);
    fn differ(&self, a: &str, b: &str);
}

impl<R: Real> Pairs for Check<'_, R> {
    fn same(&self, a: &str, b: &str) {
        Check::same(self, a, b);
    }
    fn differ(&self, a: &str, b: &str) {
        Check::differ(self, a, b);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn segments_contain_stop_gradients_and_full_credit(
        seed in any::<u64>(),
        rows in 1..=9usize,
        steps in 1..=13usize,
        prefix in 0..=2usize,
    ) {
        let case = Case::random(seed, OracleSpec { prefix, ..spec(rows, prefix + steps) });
        let whole = [format!("SEG-{steps}"), format!("SEG-{}", steps + 3)];
        in_both(&case, |check| {
            check.same("SEG-1", "F_SG");
            check.same("K_SEG-1", "K_SG");
            check.same("K2_SEG-1", "K2_SG");
            check.same("F_A0", "F_SG");
            for whole in &whole {
                check.same(whole, "FF");
                check.same(&format!("K_{whole}"), "KF");
            }
        });
    }

    #[test]
    fn one_step_has_nothing_to_cut(seed in any::<u64>(), rows in 1..=9usize, prefix in 0..=3usize) {
        let case = Case::random(seed, OracleSpec { prefix, ..spec(rows, prefix + 1) });
        in_both(&case, |check| KINDS.iter().for_each(|name| check.same(name, "FF")));
    }

    #[test]
    fn a_window_of_one_empties_the_memory_path(
        seed in any::<u64>(),
        rows in 1..=9usize,
        steps in 1..=8usize,
    ) {
        let case = Case::random_caches(seed, OracleSpec { window: Some(1), ..spec(rows, steps) });
        in_both(&case, |check| {
            for name in ["FD", "F_SG", "SEG-2", "SEG-3", "SEG-4", "F_A0.5"] {
                check.same(name, "FF");
            }
            for name in ["KD", "K_SG", "K_SEG-2"] {
                check.same(name, "KF");
            }
        });
    }

    #[test]
    fn a_window_of_all_steps_is_no_window(
        seed in any::<u64>(),
        rows in 1..=9usize,
        steps in 1..=8usize,
    ) {
        let none = Case::random_caches(seed, spec(rows, steps));
        for window in [steps, steps + 2] {
            let wide = Case::random_caches(seed, OracleSpec { window: Some(window), ..spec(rows, steps) });
            let all = cuts(&KINDS);
            for (a, b) in wide.gradients::<f32>(&all).iter().zip(none.gradients::<f32>(&all)) {
                prop_assert!(bits(a) == bits(&b));
            }
            for (a, b) in wide.gradients::<f64>(&all).iter().zip(none.gradients::<f64>(&all)) {
                prop_assert!(bits(a) == bits(&b));
            }
        }
    }

    /// F_SG and FD send the same adjoints; they differ in what memory projections collect.
    #[test]
    fn stop_gradient_and_detached_cache_differ_in_the_projections_alone(
        seed in any::<u64>(),
        rows in 1..=9usize,
        steps in 2..=8usize,
    ) {
        let case = Case::random(seed, spec(rows, steps));
        for (a, b) in [("FD", "F_SG"), ("KD", "K_SG"), ("K2D", "K2_SG")] {
            let (a, b) = (case.gradient::<f32>(a), case.gradient::<f32>(b));
            let mut projections_differ = false;
            for parameter in case.program.layout().parameters() {
                let range = parameter.range();
                let equal = bits(&a[range.clone()]) == bits(&b[range]);
                let memory = ["w_k", "w_v", "register.read", "register.recur"];
                if memory.iter().any(|part| parameter.name.contains(part)) {
                    projections_differ |= !equal;
                } else {
                    prop_assert!(equal, "{} differs", parameter.name);
                }
            }
            prop_assert!(projections_differ);
        }
    }

    #[test]
    fn many_at_once_are_each_alone(
        seed in any::<u64>(),
        rows in 1..=9usize,
        steps in 1..=8usize,
        picks in proptest::collection::vec(0..KINDS.len(), 1..8),
    ) {
        let case = Case::random(seed, spec(rows, steps));
        let cuts: Vec<Cut> = picks.iter().map(|&i| cut(KINDS[i])).collect();
        many_equal_single::<f32>(&case, &cuts);
        many_equal_single::<f64>(&case, &cuts);
    }
}

fn many_equal_single<R: Real>(case: &Case, cuts: &[Cut]) {
    let (model, rollout) = case.rolled::<R>(Isa::detect());
    for (cut, many) in cuts.iter().zip(backward_many(&model, &rollout, cuts)) {
        let single = backward_many(&model, &rollout, &[*cut]).remove(0);
        assert!(bits(&many) == bits(&single), "{cut} among {cuts:?} is not {cut} alone");
    }
}

#[test]
fn the_six_graphs_of_the_paper_at_once_are_each_alone() {
    for seed in 0..6 {
        let case = Case::random(seed, spec(8, 8));
        many_equal_single::<f32>(&case, &Cut::SIX);
        many_equal_single::<f64>(&case, &cuts(&KINDS));
    }
}

#[test]
fn distinct_cuts_differ() {
    let names = [
        "FF", "FD", "F_SG", "SEG-2", "SEG-3", "SEG-4", "F_A0.5", "KF", "KD", "K_SG", "K2F",
        "K3_SG", "K_SEG-2",
    ];
    for seed in 0..6 {
        let case = Case::random(seed, spec(2, 6));
        in_both(&case, |check| {
            for (i, a) in names.iter().enumerate() {
                names[..i].iter().for_each(|b| check.differ(a, b));
            }
        });
    }
}

#[test]
fn limits_that_are_equal_up_to_rounding() {
    for seed in 0..8 {
        let case = Case::random(seed, spec(3, 6));
        for (a, b) in [("F_A1", "FF"), ("K6F", "FF"), ("K9_SG", "F_SG"), ("K7_SEG-2", "SEG-2")] {
            let apart = distance(&case.gradient::<f64>(a), &case.gradient::<f64>(b));
            assert!(apart < 1e-13, "{a} and {b} are {apart:.1e} apart");
        }
    }
}

/// Softmax does not change if all scores shift: with all credit, a key bias has no gradient.
#[test]
fn key_biases_have_no_gradient_where_all_credit_is_kept() {
    let case = Case::random_caches(2, spec(2, 6));
    let layout = case.program.layout();
    let bias = |gradient: &[f64]| {
        let keys = layout.parameters().iter().filter(|p| p.name.ends_with("w_k.bias"));
        keys.flat_map(|p| &gradient[p.range()]).map(|g| g * g).sum::<f64>().sqrt()
    };
    let full = case.gradient::<f64>("FF");
    assert!(bias(&full) < 1e-12 * crate::common::norm(&full));
    let stopped = case.gradient::<f64>("F_SG");
    assert!(bias(&stopped) < 1e-12 * crate::common::norm(&stopped));
    let detached = case.gradient::<f64>("FD");
    assert!(bias(&detached) > 1e-6 * crate::common::norm(&detached));
}
