//! What was predicted, and what came out: the contrasts that name a direction.

use super::Table;
use crate::report::escape::csv;
use crate::report::format::exact;
use crate::report::results::Study;

pub fn predictions(studies: &[&Study]) -> Table {
    let mut rows = Vec::new();
    let mut file = "study,family,contrast,predicted,mean,lower,upper,verdict,status\n".to_owned();
    for study in studies {
        for row in &study.analysis {
            let Some(direction) = &row.direction else { continue };
            let numbers =
                [row.mean, row.lower, row.upper].map(|v| v.map_or_else(String::new, exact));
            let words = [study.name.as_str(), &row.family, &row.contrast, direction].map(csv);
            let end = [row.decision(), row.status.to_string()].map(|text| csv(&text));
            file += &format!("{},{},{}\n", words.join(","), numbers.join(","), end.join(","));
            rows.push(vec![
                study.name.clone(),
                format!("{}: {}", row.family, row.contrast),
                direction.clone(),
                row.estimate(),
                row.agreement(),
                row.decision(),
                row.status.to_string(),
            ]);
        }
    }
    let columns = ["study", "contrast", "predicted", "found", "agree", "verdict", "status"];
    Table {
        name: "predictions".into(),
        title: "What was predicted, and what came out".into(),
        columns: columns.map(str::to_owned).to_vec(),
        rows,
        notes: vec![
            "The mean over sources with the family's interval; agree: sources on the predicted \
             side."
                .into(),
        ],
        csv: file,
    }
}
