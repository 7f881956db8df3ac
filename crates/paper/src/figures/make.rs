//! From a figure's description to its drawing.

use backcut_page::draw::{Drawing, Key, Palette, Series, range};
use backcut_page::report::chart::{Chart, Group, MARKS, Middle, Point};
use backcut_page::report::data::Data;
use backcut_page::report::estimate::Estimate;
use backcut_page::report::results::{Study, canonical_condition, distinct, in_order};
use backcut_page::report::{ReportError, Results};
use backcut_text::format::{fixed, number};
use toml::{Table, Value};

use super::ask::{ask, theirs};
use super::spec::{
    Ask, Figure, Found, KeyKind, Legend, Panel, Places, fill, is_of_the_vessel, read,
};
use crate::compare::ours;
use crate::paper::Paper;
use crate::words;

/// A panel, and what it was made from.
struct Made<'f> {
    spec: &'f Panel,
    chart: Chart,
    enlarged: bool,
}

/// Everything that a figure is made from.
struct Maker<'a> {
    results: &'a Results,
    paper: &'a Paper,
    figure: &'a Figure,
    study: &'a str,
    data: Data,
}

/// Makes a figure.
pub fn draw(results: &Results, paper: &Paper, figure: &Figure) -> Result<Drawing, ReportError> {
    let study = study_of(results, figure)?;
    let mut maker = Maker { results, paper, figure, study, data: Data::default() };
    let mut all = Vec::new();
    for spec in &figure.panels {
        let is_here = |name: &String| results.study(name).is_some();
        if spec.with.as_ref().is_none_or(is_here) && !spec.without.as_ref().is_some_and(is_here) {
            all.extend(maker.panels(spec));
        }
    }
    let mut panels = Vec::new();
    let mut again = None;
    for Made { spec, chart, enlarged } in &all {
        let alike = all.iter().filter(|other| std::ptr::eq(other.spec, *spec));
        let together = alike.flat_map(|made| made.chart.reach());
        let scale = spec.one_scale.then(|| range(together)).flatten();
        panels.extend(chart.panel(scale));
        // On the common scale small values are one heap: they are shown again, and the title says how much larger.
        if let (Some(whole), Some(own), true) = (scale, range(chart.reach()), *enlarged) {
            let times = (whole[1] - whole[0]) / (own[1] - own[0]);
            let title = format!("{}, {} times enlarged", chart.title, fixed(times, 0));
            again = Chart { title, ..chart.clone() }.panel(None).filter(|_| times > 2.0);
        }
    }
    let enlarged = if again.is_some() {
        " The last panel is the first one enlarged; the others have one scale."
    } else {
        ""
    };
    panels.extend(again);
    let words = maker.words(&Table::new());
    let mut told: Vec<String> = figure.told.iter().filter_map(|told| maker.told(told)).collect();
    told.insert(0, fill(&figure.caption, &words) + enlarged);
    let data = maker.data;
    if panels.is_empty() {
        let gaps: Vec<&str> = data.gaps.iter().take(3).map(String::as_str).collect();
        let why = match gaps.as_slice() {
            [] => format!("study {study} holds nothing that it shows"),
            gaps => gaps.join("; "),
        };
        return Err(ReportError::missing(&figure.name, why));
    }
    Ok(Drawing {
        title: fill(&figure.title, &words),
        caption: told.join(" ") + &data.gap_sentence(),
        legend: legend(figure, &all),
        panels,
        alt: figure.alt.clone(),
        csv: data.csv(),
    })
}

/// The study that a figure is made of.
fn study_of<'a>(results: &'a Results, figure: &'a Figure) -> Result<&'a str, ReportError> {
    if figure.holds.is_empty() {
        return first_of(results, figure);
    }
    holding(results, figure).map(|study| study.name.as_str())
}

/// The first of a figure's studies that was collected.
pub fn first_of<'f>(results: &Results, figure: &'f Figure) -> Result<&'f str, ReportError> {
    let is_here = |study: &&String| results.study(study).is_some();
    figure.studies.iter().find(is_here).map(String::as_str).ok_or_else(|| {
        let studies = figure.studies.join(" or ");
        ReportError::missing(&figure.name, format!("study {studies} was not collected"))
    })
}

