//! Tracks, and what is taken from them: windows to learn from, a panel, and the usual velocities.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::model::{PanelWindow, Part, Split, Window, panels, valid_starts};
use crate::sphere::{km_per_knot, velocity};
use crate::{AisError, Fleet, RESERVED_VESSELS, Reserved, Rules, Segment, Tracks, store};

use super::task::Scales;
use super::{Data, PanelName, VesselConfig, VesselError};

/// The tracks that a setting names, without the reserved vessels.
pub(super) fn tracks(data: &Data) -> Result<Arc<Tracks>, AisError> {
    match data {
        Data::Store(folder) => store::open(Path::new(folder), Reserved::Excluded).map(Arc::new),
        Data::Fleet(fleet) => sailed(fleet),
    }
}

/// The tracks of a fleet. It takes seconds to sail, and every condition of a study asks for the
/// same one: the latest is kept.
fn sailed(fleet: &Fleet) -> Result<Arc<Tracks>, AisError> {
    static LATEST: Mutex<Option<(Fleet, Arc<Tracks>)>> = Mutex::new(None);
    let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, tracks)) = latest.as_ref().filter(|(known, _)| known == fleet) {
        return Ok(tracks.clone());
    }
    let tracks = fleet.tracks(&Rules::default(), RESERVED_VESSELS, Reserved::Excluded)?;
    let tracks = Arc::new(tracks);
    *latest = Some((*fleet, tracks.clone()));
    Ok(tracks)
}

/// Everything that batches and panels are made of.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    segments: Vec<Segment>,
    step_seconds: u32,
    hash: String,
    training: Vec<PanelWindow>,
    panel: Vec<PanelWindow>,
    config: VesselConfig,
}

impl Windows {
    pub fn new(config: &VesselConfig, tracks: &Tracks) -> Result<Self, VesselError> {
        let shape = config.shape();
        let split = Split::of(tracks, &config.split)?;
        let [development, evaluation] = panels(tracks, &split, &shape)?;
        let panel = match config.panel {
            PanelName::Development => development.windows,
            PanelName::Evaluation => evaluation.windows,
        };
        let training: Vec<PanelWindow> = (split.segments(Part::Training).into_iter())
            .flat_map(|segment| {
                let of = &tracks.segments()[segment];
                let starts = valid_starts(of, tracks.step_seconds(), &shape);
                starts.into_iter().map(move |start| PanelWindow { segment, start })
            })
            .collect();
        let named = [("training", &training), (name(config.panel.part()), &panel)];
        for (part, windows) in named {
            if windows.is_empty() {
                return Err(VesselError::NoWindow { part, steps: shape.steps() });
            }
        }
        Ok(Self {
            segments: tracks.segments().to_vec(),
            step_seconds: tracks.step_seconds(),
            hash: tracks.hash().to_string(),
            training,
            panel,
            config: config.clone(),
        })
    }

    /// The hash that names the data.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Seconds of a step.
    pub fn step_seconds(&self) -> u32 {
        self.step_seconds
    }

    /// Windows of the panel.
    pub fn panel(&self) -> &[PanelWindow] {
        &self.panel
    }

    /// The segment that a window is part of.
    pub fn segment(&self, of: &PanelWindow) -> &Segment {
        &self.segments[of.segment]
    }

    /// A training window by a number in [0, 1): every valid start of every training segment is as
    /// likely.
    pub fn training(&self, uniform: f64) -> PanelWindow {
        let n = self.training.len();
        self.training[((uniform * n as f64) as usize).min(n - 1)]
    }

    /// The window that begins there.
    pub fn window(&self, at: PanelWindow) -> Result<Window, AisError> {
        let shape = self.config.shape();
        Window::of(&self.segments[at.segment], at.start, self.step_seconds, &shape)
    }

    /// The usual velocities of training segments that have a window, by all their steps.
    pub fn scales(&self) -> Result<Scales, VesselError> {
        let mut segments: Vec<usize> = self.training.iter().map(|w| w.segment).collect();
        segments.dedup();
        let (mut squares, mut changes) = ([0.0, 0.0], [0.0, 0.0]);
        for segment in segments {
            let places = self.segments[segment].places.iter();
            let positions: Vec<_> = places.map(|place| place.radians()).collect();
            let mut before = None;
            for two in positions.windows(2) {
                let now = velocity(two[0], two[1], self.step_seconds);
                add(&mut squares, now);
                if let Some([north, east]) = before.replace(now) {
                    add(&mut changes, [now[0] - north, now[1] - east]);
                }
            }
        }
        let mean = |[sum, count]: [f64; 2]| if count > 0.0 { (sum / count).sqrt() } else { 0.0 };
        let (velocity, change) = (mean(squares), mean(changes));
        if !(velocity > 0.0 && change > 0.0) {
            return Err(VesselError::Still);
        }
        Ok(Scales { km_per_knot: km_per_knot(self.step_seconds), velocity, change })
    }
}

/// Adds two squares to a sum and counts them.
fn add(sum: &mut [f64; 2], [north, east]: [f64; 2]) {
    sum[0] += north * north + east * east;
    sum[1] += 2.0;
}

fn name(part: Part) -> &'static str {
    match part {
        Part::Training => "training",
        Part::Development => "development",
        Part::Evaluation => "evaluation",
    }
}
