//! What the paper does not publish is a setting: each changes what a batch gives, none changes the
//! usual quadrotor, and the usual choice is not written into definitions.

use backcut_engine::{Model, Rollout};
use backcut_systems::{BatchKey, Built, Catalogue, Stream, SystemChoice};
use serde_json::{Value, json};

fn built(settings: Value) -> std::sync::Arc<Built> {
    let Value::Object(settings) = settings else { panic!("a table") };
    Catalogue::builtin().build(&SystemChoice::new("quadrotor", settings)).unwrap()
}

/// Weights, and the loss of the first batch of source 1 at 0.20 m/s.
fn first_loss(settings: Value) -> (usize, f64) {
    let built = built(settings);
    let system = built.double();
    let layout = system.program().layout();
    let model = Model::new(system.program(), layout.initialise(1)).unwrap();
    let (rows, steps) = (system.batch_rows(), system.steps());
    let mut rollout = Rollout::new(system.program(), rows, steps, system.spec()).unwrap();
    let key = BatchKey { seed: 1, stream: Stream::A, update: 0 };
    system.fill_batch(key, &mut rollout).unwrap();
    (layout.len(), model.roll(&mut rollout).unwrap())
}

#[test]
fn each_choice_gives_its_own_pinned_loss() {
    let cases = [
        (json!({}), PINNED[0]),
        (json!({"policy": {"embedding": "normalised"}}), PINNED[1]),
        (json!({"policy": {"embedding": "scaled"}}), PINNED[2]),
        (json!({"policy": {"embedding": "apg", "hidden": 128, "positions": 42}}), PINNED[3]),
        (json!({"policy": {"position_start": "unit"}}), PINNED[4]),
        (json!({"policy": {"position_start": "zero"}}), PINNED[5]),
        (json!({"policy": {"initialisation": "pytorch"}}), PINNED[6]),
        (json!({"policy": {"initialisation": "gpt-pytorch-embedding"}}), PINNED[7]),
        (json!({"policy": {"hidden": 256}}), PINNED[8]),
        (json!({"initial_velocity": "reference"}), PINNED[9]),
        (json!({"spread": {"velocity_mps": 0.12}}), PINNED[10]),
        // Keys' biases of PyTorch's start are not zero, and no query sees them.
        (json!({"policy": {"initialisation": "pytorch", "key_bias": false}}), PINNED[11]),
        (json!({"policy": {"positions": 42}}), PINNED[12]),
    ];
    let (mut found, mut is_pinned) = (Vec::new(), true);
    for (mut settings, (weights, loss)) in cases {
        // Rows of positions beyond the steps and keys' biases change the number of weights, not the
        // first loss.
        settings["velocity"] = json!(0.2);
        let (count, ours) = first_loss(settings.clone());
        is_pinned &= count == weights && (ours / loss - 1.0).abs() < 1e-12;
        found.push((count, ours));
    }
    assert!(is_pinned, "{found:?}");
    for (i, a) in found.iter().enumerate() {
        assert!(!found[..i].contains(a), "case {i} is another one: {a:?}");
    }
}

/// Weights and losses of the cases, in their order.
const PINNED: [(usize, f64); 13] = [
    (92_676, 661.899_688_607_249_8),
    (92_804, 692.348_624_973_594_5),
    (92_676, 699.767_647_076_425_2),
    (94_324, 671.969_140_611_888_1),
    (92_676, 525.369_062_055_558_2),
    (92_676, 707.819_723_244_212_7),
    (92_676, 1_051.316_654_778_948_8),
    (92_676, 922.292_160_165_867_2),
    (109_188, 625.267_485_208_697_5),
    (92_676, 864.836_106_229_638_2),
    (92_676, 725.827_345_640_154_4),
    (92_548, 1_051.316_654_778_948_5),
    (93_316, 661.899_688_607_249_8),
];

#[test]
fn the_published_encoder_has_the_published_number_of_weights() {
    let built = built(json!({"policy": {"embedding": "apg", "hidden": 128, "positions": 42}}));
    assert_eq!(built.system().program().layout().len(), 94_324);
}

#[test]
fn usual_choices_are_left_out_and_may_be_named() {
    let usual = built(json!({}));
    let text = usual.choice.settings.to_string();
    for key in ["embedding", "key_bias", "positions", "position_start", "initial_velocity"] {
        assert!(!text.contains(key), "{text}");
    }
    let named = built(json!({"initial_velocity": "rest",
        "policy": {"embedding": "plain", "key_bias": true, "position_start": "small"}}));
    assert_eq!(named.choice, usual.choice);
    let other = built(json!({"initial_velocity": "reference", "policy": {"key_bias": false}}));
    assert_eq!(other.choice.settings["policy"]["key_bias"], json!(false));
    assert_eq!(other.choice.settings["policy"]["hidden"], json!(192), "the rest is as usual");
    assert_eq!(built(other.choice.settings.clone()).choice, other.choice);
}

#[test]
fn choices_that_make_no_sense_are_errors() {
    for (settings, named) in [
        (json!({"policy": {"positions": 31}}), "`policy.positions` is 31"),
        (json!({"policy": {"mixer": "gru", "key_bias": false}}), "`policy.key_bias`"),
        (json!({"policy": {"embedding": "normal"}}), "unknown variant `normal`"),
        (json!({"policy": {"position_start": 0.5}}), "0.5"),
        (json!({"policy": {"key_biass": false}}), "key_biass"),
        (json!({"initial_velocity": "hover"}), "unknown variant `hover`"),
    ] {
        let Value::Object(settings) = settings else { panic!("a table") };
        let error =
            Catalogue::builtin().build(&SystemChoice::new("quadrotor", settings)).unwrap_err();
        assert!(error.to_string().contains(named), "{error}");
    }
}
