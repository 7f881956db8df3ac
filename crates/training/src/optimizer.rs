//! Clipping by the global norm and AdamW as pure functions, and the fused step that training takes.
//!
//! The update `U = theta' - theta` is a value of its own: it is what the second layer of measurement
//! looks at. Training never forms it; [`step_in_place`] does the same arithmetic in one pass, and a
//! test holds the two to the same bits.

pub use backcut_engine::Moments;
use backcut_kernels::{Real, optim};
use serde::{Deserialize, Serialize};

/// AdamW's settings as a configuration file holds them. The default is the quadrotor study's.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdamWSettings {
    /// Learning rate.
    pub rate: f64,
    /// Decay of the first moment.
    pub beta1: f64,
    /// Decay of the second moment.
    pub beta2: f64,
    /// Added to the square root of the second moment.
    pub eps: f64,
    /// Decoupled weight decay, on every tensor.
    pub decay: f64,
}

impl Default for AdamWSettings {
    fn default() -> Self {
        Self { rate: 1e-3, beta1: 0.9, beta2: 0.999, eps: 1e-8, decay: 0.01 }
    }
}

impl AdamWSettings {
    /// As the kernels take them.
    pub fn kernel(self) -> optim::AdamW {
        let Self { rate, beta1, beta2, eps, decay } = self;
        optim::AdamW { rate, beta1, beta2, eps, decay }
    }
}

/// How a gradient becomes an update.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Optimizer {
    /// AdamW.
    pub adamw: AdamWSettings,
    /// Threshold c of the global-norm clip: the gradient is multiplied by `min(1, c / norm)`.
    pub clip: f64,
}

impl Optimizer {
    /// The first setting that makes no sense, with the reason.
    pub fn check(&self) -> Result<(), String> {
        let AdamWSettings { rate, beta1, beta2, eps, decay } = self.adamw;
        let say = |name: &str, value: f64, want: &str| Err(format!("{name} = {value}, not {want}"));
        if !(rate > 0.0 && rate.is_finite()) {
            return say("optimizer.adamw.rate", rate, "a positive number");
        }
        for (name, beta) in [("beta1", beta1), ("beta2", beta2)] {
            if !(0.0..1.0).contains(&beta) {
                return say(&format!("optimizer.adamw.{name}"), beta, "in [0, 1)");
            }
        }
        if !(eps > 0.0 && eps.is_finite()) {
            return say("optimizer.adamw.eps", eps, "a positive number");
        }
        if !(decay >= 0.0 && rate * decay < 1.0) {
            return say("optimizer.adamw.decay", decay, "at least 0 with rate * decay below 1");
        }
        if !(self.clip > 0.0 && self.clip.is_finite()) {
            return say("optimizer.clip", self.clip, "a positive number");
        }
        Ok(())
    }
}

/// `min(1, threshold / norm)`; 1 for a zero gradient.
pub fn clip_factor(norm: f64, threshold: f64) -> f64 {
    (threshold / norm).min(1.0)
}

/// The gradient clipped by its **global** norm, and the factor that was applied.
///
/// ```
/// let (clipped, factor) = backcut_training::clip(&[3.0_f64, 4.0], 1.0);
/// assert_eq!(factor, 0.2);
/// assert!((clipped[1] - 0.8).abs() < 1e-15);
/// ```
pub fn clip<R: Real>(gradient: &[R], threshold: f64) -> (Vec<R>, f64) {
    let factor = clip_factor(optim::global_norm(gradient), threshold);
    let mut clipped = gradient.to_vec();
    optim::scale(R::from_f64(factor), &mut clipped);
    (clipped, factor)
}

/// What AdamW really adds to the parameters, weight decay included: the float difference
/// `theta' - theta`, with the moments after the step. Nothing is changed in place.
pub fn adamw<R: Real>(
    settings: &AdamWSettings,
    params: &[R],
    state: &Moments<R>,
    gradient: &[R],
) -> (Vec<R>, Moments<R>) {
    let (mut theta, mut state) = (params.to_vec(), state.clone());
    step_in_place(settings, R::ONE, &mut theta, &mut state, gradient);
    for (after, &before) in theta.iter_mut().zip(params) {
        *after -= before;
    }
    (theta, state)
}

/// The step of training: clips and applies AdamW in one pass, without allocating.
pub fn step_in_place<R: Real>(
    settings: &AdamWSettings,
    factor: R,
    params: &mut [R],
    state: &mut Moments<R>,
    gradient: &[R],
) {
    state.step += 1;
    let Moments { step, first, second } = state;
    optim::adamw(&settings.kernel(), *step, factor, params, first, second, gradient);
}

/// The update that [`step_in_place`] would make, `theta' - theta`, without making it.
pub fn update_into<R: Real>(
    settings: &AdamWSettings,
    factor: R,
    params: &[R],
    state: &Moments<R>,
    gradient: &[R],
    update: &mut [R],
) {
    let Moments { step, first, second } = state;
    let (settings, step) = (settings.kernel(), step + 1);
    optim::adamw_update(&settings, step, factor, params, first, second, gradient, update);
}

#[cfg(test)]
mod tests {
    use backcut_kernels::random::Stream;

    use super::*;

    fn normals<R: Real>(name: &str, n: usize, scale: f64) -> Vec<R> {
        let mut draws = Stream::new(7, name).at(0, 0);
        (0..n).map(|_| R::from_f64(scale * draws.normal())).collect()
    }

    fn bits<R: Real>(values: &[R]) -> Vec<u64> {
        values.iter().map(|v| v.bits()).collect()
    }

    fn pure_equals_fused<R: Real>(threshold: f64) {
        let (n, settings) = (1003, AdamWSettings::default());
        let mut theta: Vec<R> = normals("theta", n, 0.1);
        let (mut fused, mut pure) = (Moments::zeros(n), Moments::zeros(n));
        for step in 0..5 {
            let gradient: Vec<R> = normals(&format!("gradient {step}"), n, 2.0);
            let (clipped, factor) = clip(&gradient, threshold);
            let (update, state) = adamw(&settings, &theta, &pure, &clipped);
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
        for threshold in [1.0, 1e6] {
            pure_equals_fused::<f32>(threshold);
            pure_equals_fused::<f64>(threshold);
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
        let settings = AdamWSettings::default();
        let (theta, gradient) = ([2.0_f64, -1.0], [1e-4_f64, -30.0]);
        let (update, _) = adamw(&settings, &theta, &Moments::zeros(2), &gradient);
        for i in 0..2 {
            let want = -1e-3 * gradient[i] / (gradient[i].abs() + 1e-8) - 1e-3 * 0.01 * theta[i];
            assert!((update[i] - want).abs() < 1e-12, "{} and {want}", update[i]);
        }
    }

    #[test]
    fn settings_that_make_no_sense_are_named() {
        let fine = Optimizer { adamw: AdamWSettings::default(), clip: 1.0 };
        assert_eq!(fine.check(), Ok(()));
        let bad = Optimizer { clip: f64::NAN, ..fine };
        assert!(bad.check().unwrap_err().contains("optimizer.clip"));
        let adamw = AdamWSettings { beta2: 1.0, ..fine.adamw };
        assert!(Optimizer { adamw, ..fine }.check().unwrap_err().contains("beta2"));
    }
}
