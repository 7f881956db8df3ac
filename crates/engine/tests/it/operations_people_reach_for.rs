//! What people write in a step of their own: numbers on either side, pieces, matrices, stops.

use crate::common::{Case, KINDS, cut, distance, norm, spec};
use backcut_engine::{Init, Program, Trace, Var};

/// A step with a state, a register and a cache, in which `between` stands between policy and loss.
fn program(between: impl for<'t> Fn(&'t Trace, Var<'t>) -> Var<'t>) -> Program {
    let t = Trace::new();
    let (x, h) = (t.state("x", 2), t.register("h", 2));
    let token = t.concat(&[x + t.input("noise", 2), h]);
    let [k, v] = ["k", "v"].map(|name| t.linear(name, token, 2));
    let read = t.attend("memory", t.linear("q", token, 2), k, v, 1);
    t.next("h", (read + h * 0.5).tanh());
    let out = between(&t, t.linear_with("out", read, 2, Init::Normal { std: 0.5 }, None));
    let next = x * 0.8 + out.tanh() * 0.5;
    t.next("x", next);
    t.loss(next.square().sum());
    t.compile().unwrap()
}

/// Under every cut the gradient is the oracle's.
fn agrees(name: &str, program: Program) -> Vec<f64> {
    let case = Case::new(program, 3, spec(3, 5));
    for kind in KINDS {
        let (found, oracle) = (case.gradient::<f64>(kind), case.oracle(cut(kind)).gradient);
        assert!(norm(&oracle) > 0.0, "{name}, {kind}");
        assert!(distance(&found, &oracle) < 1e-10, "{name}, {kind}");
    }
    case.gradient::<f64>("FF")
}

#[test]
fn each_has_the_oracles_gradient_under_every_cut() {
    agrees("numbers", program(|_, y| 1.0 - 0.5 * y + (2.0 + y / 3.0) * (1.0 / (y.square() + 2.0))));
    agrees("pieces", program(|_, y| y.relu() + (y - 0.1).abs() + y.softplus()));
    agrees("held", program(|_, y| y.clamp(-0.3, 0.2) + y.min(y * 2.0).max(y.column(0))));
    agrees("chosen", program(|_, y| y.select(y * 2.0, y.square())));
    agrees("matrix", program(|_, y| y.matrix(&[[0.3, -0.7], [1.1, 0.2]]) + y.mean()));
    agrees("tall", program(|_, y| y.matrix(&[[1.0, 2.0], [0.0, 1.0], [3.0, 0.5]]).slice(1, 2)));
    agrees("softmax", program(|_, y| (y * 3.0).softmax() * y));
    agrees(
        "parts",
        program(|t, y| {
            let [a, b] = y.split([1, 1]);
            t.concat(&[b, a])
        }),
    );
}

#[test]
fn a_stop_is_part_of_the_program_under_every_cut() {
    let free = agrees("free", program(|_, y| y * y.cos()));
    let stopped = agrees("stopped", program(|_, y| y * y.stop_gradient().cos()));
    assert!(distance(&free, &stopped) > 1e-3);
    // The value is the same: only credit stops.
    let loss = |program| Case::new(program, 3, spec(3, 5)).oracle(cut("FF")).loss;
    let (free, stopped) =
        (program(|_, y| y * y.cos()), program(|_, y| y * y.stop_gradient().cos()));
    assert_eq!(loss(free), loss(stopped));
    // Stopped at the only way to the policy, the policy learns nothing from it.
    let case = Case::new(program(|_, y| y.stop_gradient()), 3, spec(3, 5));
    for kind in KINDS {
        assert!(case.gradient::<f64>(kind).iter().all(|g| *g == 0.0), "{kind}");
    }
}

#[test]
fn mistakes_name_the_users_line() {
    let failed = |wrong: &dyn for<'t> Fn(&'t Trace, Var<'t>) -> Var<'t>| {
        let t = Trace::new();
        let x = t.state("x", 3);
        let y = wrong(&t, x);
        t.next("x", x);
        t.loss(y.sum());
        t.compile().unwrap_err().to_string()
    };
    for (error, words) in [
        (failed(&|_, x| x.matrix(&[[1.0, 2.0]])), "a matrix of 1 x 2 and 3 columns"),
        (failed(&|_, x| x.split([1, 1])[0]), "parts of [1, 1] columns of a value of 3"),
        (failed(&|_, x| x.clamp(1.0, -1.0)), "clamp between 1 and -1"),
        (failed(&|t, x| x.min(t.input("two", 2))), "arithmetic on 3 and 2 columns"),
    ] {
        assert!(error.contains(words), "{error}");
        assert!(error.contains("operations_people_reach_for.rs"), "{error}");
    }
}
