//! The oracle against central differences, against the hand-written policy, and against itself.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use backcut_engine::edges::{Edge, Fate, Through};
use backcut_engine::ops::{Function, Op};
use backcut_engine::{Cut, Program, Trace};
use backcut_oracle::*;

const KINDS: [&str; 22] = [
    "FF", "FD", "F_SG", "SEG-1", "SEG-2", "SEG-3", "SEG-9", "F_A0", "F_A0.5", "F_A1", "KF", "KD",
    "K_SG", "K_SEG-2", "K_A0.3", "K2F", "K2D", "K2_SG", "K3F", "K3_SG", "K3_SEG-2", "K9F",
];

fn cut(name: &str) -> Cut {
    name.parse().unwrap()
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// |a - b| / |b|
fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let difference: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    norm(&difference) / norm(b)
}

/// A program with parameters and inputs, ready for any cut.
struct Case {
    program: Program,
    parameters: Vec<f64>,
    inputs: OracleInputs,
    spec: OracleSpec,
}

impl Case {
    fn new(program: Program, seed: u64, spec: OracleSpec) -> Self {
        let parameters = random_parameters(&program, seed);
        let inputs = random_inputs(&program, spec.rows, spec.steps, seed);
        Self { program, parameters, inputs, spec }
    }

    fn random(seed: u64, spec: OracleSpec) -> Self {
        Self::new(random_program(seed, 8).unwrap(), seed, spec)
    }

    fn run(&self, cut: Cut) -> OracleResult {
        interpret(&self.program, &self.parameters, &self.inputs, &self.spec, cut).unwrap()
    }

    fn gradient(&self, name: &str) -> Vec<f64> {
        self.run(cut(name)).gradient
    }

    fn assert_equal(&self, a: &str, b: &str) {
        let distance = distance(&self.gradient(a), &self.gradient(b));
        assert!(distance < 1e-13, "{a} and {b} are {distance:.1e} apart");
    }
}

fn spec(rows: usize, steps: usize) -> OracleSpec {
    OracleSpec { rows, steps, ..OracleSpec::default() }
}

#[test]
fn tape_operations_have_the_slopes_of_their_values() {
    type Unary = for<'t> fn(Scalar<'t>) -> Scalar<'t>;
    let operations: [(&str, Unary, &[f64]); 18] = [
        ("neg", |x| -x, &[-1.3, 0.4]),
        ("square", |x| x.square(), &[-1.3, 0.4]),
        ("recip", |x| x.recip(), &[-1.3, 0.4]),
        ("sqrt", |x| x.sqrt(), &[0.3, 2.0]),
        ("exp", |x| x.exp(), &[-1.3, 0.4]),
        ("ln", |x| x.apply(Function::Ln), &[0.3, 2.0]),
        ("sin", |x| x.sin(), &[-1.3, 0.4]),
        ("cos", |x| x.apply(Function::Cos), &[-1.3, 0.4]),
        ("tan", |x| x.apply(Function::Tan), &[-0.9, 0.4]),
        ("tanh", |x| x.tanh(), &[-1.3, 0.4]),
        ("atanh", |x| x.apply(Function::Atanh), &[-0.6, 0.4]),
        ("sigmoid", |x| x.apply(Function::Sigmoid), &[-1.3, 0.4]),
        ("atanh_ratio", |x| x.apply(Function::AtanhRatio), &[-0.5, -0.03, 0.0, 0.0999, 0.1001]),
        ("sin_ratio", |x| x.apply(Function::SinRatio), &[-2.0, -0.03, 0.0, 0.4999, 0.5001]),
        ("a b", |x| x * (x + 2.0), &[-1.3, 0.4]),
        ("a / b", |x| x.exp() / (x.square() + 1.0), &[-1.3, 0.4]),
        ("a - b", |x| x.square() - x * 3.0, &[-1.3, 0.4]),
        ("sum", |x| [x, x.sin(), x * x].into_iter().sum(), &[-1.3, 0.4]),
    ];
    for (name, operation, points) in operations {
        for &x in points {
            let tape = Tape::new();
            let leaf = tape.leaf(x);
            let slope = tape.backward(operation(leaf)).of(leaf);
            let value = |x: &[f64]| operation(Scalar::constant(x[0])).value();
            let expected = directional_derivative(value, &[x], &[1.0]);
            let error = (slope - expected).abs() / (1.0 + expected.abs());
            assert!(error < 1e-9, "{name} at {x}: {slope} is not {expected}");
        }
    }
}

