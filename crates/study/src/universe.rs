//! Universes: one study under many configurations.
//!
//! A file may name *factors* (choices that could have been made otherwise), their levels, and
//! *universes*, each with one level of every factor. Every arm, measurement and family of the file
//! is then repeated in every universe: the arm `FF` of universe `u01` is `u01.FF`, its family
//! `H1-H3` is `u01: H1-H3`. What is left is an ordinary study file, and nothing below knows of
//! universes.

use backcut_systems::change;
use backcut_text::nearest;

use crate::error::StudyError;
use crate::file::{ArmTable, Factors, Level, StudyFile, Universe};

impl StudyFile {
    /// The same study with its universes written out.
    pub(crate) fn expanded(mut self) -> Result<Self, StudyError> {
        let (factors, universes) =
            (std::mem::take(&mut self.factors), std::mem::take(&mut self.universes));
        if universes.is_empty() {
            return match factors.first() {
                None => Ok(self),
                Some((name, _)) => {
                    let what = format!("the factor `{name}`, but no universes");
                    Err(StudyError::invalid(what, "add [universes] with a level of each factor"))
                }
            };
        }
        if !self.reuse.is_empty() || !self.comparisons.is_empty() {
            let what = "universes with [[reuse]] or [[comparisons]]";
            return Err(StudyError::invalid(what, "a study in many universes stands alone"));
        }
        let (arms, measurements, families) = (
            std::mem::take(&mut self.arms),
            std::mem::take(&mut self.measurements),
            std::mem::take(&mut self.families),
        );
        let mut known: Vec<(&String, Level)> = Vec::new();
        for (name, universe) in &universes {
            if name.contains('.') {
                let what = format!("a universe named `{name}`");
                return Err(StudyError::invalid(what, "the dot stands between universe and arm"));
            }
            let here = |arm: &str| format!("{name}.{arm}");
            let chosen = chosen(&factors, universe)
                .map_err(|error| error.within(&format!("universe `{name}`")))?;
            if let Some((twin, _)) = known.iter().find(|(_, other)| *other == chosen) {
                let what = format!("universes `{twin}` and `{name}` are the same configuration");
                let hint = "a multiverse that agrees with itself says nothing: leave one out";
                return Err(StudyError::invalid(what, hint));
            }
            known.push((name, chosen.clone()));
            for (arm, table) in &arms {
                self.arms.insert(here(arm), arm_of(table, &chosen, here));
            }
            for table in &measurements {
                let mut table = table.clone();
                table.of.iter_mut().for_each(|arm| *arm = here(arm));
                table.reference = table.reference.as_deref().map(here);
                self.measurements.push(table);
            }
            for table in &families {
                let mut table = table.clone();
                table.name = format!("{name}: {}", table.name);
                let cell = format!("[{name}.");
                for contrast in &mut table.contrasts {
                    *contrast = contrast.replace('[', &cell);
                }
                self.families.push(table);
            }
        }
        Ok(self)
    }
}

/// What a universe changes: its levels', then its own.
fn chosen(factors: &Factors, universe: &Universe) -> Result<Level, StudyError> {
    let (asked, known) = (universe.levels.len(), factors.len());
    if asked != known {
        let names: Vec<&str> = factors.keys().map(String::as_str).collect();
        let what = format!("{asked} levels of {known} factors");
        return Err(StudyError::invalid(what, format!("one of each: {}", names.join(", "))));
    }
    let mut all = Level::default();
    for (level, (factor, levels)) in universe.levels.iter().zip(factors) {
        let Some(found) = levels.get(level) else {
            let hint = nearest(level, levels.keys().map(String::as_str)).map_or_else(
                || format!("levels: {}", levels.keys().cloned().collect::<Vec<_>>().join(", ")),
                |known| format!("did you mean `{known}`?"),
            );
            let what = format!("the factor `{factor}` has no level `{level}`");
            return Err(StudyError::invalid(what, hint));
        };
        change(&mut all.settings, &found.settings);
        all.optimizer = found.optimizer.before(&all.optimizer);
    }
    change(&mut all.settings, &universe.settings);
    all.optimizer = universe.optimizer.before(&all.optimizer);
    Ok(all)
}

/// An arm as it is in a universe; what the arm itself says goes before what the universe says.
fn arm_of(table: &ArmTable, chosen: &Level, here: impl Fn(&str) -> String) -> ArmTable {
    let mut arm = table.clone();
    let mut settings = chosen.settings.clone();
    change(&mut settings, &table.settings);
    arm.settings = settings;
    arm.optimizer = table.optimizer.before(&chosen.optimizer);
    arm.from = table.from.as_deref().map(here);
    arm
}

#[cfg(test)]
mod tests {
    use backcut_text::Hinted as _;

    use super::*;

    const FILE: &str = r#"
name = "x"
title = "y"
[factors.start]
gpt = {}
pytorch = { settings.policy.initialisation = "pytorch" }
[factors.threshold]
published = { optimizer.clip = 4311.62 }
rule = {}
[universes]
a = { levels = ["gpt", "published"] }
b = { levels = ["pytorch", "rule"], optimizer.clip = 700.0 }
[arms.FF]
cut = "FF"
settings.policy.hidden = 128
[arms.late]
from = "FF"
cut = "F_SG"
[[measurements]]
kind = "masking"
windows = [1]
of = ["FF"]
[[families]]
name = "cost"
asks = "descriptive"
contrasts = ["R = [late@0.20] - [FF@0.20]"]
"#;

    fn expanded(text: &str) -> Result<StudyFile, StudyError> {
        StudyFile::parse(text, "x.toml")?.expanded()
    }

    #[test]
    fn everything_is_repeated_in_every_universe() {
        let file = expanded(FILE).unwrap();
        let names: Vec<&String> = file.arms.keys().collect();
        assert_eq!(names, ["a.FF", "a.late", "b.FF", "b.late"]);
        let late = &file.arms["b.late"];
        assert_eq!(late.from.as_deref(), Some("b.FF"));
        assert_eq!(late.optimizer.clip, Some(700.0.into()));
        assert_eq!(late.settings["policy"]["initialisation"], "pytorch");
        assert_eq!(file.arms["b.FF"].settings["policy"]["hidden"], 128);
        assert_eq!(file.arms["b.FF"].settings["policy"]["initialisation"], "pytorch");
        assert_eq!(file.arms["a.FF"].optimizer.clip, Some(4311.62.into()));
        assert_eq!(file.measurements[1].of, ["b.FF"]);
        assert_eq!(file.families[1].name, "b: cost");
        assert_eq!(file.families[1].contrasts, ["R = [b.late@0.20] - [b.FF@0.20]"]);
        assert!(file.universes.is_empty() && file.factors.is_empty());
    }

    #[test]
    fn levels_that_do_not_fit_are_named() {
        for (from, to, what, hint) in [
            ("\"gpt\", \"pub", "\"gtp\", \"pub", "no level `gtp`", "did you mean `gpt`?"),
            ("[\"gpt\", \"published\"]", "[\"gpt\"]", "1 levels of 2", "start, threshold"),
            ("a = {", "\"a.b\" = {", "`a.b`", "dot"),
        ] {
            let text = FILE.replacen(from, to, 1);
            assert_ne!(text, FILE);
            let error = expanded(&text).unwrap_err();
            assert!(error.to_string().contains(what), "{error}");
            assert!(error.hint().contains(hint), "{}", error.hint());
        }
    }
}
