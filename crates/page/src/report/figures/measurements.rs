//! What was measured at kept states, one panel or a few per quantity.
//!
//! A number may depend on condition, arm, cut and part. Of those that vary, the first goes along the bottom, the next is told
//! by colour, and the rest make panels. More names than a panel's width holds become rows.

use crate::draw::{Drawing, Key, Mark, Palette, Panel, Row, Rows, Series};

use super::quantity::{Place, Quantity, WORDS, quantities};
use crate::report::chart::{Chart as Plotted, Group, Point, words};
use crate::report::data::Data;
use crate::report::error::ReportError;
use crate::report::estimate::Estimate;
use crate::report::format;
use crate::report::results::{Results, Study, distinct};

const NAME: &str = "measurements";

/// Most panels of the figure, and of one quantity; the table has everything.
const PANELS: usize = 12;
const PANELS_EACH: usize = 4;
/// Most names along the bottom, and most rows.
const ALONG: usize = 7;
const ROWS: usize = 16;

/// Percentiles over windows stand beside a quantity under these endings; the spread over sources is shown instead.
const PERCENTILES: [&str; 2] = [".p16", ".p84"];

pub(super) fn draw(results: &Results, study: &Study) -> Result<Drawing, ReportError> {
    let all = quantities(results, study);
    if all.iter().all(|quantity| quantity.means.is_empty()) {
        return Err(ReportError::missing(NAME, format!("{} measured nothing", study.name)));
    }
    let mut data = Data::default();
    let mut panels: Vec<Panel> = Vec::new();
    let mut legend: Vec<&str> = Vec::new();
    let names = all.iter().flat_map(|q| (0..WORDS.len()).flat_map(|along| q.names(along)));
    let palette = results.palette(study).and(names);
    for quantity in &all {
        if quantity.means.is_empty() {
            data.gap(format!("{}, which has no value", quantity.name));
        } else if PERCENTILES.iter().any(|ending| quantity.name.ends_with(ending)) {
            // The table has them.
        } else if panels.len() >= PANELS {
            data.gap(quantity.name.to_owned());
        } else {
            let chart = Chart::new(quantity);
            for (place, e) in &quantity.means {
                data.estimate(quantity.name, &Quantity::words(place, &[1, 2, 3]), place[0], e, "");
            }
            panels.extend(chart.panels(&palette, &mut data));
            let series = chart.series.map(|along| quantity.names(along)).unwrap_or_default();
            legend.extend(series);
        }
    }
    Ok(Drawing {
        title: format!("Measurements of {}", study.name),
        caption: format!(
            "Numbers measured at kept states, at the last update measured. Large marks: means over sources, with pointwise 95% \
             source-bootstrap intervals (descriptive) from four sources on; small marks: single sources. The table of \
             measurements has every quantity.{}",
            data.gap_sentence()
        ),
        legend: distinct(legend)
            .into_iter()
            .map(|name| {
                Key::mark(palette.series(name), if name.is_empty() { "none" } else { name })
            })
            .collect(),
        panels,
        alt: "Measured quantities by condition, arm, cut and part.".into(),
        csv: data.csv(),
    })
}

/// What goes where.
struct Chart<'a, 's> {
    quantity: &'a Quantity<'s>,
    along: usize,
    series: Option<usize>,
    apart: Vec<usize>,
}

impl<'a, 's> Chart<'a, 's> {
    fn new(quantity: &'a Quantity<'s>) -> Self {
        let varies = |i: &usize| quantity.names(*i).len() > 1;
        let along = [0, 3, 2, 1].into_iter().find(varies).unwrap_or(0);
        let mut others = [2, 1, 3, 0].into_iter().filter(|i| *i != along && varies(i));
        let series = others.next();
        Self { quantity, along, series, apart: others.collect() }
    }

    fn panels(&self, palette: &Palette, data: &mut Data) -> Vec<Panel> {
        let key = |place: &Place<'s>| Quantity::words(place, &self.apart);
        let mut keys: Vec<String> =
            self.quantity.means.iter().map(|(place, _)| key(place)).collect();
        keys.sort();
        keys.dedup();
        let mut panels = Vec::new();
        for (i, apart) in keys.iter().enumerate() {
            let title = match apart.as_str() {
                "" => self.quantity.name.to_owned(),
                apart => format!("{}: {apart}", self.quantity.name),
            };
            if i >= PANELS_EACH {
                data.gap(title);
                continue;
            }
            let here = self.quantity.means.iter().filter(|(place, _)| key(place) == *apart);
            let means: Vec<&(Place<'s>, Estimate)> = here.collect();
            panels.extend(if self.along == 0 && self.quantity.names(0).len() <= ALONG {
                self.plot(&title, &means, palette)
            } else {
                Some(self.rows(&title, &means, palette, data))
            });
        }
        panels
    }

    /// The name that a mean's colour stands for.
    fn series_of(&self, place: &Place<'s>) -> &'s str {
        self.series.map_or(place[1], |along| place[along])
    }

    fn what(place: &Place<'_>) -> String {
        Quantity::words(place, &[2, 3, 1, 0])
    }

    fn plot(
        &self,
        title: &str,
        means: &[&(Place<'s>, Estimate)],
        palette: &Palette,
    ) -> Option<Panel> {
        let names = self.quantity.names(self.along);
        let series = self.series.map_or(vec![""], |along| self.quantity.names(along));
        let at = |name: &str| names.iter().position(|n| *n == name).unwrap_or(0);
        let group = |name: &&'s str| {
            let is_its = |place: &Place<'s>| self.series.is_none_or(|along| place[along] == *name);
            let own = means.iter().filter(|(place, _)| is_its(place));
            let point = |(place, e): &&(Place<'s>, Estimate)| {
                Point::mean(at(place[self.along]), e, Self::what(place))
            };
            let colour = own.clone().next().map(|(place, _)| self.series_of(place));
            let colour = colour.map_or(Series::GREY, |name| palette.series(name));
            Group::new(colour, name, own.map(point).collect())
        };
        let chart = Plotted {
            title: title.to_owned(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            x_label: WORDS[self.along].to_owned(),
            y_label: self.quantity.name.to_owned(),
            height: 220.0,
            groups: series.iter().map(group).collect(),
            ..Plotted::default()
        };
        chart.panel(None)
    }

    fn rows(
        &self,
        title: &str,
        means: &[&(Place<'s>, Estimate)],
        palette: &Palette,
        data: &mut Data,
    ) -> Panel {
        let names = self.quantity.names(self.along);
        if names.len() > ROWS {
            data.gap(format!("{} more rows of {title}", names.len() - ROWS));
        }
        let row = |name: &&'s str| {
            let here: Vec<_> =
                means.iter().filter(|(place, _)| place[self.along] == *name).collect();
            let note = match here.as_slice() {
                [(_, e)] => format::estimate(e.mean, e.interval),
                _ => String::new(),
            };
            let mark = |(place, e): &&&(Place<'s>, Estimate)| Mark {
                series: palette.series(self.series_of(place)),
                value: e.mean,
                wide: e.interval,
                narrow: None,
                open: false,
                text: words(e, &Self::what(place), ""),
            };
            let name = if name.is_empty() { "none" } else { name };
            Row { name: name.to_owned(), note, marks: here.iter().map(mark).collect(), band: None }
        };
        let rows: Vec<Row> = names.iter().take(ROWS).map(row).collect();
        Rows { title, axis: self.quantity.name, rules: &[], rows: &rows, reach: None }.panel()
    }
}