/// The first study of the quadrotor that holds one of a figure's quantities.
pub fn holding<'r>(results: &'r Results, figure: &Figure) -> Result<&'r Study, ReportError> {
    let holds = |study: &&Study| figure.holds.iter().any(|q| study.measured(q).next().is_some());
    results.studies().filter(|study| !is_of_the_vessel(&study.name)).find(holds).ok_or_else(|| {
        let why = format!("no collected study holds `{}`", figure.holds.join("` or `"));
        ReportError::missing(&figure.name, why)
    })
}

/// The series of an arm, the same in every figure; the second stream's arms are the first's.
pub fn series_of(arm: &str) -> Series {
    match arm.strip_suffix("_b").unwrap_or(arm) {
        "w1" => Series::GREEN,
        "w2" => Series::ORANGE,
        // The same cut, later: the same colour with another mark.
        "F_SG_cont" => Series::VERMILION.relative(3),
        cut => Palette::of_cut(cut).unwrap_or(Series::GREY),
    }
}

/// A colour by its name, with the rounds that it is moved by (`vermilion+1`), or the colour of an arm.
fn colour(name: &str) -> Series {
    let (name, rounds) = name.split_once('+').unwrap_or((name, "0"));
    let series = match name {
        "blue" => Series::BLUE,
        "vermilion" => Series::VERMILION,
        "green" => Series::GREEN,
        "orange" => Series::ORANGE,
        "purple" => Series::PURPLE,
        "sky" => Series::SKY,
        "grey" => Series::GREY,
        arm => series_of(arm),
    };
    series.relative(rounds.parse().unwrap_or_default())
}

fn word(words: &Table, key: &str) -> String {
    fill(&format!("{{{key}}}"), words).replace(&format!("{{{key}}}"), "")
}

