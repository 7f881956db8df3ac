//! What the grammar accepts, and where it says that it does not.

use super::*;

#[test]
fn names_directions_and_text_survive() {
    let contrast = Contrast::parse(" h1 = [SEG-2@0.20] - [F_SG@0.20] < 0 ").unwrap();
    assert_eq!(contrast.name, "h1");
    assert_eq!(contrast.direction, Some(Direction::Negative));
    assert_eq!(contrast.cells(), ["SEG-2@0.20", "F_SG@0.20"]);
    assert_eq!(contrast.to_string(), "h1 = [SEG-2@0.20] - [F_SG@0.20] < 0");
    assert_eq!(Contrast::parse(&contrast.to_string()).unwrap(), contrast);
}

#[test]
fn precedence_and_ratio_of_means() {
    let Body::Mean(Expr::Binary('-', _, right)) = Contrast::parse("[a] - [b] * 2").unwrap().body
    else {
        panic!("minus binds last")
    };
    assert!(matches!(*right, Expr::Binary('*', ..)));
    let ratio = Contrast::parse("mean([a]-[b]) / mean([c])").unwrap();
    assert!(matches!(ratio.body, Body::RatioOfMeans(..)));
}

#[test]
fn errors_name_the_character() {
    for (text, at) in [
        ("[a] - b", 7),
        ("[a", 1),
        ("", 1),
        ("x = 3", 4),
        ("= [a]", 1),
        ("[a] > 0.1", 7),
        ("[*]", 2),
        ("([a]", 5),
        ("[a] [b]", 5),
        ("mean([a])", 10),
    ] {
        match Contrast::parse(text) {
            Err(StatsError::Syntax { at: found, .. }) => assert_eq!(found, at, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn depth_is_bounded() {
    assert!(Contrast::parse(&format!("{}[a]{}", "(".repeat(5000), ")".repeat(5000))).is_err());
    assert!(Contrast::parse(&format!("{}[a]", "-".repeat(100_000))).is_err());
    assert!(Contrast::parse(&vec!["[a]"; 10_000].join("+")).is_err());
}

#[test]
fn the_bounds_themselves_are_allowed() {
    let sum = |count: usize| Contrast::parse(&vec!["[a]"; count].join("+"));
    assert!(sum(257).is_ok() && sum(258).is_err());
    // The cell itself is the last level.
    let nested = |depth: usize| Contrast::parse(&format!("{}[a]", "-".repeat(depth - 1)));
    assert!(nested(64).is_ok() && nested(65).is_err());
}

#[test]
fn a_slope_holds_no_slope_and_a_bracketed_sign_no_name() {
    let error = Contrast::parse("slope([a@*] - slope([b@*]))").unwrap_err().to_string();
    assert!(error.contains("a slope inside a slope"), "{error}");
    assert!(Contrast::parse("slope([a@*]) - slope([b@*])").is_ok());
    let contrast = Contrast::parse("[a=b] - [c]").unwrap();
    assert_eq!(contrast.cells(), ["a=b", "c"]);
}
