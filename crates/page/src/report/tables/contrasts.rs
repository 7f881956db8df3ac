//! Every contrast that a study judged, as it judged it.

use std::fmt::Write as _;

use super::Table;
use crate::report::escape::csv;
use crate::report::format::{NONE, exact, minus, p_value};
use crate::report::results::{Judged, Study};

pub fn contrasts(studies: &[&Study]) -> Table {
    let mut rows = Vec::new();
    let mut file =
        "study,family,contrast,expression,mean,lower,upper,bound,unadjusted_p,adjusted_p,verdict,status,why\n"
            .to_owned();
    for study in studies {
        for row in &study.analysis {
            rows.push(cells(&study.name, row));
            let numbers =
                [row.mean, row.lower, row.upper].map(|v| v.map_or_else(String::new, exact));
            let _ = writeln!(
                file,
                "{},{},{},{},{},{},{},{},{},{}",
                [study.name.as_str(), &row.family, &row.contrast, &row.expression]
                    .map(csv)
                    .join(","),
                numbers[0],
                numbers[1],
                numbers[2],
                csv(&row.bound),
                row.unadjusted_p.map_or_else(String::new, exact),
                row.adjusted_p.map_or_else(String::new, exact),
                csv(&row.decision()),
                csv(&row.status.to_string()),
                csv(&row.why)
            );
        }
    }
    let columns = [
        "study",
        "contrast",
        "estimate",
        "interval",
        "sources agreeing",
        "adjusted exact p",
        "verdict",
        "status",
        "formula",
    ];
    Table {
        name: "contrasts".into(),
        title: "Contrasts as the studies judged them".into(),
        columns: columns.map(str::to_owned).to_vec(),
        rows,
        notes: vec![
            "The interval of the family decides in the frozen direction; the exact test audits. \
             Only the ledger makes a row confirmatory or prespecified."
                .into(),
        ],
        csv: file,
    }
}

fn cells(study: &str, row: &Judged) -> Vec<String> {
    let p = row.adjusted_p.map_or_else(|| NONE.to_owned(), |p| minus(&p_value(p)));
    let floor = row.floor.filter(|floor| *floor > 0.05).map_or_else(String::new, |floor| {
        format!(" (can not be below {})", minus(&p_value(floor)))
    });
    let why = if row.why.is_empty() { String::new() } else { format!(": {}", row.why) };
    vec![
        study.to_owned(),
        row.contrast.clone(),
        row.estimate(),
        format!("{} ({})", row.kind(), row.family),
        row.agreement(),
        p + &floor,
        row.decision(),
        row.status.to_string() + &why,
        if row.expression == row.contrast { String::new() } else { row.expression.clone() },
    ]
}
