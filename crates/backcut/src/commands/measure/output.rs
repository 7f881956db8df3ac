//! Where findings go: a table or JSON to stdout, a tidy CSV and figures to a folder.

use std::path::Path;

use anyhow::Result;
use backcut_evidence::tables::rows::FindingRow;
use backcut_evidence::tables::{Plain, to_csv};
use backcut_lab::measure::{Finding, PERCENTILES, summarise};
use backcut_text::escape::cell;
use serde_json::{Value, json};

use super::states::{StateArgs, States};
use crate::common::{self, cannot_write};
use crate::say::{self, note, out};

/// What was found at every state, and over all of them.
pub struct Results {
    /// One list per state.
    pub of_state: Vec<Vec<Finding>>,
    /// Medians over states; the findings themselves where there is one state.
    pub summary: Vec<Finding>,
}

impl Results {
    /// Summarises over states.
    pub fn new(of_state: Vec<Vec<Finding>>) -> Self {
        let is_median =
            |f: &&Finding| !PERCENTILES.iter().any(|(suffix, _)| f.quantity.ends_with(suffix));
        let summary = if let [only] = of_state.as_slice() {
            only.clone()
        } else {
            // Percentiles over windows have no median over states worth the name.
            let medians: Vec<Vec<Finding>> = of_state
                .iter()
                .map(|list| list.iter().filter(is_median).cloned().collect())
                .collect();
            summarise(&medians, "states")
        };
        Self { of_state, summary }
    }

    /// Prints the table or JSON, and writes the folder if one was named.
    pub fn publish(
        &self,
        name: &str,
        args: &StateArgs,
        states: &States,
        text: &str,
        figures: &[(&str, String)],
    ) -> Result<()> {
        if args.json {
            say::json(self.json(name, states)?)?;
        } else {
            out!("{text}")?;
        }
        if let Some(folder) = &args.out {
            let csv = folder.join(format!("{name}.csv"));
            let labels = states.all.iter().map(|s| s.label.as_str());
            write(&csv, &to_csv(&self.rows(labels))?)?;
            for (figure, svg) in figures {
                write(&folder.join(format!("{figure}.svg")), svg.as_bytes())?;
            }
            let names: String =
                figures.iter().map(|(name, _)| [" ", name, ".svg"].concat()).collect();
            note!("wrote {}{names}", csv.display());
        }
        Ok(())
    }

    fn json(&self, name: &str, states: &States) -> Result<Value> {
        let mut list = Vec::new();
        for (state, findings) in states.all.iter().zip(&self.of_state) {
            let header = &state.restored.header;
            let config = &header.config;
            list.push(json!({
                "checkpoint": state.label,
                "path": state.path,
                "update": header.update,
                "seed": config.seed,
                "stream": header.stream,
                "trained_under": config.cut,
                "findings": serde_json::to_value(findings)?,
            }));
        }
        let mut json = json!({"measurement": name, "checkpoints": list});
        if states.all.len() > 1 {
            json["summary"] = serde_json::to_value(&self.summary)?;
        }
        Ok(json)
    }

    /// One finding per row, under the label of its state or file; `all` of them last.
    pub fn rows<'l>(&'l self, labels: impl Iterator<Item = &'l str>) -> Vec<FindingRow> {
        let mut lists: Vec<(&str, &[Finding])> =
            labels.zip(self.of_state.iter().map(Vec::as_slice)).collect();
        if self.of_state.len() > 1 {
            lists.push(("all", &self.summary));
        }
        // Names of files, tensors and arms are others' words.
        let row = |label: &str, f: &Finding| FindingRow {
            checkpoint: cell(label),
            quantity: f.quantity.clone(),
            cut: cell(&f.of.to_string()),
            part: cell(&f.part),
            value: f.value.map(Plain),
            note: f.note.clone(),
        };
        lists.iter().flat_map(|(label, list)| list.iter().map(|f| row(label, f))).collect()
    }
}

/// Writes a file of `--out`, and its folder if there is none.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|e| cannot_write(folder, &e))?;
    }
    common::write(path, bytes)
}
