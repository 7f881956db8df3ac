//! Windows into rollouts.
//!
//! Which windows a batch has is a function of (seed, stream, update, row) and the data alone, so
//! cuts, noise levels and phases see the same ones, with the same standardised noise. Numbers are
//! computed in `f64` and rounded once to the working precision.

use crate::AisError;
use crate::model::Window;
use crate::sphere::{Position, RADIUS_KM, wrapped};
use backcut_engine::Rollout;
use backcut_kernels::Real;
use backcut_kernels::math::f64::{cos, sin};
use backcut_kernels::random::Stream;

use super::data::Windows;
use super::{STATE, UNIT_KM};
use backcut_systems::BatchKey;

const PANEL_SEED: u64 = 2_026_000_304;

/// What a batch is made of, as numbers to look at or to export.
#[derive(Clone, PartialEq, Debug)]
pub struct Batch {
    /// The windows, one per row.
    pub windows: Vec<Window>,
    /// Standard normals, `[row][step][2]`.
    pub noise: Vec<f64>,
}

impl Batch {
    pub(super) fn training(data: &Windows, key: BatchKey, rows: usize) -> Result<Self, AisError> {
        let seed = key.seed.wrapping_add(key.stream.offset());
        let draws = Stream::new(seed, "vessel window");
        let window = |row| data.window(data.training(draws.at(key.update, row).uniform()));
        let windows = (0..rows as u64).map(window).collect::<Result<_, _>>()?;
        Ok(Self::with_noise(windows, &Stream::new(seed, "vessel noise"), key.update, 0))
    }

    pub(super) fn panel(data: &Windows, first: usize, rows: usize) -> Result<Self, AisError> {
        let windows = data.panel()[first..][..rows].iter();
        let windows = windows.map(|at| data.window(*at)).collect::<Result<_, _>>()?;
        let noise = Stream::new(PANEL_SEED, "vessel panel noise");
        Ok(Self::with_noise(windows, &noise, 0, first as u64))
    }

    fn with_noise(windows: Vec<Window>, noise: &Stream, update: u64, first: u64) -> Self {
        let each = windows.first().map_or(0, |w: &Window| 2 * w.velocities.len());
        let mut numbers = vec![0.0; each * windows.len()];
        for (row, numbers) in numbers.chunks_exact_mut(each.max(1)).enumerate() {
            noise.at(update, first + row as u64).fill_normal(numbers);
        }
        Self { windows, noise: numbers }
    }

    /// Writes the batch into a rollout.
    pub(super) fn fill<R: Real>(&self, rollout: &mut Rollout<R>) {
        let rows = self.windows.len();
        let each_noise = self.noise.len() / rows.max(1);
        for (row, window) in self.windows.iter().enumerate() {
            let track = Track::new(window);
            let noise = &self.noise[row * each_noise..][..each_noise];
            let mut input = |name: &str, value: &dyn Fn(usize, usize) -> f64| {
                if let Some(values) = rollout.input_mut(name) {
                    let width = values.len() / (rows * track.moved.len());
                    for (t, step) in values.chunks_exact_mut(rows * width).enumerate() {
                        for (c, x) in step[row * width..][..width].iter_mut().enumerate() {
                            *x = R::from_f64(value(t, c));
                        }
                    }
                }
            };
            input("latitude", &|t, _| track.begins[t][0]);
            input("cos_sin", &|t, c| [cos, sin][c](track.begins[t][0]));
            input("moved", &|t, c| track.moved[t][c]);
            input("here", &|t, c| track.seen(track.begins[t])[c]);
            input("east", &|_, _| track.unit[1]);
            input("east_km", &|t, _| RADIUS_KM * cos(window.positions[t][0]));
            input("noise", &|t, c| noise[2 * t + c]);
            input("true_velocity", &|t, c| window.velocities[t][c]);
            fed(rollout, "action", row, rows, |t, c| window.velocities[t][c]);
            let state = |t: usize, c: usize| match c {
                0 | 1 => 0.0,
                _ => window.velocities[t.saturating_sub(1)][c - 2],
            };
            fed(rollout, "state", row, rows, state);
            if let Some(values) = rollout.initial_mut("state") {
                let to = values[row * STATE..][..STATE].iter_mut().enumerate();
                to.for_each(|(c, x)| *x = R::from_f64(state(0, c)));
            }
            if let Some(values) = rollout.condition_input_mut("key_points") {
                let tokens = window.key_points.len();
                let row = &mut values[row * tokens * (2 + tokens)..][..tokens * (2 + tokens)];
                for (i, token) in row.chunks_exact_mut(2 + tokens).enumerate() {
                    let [north, east] = track.seen(window.positions[window.key_points[i]]);
                    token.fill(R::ZERO);
                    token[0] = R::from_f64(north);
                    token[1] = R::from_f64(east);
                    token[2 + i] = R::ONE;
                }
            }
        }
    }
}

/// Writes what is fed from the first step on, as far as the rollout's spec wants it.
fn fed<R: Real>(
    rollout: &mut Rollout<R>,
    name: &str,
    row: usize,
    rows: usize,
    value: impl Fn(usize, usize) -> f64,
) {
    let width = if name == "state" { STATE } else { super::ACTIONS };
    if let Some(values) = rollout.fed_mut(name) {
        for (t, step) in values.chunks_exact_mut(rows * width).enumerate() {
            for (c, x) in step[row * width..][..width].iter_mut().enumerate() {
                *x = R::from_f64(value(t, c));
            }
        }
    }
}

/// A window as the reference track of a rollout.
struct Track {
    /// Where each step begins.
    begins: Vec<Position>,
    /// How far it leads.
    moved: Vec<[f64; 2]>,
    /// The last observed position.
    pivot: Position,
    /// How many units a radian of latitude and of longitude are at the pivot.
    unit: [f64; 2],
}

impl Track {
    fn new(window: &Window) -> Self {
        let ends = &window.positions;
        let begins: Vec<Position> =
            std::iter::once(window.origin).chain(ends.iter().copied()).take(ends.len()).collect();
        let moved = begins.iter().zip(ends);
        let moved = moved.map(|(from, to)| [to[0] - from[0], wrapped(to[1] - from[1])]).collect();
        let pivot = ends[window.observed - 1];
        let unit = [RADIUS_KM / UNIT_KM, RADIUS_KM * cos(pivot[0]) / UNIT_KM];
        Self { begins, moved, pivot, unit }
    }

    /// A position, north and east of the pivot in units.
    fn seen(&self, position: Position) -> [f64; 2] {
        let east = wrapped(position[1] - self.pivot[1]);
        [(position[0] - self.pivot[0]) * self.unit[0], east * self.unit[1]]
    }
}
