//! Chain gains are those of the closed loop itself: central differences in `f64`.

use std::num::NonZeroUsize;

use crate::common::PointMass;
use backcut_engine::{Fed, ForwardSpec, Model, Rollout};
use backcut_lab::measure::chain_gains;
use backcut_lab::training::State;
use backcut_systems::quadrotor::{Quadrotor, QuadrotorConfig};
use backcut_systems::{BatchKey, SampleError, Stream, System};

const KEY: BatchKey = BatchKey { seed: 4, stream: Stream::A, update: 3 };

/// Largest singular value by power iteration, which shares nothing with the crate's own.
fn norm2(m: &[f64], dim: usize) -> f64 {
    let mut x: Vec<f64> = (0..dim).map(|i| 1.0 + (i as f64) / 7.0).collect();
    let mut gain = 0.0;
    for _ in 0..20_000 {
        let y: Vec<f64> =
            m.chunks(dim).map(|row| row.iter().zip(&x).map(|(a, b)| a * b).sum()).collect();
        let mut back = vec![0.0; dim];
        for (row, y) in m.chunks(dim).zip(&y) {
            back.iter_mut().zip(row).for_each(|(b, a)| *b += a * y);
        }
        let length = back.iter().map(|b| b * b).sum::<f64>().sqrt();
        gain = length.sqrt();
        x = back.iter().map(|b| b / length).collect();
    }
    gain
}

/// A rolled batch whose state `name` at step `t` is moved by `h` in `column`.
fn moved(
    system: &dyn System<f64>,
    model: &Model<f64>,
    plain: &Rollout<f64>,
    at: (&str, usize, usize),
    h: f64,
) -> Rollout<f64> {
    let (name, t, column) = at;
    let program = system.program();
    let site = program.tap(name).unwrap();
    let width = program.width(site);
    let mut values = plain.value(site, t).to_vec();
    values.iter_mut().skip(column).step_by(width).for_each(|v| *v += h);
    let fed = Fed { site: name.to_owned(), steps: t..t + 1 };
    let spec = ForwardSpec { fed: vec![fed], ..system.spec() };
    let mut rollout = Rollout::new(program, system.batch_rows(), system.steps(), spec).unwrap();
    system.fill_batch(KEY, &mut rollout).unwrap();
    rollout.fed_mut(name).unwrap().copy_from_slice(&values);
    model.roll(&mut rollout).unwrap();
    rollout
}

/// Without memory to detach (a window of one position), a disturbed state is the whole story: the
/// difference of the rolled-out states is the chain.
#[test]
fn whole_chains_of_the_quadrotor_without_memory() {
    let velocity = "0.20".parse().unwrap();
    let window = NonZeroUsize::new(1);
    let config = QuadrotorConfig { velocity, window, ..QuadrotorConfig::default() };
    let system: Quadrotor = config.check().unwrap();
    let state = State::<f64>::initial(&system, 9);
    let program = System::<f64>::program(&system);
    let model = Model::new(program, state.params).unwrap();
    let mut plain = Rollout::new(program, 8, 32, System::<f64>::spec(&system)).unwrap();
    system.fill_batch(KEY, &mut plain).unwrap();
    model.roll(&mut plain).unwrap();
    let gains = chain_gains::<f64>(&system, &model, &plain).unwrap();
    let next = program.tap("next_state").unwrap();
    let h = 1e-5;
    for (t, k) in [(1, 1), (32, 1), (9, 4), (20, 17), (32, 31)] {
        let mut chains = vec![vec![0.0; 144]; 8];
        for column in 0..12 {
            let site = ("state", t - k, column);
            let up = moved(&system, &model, &plain, site, h);
            let down = moved(&system, &model, &plain, site, -h);
            let ends = up.value(next, t - 1).chunks(12).zip(down.value(next, t - 1).chunks(12));
            for (chain, (up, down)) in chains.iter_mut().zip(ends) {
                for i in 0..12 {
                    chain[i * 12 + column] = (up[i] - down[i]) / (2.0 * h);
                }
            }
        }
        for (row, chain) in chains.iter().enumerate() {
            let (found, want) = (gains[row].at(t, k).unwrap(), norm2(chain, 12));
            assert!((found / want - 1.0).abs() < 1e-7, "t {t} k {k} row {row}: {found} {want}");
        }
    }
    assert_eq!(gains[0].at(0, 1), None);
    assert_eq!(gains[0].at(3, 4), None);
    assert_eq!(gains[0].at(33, 1), None);
}

