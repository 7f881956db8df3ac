//! A study resolved: every default filled, every reused study loaded, everything checked.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use backcut_engine::Cut;
use backcut_measure::Measurement;
use backcut_stats::{Bound, Contrast, FamilyParams, Status};
use backcut_systems::Stream;
use backcut_training::config::{MAX_UPDATES, canonical, evaluation_points};
use backcut_training::{Optimizer, SystemChoice, sha256};
use serde_json::{Map, Value, json};

use crate::error::{StudyError, nearest};
use crate::file::{ArmTable, ComparisonTable, FamilyTable, Sources, StudyFile};
use crate::systems::Catalogue;

/// Updates between evaluations where a file does not say.
pub const EVALUATE_EVERY: u64 = 200;

/// Studies may reuse studies that reuse studies, to this depth.
const MAX_DEPTH: usize = 8;

/// Sources and conditions that go together.
#[derive(Clone, PartialEq, Debug)]
pub struct Grid {
    /// Seeds.
    pub sources: Vec<u64>,
    /// Labels, as cells of contrasts name them, with the system under each.
    pub conditions: Vec<(String, SystemChoice)>,
}

/// An arm on one grid.
#[derive(Clone, PartialEq, Debug)]
pub struct Arm {
    /// Its name.
    pub name: String,
    /// Index of its grid.
    pub grid: usize,
    /// The conditions of the grid it runs under, by index.
    pub conditions: Vec<usize>,
    /// The backward graph.
    pub cut: Cut,
    /// Forward window.
    pub window: Option<u64>,
    /// Index of the arm it branches from, and the update.
    pub from: Option<(usize, u64)>,
    /// Updates at its end.
    pub updates: u64,
    /// The stream.
    pub stream: Stream,
    /// Evaluations.
    pub evaluations: Vec<u64>,
    /// The optimizer.
    pub optimizer: Optimizer,
    /// Checkpoints that the file asks to keep, and those that other arms need.
    pub keep: BTreeSet<u64>,
    /// The study it is reused from.
    pub origin: Option<String>,
}

impl Arm {
    /// The system of a condition, with the arm's window.
    pub fn system(&self, grid: &Grid, condition: usize) -> SystemChoice {
        let mut choice = grid.conditions[condition].1.clone();
        if let (Some(window), Value::Object(settings)) = (self.window, &mut choice.settings) {
            settings.insert("window".to_owned(), json!(window));
        }
        choice
    }
}

/// A measurement of an arm's states.
#[derive(Clone, PartialEq, Debug)]
pub struct Measured {
    /// Index of the arm.
    pub arm: usize,
    /// The update.
    pub update: u64,
    /// What is measured.
    pub what: Measurement,
    /// The arm and update whose observations are common to all.
    pub reference: Option<(usize, u64)>,
}

/// A family with its request.
#[derive(Clone, PartialEq, Debug)]
pub struct StudyFamily {
    /// As written.
    pub table: FamilyTable,
    /// Its parameters.
    pub params: FamilyParams,
    /// The status it asks for.
    pub asks: Status,
}

/// A study that can be planned.
#[derive(Clone, PartialEq, Debug)]
pub struct Study {
    /// Short name.
    pub name: String,
    /// One line.
    pub title: String,
    /// Where it was read.
    pub path: PathBuf,
    /// Grids.
    pub grids: Vec<Grid>,
    /// Arms; those it branches from come before an arm.
    pub arms: Vec<Arm>,
    /// Measurements.
    pub measured: Vec<Measured>,
    /// Families.
    pub families: Vec<StudyFamily>,
    /// Two-sample comparisons.
    pub comparisons: Vec<ComparisonTable>,
    /// The canonical bytes: everything above, resolved.
    pub canonical: String,
}

impl Study {
    /// Reads and resolves a study file.
    pub fn load(path: &Path, catalogue: &dyn Catalogue) -> Result<Self, StudyError> {
        Self::load_nested(path, catalogue, &|p| std::fs::read_to_string(p), 0)
    }