#[test]
fn stop_gradients_keep_values_and_change_slopes() {
    let tape = Tape::new();
    let x = tape.leaf(0.1);
    let y = x.detach() * x + x.scale_gradient(0.25).sin();
    assert_eq!(y.value(), 0.1 * 0.1 + 0.1f64.sin());
    // d y = sg(x) + 0.25 cos(x)
    assert_eq!(tape.backward(y).of(x), 0.1 + 0.25 * 0.1f64.cos());
    assert_eq!(tape.backward(x.detach()).of(x), 0.0);
}

#[test]
fn full_credit_equals_central_differences() {
    for seed in 0..12 {
        let case = Case::random(seed, spec(1 + seed as usize % 3, 5));
        let gradient = case.gradient("FF");
        let mut random = Random::new(seed);
        let loss = |parameters: &[f64]| {
            interpret(&case.program, parameters, &case.inputs, &case.spec, Cut::KD).unwrap().loss
        };
        for _ in 0..2 {
            let direction = random_direction(gradient.len(), &mut random);
            let found = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum::<f64>();
            let expected = directional_derivative(loss, &case.parameters, &direction);
            let error = (found - expected).abs() / norm(&gradient);
            assert!(error < 1e-8, "seed {seed}: {error:.1e}");
        }
    }
}

#[test]
fn the_interpreter_agrees_with_the_policy_written_by_hand() {
    let sizes = PolicySizes::default();
    let mask = (0..6).map(|t| (0..6).map(|j| (t + 2 * j) % 3 != 0).collect()).collect();
    let specs = [
        spec(3, 5),
        OracleSpec { prefix: 2, ..spec(2, 6) },
        OracleSpec { window: Some(2), prefix: 1, ..spec(1, 6) },
        OracleSpec { mask: Some(mask), ..spec(1, 6) },
    ];
    for (seed, spec) in specs.into_iter().enumerate() {
        let case = Case::new(trace_policy(sizes).unwrap(), seed as u64, spec);
        for name in KINDS {
            let interpreted = case.run(cut(name));
            let by_hand = policy_by_hand(
                case.program.layout(),
                &case.parameters,
                sizes,
                &case.inputs,
                &case.spec,
                cut(name),
            );
            let error = distance(&interpreted.gradient, &by_hand.gradient);
            assert!(error < 1e-12, "{name}, {:?}: {error:.1e}", case.spec);
            assert!((interpreted.loss - by_hand.loss).abs() < 1e-12 * by_hand.loss);
        }
    }
}

/// If every state edge multiplies what passes by z, the gradient is a polynomial in z whose
/// coefficient i collects the paths with i state edges. Steps(k) is the sum of the first k.
#[test]
fn steps_of_physical_credit_count_state_edges_along_paths() {
    let (sizes, steps) = (PolicySizes::default(), 4);
    let case = Case::new(trace_policy(sizes).unwrap(), 7, spec(1, steps));
    let nodes = [-1.0, -0.5, 0.5, 1.0];
    let at: Vec<Vec<f64>> = nodes
        .iter()
        .map(|&z| {
            let layout = case.program.layout();
            policy_with_state_factor(
                layout,
                &case.parameters,
                sizes,
                &case.inputs,
                &case.spec,
                Cut::FF,
                z,
            )
            .gradient
        })
        .collect();
    // Lagrange's polynomials, coefficient by coefficient.
    let mut coefficients = vec![vec![0.0; case.parameters.len()]; steps];
    for (i, values) in at.iter().enumerate() {
        let mut basis = vec![1.0];
        for (j, z) in nodes.iter().enumerate().filter(|&(j, _)| j != i) {
            let mut product = vec![0.0; basis.len() + 1];
            for (power, c) in basis.iter().enumerate() {
                product[power + 1] += c / (nodes[i] - nodes[j]);
                product[power] -= z * c / (nodes[i] - nodes[j]);
            }
            basis = product;
        }
        for (coefficient, c) in coefficients.iter_mut().zip(&basis) {
            coefficient.iter_mut().zip(values).for_each(|(sum, v)| *sum += c * v);
        }
    }
    let mut expected = vec![0.0; case.parameters.len()];
    for (i, coefficient) in coefficients.iter().enumerate() {
        expected.iter_mut().zip(coefficient).for_each(|(sum, c)| *sum += c);
        let name = format!("K{}F", i + 1);
        let error = distance(&case.gradient(&name), &expected);
        assert!(error < 1e-12, "{name}: {error:.1e}");
        assert!(norm(coefficient) > 1e-6 * norm(&expected), "no path has {i} state edges");
    }
}

