//! Every claim with two intervals: ours and the paper's, in widths of the paper's interval, the gravest difference first.

use std::fmt::Write as _;

use backcut_page::draw::{Drawing, Key, Mark, Panel, Row, Rows, Series, reach_of};
use backcut_page::report::ReportError;
use backcut_page::report::data::Data;
use backcut_text::format::{estimate, fixed};

use crate::agreement::{Difference, Group};
use crate::answer::Answer;
use crate::beside::Reproduction;
use crate::entry::{Compare, Subject};
use crate::tables::our_text;

const NAME: &str = "agreement";
/// One series per programme.
const OURS: [Series; 2] = [Series::BLUE, Series::VERMILION];
/// Beyond this many widths a mark stands at the edge and its note says where it belongs.
const REACH: f64 = 6.0;

/// The paper's value with its interval: what rows are measured by.
fn yardstick(answer: &Answer<'_>) -> Option<(f64, [f64; 2])> {
    let mut differences = answer.found.iter().flatten().filter_map(|(_, a)| a.difference);
    let ends = differences.find_map(|difference| difference.paper)?;
    let is_sized = answer.entry.compare == Compare::Size && ends[1] > ends[0];
    Some((answer.entry.paper?, ends)).filter(|_| is_sized)
}

pub fn draw(beside: &Reproduction) -> Result<Drawing, ReportError> {
    let answers: Vec<Answer<'_>> =
        beside.answers(Subject::Quadrotor).into_iter().filter(|answer| answer.is_claim).collect();
    let mut data = Data::default();
    // What is told apart from the paper's stands in the first panel, what is not in the second.
    let mut rows: [Vec<Row>; 2] = [Vec::new(), Vec::new()];
    let (mut counts, mut beyond) = (String::new(), 0);
    for group in Group::ALL {
        let mut of_group: Vec<&Answer<'_>> = answers
            .iter()
            .filter(|answer| answer.group() == Some(group) && yardstick(answer).is_some())
            .collect();
        if of_group.is_empty() {
            continue;
        }
        // Changed decisions first, then the farthest.
        of_group.sort_by(|a, b| b.rank().total_cmp(&a.rank()));
        let title = format!("{} ({})", group.title(), of_group.len());
        let _ = write!(counts, "{}{title}", if counts.is_empty() { "" } else { ", " });
        let own = &mut rows[usize::from(!matches!(group, Group::Otherwise | Group::Apart))];
        let (note, marks) = (String::new(), Vec::new());
        own.push(Row { name: title.to_uppercase(), note, marks, band: None });
        own.extend(of_group.iter().map(|answer| row(beside, answer, &mut data, &mut beyond)));
    }
    if rows.iter().all(Vec::is_empty) {
        let why = "no claim has an interval here and in the paper".to_owned();
        return Err(ReportError::missing(NAME, why));
    }
    let absent = answers.iter().filter(|answer| answer.absent().is_some()).count();
    let drawn = answers.iter().filter(|a| a.absent().is_none() && yardstick(a).is_some()).count();
    let others = answers.len() - absent - drawn;
    let rules = [(0.0, String::new())];
    let axis = "ours minus the paper's, in widths of its interval";
    let reach = Some(reach_of(&rows.concat(), &rules));
    let panels: Vec<Panel> = rows
        .iter()
        .zip(["Told apart from the paper's", "Not told apart"])
        .filter(|(rows, _)| !rows.is_empty())
        .map(|(rows, of)| {
            let panel = Rows { title: "", axis, rules: &rules, rows, reach }.panel();
            Panel { title: of.to_owned(), ..panel }
        })
        .collect();
    let mut legend: Vec<Key> = (0..beside.programmes().count())
        .map(|i| Key::mark(OURS[i.min(1)], beside.column(i)))
        .collect();
    legend.push(Key::band("the paper's interval, its mean the line"));
    let edge = if beyond == 0 {
        String::new()
    } else {
        format!(
            " {beyond} marks lie beyond {REACH} widths and stand at the edge; their notes say where they belong."
        )
    };
    Ok(Drawing {
        title: "Ours and the paper's, claim by claim".into(),
        caption: format!(
            "{counts}. At the right of a row: how many widths of the paper's interval ours lies above it. Bars are pointwise 95% \
             intervals around each mean; whether two are told apart is decided by the \
             interval of their difference, not by overlap. Not drawn: {others} claims without an interval in the paper or with \
             no sizes to compare, and {absent} that have no value here.{edge}{}",
            data.gap_sentence()
        ),
        legend,
        panels,
        alt: "One row per claim: ours with its interval beside the paper's, in widths of the paper's interval, grouped by agreement.".into(),
        csv: data.csv(),
    })
}

fn row(beside: &Reproduction, answer: &Answer<'_>, data: &mut Data, beyond: &mut usize) -> Row {
    let entry = answer.entry;
    let (paper, ends) = yardstick(answer).unwrap_or((0.0, [-0.5, 0.5]));
    let width = ends[1] - ends[0];
    let place = |value: f64| (value - paper) / width;
    let cut = |value: f64| value.clamp(-REACH, REACH);
    let mut marks = Vec::new();
    let mut notes = Vec::new();
    data.value("", "the paper's", &entry.id, "mean", paper, &entry.unit);
    for (i, found) in answer.found.iter().enumerate() {
        let Ok((ours, agreement)) = found else { continue };
        let name = beside.column(i);
        data.value("", name, &entry.id, "mean", ours.value, &entry.unit);
        if let Some(Difference { value, interval, .. }) = agreement.difference {
            data.value("", name, &entry.id, "ours minus the paper's", value, &entry.unit);
            for (end, what) in interval.into_iter().flatten().zip(["lower", "upper"]) {
                data.value("", name, &entry.id, what, end, &entry.unit);
            }
        }
        *beyond += usize::from(place(ours.value).abs() > REACH);
        notes.push(fixed(place(ours.value), 1));
        marks.push(Mark {
            series: OURS[i.min(1)],
            value: cut(place(ours.value)),
            wide: ours.pointwise.map(|ends| ends.map(|end| cut(place(end)))),
            narrow: None,
            open: false,
            text: format!(
                "{}: {name} {}; {}; the paper's {}",
                entry.id,
                our_text(entry, ours),
                agreement.words,
                estimate(paper, Some(ends))
            ),
        });
    }
    let band = Some(ends.map(|end| cut(place(end))));
    Row { name: entry.id.clone(), note: notes.join(" / "), marks, band }
}
