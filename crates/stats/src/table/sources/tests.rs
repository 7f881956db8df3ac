use super::*;

fn read(csv: &str) -> Result<SourceTable, StatsError> {
    SourceTable::from_csv(csv.as_bytes(), &Layout::default())
}

#[test]
fn long_and_wide_give_the_same_table() {
    let wide = read("seed,FF@0.2,FD@0.2\n2,3,4\n1,1,2\n").unwrap();
    let long = "seed,condition,arm,value\n1,0.2,FD,2\n2,0.2,FD,4\n2,0.2,FF,3\n1,0.2,FF,1\n";
    assert_eq!(wide, read(long).unwrap());
    assert_eq!(wide.cell("FF@0.2").unwrap(), [Cell::Number(1.0), Cell::Number(3.0)]);
}

#[test]
fn the_columns_of_a_long_table_may_have_any_name() {
    let layout = Layout {
        arm: Some("detach".into()),
        condition: Some("env".into()),
        value: Some("loss".into()),
        ..Layout::default()
    };
    let text = "seed,detach,env,loss,step\n1,8,a,2,9\n2,8,a,3,9\n1,0,a,1,9\n2,0,a,1,9\n";
    let table = SourceTable::from_csv(text.as_bytes(), &layout).unwrap();
    assert_eq!(table.cell_names().collect::<Vec<_>>(), ["0@a", "8@a"]);
    let one = Layout { condition: None, ..layout.clone() };
    let table = SourceTable::from_csv(text.as_bytes(), &one).unwrap();
    assert_eq!(table.cell_names().collect::<Vec<_>>(), ["0", "8"]);
    let wrong = Layout { value: Some("lost".into()), ..layout };
    let error = SourceTable::from_csv(text.as_bytes(), &wrong).unwrap_err().to_string();
    assert!(error.contains("the value column") && error.contains("loss"), "{error}");
    let half = Layout { arm: Some("detach".into()), ..Layout::default() };
    let error = SourceTable::from_csv(text.as_bytes(), &half).unwrap_err().to_string();
    assert!(error.contains("the value column"), "{error}");
}

#[test]
fn values_and_their_text_give_the_same_table() {
    let values = [("2", "a", 0.1 + 0.2), ("1", "a", -0.0), ("1", "b", 5e-324)];
    let lines = values.map(|(source, cell, value)| format!("{source},{cell},{value:e}"));
    let read = read(&format!("source,arm,value\n{}\n", lines.join("\n"))).unwrap();
    let table = SourceTable::from_values(values).unwrap();
    assert_eq!(format!("{table:?}"), format!("{read:?}")); // tells -0 from 0
    let twice = SourceTable::from_values([("1", "a", 1.0), ("1", "a", 2.0)]).unwrap_err();
    assert!(twice.to_string().contains("in row 2 and again in row 3"), "{twice}");
    let not_finite = SourceTable::from_values([("1", "a", f64::NAN)]).unwrap();
    assert_eq!(not_finite.cell("a").unwrap(), [Cell::Text("NaN".into())]);
    assert_eq!(
        SourceTable::from_values::<&str, &str, f64>([]).unwrap_err(),
        RawTable::from_csv(b"source,arm,value\n").unwrap_err()
    );
}

#[test]
fn duplicates_name_both_rows() {
    let error = read("seed,a\n1,1\n2,2\n1,3\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "pair sources: [a] of source 1 appears in row 2 and again in row 4"
    );
}

#[test]
fn a_source_missing_from_one_arm_is_an_empty_cell() {
    let table = read("seed,arm,value\n1,FF,1\n2,FF,2\n1,FD,3\n").unwrap();
    assert_eq!(table.incomplete(&["FD".into()]).unwrap(), ["2"]);
    assert_eq!(table.without(&["2".into()]).sources(), ["1"]);
}

#[test]
fn text_and_nan_are_kept_as_text() {
    let table = read("seed,a,note\n1,nan,good\n2,inf,bad\n").unwrap();
    assert_eq!(table.cell("a").unwrap()[0], Cell::Text("nan".into()));
    assert!(table.cell("b").unwrap_err().to_string().contains("it has: a, note"));
}

#[test]
fn clusters_must_agree_between_rows_of_a_source() {
    assert!(read("seed,cluster,arm,value\n1,x,a,1\n1,y,b,1\n").is_err());
    let table = read("seed,cluster,stratum,a\n1,x,s,1\n2,x,s,1\n").unwrap();
    assert_eq!(table.clusters().unwrap(), ["x", "x"]);
}
