//! Batches and the panel, from named streams.
//!
//! Every number is a function of (seed, stream name, update, row) and of nothing else, so that
//! cuts, windows, noise levels and hidden velocity all see the same trajectories and the same
//! standardised noise. The panel has a seed and names of its own: it is one and the same for every
//! source and study.
//!
//! Numbers are drawn in `f64` and rounded once to the working precision. Filling allocates nothing
//! per row: a trajectory's table lies on the stack, which is why rollouts have at most
//! [`MAX_STEPS`] steps.

use std::f64::consts::TAU;

use backcut_engine::Rollout;
use backcut_kernels::Real;
use backcut_kernels::random::Stream;
use backcut_kernels::slices::{map_cos, map_sin};

use super::{
    DT, HORIZON, InitialSpread, InitialVelocity, MAX_STEPS, POINT, QuadrotorConfig, STATE,
};
use crate::BatchKey;

/// Trajectories of the evaluation panel.
pub const PANEL_ROWS: usize = 256;

const PANEL_SEED: u64 = 2_026_000_256;
const MAX_POINTS: usize = MAX_STEPS + HORIZON + 1;

/// Range of a reference axis: amplitude (m/s) and frequency (Hz) of its velocity.
const AMPLITUDE: [f64; 2] = [0.1, 0.3];
const FREQUENCY: [f64; 2] = [0.3, 0.8];

/// The first column of the velocity in the state.
const VELOCITY: usize = 6;

/// How trajectories begin.
pub(super) struct Begin {
    spread: InitialSpread,
    velocity: InitialVelocity,
}

impl From<&QuadrotorConfig> for Begin {
    fn from(config: &QuadrotorConfig) -> Self {
        Self { spread: config.spread, velocity: config.initial_velocity }
    }
}

/// Where trajectories come from: a training batch or the panel.
pub(super) struct Origin {
    reference: Stream,
    start: Stream,
    noise: Stream,
    update: u64,
    first: u64,
}

impl Origin {
    pub fn batch(key: BatchKey) -> Self {
        let seed = key.seed.wrapping_add(key.stream.offset());
        Self {
            reference: Stream::new(seed, "quadrotor reference"),
            start: Stream::new(seed, "quadrotor start"),
            noise: Stream::new(seed, "quadrotor noise"),
            update: key.update,
            first: 0,
        }
    }

    /// The panel's trajectories from `first` on.
    pub fn panel(first: usize) -> Self {
        Self {
            reference: Stream::new(PANEL_SEED, "quadrotor panel reference"),
            start: Stream::new(PANEL_SEED, "quadrotor panel start"),
            noise: Stream::new(PANEL_SEED, "quadrotor panel noise"),
            update: 0,
            first: first as u64,
        }
    }

    /// Hover at the origin plus normal offsets, around the reference's velocity if that is asked
    /// for.
    fn start(&self, row: usize, begin: &Begin, path: &Path) -> [f64; STATE] {
        let mut state = [0.0; STATE];
        self.start.at(self.update, self.first + row as u64).fill_normal(&mut state);
        for (part, spread) in state.chunks_exact_mut(3).zip(begin.spread.in_order()) {
            for x in part {
                *x *= spread;
            }
        }
        if begin.velocity == InitialVelocity::Reference {
            for (x, reference) in state[VELOCITY..].iter_mut().zip(at(&path.velocity, 0)) {
                *x += reference;
            }
        }
        state
    }

    /// Standard normals, step after step.
    fn noise(&self, row: usize, out: &mut [f64]) {
        self.noise.at(self.update, self.first + row as u64).fill_normal(out);
    }

    /// The reference at times 0 ... points - 1: velocity `A sin(w t + phase)` on each axis,
    /// position its integral from 0, `A / w (cos(phase) - cos(w t + phase))`.
    fn path(&self, row: usize, points: usize) -> Path {
        let mut draws = self.reference.at(self.update, self.first + row as u64);
        let mut path = Path::default();
        for (position, velocity) in path.position.iter_mut().zip(&mut path.velocity) {
            let amplitude = draws.uniform_in(AMPLITUDE[0], AMPLITUDE[1]);
            let omega = TAU * draws.uniform_in(FREQUENCY[0], FREQUENCY[1]);
            let phase = TAU * draws.uniform();
            let mut angle = [0.0; MAX_POINTS];
            for (i, angle) in angle[..points].iter_mut().enumerate() {
                *angle = omega * (i as f64 * DT) + phase;
            }
            map_sin(&angle[..points], &mut velocity.0[..points]);
            map_cos(&angle[..points], &mut position.0[..points]);
            let (reach, from) = (amplitude / omega, position.0[0]);
            for (p, v) in position.0[..points].iter_mut().zip(&mut velocity.0) {
                *p = reach * (from - *p);
                *v *= amplitude;
            }
        }
        path
    }
}