    /// The same with files from elsewhere (embedded ones).
    pub fn load_with(
        path: &Path,
        catalogue: &dyn Catalogue,
        read: &dyn Fn(&Path) -> std::io::Result<String>,
    ) -> Result<Self, StudyError> {
        Self::load_nested(path, catalogue, read, 0)
    }

    fn load_nested(
        path: &Path,
        catalogue: &dyn Catalogue,
        read: &dyn Fn(&Path) -> std::io::Result<String>,
        depth: usize,
    ) -> Result<Self, StudyError> {
        let origin = path.display().to_string();
        if depth > MAX_DEPTH {
            let hint = "a study can not reuse itself";
            return Err(StudyError::invalid(format!("{origin}: too many levels of reuse"), hint));
        }
        let text = read(path).map_err(StudyError::io(path))?;
        let file = StudyFile::parse(&text, &origin)?;
        let mut reused = Vec::new();
        for reuse in &file.reuse {
            let beside = path.parent().unwrap_or(Path::new("")).join(&reuse.study);
            reused.push((Self::load_nested(&beside, catalogue, read, depth + 1)?, &reuse.arms));
        }
        let say = |error: StudyError| match error {
            StudyError::Invalid { what, hint } => {
                StudyError::Invalid { what: format!("{origin}: {what}"), hint }
            }
            other => other,
        };
        Resolver::new(&file, path, catalogue).and_then(|r| r.resolve(&reused)).map_err(say)
    }

    /// SHA-256 of the canonical bytes.
    pub fn hash(&self) -> String {
        sha256(self.canonical.as_bytes())
    }

    /// The canonical form as a value, to show differences.
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.canonical).unwrap_or_default()
    }
}

/// Work in progress.
struct Resolver<'a> {
    file: &'a StudyFile,
    path: &'a Path,
    catalogue: &'a dyn Catalogue,
    optimizer: Option<Optimizer>,
    grids: Vec<Grid>,
    arms: Vec<Arm>,
}

