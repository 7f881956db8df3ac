//! A family of contrasts that was judged just now, drawn without a collected study around it.

use backcut_stats::{FamilyRow, Report};
use backcut_text::format::Digits;

use crate::draw::{Drawing, Mark, Rows, Series};

/// The plot as a self-contained SVG document.
pub fn forest(report: &Report, title: &str) -> String {
    let row = |row: &FamilyRow| {
        let digits = Digits::of_range(row.pointwise[0], row.pointwise[1]);
        let note = format!("{} {}", digits.number(row.estimate), digits.interval(row.family));
        let mark = Mark {
            series: Series::BLUE,
            value: row.estimate,
            wide: Some(row.family),
            narrow: Some(row.pointwise),
            open: true,
            text: format!("{}: {note}", row.name),
        };
        crate::draw::Row { name: row.name.clone(), note, marks: vec![mark], band: None }
    };
    let rows: Vec<_> = report.rows.iter().map(row).collect();
    let margin = report.margin.map(|margin| (margin, format!("margin {margin}")));
    let rules: Vec<(f64, String)> = [(0.0, "0".to_owned())].into_iter().chain(margin).collect();
    let panel =
        Rows { title: "", axis: "estimate", rules: &rules, rows: &rows, reach: None }.panel();
    let caption = "Estimates with their pointwise intervals (thick) and their family's (thin).";
    Drawing {
        title: title.to_owned(),
        caption: caption.to_owned(),
        legend: Vec::new(),
        panels: vec![panel],
        alt: caption.to_owned(),
        csv: String::new(),
    }
    .svg()
}

#[cfg(test)]
mod tests {
    use backcut_stats::{Contrast, FamilyParams, Layout, SourceTable};

    use super::forest;

    #[test]
    fn names_are_escaped() {
        let csv = "seed,a<b,c\n1,1,-2\n2,2,-1\n3,3,-3\n4,4,-1\n5,1,1\n";
        let table = SourceTable::from_csv(csv.as_bytes(), &Layout::default()).unwrap();
        let contrasts = vec![Contrast::column("a<b"), Contrast::column("c")];
        let report = FamilyParams::new(contrasts).check().unwrap().run(&table).unwrap();
        let text = forest(&report, "a & b");
        assert!(text.contains("a&lt;b") && text.contains("a &amp; b"), "{text}");
        assert!(!text.contains("NaN"), "{text}");
    }
}
