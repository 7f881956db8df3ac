//! Single numbers of the paper that commands set beside ours.

use backcut_systems::quadrotor::{QuadrotorConfig, VelocityReading};
use backcut_systems::{Settings as _, SystemChoice};

/// The length of the paper's runs.
pub const UPDATES: u64 = 1000;

/// The threshold of the global-norm clip.
pub const CLIP: f64 = 4311.62;

/// FF's mean error after 1000 updates that the paper's tables imply, m^2.
pub fn ff_error(reading: VelocityReading) -> Option<f64> {
    const BY_NOISE: [f64; 7] = [0.00471, 0.00515, 0.00582, 0.00609, 0.00599, 0.00596, 0.00597];
    match reading {
        VelocityReading::Hidden => Some(0.0055),
        VelocityReading::Noise(sigma) => {
            let step = (sigma / 0.05).round();
            let is_listed = (sigma - step * 0.05).abs() < 1e-9;
            BY_NOISE.get(step as usize).copied().filter(|_| is_listed)
        }
    }
}

/// The same for a system as a run names it; nothing for systems that the paper did not train.
pub fn ff_error_of(choice: &SystemChoice) -> Option<f64> {
    let is_ours = choice.name == QuadrotorConfig::NAME;
    let settings = is_ours.then(|| choice.settings.clone())?;
    let config: QuadrotorConfig = serde_json::from_value(settings).ok()?;
    ff_error(config.velocity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_values_stand_beside_their_own_noise() {
        assert_eq!(ff_error(VelocityReading::Noise(0.0)), Some(0.00471));
        assert_eq!(ff_error(VelocityReading::Noise(0.15)), Some(0.00609));
        assert_eq!(ff_error(VelocityReading::Noise(0.3)), Some(0.00597));
        assert_eq!(ff_error(VelocityReading::Noise(0.35)), None);
        assert_eq!(ff_error(VelocityReading::Noise(0.12)), None);
        assert_eq!(ff_error(VelocityReading::Hidden), Some(0.0055));
    }
}