/// The point mass, measured in other units at every step.
struct Scaled(PointMass);

/// Units of position and velocity.
fn scale(t: usize) -> [f64; 2] {
    [1.0 + t as f64, 3.0 / (2.0 + t as f64)]
}

impl System<f64> for Scaled {
    fn program(&self) -> &std::sync::Arc<backcut_engine::Program> {
        System::<f64>::program(&self.0)
    }
    fn steps(&self) -> usize {
        System::<f64>::steps(&self.0)
    }
    fn batch_rows(&self) -> usize {
        System::<f64>::batch_rows(&self.0)
    }
    fn fill_batch(&self, key: BatchKey, rollout: &mut Rollout<f64>) -> Result<(), SampleError> {
        self.0.fill_batch(key, rollout)
    }
    fn panel_group(&self) -> usize {
        System::<f64>::panel_group(&self.0)
    }

    fn panel_rows(&self) -> usize {
        System::<f64>::panel_rows(&self.0)
    }
    fn fill_panel(&self, first: usize, rollout: &mut Rollout<f64>) -> Result<(), SampleError> {
        self.0.fill_panel(first, rollout)
    }
    fn row_errors(&self, rollout: &Rollout<f64>, errors: &mut [f64]) {
        self.0.row_errors(rollout, errors);
    }
    fn state_scales(&self, _: &Rollout<f64>, t: usize, _: usize, scales: &mut [f64]) {
        scales.copy_from_slice(&scale(t));
    }
}

/// With memory, each link is a difference with the earlier memory held; the chain is their product.
#[test]
fn products_of_links_with_memory_detached_and_units_of_the_system() {
    let system = Scaled(PointMass::new());
    let program = system.program().clone();
    let params = State::<f64>::initial(&system, 2).params;
    let model = Model::new(&program, params).unwrap();
    let (rows, steps) = (system.batch_rows(), system.steps());
    let mut plain = Rollout::new(&program, rows, steps, ForwardSpec::default()).unwrap();
    system.fill_batch(KEY, &mut plain).unwrap();
    model.roll(&mut plain).unwrap();
    let gains = chain_gains::<f64>(&system, &model, &plain).unwrap();
    // The states after step j are those before step j + 1.
    let states = ["position", "velocity"];
    let sites = states.map(|name| program.tap(name).unwrap());
    let h = 1e-5;
    let link = |j: usize, row: usize| {
        let mut link = [0.0; 4];
        for (column, name) in states.iter().enumerate() {
            let up = moved(&system, &model, &plain, (name, j, 0), h);
            let down = moved(&system, &model, &plain, (name, j, 0), -h);
            for i in 0..2 {
                let after = |r: &Rollout<f64>| r.value(sites[i], j + 1)[row];
                link[i * 2 + column] = (after(&up) - after(&down)) / (2.0 * h);
            }
        }
        link
    };
    for row in [0, rows - 1] {
        let t = steps - 1;
        let mut chain = [1.0, 0.0, 0.0, 1.0];
        for k in 1..=t {
            let a = link(t - k, row);
            chain = [
                chain[0] * a[0] + chain[1] * a[2],
                chain[0] * a[1] + chain[1] * a[3],
                chain[2] * a[0] + chain[3] * a[2],
                chain[2] * a[1] + chain[3] * a[3],
            ];
            let (d, e) = (scale(t), scale(t - k));
            let scaled: Vec<f64> = (0..4).map(|i| chain[i] * d[i / 2] / e[i % 2]).collect();
            let (found, want) = (gains[row].at(t, k).unwrap(), norm2(&scaled, 2));
            assert!((found / want - 1.0).abs() < 1e-8, "k {k} row {row}: {found} {want}");
        }
    }
}