struct Axis([f64; MAX_POINTS]);

impl Default for Axis {
    fn default() -> Self {
        Self([0.0; MAX_POINTS])
    }
}

/// A reference, axis by axis.
#[derive(Default)]
struct Path {
    position: [Axis; 3],
    velocity: [Axis; 3],
}

fn at(axes: &[Axis; 3], point: usize) -> [f64; 3] {
    [axes[0].0[point], axes[1].0[point], axes[2].0[point]]
}

/// Fills the inputs of a rollout of the quadrotor's program. `hidden` leaves out the second copy of
/// the reference velocity, from which the reading would be subtracted.
pub(super) fn fill<R: Real>(
    origin: &Origin,
    begin: &Begin,
    hidden: bool,
    rollout: &mut Rollout<R>,
) {
    const DECLARED: &str = "the quadrotor's program declares it";
    let (rows, steps) = (rollout.rows(), rollout.steps());
    let points = steps + HORIZON;
    for row in 0..rows {
        let path = origin.path(row, points + 1);
        let start = origin.start(row, begin, &path).map(R::from_f64);
        let initial = rollout.initial_mut("state").expect(DECLARED);
        initial[row * STATE..][..STATE].copy_from_slice(&start);

        let mut table = [R::ZERO; POINT * MAX_POINTS];
        for (i, point) in table.chunks_exact_mut(POINT).take(points).enumerate() {
            let velocity = at(&path.velocity, i + 1).map(R::from_f64);
            point[..3].copy_from_slice(&at(&path.position, i + 1).map(R::from_f64));
            point[3..6].copy_from_slice(&velocity);
            if !hidden {
                point[6..].copy_from_slice(&velocity);
            }
        }
        // The points of step t follow those of step t - 1: a window over one table.
        let width = HORIZON * POINT;
        let reference = rollout.input_mut("reference").expect(DECLARED);
        for (t, out) in reference.chunks_exact_mut(rows * width).enumerate() {
            out[row * width..][..width].copy_from_slice(&table[t * POINT..][..width]);
        }
        let target = rollout.input_mut("target").expect(DECLARED);
        for (t, out) in target.chunks_exact_mut(rows * 6).enumerate() {
            out[row * 6..][..6].copy_from_slice(&table[t * POINT..][..6]);
        }

        let mut normals = [0.0; 3 * MAX_STEPS];
        origin.noise(row, &mut normals[..3 * steps]);
        let noise = rollout.input_mut("noise").expect(DECLARED);
        for (out, normals) in noise.chunks_exact_mut(rows * 3).zip(normals.chunks_exact(3)) {
            for (out, &normal) in out[row * 3..].iter_mut().zip(normals) {
                *out = R::from_f64(normal);
            }
        }
    }
}

/// What a batch is made of, as numbers to look at or to export.
#[derive(Clone, PartialEq, Debug)]
pub struct Batch {
    /// Trajectories.
    pub rows: usize,
    /// Steps T of a rollout.
    pub steps: usize,
    /// `[row][12]`
    pub initial_state: Vec<f64>,
    /// `[row][time][3]`, times 0 ... T + 10.
    pub reference_position: Vec<f64>,
    /// `[row][time][3]`, times 0 ... T + 10.
    pub reference_velocity: Vec<f64>,
    /// Standard normals, `[row][step][3]`.
    pub noise: Vec<f64>,
}

impl Batch {
    pub(super) fn draw(origin: &Origin, begin: &Begin, rows: usize, steps: usize) -> Self {
        let points = steps + HORIZON + 1;
        let mut batch = Self {
            rows,
            steps,
            initial_state: Vec::new(),
            reference_position: Vec::new(),
            reference_velocity: Vec::new(),
            noise: vec![0.0; rows * steps * 3],
        };
        for (row, noise) in batch.noise.chunks_exact_mut(steps * 3).enumerate() {
            let path = origin.path(row, points);
            batch.initial_state.extend(origin.start(row, begin, &path));
            for point in 0..points {
                batch.reference_position.extend(at(&path.position, point));
                batch.reference_velocity.extend(at(&path.velocity, point));
            }
            origin.noise(row, noise);
        }
        batch
    }
}
