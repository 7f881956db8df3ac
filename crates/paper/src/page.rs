//! The page beside the paper, from top to bottom.

use std::collections::BTreeMap;

use backcut_page::draw::Drawing;
use backcut_page::report::escape::file_name;
use backcut_page::report::page::Page;
use backcut_page::report::{ReportError, Table, table};
use backcut_text::counted;
use backcut_text::format::NONE;

use crate::agreement::Group;
use crate::answer::{Answer, Tally};
use crate::beside::Reproduction;
use crate::entry::Subject;
use crate::figures::{Figure, Place, figures};
use crate::multiverse;
use crate::reproduction::{QUADROTOR, RULES, THE_VESSEL, VESSEL};
use crate::tables::{our_text, paper_text};

const TITLE: &str = "What does a memory cut cost?";

/// Words that the page uses as the paper does.
const GLOSSARY: [(&str, &str); 17] = [
    (
        "cut",
        "a backward graph: which derivative edges of one and the same forward pass carry credit.",
    ),
    ("FF", "full credit through physical states and through memory: nothing is cut."),
    (
        "F_SG",
        "stop-gradient: later steps teach the projections of what was stored, not the stored representation.",
    ),
    ("FD", "detached memory: stored keys and values are constants."),
    ("KF, KD, K_SG", "the same three with physical credit of one step only."),
    ("SEG-L", "as FF inside segments of L steps, as F_SG across their boundaries."),
    ("F_SG_cont", "trained as FF up to update 800, then as F_SG."),
    ("w", "the window: how many positions a layer reads; w = 1 is a policy without memory."),
    (
        "source",
        "one seed: an initialization with its own batches, shared by all arms. Comparisons are within sources, and sources are what intervals resample.",
    ),
    ("stream a, b", "two sequences of training batches for the same warm start."),
    (
        "first, second programme",
        "the quadrotor's studies, run twice: first with a clip threshold that departs from the published one, then with the published settings, calibrated where nothing is published.",
    ),
    (
        "universe",
        "one way to fill in every setting that the paper leaves open; 24 of them were run.",
    ),
    (
        "decision",
        "what the interval of a claim says: supported, unresolved or contradicted, or noninferior or not shown.",
    ),
    ("confirmatory", "a status: the prediction was frozen before anything ran on its sources."),
    ("prespecified", "a status: the prediction was frozen before its new results ran."),
    ("descriptive", "a status: declared, and predicts nothing."),
    ("post hoc", "a status: chosen when results were known, or may have been."),
];

/// How many rows have a value of ours, which stands in the third column.
fn has_ours(table: &Table) -> usize {
    table.rows.iter().filter(|row| row[2] != NONE).count()
}

/// The figures that stand at a place of the page.
fn at(place: Place) -> impl Iterator<Item = &'static str> {
    figures().iter().filter(move |figure| figure.place == place).map(|f| f.name.as_str())
}

type Drawings = BTreeMap<&'static str, Result<Drawing, ReportError>>;

