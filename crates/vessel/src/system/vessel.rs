//! The vessel as training and measurement see it.

use std::sync::Arc;

use crate::model::Window;
use crate::sphere::{Position, RADIUS_KM, wrapped};
use crate::{AisError, Tracks};
use backcut_engine::{Fed, ForwardSpec, MemoryReads, Program, Rollout};
use backcut_kernels::Real;
use serde_json::{Map, Value, json};

use super::data::Windows;
use super::sampler::Batch;
use super::task::{self, Scales};
use super::{Phase, STATE, VesselConfig, VesselError, reference};
use backcut_systems::{BatchKey, Reference, SampleError, System};

/// A checked vessel: [`VesselConfig::check`] makes one.
#[derive(Clone, Debug)]
pub struct Vessel {
    config: VesselConfig,
    windows: Windows,
    scales: Scales,
    program: Arc<Program>,
}

impl Vessel {
    pub(super) fn new(config: VesselConfig, tracks: &Tracks) -> Result<Self, VesselError> {
        let windows = Windows::new(&config, tracks)?;
        let scales = windows.scales()?;
        let program = Arc::new(task::compile(&config, &scales)?);
        Ok(Self { config, windows, scales, program })
    }

    /// The configuration it was made of.
    pub fn config(&self) -> &VesselConfig {
        &self.config
    }

    /// Root mean square of the training velocities' components, knots: the unit of noise.
    pub fn velocity_rms(&self) -> f64 {
        self.scales.velocity
    }

    /// The numbers behind a training batch, in `f64`.
    pub fn batch(&self, key: BatchKey) -> Result<Batch, SampleError> {
        Batch::training(&self.windows, key, self.config.batch).map_err(|error| no_batch(&error))
    }

    /// The numbers behind the panel's windows `first..first + rows`, in `f64`.
    pub fn panel(&self, first: usize, rows: usize) -> Result<Batch, SampleError> {
        Batch::panel(&self.windows, first, rows).map_err(|error| no_batch(&error))
    }

    /// Where a finished rollout sailed in a row that was filled with a window: from the last
    /// observed position on.
    pub fn sailed<R: Real>(
        &self,
        rollout: &Rollout<R>,
        row: usize,
        window: &Window,
    ) -> Vec<Position> {
        let last = window.observed - 1;
        let Some(state) = self.program.tap("next_state") else { return Vec::new() };
        let away = |t: usize| {
            let difference = &rollout.value(state, t)[row * STATE..];
            let [latitude, longitude] = window.positions[t];
            [latitude + difference[0].to_f64(), wrapped(longitude + difference[1].to_f64())]
        };
        let later = window.observed..window.positions.len();
        std::iter::once(window.positions[last]).chain(later.map(away)).collect()
    }

    /// Where constant velocity leads from the last observed position on.
    pub fn sailing_on(&self, window: &Window) -> Vec<Position> {
        reference::positions(window, self.windows.step_seconds()).collect()
    }

    /// The error of constant velocity on every window of the panel, as
    /// [`row_errors`](System::row_errors) would measure it: sailing on with the last observed
    /// velocity, or in pretraining the last velocity taken for the next one.
    pub fn constant_velocity(&self) -> Result<Vec<f64>, SampleError> {
        let windows = self.panel(0, self.windows.panel().len())?.windows;
        let error = |window| match self.config.phase {
            Phase::Pretrain => reference::velocity_error(window, self.config.prefix()),
            Phase::Rollout => mean(reference::position_errors(window, self.windows.step_seconds())),
        };
        Ok(windows.iter().map(error).collect())
    }
}

fn mean(errors: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = errors.len() as f64;
    errors.sum::<f64>() / count
}

fn no_batch(error: &AisError) -> SampleError {
    SampleError(error.to_string())
}

impl<R: Real> System<R> for Vessel {
    fn program(&self) -> &Arc<Program> {
        &self.program
    }

    fn steps(&self) -> usize {
        self.config.steps()
    }

    fn batch_rows(&self) -> usize {
        self.config.batch
    }

    /// Observed velocities are fed as actions; teacher forcing feeds every state.
    fn spec(&self) -> ForwardSpec<R> {
        let reads = self.config.window.map_or(MemoryReads::All, MemoryReads::Window);
        let prefix = self.config.prefix();
        let fed = match self.config.phase {
            Phase::Pretrain => Fed { site: "state".to_owned(), steps: 0..self.config.steps() },
            Phase::Rollout => Fed { site: "action".to_owned(), steps: 0..prefix },
        };
        ForwardSpec { prefix, reads, fed: vec![fed], ..ForwardSpec::default() }
    }

    fn fill_batch(&self, key: BatchKey, rollout: &mut Rollout<R>) -> Result<(), SampleError> {
        self.batch(key)?.fill(rollout);
        Ok(())
    }

    fn panel_rows(&self) -> usize {
        self.windows.panel().len()
    }

    fn panel_group(&self) -> usize {
        8
    }

