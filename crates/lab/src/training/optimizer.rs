//! Clipping by the global norm and the optimizer's step as pure functions, and the fused step that
//! training takes.
//!
//! The update `U = theta' - theta` is a value of its own: it is what the second layer of
//! measurement looks at. Training never forms it; [`step_in_place`] does the same arithmetic in one
//! pass, and a test holds the two to the same bits.

pub use backcut_engine::{Moments, Stretch};
use backcut_kernels::optim::rule;
use backcut_kernels::{Isa, Real, optim};
use backcut_systems::{Clip, Rule};

/// The gradient clipped by its **global** norm, and the factor that was applied.
///
/// ```
/// let (clipped, factor) = backcut_lab::training::clip(&[3.0_f64, 4.0], 1.0);
/// assert_eq!(factor, 0.2);
/// assert!((clipped[1] - 0.8).abs() < 1e-15);
/// ```
pub fn clip<R: Real>(gradient: &[R], clip: impl Into<Clip>) -> (Vec<R>, f64) {
    let factor = clip.into().factor(optim::global_norm(gradient));
    let mut clipped = gradient.to_vec();
    optim::scale(R::from_f64(factor), &mut clipped);
    (clipped, factor)
}

/// One rule for all of `len` parameters.
pub fn everywhere(rule: Rule, len: usize) -> [Stretch; 1] {
    [Stretch { range: 0..len, rule }]
}

/// What the optimizer really adds to the parameters, weight decay included: the float difference
/// `theta' - theta`, with its memory after the step. Nothing is changed in place.
pub fn update<R: Real>(
    stretches: &[Stretch],
    params: &[R],
    state: &Moments<R>,
    gradient: &[R],
) -> (Vec<R>, Moments<R>) {
    let (mut theta, mut state) = (params.to_vec(), state.clone());
    step_in_place(stretches, R::ONE, &mut theta, &mut state, gradient);
    for (after, &before) in theta.iter_mut().zip(params) {
        *after -= before;
    }
    (theta, state)
}

/// The step of training: clips and applies every stretch's rule in one pass, without allocating.
pub fn step_in_place<R: Real>(
    stretches: &[Stretch],
    factor: R,
    params: &mut [R],
    state: &mut Moments<R>,
    gradient: &[R],
) {
    state.step += 1;
    let Moments { step, first, second } = state;
    let isa = Isa::detect();
    rule::step_on(isa, stretches, *step, factor, params, first, second, gradient);
}

/// The update that [`step_in_place`] would make, `theta' - theta`, without making it.
pub fn update_into<R: Real>(
    stretches: &[Stretch],
    factor: R,
    params: &[R],
    state: &Moments<R>,
    gradient: &[R],
    update: &mut [R],
) {
    let Moments { step, first, second } = state;
    let (isa, step, all) = (Isa::detect(), step + 1, 0..params.len());
    rule::update_on(isa, stretches, step, factor, params, first, second, gradient, all, update);
}

#[cfg(test)]
mod tests {
    use backcut_kernels::random::Stream;
    use backcut_systems::{AdamW, Kind};

    use super::*;

    fn normals<R: Real>(name: &str, n: usize, scale: f64) -> Vec<R> {
        let mut draws = Stream::new(7, name).at(0, 0);
        (0..n).map(|_| R::from_f64(scale * draws.normal())).collect()
    }

    fn bits<R: Real>(values: &[R]) -> Vec<u64> {
        values.iter().map(|v| v.bits()).collect()
    }

    fn pure_equals_fused<R: Real>(threshold: impl Into<Clip> + Copy, rule: Rule) {
        let n = 1003;
        // Half of the parameters have a rate and a decay of their own.
        let other = rule.times(3.0).with("decay", 0.25);
        let settings =
            [(0..500, rule), (500..n, other)].map(|(range, rule)| Stretch { range, rule });
        let mut theta: Vec<R> = normals("theta", n, 0.1);
        let (mut fused, mut pure) = (Moments::zeros(n), Moments::zeros(n));
        for step in 0..5 {
            let gradient: Vec<R> = normals(&format!("gradient {step}"), n, 2.0);
            let (clipped, factor) = clip(&gradient, threshold);
            let (update, state) = update(&settings, &theta, &pure, &clipped);
            let before = theta.clone();
            let factor = R::from_f64(factor);
            let mut alone = vec![R::ZERO; n];
            update_into(&settings, factor, &theta, &fused, &gradient, &mut alone);
            step_in_place(&settings, factor, &mut theta, &mut fused, &gradient);
            let made: Vec<R> = theta.iter().zip(&before).map(|(&a, &b)| a - b).collect();
            assert_eq!(bits(&update), bits(&made), "step {step}");
            assert_eq!(bits(&alone), bits(&made), "step {step}");
            assert_eq!(bits(&state.first), bits(&fused.first), "step {step}");
            assert_eq!(bits(&state.second), bits(&fused.second), "step {step}");
            pure = state;
        }
        assert_eq!(pure.step, 5);
    }

    #[test]
    fn the_pure_and_the_fused_step_give_the_same_bits() {
        for kind in Kind::ALL {
            let rule = kind.usual().with("decay", 0.1).with("momentum", 0.9);
            for threshold in [Clip::Norm(1.0), Clip::Norm(1e6), Clip::NONE] {
                pure_equals_fused::<f32>(threshold, rule);
                pure_equals_fused::<f64>(threshold, rule);
            }
        }
    }

    #[test]
    fn a_small_gradient_is_not_touched() {
        let gradient: Vec<f32> = normals("small", 40, 1e-3);
        let (clipped, factor) = clip(&gradient, 1.0);
        assert_eq!((bits(&clipped), factor), (bits(&gradient), 1.0));
        assert_eq!(clip(&[0.0_f32; 3], 1.0), (vec![0.0; 3], 1.0));
    }

    #[test]
    fn the_first_step_moves_by_the_rate_against_the_sign() {
        // m / (1 - b1) = g and v / (1 - b2) = g^2, so U = -lr g / (|g| + eps) - lr wd theta.
        let settings = everywhere(Rule::AdamW(AdamW::default()), 2);
        let (theta, gradient) = ([2.0_f64, -1.0], [1e-4_f64, -30.0]);
        let (update, _) = update(&settings, &theta, &Moments::zeros(2), &gradient);
        for i in 0..2 {
            let want = -1e-3 * gradient[i] / (gradient[i].abs() + 1e-8) - 1e-3 * 0.01 * theta[i];
            assert!((update[i] - want).abs() < 1e-12, "{} and {want}", update[i]);
        }
    }
}
