//! The diagnostic study: 16 seeds, 2 couplings, 2 optimizers, 2 futures, 4 graphs.
//!
//! A seed, coupling and optimizer are warmed up under FF; at that anchor the scores of the four
//! graphs are taken. Then each graph is trained persistently for 32 updates on one of two futures
//! (stream a goes on; stream b is the same sampler at seeds + 10^9), and its error on the panel is
//! the label. The paper gives the counts; the system, the warm-up, the two optimizers and the
//! rollout length are this project's: AdamW whose clip by the global norm never acts, and the same
//! with a threshold that acts at almost every update, as in the paper's vessel study.

use super::system::{Analytic, AnalyticConfig};
use backcut_engine::Cut;
use backcut_lab::training::{AdamW, Arm, Optimizer, State, TrainError, Trainer};
use backcut_systems::{BatchKey, Stream};

use backcut_lab::measure::MeasureError;
use backcut_lab::measure::diagnostics::local_scores;

/// The graphs that are compared, FF first.
pub const GRAPHS: [Cut; 4] = [Cut::FF, Cut::FD, Cut::KF, Cut::KD];

/// The update whose batch is the diagnostic one: no training run comes near it.
const DIAGNOSTIC_UPDATE: u64 = 1 << 40;

/// What the study consists of.
#[derive(Clone, PartialEq, Debug)]
pub struct StudyParams {
    /// Sources.
    pub seeds: Vec<u64>,
    /// How strongly memory acts on the physical state.
    pub couplings: Vec<f64>,
    /// Thresholds of the global-norm clip, by the optimizer's name.
    pub optimizers: Vec<(String, Optimizer)>,
    /// FF updates before the anchor.
    pub warm_updates: u64,
    /// Updates of each graph after it.
    pub updates: u64,
    /// Steps of a rollout.
    pub steps: usize,
}

impl Default for StudyParams {
    fn default() -> Self {
        let adamw = AdamW { rate: 0.01, ..AdamW::default() };
        Self {
            seeds: (1..=16).collect(),
            couplings: vec![0.5, 1.0],
            optimizers: vec![
                ("unclipped".to_owned(), Optimizer::adamw(adamw, 1e9)),
                ("clipped".to_owned(), Optimizer::adamw(adamw, 5.0)),
            ],
            warm_updates: 32,
            updates: 32,
            steps: AnalyticConfig::default().steps,
        }
    }
}

/// One graph in one case: a row of the tidy table.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The source.
    pub seed: u64,
    /// The coupling.
    pub coupling: f64,
    /// The optimizer's name.
    pub optimizer: String,
    /// The future: stream a or b.
    pub future: Stream,
    /// The graph.
    pub graph: Cut,
    /// `S_G` at the anchor.
    pub score_gradient: f64,
    /// `S_U` at the anchor.
    pub score_update: f64,
    /// Panel error at the anchor.
    pub anchor_error: f64,
    /// Panel error after training: the label.
    pub error: f64,
    /// Updates of this row whose gradient was clipped.
    pub clipped: u64,
}

/// All rows, and how many label updates they took.
#[derive(Clone, PartialEq, Debug)]
pub struct AnalyticStudy {
    /// Cases in order, the graphs of a case together in the order of [`GRAPHS`].
    pub rows: Vec<Row>,
    /// Updates that trained labels; warm-up not counted.
    pub label_updates: u64,
}

/// Runs the study, in `f64`.
pub fn run(params: &StudyParams) -> Result<AnalyticStudy, MeasureError> {
    let mut study = AnalyticStudy { rows: Vec::new(), label_updates: 0 };
    for &coupling in &params.couplings {
        let config = AnalyticConfig { coupling, steps: params.steps, ..AnalyticConfig::default() };
        let system = config.check().map_err(|e| MeasureError::Unfit(e.to_string()))?;
        for &seed in &params.seeds {
            for (name, optimizer) in &params.optimizers {
                let anchor = Anchor::new(&system, seed, optimizer.clone(), params)?;
                for future in [Stream::A, Stream::B] {
                    anchor.future(future, name, params, &mut study)?;
                }
            }
        }
    }
    Ok(study)
}

/// A warm state from which every graph departs.
struct Anchor<'s> {
    system: &'s Analytic,
    arm: Arm,
    state: State<f64>,
    error: f64,
}

impl<'s> Anchor<'s> {
    fn new(
        system: &'s Analytic,
        seed: u64,
        optimizer: Optimizer,
        params: &StudyParams,
    ) -> Result<Self, MeasureError> {
        let arm = Arm { cut: Cut::FF, seed, stream: Stream::A, optimizer };
        let mut trainer = Trainer::<f64>::new(system, arm.clone()).map_err(|e| failed(&e))?;
        for _ in 0..params.warm_updates {
            trainer.step().map_err(|e| failed(&e))?;
        }
        let error = trainer.evaluate().map_err(|e| failed(&e))?.mean;
        Ok(Self { system, arm, state: trainer.state(), error })
    }

    fn future(
        &self,
        future: Stream,
        optimizer: &str,
        params: &StudyParams,
        study: &mut AnalyticStudy,
    ) -> Result<(), MeasureError> {
        let seed = self.arm.seed;
        let next = BatchKey { seed, stream: future, update: self.state.update };
        let diagnostic = BatchKey { seed, stream: Stream::A, update: DIAGNOSTIC_UPDATE };
        let setting = &self.arm.optimizer;
        let scores =
            local_scores::<f64>(self.system, &self.state, setting, next, diagnostic, &GRAPHS)?;
        for score in scores {
            let arm = Arm { cut: score.cut, stream: future, ..self.arm.clone() };
            let mut trainer = Trainer::<f64>::resume(self.system, arm, self.state.clone())
                .map_err(|e| failed(&e))?;
            let mut clipped = 0;
            for _ in 0..params.updates {
                let log = trainer.step().map_err(|e| failed(&e))?;
                clipped += u64::from(log.is_clipped());
                study.label_updates += 1;
            }
            study.rows.push(Row {
                seed,
                coupling: self.system.config().coupling,
                optimizer: optimizer.to_owned(),
                future,
                graph: score.cut,
                score_gradient: score.gradient,
                score_update: score.update,
                anchor_error: self.error,
                error: trainer.evaluate().map_err(|e| failed(&e))?.mean,
                clipped,
            });
        }
        Ok(())
    }
}

fn failed(error: &TrainError) -> MeasureError {
    MeasureError::Unfit(format!("the analytic system: {error}"))
}