#[test]
fn cuts_that_are_equal_by_definition_are_equal() {
    for seed in 0..6 {
        let case = Case::random(seed, spec(2, 5));
        for (a, b) in [
            ("SEG-1", "F_SG"),
            ("SEG-5", "FF"),
            ("SEG-9", "FF"),
            ("F_A0", "F_SG"),
            ("F_A1", "FF"),
            ("K_SEG-1", "K_SG"),
            ("K_SEG-5", "KF"),
            ("K_A0", "K_SG"),
            ("K5F", "FF"),
            ("K9D", "FD"),
            ("K5_SG", "F_SG"),
        ] {
            case.assert_equal(a, b);
        }
    }
}

#[test]
fn one_step_has_nothing_to_cut() {
    for prefix in [0, 2] {
        let case = Case::random(3, OracleSpec { prefix, ..spec(2, prefix + 1) });
        for name in KINDS {
            case.assert_equal(name, "FF");
        }
    }
}

#[test]
fn a_window_of_one_empties_the_memory_path_and_of_all_steps_is_none() {
    let policy = || trace_policy(PolicySizes::default()).unwrap();
    let narrow = Case::new(policy(), 1, OracleSpec { window: Some(1), ..spec(2, 5) });
    for name in ["FD", "F_SG", "SEG-2", "F_A0.5"] {
        narrow.assert_equal(name, "FF");
    }
    let wide = Case::new(policy(), 1, OracleSpec { window: Some(5), ..spec(2, 5) });
    let none = Case::new(policy(), 1, spec(2, 5));
    for name in KINDS {
        assert_eq!(wide.run(cut(name)), none.run(cut(name)));
    }
    assert!(distance(&narrow.gradient("FF"), &none.gradient("FF")) > 1e-3);
}

#[test]
fn distinct_cuts_differ_and_share_the_forward() {
    let names = [
        "FF", "FD", "F_SG", "SEG-2", "SEG-3", "SEG-4", "F_A0.5", "KF", "KD", "K_SG", "K2F",
        "K2_SG", "K3F", "K3D", "K_SEG-2",
    ];
    for seed in 0..4 {
        let case = Case::random(seed, spec(1, 6));
        let results: Vec<OracleResult> = names.iter().map(|name| case.run(cut(name))).collect();
        for (i, a) in results.iter().enumerate() {
            assert_eq!(a.values, results[0].values);
            assert_eq!(a.loss, results[0].loss);
            for (j, b) in results.iter().enumerate().skip(i + 1) {
                let distance = distance(&a.gradient, &b.gradient);
                assert!(distance > 1e-7, "seed {seed}: {} equals {}", names[i], names[j]);
            }
        }
    }
}

#[test]
fn detaching_keys_and_stopping_at_what_is_stored_differ_in_the_projections_alone() {
    let case = Case::new(trace_policy(PolicySizes::default()).unwrap(), 2, spec(2, 5));
    let (fd, f_sg) = (case.gradient("FD"), case.gradient("F_SG"));
    for parameter in case.program.layout().parameters() {
        let range = parameter.range();
        let projection = parameter.name.contains("w_k") || parameter.name.contains("w_v");
        let error = distance(&fd[range.clone()], &f_sg[range]);
        // b_K has no gradient under F_SG (softmax shift): rounding is all there is.
        assert_eq!(projection, error > 1e-9, "{}: {error:.1e}", parameter.name);
    }
}