impl Reproduction {
    /// One self-contained HTML page with every figure and table.
    pub fn page(&self, title: Option<&str>) -> Result<String, ReportError> {
        let results = &self.results;
        let mut drawings: Drawings =
            figures().iter().map(|f| (f.name.as_str(), self.figure(&f.name))).collect();
        let drawn: Vec<&str> =
            drawings.iter().filter(|(_, made)| made.is_ok()).map(|(name, _)| *name).collect();
        let mut page = Page::new(title.unwrap_or(TITLE));
        page.section("finding", "Finding");
        self.opening(&mut page);
        for name in at(Place::Headline) {
            draw(&mut page, &mut drawings, name);
        }
        page.section("cuts", "What is cut");
        for name in at(Place::Cuts) {
            draw(&mut page, &mut drawings, name);
        }
        page.section("summary", "Ours and the paper's");
        self.comparison_on(&mut page, &drawn, &mut drawings);
        page.section("figures", "Figures");
        for name in at(Place::Figures) {
            draw(&mut page, &mut drawings, name);
            if let Some((claims, design)) = self.multiverse().filter(|_| name == multiverse::STUDY)
            {
                page.paragraph("", multiverse::WORDS);
                if let Some(words) = multiverse::choice_that_matters(&claims, &design) {
                    page.paragraph("", &words);
                }
                page.list(claims.iter().map(|claim| claim.sentence(&design)));
            }
        }
        page.figures_left_out();
        page.section("vessel", "The vessel");
        page.paragraph("", VESSEL);
        for name in at(Place::Vessel) {
            draw(&mut page, &mut drawings, name);
        }
        page.heading("Claims about the vessel");
        let answers = self.answers(Subject::Vessel);
        if answers.iter().any(|answer| answer.absent().is_none()) {
            page.paragraph("", &Tally::of(&answers, 0).whole(THE_VESSEL));
        }
        self.claims_on(&mut page, Subject::Vessel, &drawn);
        let claims = self.claims_about(Subject::Vessel);
        let all = counted(claims.rows.len(), "claim");
        let is_empty = claims.rows.iter().all(|row| row[2] == NONE);
        page.folded(
            &claims,
            &if is_empty { format!("none of {all} has a value here") } else { all },
        );
        page.figures_left_out();
        page.section("tables", "Tables");
        page.paragraph("", "Ours beside every number of the paper.");
        page.paragraph("", RULES);
        for paper_table in &self.paper.tables {
            let content = self.table(&paper_table.name)?;
            let ours = has_ours(&content);
            let about =
                format!("{ours} of {} have a value here", counted(content.rows.len(), "row"));
            page.folded(&content, &about);
        }
        page.section("contrasts", "Contrasts");
        page.paragraph(
            "",
            "Everything that the studies judged, as they judged it, study by study.",
        );
        page.contrasts(results)?;
        for study in results.studies() {
            page.extras(study);
        }
        page.section("units", "Units");
        page.table(&table(results, "units", None)?, true);
        page.section("glossary", "Glossary");
        page.glossary(&GLOSSARY);
        page.about(results);
        page.heading("What the paper leaves open");
        page.list(self.paper.unspecified.iter().map(|i| format!("{}: {}.", i.what, i.choice)));
        Ok(page.finish())
    }

    /// What was found, how it stands beside the paper, and how much of what was planned is here.
    fn opening(&self, page: &mut Page) {
        page.paragraph(
            "lead",
            "A policy with memory learns through the states that its actions produce and through what it stored. A \
             stop-gradient on its memory, a detach(), cuts the second path: the forward stays the same, bit for bit, and only \
             what is learned changes. Here a quadrotor that tracks a path was trained both ways through its simulator, with a \
             velocity reading that gets worse.",
        );
        let finding = self.finding();
        if !finding.short.is_empty() {
            page.paragraph("short", &finding.short);
        }
        page.finding(&finding.sentences);
        for text in [&finding.agreement, &finding.robustness, &finding.note] {
            if !text.is_empty() {
                page.paragraph(if text == &finding.note { "note" } else { "lead" }, text);
            }
        }
        page.states(&self.results);
        page.paragraph(
            "note on-paper",
            "Folded tables are printed as far as they were unfolded; the page itself holds all of them and their data.",
        );
    }

    /// The claims of one of the systems, a line each that opens and leads to figure, table and study, the gravest group first.
    fn claims_on(&self, page: &mut Page, subject: Subject, drawn: &[&str]) {
        let answers = self.answers(subject);
        let claims: Vec<&Answer<'_>> = answers.iter().filter(|answer| answer.is_claim).collect();
        for group in Group::ALL {
            let mut of_group: Vec<&&Answer<'_>> =
                claims.iter().filter(|answer| answer.group() == Some(group)).collect();
            if of_group.is_empty() {
                continue;
            }
            of_group.sort_by(|a, b| b.rank().total_cmp(&a.rank()));
            page.heading(&format!("{} ({})", group.title(), of_group.len()));
            for answer in of_group {
                page.details(
                    &format!("{}: {}", answer.entry.id, answer.entry.text),
                    &self.told(answer),
                    &self.links(&answer.entry.id, subject, drawn),
                );
            }
        }
        absent_on(page, &answers);
    }

    /// Where a claim leads.
    fn links(&self, id: &str, subject: Subject, drawn: &[&str]) -> Vec<(String, String)> {
        let is_it = |claim: &&crate::entry::Entry| claim.id == id && claim.system == subject;
        let Some(claim) = self.paper.claims.iter().find(is_it) else { return Vec::new() };
        let study = claim.study.as_str();
        let shows = |figure: &&Figure| figure.shows.iter().any(|of| of == study);
        let figure = figures().iter().filter(shows).find(|f| drawn.contains(&f.name.as_str()));
        let of_study =
            |table: &&crate::paper::PaperTable| table.rows.iter().any(|r| r.study == study);
        let table = self.paper.tables.iter().find(of_study);
        let mut links = Vec::new();
        if let Some(Figure { name, .. }) = figure {
            links.push((format!("figure-{name}"), "figure".to_owned()));
        }
        if let Some(table) = table {
            links.push((format!("table-{}", table.name), "table".to_owned()));
        }
        if self.results.study(study).is_some() {
            links.push((format!("about-{}", file_name(study)), "study".to_owned()));
        }
        links
    }

