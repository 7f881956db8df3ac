//! Arbitrary text is a value or an error, and what parses prints to what parses to the same.

use backcut_stats::{Contrast, FamilyParams, Layout, SourceTable, forest, text};
use proptest::prelude::*;

const TABLE: &str = "seed,a,b,FF@0,FF@0.1\n1,1,2,3,4\n2,0,-1,1e300,2\n3,1,x,1,\n4,2,3,4,5\n";

/// Pieces of the grammar, so that many samples come close to parsing.
fn nearly_a_contrast() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("[a]".to_owned()),
        Just("[FF@*]".to_owned()),
        Just("slope(".to_owned()),
        Just("mean(".to_owned()),
        Just(" over 0, 0.1".to_owned()),
        Just("=".to_owned()),
        Just("> 0".to_owned()),
        "[-+*/()\\[\\]<>=.,e0-9 ]",
        "\\PC",
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn contrasts(text in prop_oneof![nearly_a_contrast(), "\\PC{0,60}"]) {
        if let Ok(contrast) = Contrast::parse(&text) {
            let again = Contrast::parse(&contrast.to_string());
            prop_assert_eq!(again.map(|c| (c.body, c.direction)), Ok((contrast.body.clone(), contrast.direction)));
            let table = SourceTable::from_csv(TABLE.as_bytes(), &Layout::default()).unwrap();
            if let Ok(evaluated) = contrast.evaluate(&table) {
                prop_assert!(evaluated.values.iter().all(|v| v.is_finite()));
            }
        }
    }
}

fn nearly_a_table() -> impl Strategy<Value = Vec<u8>> {
    let field =
        prop_oneof!["[0-9]{1,3}", "-?[0-9]\\.[0-9]e-?[0-9]{1,3}", Just(String::new()), "\\PC{0,4}"];
    let row = prop::collection::vec(field, 1..5).prop_map(|fields| fields.join(","));
    let header = prop_oneof![
        Just("seed,a,b".to_owned()),
        Just("seed,arm,value".to_owned()),
        Just("source,cluster,stratum,a".to_owned()),
        "\\PC{0,20}",
    ];
    (header, prop::collection::vec(row, 0..9))
        .prop_map(|(header, rows)| format!("{header}\n{}", rows.join("\n")).into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tables(bytes in prop_oneof![nearly_a_table(), prop::collection::vec(any::<u8>(), 0..200)]) {
        if let Ok(table) = SourceTable::from_bytes(&bytes, &Layout::default()) {
            let contrasts: Vec<Contrast> = table.cell_names().take(3).map(Contrast::column).collect();
            let params = FamilyParams { draws: 1000, ..FamilyParams::new(contrasts) };
            if let Ok(report) = params.check().and_then(|family| family.run(&table)) {
                prop_assert!(text::render(&report, "t").contains("estimate"));
                prop_assert!(forest::terminal(&report, 80).contains("estimate"));
            }
        }
    }
}
