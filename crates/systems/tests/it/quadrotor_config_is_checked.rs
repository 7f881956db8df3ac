//! Only sound configurations run; the others say what is wrong and what to do.

use backcut_systems::quadrotor::{QuadrotorConfig, QuadrotorError, VelocityReading};
use backcut_systems::{Catalogue, System, SystemChoice};
use backcut_text::Hinted as _;
use serde_json::json;

#[test]
fn readings_parse_and_print_in_one_form() {
    for (text, canonical) in
        [("0.20", "0.2"), ("0", "0"), ("-0", "0"), ("5e-2", "0.05"), ("hidden", "hidden")]
    {
        let reading: VelocityReading = text.parse().unwrap();
        assert_eq!(reading.to_string(), canonical);
        assert_eq!(canonical.parse::<VelocityReading>().unwrap(), reading);
    }
    for text in ["", "Hidden", "0,2", "-0.1", "nan", "inf"] {
        let error = text.parse::<VelocityReading>().unwrap_err();
        assert!(!error.hint().is_empty(), "{error}");
    }
}

#[test]
fn files_hold_a_number_or_the_word_hidden() {
    for json in ["0.2", "\"hidden\""] {
        let reading: VelocityReading = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&reading).unwrap(), json);
    }
    assert!(serde_json::from_str::<VelocityReading>("-0.2").is_err());
    assert!(serde_json::from_str::<VelocityReading>("\"absent\"").is_err());
}

#[test]
fn a_configuration_survives_its_file_and_unknown_keys_do_not() {
    let config = QuadrotorConfig { window: std::num::NonZeroUsize::new(2), ..Default::default() };
    let text = serde_json::to_string(&config).unwrap();
    assert_eq!(serde_json::from_str::<QuadrotorConfig>(&text).unwrap(), config);
    assert_eq!(serde_json::from_str::<QuadrotorConfig>("{}").unwrap(), QuadrotorConfig::default());
    for text in ["{\"noise\": 0.1}", "{\"window\": 0}", "{\"spread\": {\"position\": 1.0}}"] {
        assert!(serde_json::from_str::<QuadrotorConfig>(text).is_err(), "{text}");
    }
}

type Change = fn(&mut QuadrotorConfig);

#[test]
fn unsound_numbers_are_refused_by_name() {
    let broken = |change: Change| {
        let mut config = QuadrotorConfig::default();
        change(&mut config);
        config.check().map(|_| ()).unwrap_err()
    };
    assert_eq!(broken(|c| c.velocity = VelocityReading::Noise(-0.1)), QuadrotorError::Noise(-0.1));
    assert_eq!(
        broken(|c| c.spread.rates_radps = f64::INFINITY),
        QuadrotorError::Spread { name: "rates_radps", value: f64::INFINITY }
    );
    let sizes: [(&str, Change); 6] = [
        ("policy.steps", |c| c.policy.steps = 129),
        ("policy.width", |c| c.policy.width = 0),
        ("policy.layers", |c| c.policy.layers = 0),
        ("policy.heads", |c| c.policy.heads = 3),
        ("policy.hidden", |c| c.policy.hidden = 0),
        ("batch", |c| c.batch = 0),
    ];
    for (expected, change) in sizes {
        let error = broken(change);
        assert!(matches!(error, QuadrotorError::Size { name, .. } if name == expected), "{error}");
        assert!(!error.hint().is_empty());
    }
}

#[test]
fn the_default_policy_has_about_the_paper_s_number_of_weights() {
    let system = QuadrotorConfig::default().check().unwrap();
    let weights = System::<f32>::program(&system).layout().len();
    // The paper's has 94,324; its exact arrangement is not published.
    assert_eq!(weights, 92_676);
}

#[test]
fn a_policy_is_chosen_by_its_memory() {
    let build = |settings: serde_json::Value| {
        let serde_json::Value::Object(settings) = settings else { panic!("a table") };
        Catalogue::builtin().build(&SystemChoice::new("quadrotor", settings))
    };
    let usual = build(json!({})).unwrap();
    assert!(usual.choice.settings["policy"].get("mixer").is_none(), "as before there were others");
    // The usual one may be named, and changes nothing.
    for named in [
        json!({"policy": "attention"}),
        json!({"policy": {"mixer": "attention", "steps": 32,
        "width": 64, "layers": 2, "heads": 4, "hidden": 192, "initialisation": "gpt"}}),
    ] {
        assert_eq!(build(named).unwrap().choice, usual.choice);
    }
    for name in ["gru", "lstm", "ssm", "none"] {
        let built = build(json!({"policy": name})).unwrap();
        assert_eq!(built.choice.settings["policy"]["mixer"], name);
        assert!(built.words.contains(name), "{}", built.words);
        let again = build(built.choice.settings.clone()).unwrap();
        assert_eq!(again.choice, built.choice);
    }
    let error = build(json!({"policy": "gru", "window": 1})).unwrap_err();
    assert!(error.to_string().contains("remembers by `gru`"), "{error}");
    assert!(build(json!({"policy": "grru"})).is_err());
}
