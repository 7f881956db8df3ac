//! Per-trajectory errors of a run's evaluations: `panels.csv`, columns `update,trajectory,error`.
//!
//! The file is small (256 lines per evaluation), so it is rewritten whole at every evaluation;
//! there is nothing to repair after a kill. Errors are printed with the fewest digits that read
//! back to the same bits.

use std::fmt::Write;
use std::path::Path;

use crate::training::evaluate::Panel;

/// The first line.
const HEADING: &str = "update,trajectory,error";

/// Evaluations in order of their updates.
pub type Panels = Vec<(u64, Panel)>;

/// The file's text.
pub fn to_csv(panels: &Panels) -> String {
    let mut text = format!("{HEADING}\n");
    for (update, panel) in panels {
        for (trajectory, error) in panel.errors.iter().enumerate() {
            let _ = writeln!(text, "{update},{trajectory},{error:e}"); // strings take any write
        }
    }
    text
}

/// Reads `panels.csv` as a run writes it.
pub fn read(path: &Path) -> std::io::Result<Panels> {
    let text = backcut_files::read_text(path)?;
    from_csv(&text).ok_or_else(|| {
        let what = format!("{}: not the per-trajectory errors of a run", path.display());
        std::io::Error::new(std::io::ErrorKind::InvalidData, what)
    })
}

fn from_csv(text: &str) -> Option<Panels> {
    let mut lines = text.lines();
    if lines.next() != Some(HEADING) {
        return None;
    }
    let mut found: Vec<(u64, Vec<f64>)> = Vec::new();
    for line in lines {
        let mut fields = line.split(',');
        let update: u64 = fields.next()?.parse().ok()?;
        let trajectory: usize = fields.next()?.parse().ok()?;
        let error: f64 = fields.next()?.parse().ok()?;
        if found.last().is_none_or(|(last, _)| *last != update) {
            found.push((update, Vec::new()));
        }
        let (_, errors) = found.last_mut()?;
        if trajectory != errors.len() || fields.next().is_some() {
            return None;
        }
        errors.push(error);
    }
    Some(found.into_iter().map(|(update, errors)| (update, Panel::new(errors))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_read_back_to_the_same_bits() {
        let panels = vec![
            (200, Panel::new(vec![0.1 + 0.2, 5e-324, 1.0])),
            (400, Panel::new(vec![1.0 / 3.0, 1e300, 0.0])),
        ];
        assert_eq!(from_csv(&to_csv(&panels)), Some(panels));
        assert_eq!(from_csv("update,trajectory,error\n200,1,0.5\n"), None);
        assert_eq!(from_csv("something else\n"), None);
    }
}