    fn fill_panel(&self, first: usize, rollout: &mut Rollout<R>) -> Result<(), SampleError> {
        self.panel(first, rollout.rows())?.fill(rollout);
        Ok(())
    }

    /// The loss of a row, which is the error itself; in pretraining it is in units of the usual
    /// change.
    fn row_errors(&self, rollout: &Rollout<R>, errors: &mut [f64]) {
        let unit = match self.config.phase {
            Phase::Pretrain => self.scales.change * self.scales.change,
            Phase::Rollout => 1.0,
        };
        for (error, loss) in errors.iter_mut().zip(rollout.row_loss().unwrap_or_default()) {
            *error = loss * unit;
        }
    }

    fn safeguarded(&self, rollout: &Rollout<R>) -> usize {
        let Some(beyond) = self.program.tap("beyond_pole") else { return 0 };
        rollout.values(beyond).iter().filter(|x| **x != R::ZERO).count()
    }

    fn reference(&self) -> Result<Option<Reference>, SampleError> {
        let mut steps = Vec::new();
        if self.config.phase == Phase::Rollout {
            let windows = self.panel(0, self.windows.panel().len())?.windows;
            steps = vec![0.0; self.config.learned_steps()];
            for window in &windows {
                let errors = reference::position_errors(window, self.windows.step_seconds());
                steps.iter_mut().zip(errors).for_each(|(sum, error)| *sum += error);
            }
            for sum in &mut steps {
                *sum /= windows.len() as f64;
            }
        }
        Ok(Some(Reference { name: "constant velocity", errors: self.constant_velocity()?, steps }))
    }

    /// The vessel, and when its track begins.
    fn panel_segment(&self, row: usize) -> Option<(String, String)> {
        let segment = self.windows.segment(self.windows.panel().get(row)?);
        Some((segment.vessel.clone(), segment.begin.to_string()))
    }

    /// Squared distances after each step of a rollout, from the difference that the state is.
    fn step_errors(&self, rollout: &Rollout<R>, row: usize) -> Vec<f64> {
        let sites = [self.program.tap("next_state"), self.program.tap("east_km")];
        let [Some(state), Some(east_km)] = sites else { return Vec::new() };
        let error = |t: usize| {
            let position = &rollout.value(state, t)[row * STATE..];
            let north = position[0].to_f64() * RADIUS_KM;
            let east = position[1].to_f64() * rollout.value(east_km, t)[row].to_f64();
            north * north + east * east
        };
        (self.config.prefix()..self.config.steps()).map(error).collect()
    }

    fn data_hash(&self) -> Option<String> {
        Some(self.windows.hash().to_owned())
    }

    /// The windows: positions (rad, the origin first), velocities (knots), key points, and the
    /// noise.
    fn raw_batch(&self, key: BatchKey) -> Vec<(String, Vec<usize>, Vec<f64>)> {
        let Ok(Batch { windows, noise }) = self.batch(key) else { return Vec::new() };
        let (rows, steps) = (windows.len(), self.config.steps());
        let flat = |values: &dyn Fn(&crate::model::Window) -> Vec<[f64; 2]>| {
            windows.iter().flat_map(values).flatten().collect::<Vec<f64>>()
        };
        let positions = flat(&|w| [&[w.origin][..], &w.positions].concat());
        let points = self.config.preset.sizes().key_points;
        vec![
            ("positions".to_owned(), vec![rows, steps + 1, 2], positions),
            ("velocities".to_owned(), vec![rows, steps, 2], flat(&|w| w.velocities.clone())),
            ("route".to_owned(), vec![rows, points, 2], flat(&|w| w.route())),
            ("noise".to_owned(), vec![rows, steps, 2], noise),
        ]
    }

    /// The preset's sizes and the scales of the data.
    fn constants(&self) -> Map<String, Value> {
        let Scales { km_per_knot, velocity, change } = self.scales;
        Map::from_iter([
            ("sizes".to_owned(), json!(self.config.preset.sizes())),
            ("km_per_knot".to_owned(), json!(km_per_knot)),
            ("velocity_rms".to_owned(), json!(velocity)),
            ("change_rms".to_owned(), json!(change)),
        ])
    }

    /// Kilometres per radian at the true latitude, and kilometres per knot.
    fn state_scales(&self, rollout: &Rollout<R>, t: usize, row: usize, scales: &mut [f64]) {
        let value = |name: &str, step: usize, width: usize| {
            let site = self.program.tap(name)?;
            Some(rollout.value(site, step)[row * width].to_f64())
        };
        // Pretraining's loss asks for no kilometres, so the cosine where the last step begins must
        // do.
        let last = t.min(rollout.steps() - 1);
        let cos = value("cos_sin", last, 2).unwrap_or(1.0);
        let end = if t > last { value("east_km", last, 1) } else { None };
        let c = self.scales.km_per_knot;
        scales.copy_from_slice(&[RADIUS_KM, end.unwrap_or(RADIUS_KM * cos), c, c]);
    }
}
