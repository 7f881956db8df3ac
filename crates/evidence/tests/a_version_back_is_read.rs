//! The three tables of numbers of the version before read as the observations that they are.
#![allow(clippy::unwrap_used)] // helpers of tests may panic

use std::fs;

use backcut_evidence::tables::folder::observations;

const UNIT: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

/// What is read of a folder, one line per number.
fn read(tables: &[(&str, &str)]) -> Result<Vec<String>, String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, rows) in tables {
        let header = match *name {
            "measurements" => "source,arm,condition,update,quantity,cut,part,value,note,state,unit",
            _ => "source,arm,condition,update,value,state,unit,note",
        };
        let text = format!("{header}\n{}\n", rows.replace("UNIT", UNIT));
        fs::write(folder.path().join(format!("{name}.csv")), text).unwrap();
    }
    let rows = observations(folder.path()).map_err(|error| error.to_string())?;
    let line = |row: backcut_evidence::tables::rows::Observation| {
        assert!(row.unit.is_empty() || row.unit == UNIT[..12]);
        let value = row.value.map_or_else(|| row.note.clone(), |value| value.to_string());
        let place = format!("{} {} {} {}", row.source, row.arm, row.condition, row.update);
        format!("{place} {} {:?} {:?} {value}", row.quantity, row.of, row.part)
    };
    Ok(rows.unwrap_or_default().into_iter().map(line).collect())
}

#[test]
fn an_end_point_is_the_last_point_of_its_curve_unless_there_is_none() {
    let curves = ("curves", "1,FF,low,4,0.5,done,UNIT,\n1,FF,low,8,0.25,done,UNIT,");
    let ends = ("endpoints", "1,FF,low,8,0.25,done,UNIT,\n2,FF,low,8,,failed,UNIT,broke");
    let found = ("measurements", "1,FF,low,8,norm,KD,all,3,,done,\n1,FF,low,8,count,,,,none,done,");
    let all = [
        "1 FF low 4 error None None 0.5",
        "1 FF low 8 error None None 0.25",
        "2 FF low 8 error None None broke",
        "1 FF low 8 norm Some(\"KD\") Some(\"all\") 3",
        "1 FF low 8 count None None none",
    ];
    assert_eq!(read(&[curves, ends, found]).unwrap(), all);
    assert_eq!(read(&[ends]).unwrap(), ["1 FF low 8 error None None 0.25", all[2]]);
    assert_eq!(read(&[]).unwrap(), [""; 0]);
}

#[test]
fn tables_that_contradict_each_other_are_refused() {
    let curves = ("curves", "1,FF,low,8,0.25,done,UNIT,");
    let error = read(&[curves, ("endpoints", "1,FF,low,8,0.125,done,UNIT,")]).unwrap_err();
    assert!(error.contains("endpoints.csv: row 2: its value is not what the curve has"), "{error}");
    let twice = ("endpoints", "1,FF,low,8,0.25,done,UNIT,\n1,FF,low,8,0.25,done,UNIT,");
    assert!(read(&[twice]).unwrap_err().contains("row 3"));
}
