//! How far back trained policies look, and how far back their gradients come from.

use backcut_page::draw::{Axis, Drawing, Key, Panel, Plot, PlotSpec, Series};
use backcut_page::report::data::Data;
use backcut_page::report::estimate::{Estimate, Pick};
use backcut_page::report::results::{Results, Study, distinct, in_order};
use backcut_page::report::{ReportError, ShowEstimate as _};

use super::{common_scale, holding, series_of};
use crate::words;

const ARMS: [&str; 2] = ["FF", "F_SG"];
/// Conditions of the finding, where a study has more.
const SHOWN: [&str; 3] = ["0.05", "0.20", "hidden"];
const AGE: &str = "age ";

/// One panel to be: its title, and estimates by arm and age.
struct Look {
    title: String,
    condition: String,
    ages: Vec<String>,
    estimates: Vec<(usize, usize, Estimate)>,
}

/// Attention by age, a row of panels per layer.
pub fn attention(results: &Results) -> Result<Drawing, ReportError> {
    const NAME: &str = "attention";
    const QUANTITY: &str = "attention.age";
    let study = holding(results, NAME, &[QUANTITY.to_owned()])?;
    let mut data = Data::default();
    let parts = distinct(study.measured(QUANTITY).filter_map(|row| row.part.as_deref()));
    let layers = distinct(parts.iter().filter_map(|part| Some(part.split_once(AGE)?.0)));
    let mut looks = Vec::new();
    for (i, layer) in layers.iter().enumerate() {
        let ages: Vec<String> =
            parts.iter().filter_map(|part| part.strip_prefix(layer)).map(str::to_owned).collect();
        for condition in conditions(study, QUANTITY) {
            let title = format!("Layer {}, {}", i + 1, words::condition(condition));
            let look = |arm: &str, age: &str| {
                let part = format!("{layer}{age}");
                let pick = Pick {
                    quantity: QUANTITY,
                    arm: Some(arm),
                    part: Some(&part),
                    ..Pick::default()
                };
                results.measured(&study.name, pick, condition).into_iter().collect()
            };
            looks.push(gathered(results, &mut data, title, condition, &ages, look));
        }
    }
    let last = looks.first().and_then(|look| Some(span(look.ages.last()?)?.1));
    let panels = draw(&mut data, looks, "probability (%)", |plot, ages| {
        let Some(last) = last else { return };
        for (i, age) in ages.iter().enumerate() {
            if let Some(even) = even_share(age, last) {
                let x = plot.slot(i, 0.0);
                plot.reference(x, 100.0 * even, &format!("even attention, {age}"), "%");
            }
        }
    });
    if panels.is_empty() {
        return Err(ReportError::missing(NAME, format!("{} holds no `{QUANTITY}`", study.name)));
    }
    Ok(Drawing {
        title: "How far back trained policies look".into(),
        caption: format!(
            "Study {}: the probability that a query gives to positions so many steps back, over heads, trajectories and the \
             queries that have such positions, summed over the ages of a bin; late queries alone have old positions, so bins need not sum to 100%. Means over sources with pointwise 95% \
             source-bootstrap intervals; all panels have one scale. Short bars: attention that is the same for every position. \
             Descriptive.{}",
            study.name,
            data.gap_sentence()
        ),
        legend: legend().chain([Key::line(Series::GREY, "even attention")]).collect(),
        panels,
        alt: "Attention probability by how many steps back a position lies, by layer and velocity noise.".into(),
        csv: data.csv(),
    })
}

/// The gradient of the quadrotor by age.
pub fn gradient(results: &Results) -> Result<Drawing, ReportError> {
    const NAME: &str = "gradient-ages";
    const CUT: &str = "FD";
    let study = holding(results, NAME, &["age.norm".to_owned()])?;
    let mut data = Data::default();
    let mut looks = Vec::new();
    for condition in conditions(study, "age.norm") {
        let rows = study.measured("age.norm").filter_map(|row| row.part.as_deref());
        let ages: Vec<String> = distinct(rows).into_iter().map(str::to_owned).collect();
        let of = |quantity: &'static str, arm: &str, part: Option<&str>| {
            let pick = Pick { quantity, arm: Some(arm), cut: Some(CUT), part, update: None };
            results.measured(&study.name, pick, condition)
        };
        let look = |arm: &str, age: &str| {
            // What the whole gradient is: the sum up to the last age.
            let whole = of("age.reach", arm, ages.last().map(String::as_str));
            let parts = of("age.norm", arm, Some(age)).into_iter();
            let share = |(source, norm): (String, f64)| {
                let whole = whole.get(&source).filter(|whole| **whole > 0.0)?;
                Some((source, norm / whole))
            };
            parts.filter_map(share).collect()
        };
        let title = words::velocity(condition);
        looks.push(gathered(results, &mut data, title, condition, &ages, look));
    }
    let panels = draw(&mut data, looks, "norm, % of the gradient's", |_, _| {});
    if panels.is_empty() {
        return Err(ReportError::missing(NAME, format!("{} holds no ages of {CUT}", study.name)));
    }
    Ok(Drawing {
        title: "How far back the gradient comes from".into(),
        caption: format!(
            "Study {}: one batch at the trained states. Norm of what losses so many steps after an action contribute to the \
             gradient of {CUT}, where physical states alone carry credit, in percent of the whole gradient's norm; contributions \
             that cancel can each be longer than their sum. Means over sources with pointwise 95% source-bootstrap intervals; \
             all panels have one scale. Descriptive.{}",
            study.name,
            data.gap_sentence()
        ),
        legend: legend().collect(),
        panels,
        alt: "Norm of the gradient's contributions by age, by velocity noise and by how the policy was trained.".into(),
        csv: data.csv(),
    })
}

