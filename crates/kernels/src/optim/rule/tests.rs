//! What every rule is held to: its formula, written out by its file in plain `f64`; the same bits
//! on every path, with and without the step; a direction that is the one it moves along.

use super::*;
use crate::random::Stream;

/// One weight by the book.
#[derive(Clone, Copy)]
pub(super) struct Book {
    pub(super) theta: f64,
    pub(super) first: f64,
    pub(super) second: f64,
}

impl Book {
    /// Adam's moments and step; what it saw, and its direction.
    pub(super) fn adam(&mut self, s: &AdamW, g: f64, t: i32) -> (f64, f64) {
        self.first = s.beta1 * self.first + (1.0 - s.beta1) * g;
        self.second = s.beta2 * self.second + (1.0 - s.beta2) * g * g;
        let root = (self.second / (1.0 - s.beta2.powi(t))).sqrt();
        let direction = self.first / (1.0 - s.beta1.powi(t)) / (root + s.eps);
        self.theta -= s.rate * direction;
        (g, direction)
    }
}

const N: usize = 77;

fn normals<R: Real>(name: &str, scale: f64) -> Vec<R> {
    let mut draws = Stream::new(7, name).at(0, 0);
    (0..N).map(|_| R::from_f64(scale * draws.normal())).collect()
}

/// Takes steps by the rule and by the book, which says the gradient that the rule sees and its
/// direction.
pub(super) fn holds_to<D: Described>(
    rule: D,
    mut book: impl FnMut(&mut Book, f64, i32) -> (f64, f64),
) {
    let factor = 0.5;
    let mut theta: Vec<f64> = normals("theta", 0.1);
    let (mut first, mut second) = (vec![0.0; N], vec![0.0; N]);
    let mut weights: Vec<Book> =
        theta.iter().map(|&theta| Book { theta, first: 0.0, second: 0.0 }).collect();
    for t in 1..=25 {
        let g: Vec<f64> = normals(&format!("gradient {t}"), 2.0);
        let direction = rule.direction(t, 1.0);
        let before: Vec<[f32; 2]> =
            first.iter().zip(&second).map(|(m, v): (&f64, &f64)| [*m as f32, *v as f32]).collect();
        moved_on(Isa::detect(), rule.step(t, factor), &mut theta, &mut first, &mut second, &g);
        for (i, weight) in weights.iter_mut().enumerate() {
            let (seen, along) = book(weight, factor * g[i], t as i32);
            assert!((theta[i] - weight.theta).abs() < 1e-12, "step {t}, weight {i}");
            let found = f64::from(direction.element(seen as f32, before[i][0], before[i][1]).0);
            assert!((found - along).abs() < 1e-4 * along.abs().max(1e-2), "{found} and {along}");
        }
        assert!(D::MEMORY.len() > 1 || second.iter().all(|v| *v == 0.0));
    }
}

/// Every rule, and every rule with all its settings away from the usual.
fn rules() -> Vec<Rule> {
    let unusual = |kind: &Kind| {
        let settings = kind.settings().iter();
        let other = |value: f64| if value > 0.0 { 0.5 * value } else { 0.25 };
        settings.fold(kind.usual(), |rule, name| rule.with(name, other(rule.value(name))))
    };
    Kind::ALL.iter().flat_map(|kind| [kind.usual(), unusual(kind)]).collect()
}

fn steps_are_the_same_on_every_path<R: Real>() {
    let [theta, m, g]: [Vec<R>; 3] = ["theta", "m", "g"].map(|name| normals(name, 0.3));
    let v: Vec<R> = normals::<R>("v", 0.1).iter().map(|v| *v * *v).collect();
    let bits = |values: &[R]| values.iter().map(|v| v.bits()).collect::<Vec<_>>();
    for rule in rules() {
        // Two stretches, and an update that is asked for across both.
        let stretches =
            [(0..30, rule), (30..N, rule.times(0.5))].map(|(range, rule)| Stretch { range, rule });
        let mut seen = Vec::new();
        for isa in Isa::available() {
            let (mut after, mut first, mut second) = (theta.clone(), m.clone(), v.clone());
            let factor = R::from_f64(0.25);
            step_on(isa, &stretches, 3, factor, &mut after, &mut first, &mut second, &g);
            let mut update = vec![R::ZERO; 40];
            update_on(isa, &stretches, 3, factor, &theta, &m, &v, &g, 20..60, &mut update);
            let made: Vec<R> = (20..60).map(|i| after[i] - theta[i]).collect();
            assert_eq!(bits(&update), bits(&made), "{rule:?} on {isa}");
            assert_ne!(bits(&after), bits(&theta), "{rule:?}");
            seen.push([bits(&after), bits(&first), bits(&second)]);
        }
        assert!(seen.iter().all(|one| *one == seen[0]), "{rule:?}");
    }
}

#[test]
fn a_step_is_its_update_and_the_same_on_every_path() {
    steps_are_the_same_on_every_path::<f32>();
    steps_are_the_same_on_every_path::<f64>();
}

#[test]
fn terms_are_those_of_the_direction_on_every_path() {
    let [mut g, m]: [Vec<f32>; 2] = ["g", "m"].map(|name| normals(name, 0.3));
    let v: Vec<f32> = normals::<f32>("v", 0.1).iter().map(|v| v * v).collect();
    g[5] = 0.0;
    for rule in rules() {
        let mut found = Vec::new();
        for isa in Isa::available() {
            let mut terms = [[0.0; 2]; N];
            let counts = rule.direction(3, 0.25).terms(isa, &g, &m, &v, &mut terms);
            assert_eq!(counts[0], N as u32 - 1, "{rule:?}");
            found.push((terms, counts));
        }
        assert!(found.iter().all(|one| *one == found[0]), "{rule:?}");
    }
}

#[test]
fn settings_go_by_name() {
    for rule in rules() {
        let kind = rule.kind();
        assert!(rule.check().is_ok() && kind.settings().contains(&"rate"), "{rule:?}");
        assert!(kind.settings().contains(&"decay"), "{rule:?}: groups may set it");
        assert!((1..=2).contains(&kind.memory().len()) && rule.keeps() <= kind.memory().len());
        for name in kind.settings() {
            let message = rule.with(name, f64::NAN).check().unwrap_err();
            assert!(message.contains(&format!("optimizer.{}.{name} = NaN", kind.name())));
        }
        for other in Kind::ALL {
            let became = rule.become_kind(*other);
            assert_eq!((became.kind(), became.rate()), (*other, rule.rate()));
        }
        let text = serde_json::to_string(&rule).unwrap();
        assert!(text.starts_with(&format!("{{\"{}\":{{\"rate\":", kind.name())), "{text}");
        assert_eq!(serde_json::from_str::<Rule>(&text).unwrap(), rule);
    }
    let adamw = AdamW { beta1: 0.8, ..AdamW::default() };
    let became = Rule::AdamW(adamw).become_kind(Kind::Adam);
    assert_eq!(became, Rule::Adam(Adam { beta1: 0.8, ..Adam::default() }));
}
