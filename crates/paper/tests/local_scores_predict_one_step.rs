//! The scores against what they claim to predict, and the study's counts.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use backcut_engine::{Cut, Model, Rollout};
use backcut_lab::measure::diagnostics::local_scores;
use backcut_lab::training::{AdamW, Arm, Optimizer, State, Trainer};
use backcut_paper::analytic::system::{Analytic, AnalyticConfig};
use backcut_paper::analytic::{GRAPHS, Row, StudyParams, run, summarise};
use backcut_systems::{BatchKey, Stream, System};

fn optimizer(rate: f64) -> Optimizer {
    Optimizer::adamw(AdamW { rate, ..AdamW::default() }, 20.0)
}

fn warm(system: &Analytic) -> State<f64> {
    let arm = Arm { cut: Cut::FF, seed: 5, stream: Stream::A, optimizer: optimizer(0.01) };
    let mut trainer = Trainer::<f64>::new(system, arm).unwrap();
    for _ in 0..20 {
        trainer.step().unwrap();
    }
    trainer.state()
}

fn loss(system: &Analytic, params: &[f64], key: BatchKey) -> f64 {
    let program = System::<f64>::program(system);
    let model = Model::new(program, params.to_vec()).unwrap();
    let mut rollout = Rollout::new(program, 8, 16, System::<f64>::spec(system)).unwrap();
    system.fill_batch(key, &mut rollout).unwrap();
    model.roll(&mut rollout).unwrap()
}

#[test]
fn a_small_step_raises_the_loss_over_ffs_by_the_update_score() {
    let system = AnalyticConfig::default().check().unwrap();
    let state = warm(&system);
    let key = |update| BatchKey { seed: 5, stream: Stream::A, update };
    let (next, diagnostic) = (key(state.update), key(900));
    // To first order: halving the rate halves the score and quarters what is left over.
    let rate = 1e-6;
    let scores =
        local_scores::<f64>(&system, &state, &optimizer(rate), next, diagnostic, &GRAPHS).unwrap();
    let after = |cut| {
        let arm = Arm { cut, seed: 5, stream: Stream::A, optimizer: optimizer(rate) };
        let mut trainer = Trainer::<f64>::resume(&system, arm, state.clone()).unwrap();
        trainer.step().unwrap();
        loss(&system, &trainer.state().params, diagnostic)
    };
    let ff = after(Cut::FF);
    for score in &scores[1..] {
        let made = after(score.cut) - ff;
        assert!(score.update != 0.0 && score.gradient != 0.0);
        let off = (made / score.update - 1.0).abs();
        assert!(off < 1e-3, "{}: predicted {:e}, made {made:e}", score.cut, score.update);
    }
    assert_eq!((scores[0].update, scores[0].gradient), (0.0, 0.0), "FF is its own reference");
}

#[test]
fn the_gradient_score_is_the_change_by_plain_descent() {
    let system = AnalyticConfig::default().check().unwrap();
    let state = warm(&system);
    let key = |update| BatchKey { seed: 5, stream: Stream::A, update };
    let (next, diagnostic) = (key(state.update), key(900));
    let rate = 1e-9;
    let scores =
        local_scores::<f64>(&system, &state, &optimizer(rate), next, diagnostic, &GRAPHS).unwrap();
    let stepped = |cut| {
        let arm = Arm { cut, seed: 5, stream: Stream::A, optimizer: optimizer(rate) };
        let mut trainer = Trainer::<f64>::resume(&system, arm, state.clone()).unwrap();
        trainer.step().unwrap();
        let gradient = trainer.gradient().to_vec();
        let params: Vec<f64> =
            state.params.iter().zip(gradient).map(|(p, g)| p - rate * g).collect();
        loss(&system, &params, diagnostic)
    };
    let ff = stepped(Cut::FF);
    for score in &scores[1..] {
        let made = stepped(score.cut) - ff;
        let off = (made / score.gradient - 1.0).abs();
        assert!(off < 1e-3, "{}: predicted {:e}, made {made:e}", score.cut, score.gradient);
    }
}

#[test]
fn a_small_study_counts_its_updates_and_repeats_to_the_bit() {
    let params = StudyParams {
        seeds: vec![1, 2, 3, 4],
        warm_updates: 5,
        updates: 4,
        ..StudyParams::default()
    };
    let study = run(&params).unwrap();
    assert_eq!(study.rows.len(), 4 * 2 * 2 * 2 * 4);
    assert_eq!(study.label_updates, 4 * 2 * 2 * 2 * 4 * 4);
    assert_eq!(study, run(&params).unwrap());
    let summary = summarise(&study, params.updates).unwrap();
    assert_eq!(summary.cases, 32);
    assert!(summary.scores.iter().all(|line| line.agreement.pairs == 32 * 6));
    assert_eq!(summary.labels.pairs, 16 * 6);
    let fixed = &summary.scores[2].agreement;
    assert!(summary.best_fixed.agreement.share >= fixed.share);
    assert_eq!(summary.clipped[0], ("unclipped".to_owned(), 0.0));
    assert!(summary.clipped[1].1 > 0.5, "{:?}", summary.clipped);
    let tied = |a: &Row, b: &Row| a.error == b.error;
    let cases = study.rows.chunks_exact(4);
    let ties = cases.flat_map(|c| (1..4).map(move |i| tied(&c[i - 1], &c[i]))).filter(|t| *t);
    assert_eq!(ties.count(), 0, "no two graphs train the same weights the same way");
}
