//! Programs that a person may write and a generator of reasonable ones does not: every way in which
//! sites, parameters and carried values can coincide, compared with the oracle.

use crate::common::{Case, KINDS, cut, cuts, distance, norm, spec};
use backcut_engine::{Init, Program, Trace, TraceError, Var};
use backcut_oracle::OracleSpec;

/// A state that feeds the observation, one attention made by `memory`, and a loss.
fn around(
    memory: impl for<'t> Fn(&'t Trace, Var<'t>, Var<'t>) -> Var<'t>,
) -> Result<Program, TraceError> {
    let t = Trace::new();
    t.share("w");
    let (body, input) = (t.state("body", 4), t.input("input", 4));
    let hidden = t.linear("embed", t.concat(&[body, input]), 4).tanh();
    let read = memory(&t, hidden, input);
    let action = t.linear("head", hidden + read, 4).tanh();
    let next = body * 0.8 + action * 0.3;
    t.next("body", next);
    t.loss((next - input).square().sum());
    t.compile()
}

fn assert_match(what: &str, program: Result<Program, TraceError>, names: &[&str]) {
    let program = program.unwrap();
    for prefix in [0, 2] {
        let spec = OracleSpec { prefix, ..spec(2, prefix + 5) };
        let case = Case::new(program.clone(), 11, spec);
        for (name, gradient) in names.iter().zip(case.gradients::<f64>(&cuts(names))) {
            let expected = case.oracle(cut(name)).gradient;
            assert!(norm(&expected) > 1e-3, "{what}: nothing to compare");
            let error = distance(&gradient, &expected);
            assert!(error < 1e-10, "{what}, {name}, prefix {prefix}: {error:.1e}");
        }
    }
}

#[test]
fn attention_sides_that_coincide() {
    assert_match(
        "query is key",
        around(|t, x, _| {
            let key = t.linear("w_k", x, 4);
            t.attend("cache", key, key, t.linear("w_v", x, 4), 2)
        }),
        &KINDS,
    );
    assert_match(
        "query is value",
        around(|t, x, _| {
            let value = t.linear("w_v", x, 4);
            t.attend("cache", value, t.linear("w_k", x, 4), value, 2)
        }),
        &KINDS,
    );
    assert_match(
        "all three are one",
        around(|t, x, _| {
            let all = t.linear("w", x, 4);
            t.attend("cache", all, all, all, 2)
        }),
        &KINDS,
    );
    assert_match(
        "key and value share their weights",
        around(|t, x, _| {
            let key = t.linear("w", x, 4);
            t.attend("cache", t.linear("w_q", x, 4), key, t.linear("w", x, 4), 1)
        }),
        &KINDS,
    );
    assert_match(
        "the query shares the key's weights",
        around(|t, x, _| {
            let (query, key) = (t.linear("w", x.sin(), 4), t.linear("w", x, 4));
            t.attend("cache", query, key, t.linear("w_v", x, 4), 4)
        }),
        &KINDS,
    );
    assert_match(
        "a projection without bias",
        around(|t, x, _| {
            let bare = |name: &str| t.linear_with(name, x, 4, Init::Normal { std: 0.5 }, None);
            t.attend("cache", bare("w_q"), bare("w_k"), bare("w_v"), 2)
        }),
        &KINDS,
    );
}

#[test]
fn a_query_that_does_not_learn() {
    assert_match(
        "the query is an input",
        around(|t, x, input| {
            t.attend("cache", input, t.linear("w_k", x, 4), t.linear("w_v", x, 4), 2)
        }),
        &KINDS,
    );
}

#[test]
fn attention_sides_that_do_not_learn() {
    assert_match(
        "the key is an input's projection",
        around(|t, x, input| {
            t.attend("cache", x, t.linear("w_k", input, 4), t.linear("w_v", x, 4), 2)
        }),
        &KINDS,
    );
    // No weights stand between these and the cache: only cuts that need none apply.
    let whole = ["FF", "FD", "KF", "KD", "K2F", "K2D"];
    assert_match(
        "the key is an input",
        around(|t, x, input| t.attend("cache", x, input, t.linear("w_v", x, 4), 2)),
        &whole,
    );
    assert_match(
        "the value is an input",
        around(|t, x, input| t.attend("cache", x, t.linear("w_k", x, 4), input, 2)),
        &whole,
    );
    assert_match(
        "key and value are no projections",
        around(|t, x, _| t.attend("cache", x.cos(), x.tanh(), x, 2)),
        &whole,
    );
}

#[test]
fn projections_with_other_readers() {
    assert_match(
        "two caches on one key and one value",
        around(|t, x, _| {
            let (key, value) = (t.linear("w_k", x, 4), t.linear("w_v", x, 4));
            let one = t.attend("one", x, key, value, 2);
            one + t.attend("two", one.sin(), value, key, 1) + key * value
        }),
        &KINDS,
    );
    assert_match(
        "a key that is stored from an attention's output",
        around(|t, x, _| {
            let project = |name: &str, x| t.linear(name, x, 4);
            let one = t.attend("one", x, project("k1", x), project("v1", x), 2);
            t.attend("two", one, project("k2", one), project("v2", one), 2)
        }),
        &KINDS,
    );
    assert_match(
        "dead code",
        around(|t, x, _| {
            let project = |name: &str, x| t.linear(name, x, 4);
            let dead = t.attend("dead", x, project("k1", x), project("v1", x), 2);
            let _ = project("dead", dead).gelu();
            t.attend("cache", x, project("k2", x), project("v2", x), 2)
        }),
        &KINDS,
    );
}