fn joined(first: &Table, second: &Table) -> Table {
    first.iter().chain(second).map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn table<const N: usize>(words: [(&str, String); N]) -> Table {
    words.into_iter().map(|(key, word)| (key.to_owned(), Value::String(word))).collect()
}

fn legend(figure: &Figure, all: &[Made<'_>]) -> Vec<Key> {
    let charts = || all.iter().map(|made| &made.chart);
    let mut keys: Vec<Key> = Vec::new();
    let of = |Legend { colour: name, label, kind }: &Legend| match kind {
        KeyKind::Mark => Key::mark(colour(name), label),
        KeyKind::Open => Key::open(colour(name), label),
        KeyKind::Line => Key::line(colour(name), label),
        KeyKind::Thin => Key::thin(colour(name), label),
    };
    keys.extend(figure.legend.iter().map(of));
    if figure.legend.is_empty() {
        for (chart, group) in charts().flat_map(|c| c.groups.iter().map(move |group| (c, group))) {
            let label = group.label.as_str();
            let is_line = chart.line && group.points.len() > MARKS;
            let key = match group {
                _ if label.is_empty() => continue,
                _ if group.level || is_line => Key::line(group.series, label),
                Group { open: true, .. } => Key::open(group.series, label),
                _ => Key::mark(group.series, label),
            };
            if keys.iter().all(|known| known.label != key.label) {
                keys.push(key);
            }
        }
    }
    let points = || charts().flat_map(|chart| &chart.groups).flat_map(|group| &group.points);
    let mut beside = points().filter_map(|point| point.beside.as_ref()).peekable();
    if !figure.beside.is_empty() && beside.peek().is_some() {
        let has_ends = beside.any(|beside| beside.interval.is_some());
        let label = figure.beside.as_str();
        keys.push(if has_ends { Key::reference(label) } else { Key::line(Series::GREY, label) });
    }
    if !figure.band.is_empty() && charts().any(|chart| !chart.band.is_empty()) {
        keys.push(Key::band(&*figure.band));
    }
    keys
}

/// The places that a list names.
fn places(list: &Places, study: Option<&Study>, words: &Table) -> Vec<Table> {
    match (list, study) {
        (Places::These(all), _) => all.clone(),
        (Places::Found(_), None) => Vec::new(),
        (Places::Found(Found::Conditions { of, best }), Some(study)) => {
            let measured = |quantity: &String| {
                in_order(study.measured(quantity).map(|row| row.condition.as_str()))
            };
            let all = of.as_ref().map_or_else(|| study.conditions(), measured);
            let is_best = |c: &&&str| best.iter().any(|best| best == **c);
            let chosen: Vec<&str> = all.iter().filter(is_best).copied().collect();
            let shown = if chosen.is_empty() { all } else { chosen };
            let words = |at: &str| {
                table([
                    ("at", at.to_owned()),
                    ("x", at.to_owned()),
                    ("where", words::condition(at)),
                    ("condition", words::condition(at)),
                    ("under", words::under(at)),
                    ("velocity", words::velocity(at)),
                ])
            };
            shown.into_iter().map(words).collect()
        }
        (Places::Found(Found::Parts { of, after, step }), Some(study)) => {
            let after = fill(after, words);
            let parts = distinct(study.measured(of).filter_map(|row| row.part.as_deref()));
            let own: Vec<(&str, &str)> = parts
                .into_iter()
                .filter_map(|part| Some((part, part.strip_prefix(&*after)?)))
                .collect();
            let last = own.last().map_or_else(String::new, |(part, _)| (*part).to_owned());
            let words = |(part, name): &(&str, &str)| {
                let first = name.split('-').next().unwrap_or(name).to_owned();
                let x = match name.parse::<f64>() {
                    Ok(steps) if *step != 1.0 => number(steps * step),
                    _ => (*name).to_owned(),
                };
                let mut words = table([
                    ("part", (*part).to_owned()),
                    ("x", x),
                    ("from", first),
                    ("where", (*part).to_owned()),
                    ("last", last.clone()),
                ]);
                if let Ok(steps) = name.parse::<f64>() {
                    words.insert("number".to_owned(), Value::Float(steps * step));
                }
                words
            };
            own.iter().map(words).collect()
        }
    }
}

impl<'a> Maker<'a> {
    fn words(&self, more: &Table) -> Table {
        joined(&table([("study", self.study.to_owned())]), more)
    }

    /// The panels of one description: one, or one for each of its places.
    fn panels(&mut self, spec: &'a Panel) -> Vec<Made<'a>> {
        let mut each = vec![self.words(&Table::new())];
        for list in &spec.each {
            let with = |words: &Table| {
                let study = self.results.study(&fill(&spec.study, words));
                let here = places(list, study, words);
                here.iter().map(|place| joined(words, place)).collect::<Vec<_>>()
            };
            each = each.iter().flat_map(with).collect();
        }
        each.iter().filter_map(|words| self.panel(spec, words)).collect()
    }

    fn panel(&mut self, spec: &'a Panel, words: &Table) -> Option<Made<'a>> {
        let study = fill(&spec.study, words);
        if self.results.study(&study).is_none() {
            self.data.gap(format!("study {study} was not collected"));
            return None;
        }
        let is_named = |list: &str, place: &Table| {
            let here = canonical_condition(&word(place, "x"));
            let is_it = |name: &Value| name.as_str().map(canonical_condition) == Some(here.clone());
            words.get(list).and_then(Value::as_array).map(|names| names.iter().any(is_it))
        };
        let mut along = places(&spec.x, self.results.study(&study), words);
        along.retain(|place| is_named("only", place) != Some(false));
        along.retain(|place| is_named("but", place) != Some(true));
        along.retain(|place| {
            let quantity = place.get("clip").and_then(Value::as_str);
            let acted = |quantity: &str| Some(clip(self.results.study(&study)?, quantity).0 > 0);
            quantity.is_none_or(|quantity| acted(quantity).unwrap_or_default())
        });
        if spec.numbers {
            along.retain(|place| numeric(place).is_some());
        }
        let words = &joined(words, &table([("study", study)]));
        let text = |text: &str| fill(text, words);
        let title = text(&spec.title);
        let mut groups: Vec<Group> = Vec::new();
        for (i, place) in along.iter().enumerate() {
            let at = if spec.numbers { numeric(place)? } else { i as f64 };
            let own: &[Table] = if spec.series.is_empty() { &[Table::new()] } else { &spec.series };
            for (j, series) in own.iter().enumerate() {
                let words = joined(&joined(words, place), series);
                let level = flag(&words, "level");
                if level && i > 0 {
                    continue;
                }
                let points = self.points(spec, &title, at, &words);
                let series = [word(&words, "colour"), word(&words, "arm")];
                let series = series.iter().find(|name| !name.is_empty());
                let label = word(&words, "label");
                let group = Group {
                    series: series.map_or(Series::GREY, |name| colour(name)),
                    open: flag(&words, "open"),
                    thin: flag(&words, "thin"),
                    level,
                    ..Group::new(Series::GREY, &label, points)
                };
                // Without series every place is one, in its own colour.
                match groups.get_mut(j).filter(|_| !spec.series.is_empty()) {
                    Some(known) => known.points.extend(group.points),
                    None => groups.push(group),
                }
            }
        }
        let band = self.band(spec, &title, &along, words);
        let is_numbers = spec.numbers || spec.across.is_some();
        let name = |place: &Table| fill(&spec.name, &joined(words, place));
        let chart = Chart {
            names: if is_numbers { Vec::new() } else { along.iter().map(name).collect() },
            x_label: text(&spec.x_label),
            y_label: text(&spec.y_label),
            unit: text(spec.shown.as_ref().unwrap_or(&spec.unit)),
            height: spec.height,
            zero: spec.zero,
            log: spec.log,
            line: spec.line,
            bare: spec.bare,
            rules: spec.rules.clone(),
            title,
            band,
            groups,
        };
        (!chart.is_empty()).then(|| Made { spec, chart, enlarged: flag(words, "enlarged") })
    }

    /// What stands at a place; what is missing becomes a gap of the figure.
    fn points(&mut self, spec: &Panel, title: &str, at: f64, words: &Table) -> Vec<Point> {
        let what = fill(&spec.what, words);
        let what = what.trim_matches([',', ' ']).to_owned();
        let answer = self.point(spec, at, words, what.clone());
        match answer {
            Ok(point) if spec.across.is_some() => self.cloud(spec, title, &point, words),
            Ok(point) => {
                let [series, condition] =
                    [&spec.row[0], &spec.row[1]].map(|text| fill(text, words));
                let unit = fill(&spec.unit, words);
                self.data.point([title, &series, &condition], &point, &unit);
                vec![point]
            }
            Err(why) => {
                let is_said = spec.ask.contains_key("expression") || spec.ask.contains_key("curve");
                let other = Some(word(words, "study")).filter(|study| study != self.study);
                let place = other.map_or_else(String::new, |study| format!("{study}: "));
                self.data.gap(place + if is_said { &why } else { &what });
                Vec::new()
            }
        }
    }

    fn point(&self, spec: &Panel, at: f64, words: &Table, what: String) -> Result<Point, String> {
        let question: Ask = read(&spec.ask, words).expect("figures.toml is embedded and tested");
        let (estimate, middle) = ask(self.results, &word(words, "study"), &question)?;
        let beside = match &spec.beside {
            Some(asked) => theirs(self.paper, &question, &read(asked, words)?),
            None => None,
        };
        Ok(Point { at, estimate, middle, what, beside })
    }

    /// A point for every value of a place that has one along the bottom, too.
    fn cloud(&mut self, spec: &Panel, title: &str, of: &Point, words: &Table) -> Vec<Point> {
        let asked = spec.across.as_ref().and_then(|asked| read(asked, words).ok());
        let found = asked.and_then(|asked| ask(self.results, &word(words, "study"), &asked).ok());
        let across = found.map(|(estimate, _)| estimate.values).unwrap_or_default();
        let (series, x) = (fill(&spec.row[0], words), word(words, "x"));
        let mut points = Vec::new();
        for (state, along) in across.into_iter().filter(|(_, along)| *along > 0.0) {
            let value = of.estimate.values.iter().find(|(other, _)| *other == state);
            let Some((_, value)) = value else { continue };
            self.data.value(title, &series, &state, &x, along, "ratio");
            self.data.value(title, &series, &state, "difference", *value, &spec.unit);
            let values = vec![(state.clone(), *value)];
            let estimate = Estimate { values, mean: *value, interval: None, missing: Vec::new() };
            let what = format!("{state}, {x} {}", number(along));
            let (at, middle, beside) = (along.log10(), Middle::Alone, None);
            points.push(Point { at, estimate, middle, what, beside });
        }
        if points.is_empty() {
            self.data.gap(format!("`{x}` of {}", of.what));
        }
        points
    }

    fn band(
        &mut self,
        spec: &Panel,
        title: &str,
        along: &[Table],
        words: &Table,
    ) -> Vec<(f64, f64)> {
        let Some(asked) = &spec.band else { return Vec::new() };
        let half = |place: &Table| {
            let words = joined(words, place);
            let study = asked.get("study").and_then(Value::as_str).unwrap_or("{study}");
            let mut asked = asked.clone();
            asked.remove("study");
            let (found, _) =
                ask(self.results, &fill(study, &words), &read(&asked, &words).ok()?).ok()?;
            let (half, label) = (found.deviation()?, self.figure.band.as_str());
            let place = (numeric(place)?, word(&words, "x"));
            self.data.value(title, label, &place.1, "standard deviation", half, &spec.unit);
            Some((place.0, half))
        };
        along.iter().filter_map(half).collect()
    }

    /// A sentence of the caption, if it has its number.
    fn told(&self, told: &super::spec::Told) -> Option<String> {
        if let Some(quantity) = &told.clip {
            let (_, words) = clip(self.results.study(self.study)?, quantity);
            return Some(fill(&told.text, &table([("clip", words)])));
        }
        if told.claim.is_none() {
            return Some(told.text.clone());
        }
        let claim = told.claim.as_deref().and_then(|id| self.paper.claim(id));
        let (value, n) = match (&told.ask, claim) {
            (Some(asked), _) => {
                let (found, _) = ask(self.results, self.study, asked).ok()?;
                (found.mean, found.n())
            }
            (None, claim) => ours(self.results, claim?).ok().map(|ours| (ours.value, ours.n))?,
        };
        let paper = claim.and_then(|claim| claim.paper).map(|value| words::published(value, None));
        let words = [("ours", number(value)), ("n", n.to_string()), ("paper", paper?)];
        Some(fill(&told.text, &table(words)))
    }
}

fn flag(words: &Table, key: &str) -> bool {
    words.get(key).and_then(Value::as_bool).unwrap_or_default()
}

/// The number that a place is along the bottom.
fn numeric(place: &Table) -> Option<f64> {
    let number = place.get("number").and_then(Value::as_float);
    number.or_else(|| word(place, "x").parse().ok())
}

/// How often the global-norm clip acted, and where, in words.
fn clip(study: &Study, quantity: &str) -> (usize, String) {
    let factors = || study.measured(quantity).filter_map(|row| Some((row, row.value?)));
    let acted = || factors().filter(|(_, factor)| *factor < 1.0);
    let conditions = in_order(acted().map(|(row, _)| row.condition.as_str()));
    let words = match (acted().count(), factors().count()) {
        (_, 0) => "Where the global-norm clip acted was not stored.".to_owned(),
        (0, of) => format!(
            "The global-norm clip acted on none of {of} gradients, so the clipped gradient is the gradient and has no \
             column."
        ),
        (acted, of) => format!(
            "The global-norm clip acted on {acted} of {of} gradients (at {}).",
            conditions.join(", ")
        ),
    };
    (acted().count(), words)
}