    /// The claims: what they come to, the figure, and each of them.
    fn comparison_on(&self, page: &mut Page, drawn: &[&str], drawings: &mut Drawings) {
        let answers = self.answers(Subject::Quadrotor);
        page.paragraph("lead", &format!("Every published number about {QUADROTOR}, and ours:"));
        page.table(&self.tallies(&answers), true);
        for name in at(Place::Comparison) {
            draw(page, drawings, name);
        }
        self.claims_on(page, Subject::Quadrotor, drawn);
    }

    /// What the numbers come to, a row per programme.
    fn tallies(&self, answers: &[Answer<'_>]) -> Table {
        let of = |[some, all]: [usize; 2]| format!("{some} of {all}");
        let (mut rows, mut notes) = (Vec::new(), Vec::new());
        for (i, _) in self.programmes().enumerate() {
            let tally = Tally::of(answers, i);
            let [otherwise, apart, alike, open] = tally.groups.map(|count| count.to_string());
            let name = self.column(i).to_owned();
            if !tally.otherwise.is_empty() {
                let others = tally.otherwise.join("; ");
                notes.push(format!("Decisions that are not the paper's ({name}): {others}."));
            }
            if let Some(bases) = tally.bases_words() {
                notes.push(format!("{bases} ({name})"));
            }
            let [decisions, signs] = [tally.decisions, tally.signs].map(of);
            rows.push(vec![name, of(tally.here), alike, apart, otherwise, open, decisions, signs]);
        }
        let columns = [
            "programme",
            "numbers with one here",
            "not told apart",
            "apart",
            "another answer",
            "nothing to tell by",
            "same decision",
            "same sign, where resolved",
        ];
        let mut csv = columns.join(",").replace("sign, where", "sign where") + "\n";
        for row in &rows {
            csv += &(row.join(",") + "\n");
        }
        Table {
            name: "comparison".into(),
            title: "Ours and the paper's, in numbers".into(),
            columns: columns.map(str::to_owned).to_vec(),
            rows,
            notes,
            csv,
        }
    }

    /// Everything about one claim, in lines.
    fn told(&self, answer: &Answer<'_>) -> Vec<String> {
        let entry = answer.entry;
        let kind = if entry.kind.is_empty() { String::new() } else { format!(", {}", entry.kind) };
        let count = entry.n.map_or_else(String::new, |n| format!(", n = {n}"));
        let place =
            if entry.place.is_empty() { String::new() } else { format!(" ({})", entry.place) };
        let decision = if entry.decision.is_empty() {
            String::new()
        } else {
            format!("; decided: {}", entry.decision)
        };
        let mut lines =
            vec![format!("The paper{place}: {}{kind}{count}{decision}.", paper_text(entry))];
        for (i, found) in answer.found.iter().enumerate() {
            let name = if answer.found.len() == 1 { "ours" } else { self.column(i) };
            lines.push(match found {
                Ok((ours, agreement)) => format!(
                    "{name}: {} ({}), {}; {}.",
                    our_text(entry, ours),
                    ours.kind,
                    agreement.words,
                    ours.standing()
                ),
                Err(why) => format!("{name}: not here, {why}."),
            });
        }
        if let Some((name, (claims, design))) = entry.universes.as_ref().zip(self.multiverse()) {
            let same = claims.iter().find(|claim| claim.name == *name);
            lines.extend(same.map(|claim| claim.sentence(&design)));
        }
        lines
    }
}

/// What no programme has, by the reason, folded into one line.
fn absent_on(page: &mut Page, answers: &[Answer<'_>]) {
    let mut absent: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for answer in answers {
        if let Some(why) = answer.absent() {
            let name = format!("{} {}", answer.entry.id, answer.entry.condition);
            absent.entry(why).or_default().push(name.trim().to_owned());
        }
    }
    if !absent.is_empty() {
        let count = absent.values().map(Vec::len).sum::<usize>();
        let line = format!("Without a value here: {count} of {} published numbers", answers.len());
        let told = |(why, names): (&str, Vec<String>)| format!("{why}: {}.", names.join("; "));
        page.details(&line, &absent.into_iter().map(told).collect::<Vec<_>>(), &[]);
    }
}

fn draw(page: &mut Page, drawings: &mut Drawings, name: &str) {
    if let Some(made) = drawings.remove(name) {
        page.figure(name, made);
    }
}