#[test]
fn operands_that_coincide() {
    assert_match(
        "sums, products and quotients of a value with itself",
        around(|t, x, _| {
            let value = t.linear("w_v", x + x, 4) * t.concat(&[x.slice(0, 2), x.slice(0, 2)]);
            let key = t.linear("w_k", (x - x) + x / (x * x + 2.0), 4);
            t.attend("cache", x * x, key, value, 2)
        }),
        &["FF", "FD", "KF", "K2D"],
    );
    assert_match(
        "squares and doubles",
        around(|t, x, _| {
            let both = t.concat(&[x.slice(0, 2), x.slice(0, 2)]) + x.sub_tiled(x.slice(1, 2));
            let read = simple(t, x * x + both, x);
            read - read * read.column(1)
        }),
        &KINDS,
    );
}

fn simple<'t>(t: &'t Trace, x: Var<'t>, _: Var<'t>) -> Var<'t> {
    t.attend("cache", x, t.linear("w_k", x, 4), t.linear("w_v", x, 4), 2)
}

#[test]
fn carried_values_that_coincide() {
    let traced = |finish: &dyn Fn(&Trace, [Var<'_>; 4])| {
        let t = Trace::new();
        t.share("w");
        let (a, b) = (t.state("a", 3), t.state("b", 3));
        let (r, x) = (t.register("r", 3), t.input("x", 3));
        finish(&t, [a, b, r, x]);
        t.compile()
    };
    assert_match(
        "two states and a register handed on from one site",
        traced(&|t, [a, b, r, x]| {
            let next = (t.linear("w", t.concat(&[a, b, r, x]), 3)).tanh();
            for name in ["a", "b", "r"] {
                t.next(name, next);
            }
            t.loss((next - x).square().sum());
        }),
        &KINDS,
    );
    assert_match(
        "states and registers handed to one another",
        traced(&|t, [a, b, r, x]| {
            let next = t.linear("w", t.concat(&[a, b, r, x]), 3).tanh();
            t.next("a", b);
            t.next("b", r);
            t.next("r", next + a * 0.5);
            t.loss((next * a + b - r).square().sum());
        }),
        &KINDS,
    );
    assert_match(
        "a state that stays, an input that becomes the state, a loss on what was read",
        traced(&|t, [a, b, r, x]| {
            t.next("a", a);
            t.next("b", x);
            let read = t.linear("w", r, 3);
            t.next("r", (read + t.linear("u", x, 3)).sin());
            t.loss((a + b * r + read).square().sum());
        }),
        &KINDS,
    );
    assert_match(
        "a register read by linear sites that share weights, and by their keys",
        traced(&|t, [a, b, r, x]| {
            let key = t.linear("w", r, 3);
            let other = t.linear("w", x, 3);
            let read = t.attend("cache", other, key, t.linear("w_v", r + a, 3), 1);
            t.next("a", a * 0.5 + read);
            t.next("b", b * 0.5 + t.linear("w", r, 3).tanh() * 0.3);
            t.next("r", r * 0.3 + (read + other).tanh());
            t.loss((read - x).square().sum() + (r + b).square().sum());
        }),
        &KINDS,
    );
    let t = Trace::new();
    t.share("w");
    let (s, x) = (t.state("s", 1), t.input("x", 1));
    let next = (t.linear("w", s, 1) + t.linear("w", x, 1)).sin() + 2.0;
    t.next("s", next);
    t.loss(next);
    assert_match("the loss is the next state", t.compile(), &["FF", "KF", "K2F", "K9F"]);
}

#[test]
fn parameters_that_coincide() {
    let t = Trace::new();
    for name in ["w", "v", "norm"] {
        t.share(name);
    }
    let points = t.condition_input("points", 3, 4);
    let (body, x) = (t.state("body", 4), t.input("x", 4));
    let condition = t.layer_norm("norm", t.linear("w", points, 4));
    let set = t.attend_set("set", condition, condition, t.linear("w", condition, 4), 2);
    let row = t.step_row("w.weight", 4, 4, Init::Zeros);
    let hidden = t.layer_norm("norm", t.linear("w", body + x, 4) + row);
    let key = t.linear("w", hidden, 4);
    let cached = t.attend("cache", hidden, key, t.linear("v", hidden, 4), 2);
    let cross = t.cross("cross", cached, t.linear("v", set, 4), condition, 1);
    let plain = t.cross("plain", x, set, t.linear("w", points, 4), 2);
    let next = body * 0.5 + (t.layer_norm("norm", cross + plain) + row).tanh() * 0.4;
    t.next("body", next);
    t.loss((next - x).square().sum());
    let program = t.compile().unwrap();
    let case = Case::new(program, 3, OracleSpec { prefix: 1, ..spec(2, 4) });
    for (name, gradient) in KINDS.iter().zip(case.gradients::<f64>(&cuts(&KINDS))) {
        let error = distance(&gradient, &case.oracle(cut(name)).gradient);
        assert!(error < 1e-10, "{name}: {error:.1e}");
    }
}
