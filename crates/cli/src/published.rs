//! What the paper reported, for commands that set it beside our numbers.

use backcut_systems::quadrotor::{QuadrotorConfig, VelocityReading};
use backcut_systems::{Settings as _, SystemChoice};

/// FF's mean error after 1000 updates that the paper's tables imply, for the systems it trained.
pub fn ff_error(choice: &SystemChoice) -> Option<f64> {
    const BY_NOISE: [f64; 7] = [0.00471, 0.00515, 0.00582, 0.00609, 0.00599, 0.00596, 0.00597];
    if choice.name != QuadrotorConfig::NAME {
        return None;
    }
    let config: QuadrotorConfig = serde_json::from_value(choice.settings.clone()).ok()?;
    match config.velocity {
        VelocityReading::Hidden => Some(0.0055),
        VelocityReading::Noise(sigma) => {
            let step = (sigma / 0.05).round();
            let is_listed = (sigma - step * 0.05).abs() < 1e-9;
            BY_NOISE.get(step as usize).copied().filter(|_| is_listed)
        }
    }
}
