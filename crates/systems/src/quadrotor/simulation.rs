//! The same step in plain code: a reference to read and to compare with.
//!
//! One trajectory, `f64`, the platform's functions, no trace. It exists to be obviously right.

use super::{DT, GRAVITY, HORIZON, PITCH_LIMIT, RATE_GAIN, THRUST_RANGE, TOKEN, VelocityReading};

/// The state of one vehicle.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Vehicle {
    /// Position, m.
    pub position: [f64; 3],
    /// Roll, pitch and yaw, rad.
    pub attitude: [f64; 3],
    /// Velocity, m/s.
    pub velocity: [f64; 3],
    /// Body rates, rad/s.
    pub rates: [f64; 3],
}

/// Matrix of three rows.
pub type Matrix = [[f64; 3]; 3];

/// Rotation from world to body axes: the transpose of `Rz(yaw) Ry(pitch) Rx(roll)`.
pub fn world_to_body([roll, pitch, yaw]: [f64; 3]) -> Matrix {
    let (sr, cr) = roll.sin_cos();
    let (sp, cp) = pitch.sin_cos();
    let (sy, cy) = yaw.sin_cos();
    let rx = [[1.0, 0.0, 0.0], [0.0, cr, -sr], [0.0, sr, cr]];
    let ry = [[cp, 0.0, sp], [0.0, 1.0, 0.0], [-sp, 0.0, cp]];
    let rz = [[cy, -sy, 0.0], [sy, cy, 0.0], [0.0, 0.0, 1.0]];
    transpose(multiply(rz, multiply(ry, rx)))
}

/// Rows become columns.
pub fn transpose(m: Matrix) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| m[j][i]))
}

fn multiply(a: Matrix, b: Matrix) -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..3).map(|k| a[i][k] * b[k][j]).sum()))
}

/// A matrix times a vector.
pub fn turn(m: Matrix, v: [f64; 3]) -> [f64; 3] {
    m.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2])
}

/// What an action commands: thrust per mass (m/s^2) and body rates (rad/s).
pub fn command(action: [f64; 4]) -> (f64, [f64; 3]) {
    let thrust = THRUST_RANGE * action[0] - THRUST_RANGE / 2.0 + GRAVITY;
    (thrust, [action[1] - 0.5, action[2] - 0.5, action[3] - 0.5])
}

impl Vehicle {
    /// From the twelve numbers of a state.
    pub fn from_state(s: &[f64]) -> Self {
        let part = |i: usize| [s[i], s[i + 1], s[i + 2]];
        Self { position: part(0), attitude: part(3), velocity: part(6), rates: part(9) }
    }

    /// The twelve numbers of a state.
    pub fn to_state(&self) -> [f64; 12] {
        let parts = [self.position, self.attitude, self.velocity, self.rates];
        std::array::from_fn(|i| parts[i / 3][i % 3])
    }

    /// Whether the attitude lies in the chart of Euler angles.
    pub fn in_chart(&self) -> bool {
        self.attitude[1].abs() < PITCH_LIMIT
    }

    /// One step of `dt` seconds under a thrust per mass and commanded body rates.
    #[must_use]
    pub fn moved(&self, thrust: f64, commanded: [f64; 3], dt: f64) -> Self {
        let mut acceleration = turn(transpose(world_to_body(self.attitude)), [0.0, 0.0, thrust]);
        acceleration[2] -= GRAVITY;
        let rate = attitude_rate(self.attitude, self.rates);
        let (p, v, w) = (self.position, self.velocity, self.rates);
        Self {
            position: std::array::from_fn(|i| p[i] + dt * v[i] + dt * dt * acceleration[i] / 2.0),
            attitude: std::array::from_fn(|i| self.attitude[i] + dt * rate[i]),
            velocity: std::array::from_fn(|i| v[i] + dt * acceleration[i]),
            rates: std::array::from_fn(|i| w[i] + dt * RATE_GAIN[i] * (commanded[i] - w[i])),
        }
    }

    /// One step of the task under an action of the policy.
    #[must_use]
    pub fn after(&self, action: [f64; 4]) -> Self {
        let (thrust, commanded) = command(action);
        self.moved(thrust, commanded, DT)
    }
}

/// Rates of the Euler angles under body rates.
pub fn attitude_rate([roll, pitch, _]: [f64; 3], w: [f64; 3]) -> [f64; 3] {
    let (sr, cr) = roll.sin_cos();
    [
        w[0] + sr * pitch.tan() * w[1] + cr * pitch.tan() * w[2],
        cr * w[1] - sr * w[2],
        (sr * w[1] + cr * w[2]) / pitch.cos(),
    ]
}

/// A reference point: position (m) and velocity (m/s).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// Position, m.
    pub position: [f64; 3],
    /// Velocity, m/s.
    pub velocity: [f64; 3],
}

/// The observation token. `ahead` holds the next ten reference points, `noise` standard normals.
pub fn token(
    vehicle: &Vehicle,
    reading: VelocityReading,
    noise: [f64; 3],
    ahead: &[Point; HORIZON],
) -> [f64; TOKEN] {
    let to_body = world_to_body(vehicle.attitude);
    let read = match reading {
        VelocityReading::Noise(sigma) => {
            Some(std::array::from_fn(|i| vehicle.velocity[i] + sigma * noise[i]))
        }
        VelocityReading::Hidden => None,
    };
    let nothing = [0.0; 3];
    let mut entries = Vec::with_capacity(TOKEN);
    entries.extend(read.unwrap_or(nothing));
    let columns = transpose(to_body);
    entries.extend(columns[0]);
    entries.extend(columns[1]);
    entries.extend(read.map_or(nothing, |v| turn(to_body, v)));
    entries.extend(vehicle.rates);
    for point in ahead {
        entries.extend((0..3).map(|i| point.position[i] - vehicle.position[i]));
        entries.extend(point.velocity);
        entries.extend((0..3).map(|i| read.map_or(0.0, |v: [f64; 3]| point.velocity[i] - v[i])));
    }
    std::array::from_fn(|i| entries[i])
}

/// The loss of one step: `next` is the state it led to, `target` the reference there.
pub fn loss(next: &Vehicle, target: &Point, action: [f64; 4]) -> f64 {
    let squared = |v: [f64; 3]| v.iter().map(|x| x * x).sum::<f64>();
    let minus = |a: [f64; 3], b: [f64; 3]| std::array::from_fn(|i| a[i] - b[i]);
    let rates = [action[1] - 0.5, action[2] - 0.5, action[3] - 0.5];
    10.0 * squared(minus(next.position, target.position))
        + squared(minus(next.velocity, target.velocity))
        + 0.1 * squared(next.rates)
        + 5.0 * (action[0] - 0.5).powi(2)
        + 0.1 * squared(rates)
}