impl<'a> Resolver<'a> {
    fn new(
        file: &'a StudyFile,
        path: &'a Path,
        catalogue: &'a dyn Catalogue,
    ) -> Result<Self, StudyError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if file.name.is_empty() || file.name.len() > 64 || !file.name.chars().all(is_plain) {
            let what = format!("name = {:?}", file.name);
            return Err(StudyError::invalid(what, "use letters, digits, `-` and `_`"));
        }
        Ok(Self { file, path, catalogue, optimizer: None, grids: vec![], arms: vec![] })
    }

    fn resolve(mut self, reused: &[(Study, &Vec<String>)]) -> Result<Study, StudyError> {
        let own = self.own_grid()?;
        for (study, arms) in reused {
            self.adopt(study, arms, own, reused.len() > 1)?;
        }
        for (name, table) in &self.file.arms {
            self.add_arm(name, table, own)?;
        }
        if self.arms.is_empty() {
            let hint = "add [arms.NAME] or [[reuse]]";
            return Err(StudyError::invalid("a study without arms", hint));
        }
        let measured = self.measurements()?;
        let families = self.families()?;
        self.check_comparisons()?;
        let mut study = Study {
            name: self.file.name.clone(),
            title: self.file.title.clone(),
            path: self.path.to_owned(),
            grids: self.grids,
            arms: self.arms,
            measured,
            families,
            comparisons: self.file.comparisons.clone(),
            canonical: String::new(),
        };
        study.canonical = canonical(&describe(&study));
        Ok(study)
    }

    /// The grid of the file's own sources and conditions.
    fn own_grid(&mut self) -> Result<Option<usize>, StudyError> {
        let Some(sources) = &self.file.sources else { return Ok(None) };
        let system = self.file.system.as_ref().ok_or_else(|| {
            StudyError::invalid(
                "sources without a system",
                "add [system] with name = \"quadrotor\"",
            )
        })?;
        let mut conditions = Vec::new();
        let none = Map::new();
        let listed: Vec<(String, &Map<String, Value>)> = if self.file.conditions.is_empty() {
            vec![("default".to_owned(), &none)]
        } else {
            self.file.conditions.iter().map(|(k, v)| (k.clone(), v)).collect()
        };
        for (label, changes) in listed {
            check_label("condition", &label)?;
            let mut settings = system.settings.clone();
            settings.extend(changes.iter().map(|(k, v)| (k.clone(), v.clone())));
            let built = self.catalogue.build(&system.name, &settings).map_err(|e| match e {
                StudyError::Invalid { what, hint } => {
                    StudyError::Invalid { what: format!("condition `{label}`: {what}"), hint }
                }
                other => other,
            })?;
            self.optimizer = Some(self.tuned(built.optimizer)?);
            let choice = SystemChoice { name: system.name.clone(), settings: built.settings };
            conditions.push((label, choice));
        }
        self.grids.push(Grid { sources: seeds(sources)?, conditions });
        Ok(Some(0))
    }

    fn tuned(&self, mut optimizer: Optimizer) -> Result<Optimizer, StudyError> {
        let table = &self.file.optimizer;
        let set = |slot: &mut f64, value: Option<f64>| *slot = value.unwrap_or(*slot);
        set(&mut optimizer.clip, table.clip);
        set(&mut optimizer.adamw.rate, table.rate);
        set(&mut optimizer.adamw.beta1, table.beta1);
        set(&mut optimizer.adamw.beta2, table.beta2);
        set(&mut optimizer.adamw.eps, table.eps);
        set(&mut optimizer.adamw.decay, table.decay);
        optimizer.check().map_err(|what| StudyError::invalid(what, "correct [optimizer]"))?;
        Ok(optimizer)
    }

    /// Takes arms of another study, and what they branch from, onto a grid of this one.
    fn adopt(
        &mut self,
        study: &Study,
        names: &[String],
        own: Option<usize>,
        has_prefix: bool,
    ) -> Result<(), StudyError> {
        let mut grid_of = vec![None; study.grids.len()];
        let mut arm_of = vec![None; study.arms.len()];
        for name in names {
            let found: Vec<usize> = indices(&study.arms, |a| a.name == *name);
            if found.is_empty() {
                let known: Vec<&str> = study.arms.iter().map(|a| a.name.as_str()).collect();
                let hint = nearest(name, known.iter().copied()).map_or_else(
                    || format!("it has {}", known.join(", ")),
                    |k| format!("did you mean `{k}`?"),
                );
                return Err(StudyError::invalid(
                    format!("reuse: study {} has no arm `{name}`", study.name),
                    hint,
                ));
            }
            for index in found {
                self.adopt_arm(study, index, own, has_prefix, &mut grid_of, &mut arm_of)?;
            }
        }
        Ok(())
    }

    fn adopt_arm(
        &mut self,
        study: &Study,
        index: usize,
        own: Option<usize>,
        has_prefix: bool,
        grid_of: &mut [Option<usize>],
        arm_of: &mut [Option<usize>],
    ) -> Result<usize, StudyError> {
        if let Some(known) = arm_of[index] {
            return Ok(known);
        }
        let theirs = &study.arms[index];
        let from = match theirs.from {
            Some((parent, at)) => {
                Some((self.adopt_arm(study, parent, own, has_prefix, grid_of, arm_of)?, at))
            }
            None => None,
        };
        let their_grid = &study.grids[theirs.grid];
        let (grid, conditions) = if let Some(own) = own {
            let conditions = matching(&self.grids[own], their_grid, theirs, &study.name)?;
            (own, conditions)
        } else {
            let grid = *grid_of[theirs.grid].get_or_insert_with(|| {
                let mut grid = their_grid.clone();
                if has_prefix {
                    for (label, _) in &mut grid.conditions {
                        *label = format!("{}/{label}", study.name);
                    }
                }
                self.grids.push(grid);
                self.grids.len() - 1
            });
            (grid, theirs.conditions.clone())
        };
        let origin = theirs.origin.clone().unwrap_or_else(|| study.name.clone());
        self.optimizer = self.optimizer.or(Some(theirs.optimizer));
        self.arms.push(Arm { grid, conditions, from, origin: Some(origin), ..theirs.clone() });
        arm_of[index] = Some(self.arms.len() - 1);
        Ok(self.arms.len() - 1)
    }

    fn add_arm(
        &mut self,
        name: &str,
        table: &ArmTable,
        own: Option<usize>,
    ) -> Result<(), StudyError> {
        check_label("arm", name)?;
        let invalid = |what: String, hint: &str| {
            Err(StudyError::invalid(format!("arm `{name}`: {what}"), hint))
        };
        let parents: Vec<usize> = match &table.from {
            None => vec![],
            Some(from) => {
                let found = indices(&self.arms, |a| a.name == *from);
                if found.is_empty() {
                    let known = self.arms.iter().map(|a| a.name.as_str());
                    let hint = nearest(from, known).map_or_else(
                        || "an arm branches from one that stands above it, or is reused".to_owned(),
                        |k| format!("did you mean `{k}`?"),
                    );
                    return invalid(format!("there is no arm `{from}` to branch from"), &hint);
                }
                found
            }
        };
        if table.from.is_none() && own.is_none() {
            return invalid("it has no sources".into(), "add [sources], or `from` a reused arm");
        }
        if table.from.is_none() && table.at.is_some() {
            return invalid("`at` without `from`".into(), "name the arm it branches from");
        }
        if table.window.is_some() && table.from.is_some() {
            return invalid("a window with `from`".into(), "a branch has its start's window");
        }
        let cut: Cut = table.cut.parse().map_err(|e: backcut_engine::CutError| {
            StudyError::invalid(format!("arm `{name}`: {e}"), e.hint())
        })?;
        let stream = match table.stream.as_deref() {
            None | Some("a") => Stream::A,
            Some("b") => Stream::B,
            Some(other) => return invalid(format!("stream {other:?}"), "streams are a and b"),
        };
        let clash =
            |grid: usize, arms: &[Arm]| arms.iter().any(|a| a.name == name && a.grid == grid);
        let targets: Vec<(usize, Option<usize>)> = if parents.is_empty() {
            vec![(own.unwrap_or(0), None)]
        } else {
            parents.iter().map(|&p| (self.arms[p].grid, Some(p))).collect()
        };
        for (grid, parent) in targets {
            if clash(grid, &self.arms) {
                return invalid("two arms of this name".into(), "rename one");
            }
            let start = match parent {
                None => 0,
                Some(p) => table.at.unwrap_or(self.arms[p].updates),
            };
            if let Some(p) = parent
                && !(1..=self.arms[p].updates).contains(&start)
            {
                let last = self.arms[p].updates;
                return invalid(
                    format!("at = {start}, but `{}` has updates 1 to {last}", self.arms[p].name),
                    "branch at an update that exists",
                );
            }
            if table.updates <= start || table.updates > MAX_UPDATES {
                return invalid(
                    format!("updates = {}, starting after update {start}", table.updates),
                    "updates count from initialization, at most 10,000,000",
                );
            }
            let every = self.file.evaluate_every.unwrap_or(EVALUATE_EVERY);
            let evaluations = table
                .evaluate
                .clone()
                .unwrap_or_else(|| evaluation_points(start, table.updates, every));
            let inside = |u: &u64| (start + 1..=table.updates).contains(u);
            if !evaluations.iter().all(inside) || !evaluations.is_sorted_by(|a, b| a < b) {
                return invalid(
                    format!("evaluate = {evaluations:?}"),
                    "list updates of this arm once each, in order",
                );
            }
            if !table.keep.iter().all(inside) {
                return invalid(format!("keep = {:?}", table.keep), "list updates of this arm");
            }
            let all = match parent {
                Some(p) => self.arms[p].conditions.clone(),
                None => (0..self.grids[grid].conditions.len()).collect(),
            };
            let conditions = self.chosen_conditions(name, table, grid, all)?;
            let optimizer = match (parent, self.optimizer) {
                (Some(p), _) => self.tuned(self.arms[p].optimizer)?,
                (None, Some(optimizer)) => optimizer,
                (None, None) => return invalid("no optimizer".into(), "add [system]"),
            };
            if let Some(p) = parent {
                self.arms[p].keep.insert(start);
            }
            self.arms.push(Arm {
                name: name.to_owned(),
                grid,
                conditions,
                cut,
                window: table.window.or(parent.and_then(|p| self.arms[p].window)),
                from: parent.map(|p| (p, start)),
                updates: table.updates,
                stream,
                evaluations,
                optimizer,
                keep: table.keep.iter().copied().collect(),
                origin: None,
            });
        }
        Ok(())
    }

    fn chosen_conditions(
        &self,
        name: &str,
        table: &ArmTable,
        grid: usize,
        all: Vec<usize>,
    ) -> Result<Vec<usize>, StudyError> {
        let Some(wanted) = &table.conditions else { return Ok(all) };
        let labels: Vec<&str> = all.iter().map(|&i| &*self.grids[grid].conditions[i].0).collect();
        let at = |w: &String| {
            labels.iter().position(|l| l == w).map(|i| all[i]).ok_or_else(|| {
                let what = format!("arm `{name}`: no condition `{w}` where it runs");
                StudyError::invalid(what, format!("conditions there: {}", labels.join(", ")))
            })
        };
        wanted.iter().map(at).collect()
    }

    fn measurements(&mut self) -> Result<Vec<Measured>, StudyError> {
        let mut measured = Vec::new();
        for table in &self.file.measurements {
            for name in &table.of {
                let arms = indices(&self.arms, |a| a.name == *name);
                if arms.is_empty() {
                    let hint = "measure an arm of this study, or a reused one";
                    return Err(StudyError::invalid(
                        format!("measurement of no arm `{name}`"),
                        hint,
                    ));
                }
                for arm in arms {
                    let updates = table.at.clone().unwrap_or_else(|| vec![self.arms[arm].updates]);
                    for update in updates {
                        let reference = self.reference(table.reference.as_deref(), arm)?;
                        if table.what.needs_reference() && reference.is_none() {
                            let hint = "add reference = \"ARM\"";
                            return Err(StudyError::invalid(
                                "a measurement on common inputs",
                                hint,
                            ));
                        }
                        self.must_keep(arm, update)?;
                        measured.push(Measured {
                            arm,
                            update,
                            what: table.what.clone(),
                            reference,
                        });
                    }
                }
            }
        }
        Ok(measured)
    }

    fn reference(
        &mut self,
        name: Option<&str>,
        arm: usize,
    ) -> Result<Option<(usize, u64)>, StudyError> {
        let Some(name) = name else { return Ok(None) };
        let grid = self.arms[arm].grid;
        let found = self.arms.iter().position(|a| a.name == name && a.grid == grid);
        let found = found.ok_or_else(|| {
            StudyError::invalid(format!("reference = {name:?}"), "name an arm of the same sources")
        })?;
        let update = self.arms[found].updates;
        self.must_keep(found, update)?;
        Ok(Some((found, update)))
    }

    fn must_keep(&mut self, arm: usize, update: u64) -> Result<(), StudyError> {
        let arm = &mut self.arms[arm];
        let start = arm.from.map_or(0, |(_, at)| at);
        if !(start + 1..=arm.updates).contains(&update) {
            let what = format!("measurement of `{}` at update {update}", arm.name);
            let hint = format!("the arm has updates {} to {}", start + 1, arm.updates);
            return Err(StudyError::invalid(what, hint));
        }
        arm.keep.insert(update);
        Ok(())
    }

    fn families(&self) -> Result<Vec<StudyFamily>, StudyError> {
        let mut families: Vec<StudyFamily> = Vec::new();
        for table in &self.file.families {
            let family = self.family(table).map_err(|error| match error {
                StudyError::Invalid { what, hint } => {
                    StudyError::Invalid { what: format!("family `{}`: {what}", table.name), hint }
                }
                other => other,
            })?;
            if families.iter().any(|f| f.table.name == table.name) {
                let what = format!("two families named `{}`", table.name);
                return Err(StudyError::invalid(what, "rename one"));
            }
            families.push(family);
        }
        Ok(families)
    }

    fn family(&self, table: &FamilyTable) -> Result<StudyFamily, StudyError> {
        let mut contrasts = Vec::new();
        for text in &table.contrasts {
            let contrast = Contrast::parse(text).map_err(|error| {
                StudyError::invalid(
                    format!("contrast {text:?}: {error}"),
                    "write cells in brackets, as in \"[F_SG@0.20] - [FF@0.20]\"",
                )
            })?;
            for cell in contrast.cells() {
                self.check_cell(cell)?;
            }
            contrasts.push(contrast);
        }
        let asks = match table.asks.as_str() {
            "confirmatory" => Status::Confirmatory,
            "prespecified" => Status::Prespecified,
            "descriptive" => Status::Descriptive,
            "post hoc" => Status::PostHoc,
            other => {
                let hint = "statuses: confirmatory, prespecified, descriptive, post hoc";
                return Err(StudyError::invalid(format!("asks = {other:?}"), hint));
            }
        };
        let bound = match table.bound.as_deref() {
            None | Some("two-sided") => Bound::TwoSided,
            Some("one-sided") => Bound::OneSided,
            Some(other) => {
                let hint = "bounds: two-sided, one-sided";
                return Err(StudyError::invalid(format!("bound = {other:?}"), hint));
            }
        };
        let params = FamilyParams {
            size: table.size,
            alpha: table.alpha.unwrap_or(0.05),
            margin: table.margin,
            bound,
            ..FamilyParams::new(contrasts)
        };
        params.clone().check().map_err(|error| {
            StudyError::invalid(error.to_string(), "correct the family's settings")
        })?;
        Ok(StudyFamily { table: table.clone(), params, asks })
    }

    fn check_cell(&self, cell: &str) -> Result<(), StudyError> {
        let known: Vec<String> = cells(&self.grids, &self.arms);
        let is_known = |c: &String| c == cell;
        let starred =
            cell.strip_suffix("@*").is_some_and(|arm| self.arms.iter().any(|a| a.name == arm));
        if starred || known.iter().any(is_known) {
            return Ok(());
        }
        let hint = nearest(cell, known.iter().map(String::as_str)).map_or_else(
            || "a cell is ARM@CONDITION of this study".to_owned(),
            |k| format!("did you mean [{k}]?"),
        );
        Err(StudyError::invalid(format!("there is no cell [{cell}]"), hint))
    }

    fn check_comparisons(&self) -> Result<(), StudyError> {
        for table in &self.file.comparisons {
            if !["permutation", "kolmogorov-smirnov"].contains(&table.kind.as_str()) {
                let what = format!("comparison `{}`: kind = {:?}", table.name, table.kind);
                let hint = "kinds: permutation, kolmogorov-smirnov";
                return Err(StudyError::invalid(what, hint));
            }
            self.check_cell(&table.left)?;
            self.check_cell(&table.right)?;
        }
        Ok(())
    }
}