fn legend() -> impl Iterator<Item = Key> {
    ARMS.into_iter().map(|arm| Key::mark(series_of(arm), format!("trained under {arm}")))
}

/// The conditions to show: the finding's where the study has them, else all.
fn conditions<'s>(study: &'s Study, quantity: &str) -> Vec<&'s str> {
    let all = in_order(study.measured(quantity).map(|row| row.condition.as_str()));
    let chosen: Vec<&str> = all.iter().copied().filter(|c| SHOWN.contains(c)).collect();
    if chosen.is_empty() { all } else { chosen }
}

/// Estimates in percent for every arm and age; what is missing becomes a gap of the figure.
fn gathered(
    results: &Results,
    data: &mut Data,
    title: String,
    condition: &str,
    ages: &[String],
    look: impl Fn(&str, &str) -> Vec<(String, f64)>,
) -> Look {
    let mut estimates = Vec::new();
    for (j, arm) in ARMS.iter().enumerate() {
        for (i, age) in ages.iter().enumerate() {
            let values = look(arm, age);
            if values.is_empty() {
                data.gap(format!("{arm} at {}", words::condition(condition)));
                continue;
            }
            let e = results.from_values(values, Vec::new()).scaled(100.0);
            data.estimate(&title, &format!("{arm}, {age}"), condition, &e, "%");
            estimates.push((i, j, e));
        }
    }
    Look { title, condition: condition.to_owned(), ages: ages.to_vec(), estimates }
}

/// Panels of one scale; `beside` adds what belongs beside the estimates.
fn draw(
    data: &mut Data,
    looks: Vec<Look>,
    label: &str,
    beside: impl Fn(&mut Plot, &[String]),
) -> Vec<Panel> {
    let all = looks.iter().flat_map(|look| look.estimates.iter().map(|(.., e)| e));
    let Some(y) = common_scale(all) else { return Vec::new() };
    let mut panels = Vec::new();
    for look in looks {
        if look.estimates.is_empty() {
            data.gap(look.title);
            continue;
        }
        let names = look.ages.iter().map(|age| age.trim_start_matches(AGE).to_owned());
        let mut plot = Plot::new(&PlotSpec {
            title: &look.title,
            x: Axis::Names(names.collect()),
            x_label: "age (steps back)",
            y,
            y_is_log: false,
            y_label: label,
            height: 230.0,
        });
        beside(&mut plot, &look.ages);
        for (i, j, e) in &look.estimates {
            let arm = ARMS[*j];
            let x = plot.slot(*i, *j as f64 * 0.36 - 0.18);
            let what = format!("{arm}, {}, {}", look.ages[*i], words::condition(&look.condition));
            plot.estimate(series_of(arm), x, e, &what, "%", false);
        }
        panels.push(plot.finish());
    }
    panels
}

/// First and last age of a bin as it is written: `age 1`, `age 4-7`.
fn span(age: &str) -> Option<(usize, usize)> {
    let age = age.strip_prefix(AGE)?;
    let (first, last) = age.split_once('-').unwrap_or((age, age));
    Some((first.parse().ok()?, last.parse().ok()?))
}

/// What even attention gives to the ages of a bin, in a rollout whose last age is `last`: query t has t + 1 positions.
fn even_share(age: &str, last: usize) -> Option<f64> {
    let (first, end) = span(age)?;
    let of_age = |age: usize| {
        let queries = age.max(1)..=last;
        let count = queries.clone().count() as f64;
        queries.map(|t| 1.0 / (t + 1) as f64).sum::<f64>() / count
    };
    Some((first..=end).map(of_age).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_shares_are_those_of_counting() {
        // Queries 1 and 2: 1/2 and 1/3 to each position.
        let near = f64::midpoint(1.0 / 2.0, 1.0 / 3.0);
        assert_eq!(even_share("age 0", 2), Some(near));
        assert_eq!(even_share("age 1-2", 2), Some(near + 1.0 / 3.0));
        assert_eq!(even_share("all", 2), None);
    }
}