/// r' = tanh(w r + u x), loss r'^2: three steps of it, each cut written out.
#[test]
fn a_register_obeys_the_table_of_cuts() {
    let t = Trace::new();
    let (register, x) = (t.register("r", 1), t.input("x", 1));
    let next = (t.linear("w", register, 1) + t.linear("u", x, 1)).tanh();
    t.next("r", next);
    t.loss(next.square());
    let case = Case::new(t.compile().unwrap(), 5, spec(1, 4));
    for name in ["FF", "FD", "F_SG", "SEG-2", "SEG-3", "F_A0.5"] {
        let tape = Tape::new();
        let leaves: Vec<Scalar> = case.parameters.iter().map(|&p| tape.leaf(p)).collect();
        let [w, w_bias, u, u_bias] = leaves[..] else { panic!("four parameters") };
        let mut r = Scalar::constant(case.inputs.registers[0][0][0]);
        let mut loss = Scalar::constant(0.0);
        for t in 0..4 {
            let read = match name {
                "FD" if t > 0 => (r * w).detach() + w_bias,
                "F_SG" => r.detach() * w + w_bias,
                "SEG-2" if t == 2 => r.detach() * w + w_bias,
                "SEG-3" if t == 3 => r.detach() * w + w_bias,
                "F_A0.5" => r.scale_gradient(0.5) * w + w_bias,
                _ => r * w + w_bias,
            };
            r = (read + (u * case.inputs.inputs[0][t][0][0] + u_bias)).tanh();
            loss = loss + r.square();
        }
        let adjoints = tape.backward(loss);
        let expected: Vec<f64> = leaves.iter().map(|&leaf| adjoints.of(leaf)).collect();
        let error = distance(&case.gradient(name), &expected);
        assert!(error < 1e-14, "{name}: {error:.1e}");
    }
    // There is no state edge to limit.
    let Case { program, parameters, inputs, spec } = &case;
    assert!(interpret(program, parameters, inputs, spec, cut("KF")).is_err());
}

#[test]
fn edges_are_counted_by_kind_distance_and_fate() {
    let spec = OracleSpec { prefix: 1, window: Some(3), ..spec(2, 6) };
    let case = Case::new(trace_policy(PolicySizes::default()).unwrap(), 1, spec);
    let count = |name: &str, through: Through, distance: usize, fate: Fate| {
        let is_such = |edge: &&Edge| {
            (edge.through, edge.index, edge.distance(), edge.fate) == (through, 0, distance, fate)
        };
        // A cache is its layer: `block0` has index 0, and so has the state.
        case.run(cut(name)).edges.iter().filter(is_such).count()
    };
    let (cache, state) = (Through::Cache, Through::State);
    // Five steps learn: four pairs at distance 1, three at distance 2; the window ends there.
    assert_eq!(count("FF", cache, 1, Fate::Kept), 4);
    assert_eq!(count("FF", cache, 2, Fate::Kept), 3);
    assert_eq!(count("FF", cache, 3, Fate::Kept), 0);
    assert_eq!(count("FD", cache, 2, Fate::Dropped), 3);
    assert_eq!(count("F_A0.5", cache, 2, Fate::Scaled(0.5)), 3);
    // Segments {1,2} {3,4} {5}: the pairs (1,2) and (3,4) stay, (2,3) and (4,5) do not.
    assert_eq!(count("SEG-2", cache, 1, Fate::Kept), 2);
    assert_eq!(count("SEG-2", cache, 1, Fate::WeightsOnly), 2);
    assert_eq!(count("SEG-2", cache, 2, Fate::WeightsOnly), 3);
    assert_eq!(count("FF", state, 1, Fate::Kept), 4);
    assert_eq!(count("KF", state, 1, Fate::Dropped), 4);
    assert_eq!(count("K2F", state, 1, Fate::Kept), 4);
    assert_eq!(case.run(Cut::FF).edges.len(), 2 * (4 + 3) + 4);
}

#[test]
fn a_key_that_is_no_projection_is_an_error_that_names_the_cache() {
    let t = Trace::new();
    let body = t.state("body", 2);
    let hidden = t.linear("embed", body, 2);
    let read = t.attend("memory", hidden, hidden.tanh(), hidden, 1);
    t.next("body", read);
    t.loss(read.square().sum());
    let case = Case::new(t.compile().unwrap(), 1, spec(1, 3));
    for name in ["F_SG", "SEG-2", "F_A0.5"] {
        let error = interpret(&case.program, &case.parameters, &case.inputs, &case.spec, cut(name))
            .unwrap_err();
        let text = error.to_string();
        assert!(text.contains("memory edge `memory` (key)") && text.contains(name), "{text}");
    }
    // Under FD nothing has to be projected again.
    assert!(distance(&case.gradient("FD"), &case.gradient("FF")) > 1e-3);
}

#[test]
fn random_programs_use_everything_and_stay_tame() {
    let mut operations = BTreeSet::new();
    for seed in 0..40 {
        let case = Case::random(seed, spec(1, 6));
        let nodes = case.program.nodes().iter().chain(case.program.condition_nodes());
        operations.extend(nodes.map(|node| node.op.name()));
        assert!(case.program.cache_names().count() >= 2);
        let loss = case.run(Cut::KD).loss;
        assert!(loss.is_finite() && loss < 300.0, "seed {seed}: loss {loss}");
    }
    assert_eq!(operations, Op::names().into_iter().collect());
}