/// All cells `arm@condition`.
fn cells(grids: &[Grid], arms: &[Arm]) -> Vec<String> {
    let of = |a: &Arm| -> Vec<String> {
        let label = |&c: &usize| format!("{}@{}", a.name, grids[a.grid].conditions[c].0);
        a.conditions.iter().map(label).collect()
    };
    arms.iter().flat_map(of).collect()
}

/// The conditions of our grid under which a reused arm has run, with our seeds among its own.
fn matching(ours: &Grid, theirs: &Grid, arm: &Arm, study: &str) -> Result<Vec<usize>, StudyError> {
    let known: BTreeSet<u64> = theirs.sources.iter().copied().collect();
    if let Some(seed) = ours.sources.iter().find(|s| !known.contains(s)) {
        let what = format!("reuse: study {study} has no source {seed}");
        return Err(StudyError::invalid(what, "reused arms need the same seeds"));
    }
    let mut conditions = Vec::new();
    for (index, (label, choice)) in ours.conditions.iter().enumerate() {
        let found = arm.conditions.iter().find(|&&c| theirs.conditions[c].0 == *label);
        let Some(&found) = found else { continue };
        if theirs.conditions[found].1 != *choice {
            let what = format!("reuse: condition `{label}` means something else in study {study}");
            return Err(StudyError::invalid(what, "give it the same settings, or another label"));
        }
        conditions.push(index);
    }
    if conditions.is_empty() {
        let what = format!("reuse: arm `{}` of study {study} shares no condition", arm.name);
        return Err(StudyError::invalid(what, "label the conditions alike"));
    }
    Ok(conditions)
}

