//! The data of a figure as one tidy CSV.

use std::fmt::Write as _;

use crate::report::escape::csv;
use crate::report::estimate::Estimate;
use crate::report::format::exact;

/// Rows of
/// `panel,series,condition,source,value,lower,upper,sources,unit`; a mean's source is `mean`.
#[derive(Clone, Debug)]
pub struct Data {
    text: String,
    /// What could not be shown, each once.
    pub gaps: Vec<String>,
    /// Estimates that leave sources out, and how many at most.
    short: usize,
    most: usize,
}

impl Default for Data {
    /// No rows yet.
    fn default() -> Self {
        let text = "panel,series,condition,source,value,lower,upper,sources,unit\n".to_owned();
        Self { text, gaps: Vec::new(), short: 0, most: 0 }
    }
}

impl Data {
    /// Adds a mean.
    pub fn mean(&mut self, panel: &str, series: &str, condition: &str, e: &Estimate, unit: &str) {
        let [low, high] = e.interval.map_or([String::new(), String::new()], |i| i.map(exact));
        let place = [panel, series, condition].map(csv).join(",");
        let (mean, unit) = (exact(e.mean), csv(unit));
        let _ = writeln!(self.text, "{place},mean,{mean},{low},{high},{},{unit}", e.n());
    }

    /// Adds a mean and the values it is made of.
    pub fn estimate(
        &mut self,
        panel: &str,
        series: &str,
        condition: &str,
        e: &Estimate,
        unit: &str,
    ) {
        self.mean(panel, series, condition, e, unit);
        let place = [panel, series, condition].map(csv).join(",");
        let unit = csv(unit);
        for (source, value) in &e.values {
            let _ = writeln!(self.text, "{place},{},{},,,,{unit}", csv(source), exact(*value));
        }
        if !e.missing.is_empty() {
            self.short += 1;
            self.most = self.most.max(e.missing.len());
        }
    }

    /// Adds one value.
    pub fn value(
        &mut self,
        panel: &str,
        series: &str,
        condition: &str,
        source: &str,
        value: f64,
        unit: &str,
    ) {
        let place = [panel, series, condition, source].map(csv).join(",");
        let _ = writeln!(self.text, "{place},{},,,,{}", exact(value), csv(unit));
    }

    /// Notes what could not be shown.
    pub fn gap(&mut self, what: String) {
        if !self.gaps.contains(&what) {
            self.gaps.push(what);
        }
    }

    /// The sentence that ends a caption.
    pub fn gap_sentence(&self) -> String {
        let short = match self.short {
            0 => String::new(),
            1 => format!(
                " One mean leaves out {} whose arms are not all done.",
                backcut_text::counted(self.most, "source")
            ),
            count => format!(
                " {count} means leave out sources whose arms are not all done (at most {}).",
                self.most
            ),
        };
        match self.gaps.len() {
            0 => short,
            1..=6 => format!("{short} Not shown: {}.", self.gaps.join("; ")),
            count => {
                format!("{short} Not shown: {}; and {} more.", self.gaps[..6].join("; "), count - 6)
            }
        }
    }

    /// The file.
    pub fn csv(&self) -> String {
        self.text.clone()
    }
}