fn indices<T>(items: &[T], test: impl Fn(&T) -> bool) -> Vec<usize> {
    items.iter().enumerate().filter(|(_, item)| test(item)).map(|(i, _)| i).collect()
}

fn check_label(what: &str, label: &str) -> Result<(), StudyError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.+ ".contains(c);
    if label.is_empty() || label.len() > 64 || !label.chars().all(is_plain) {
        let hint = "use letters, digits and - _ . +";
        return Err(StudyError::invalid(format!("{what} label {label:?}"), hint));
    }
    Ok(())
}

fn seeds(sources: &Sources) -> Result<Vec<u64>, StudyError> {
    let hint = "write `first` and `count`, or `seeds`";
    let seeds: Vec<u64> = match (sources.first, sources.count, &sources.seeds) {
        (Some(first), Some(count), None) if count <= 1_000_000 => match first.checked_add(count) {
            Some(end) => (first..end).collect(),
            None => return Err(StudyError::invalid("sources: seeds overflow", hint)),
        },
        (Some(_), Some(count), None) => {
            return Err(StudyError::invalid(
                format!("sources: count = {count}"),
                "at most 1,000,000",
            ));
        }
        (None, None, Some(seeds)) => seeds.clone(),
        _ => return Err(StudyError::invalid("sources are not clear", hint)),
    };
    let distinct: BTreeSet<u64> = seeds.iter().copied().collect();
    if seeds.is_empty() || distinct.len() < seeds.len() {
        return Err(StudyError::invalid("sources: no seed, or one twice", hint));
    }
    // Streams add 10^9 to a seed, and JSON numbers are exact up to 2^53.
    if let Some(seed) = seeds.iter().find(|s| **s > (1 << 53) - 2_000_000_000) {
        return Err(StudyError::invalid(format!("sources: seed {seed}"), "use seeds below 2^52"));
    }
    Ok(seeds)
}

/// The canonical form: what was resolved, in JSON.
fn describe(study: &Study) -> Value {
    let grid = |g: &Grid| {
        let conditions: Vec<Value> =
            g.conditions.iter().map(|(label, choice)| json!([label, choice])).collect();
        json!({ "sources": g.sources, "conditions": conditions })
    };
    let arm = |a: &Arm| {
        json!({
            "name": a.name, "grid": a.grid, "conditions": a.conditions, "cut": a.cut,
            "window": a.window, "from": a.from, "updates": a.updates, "stream": a.stream,
            "evaluations": a.evaluations, "optimizer": a.optimizer, "keep": a.keep,
            "origin": a.origin,
        })
    };
    let measured = |m: &Measured| json!({ "arm": m.arm, "update": m.update, "what": m.what, "reference": m.reference });
    json!({
        "version": 1,
        "name": study.name,
        "title": study.title,
        "grids": study.grids.iter().map(grid).collect::<Vec<_>>(),
        "arms": study.arms.iter().map(arm).collect::<Vec<_>>(),
        "measurements": study.measured.iter().map(measured).collect::<Vec<_>>(),
        "families": study.families.iter().map(|f| &f.table).collect::<Vec<_>>(),
        "comparisons": study.comparisons,
    })
}
