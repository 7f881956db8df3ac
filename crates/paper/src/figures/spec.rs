//! What `figures.toml` says of a figure, and the words in braces in it.

use std::sync::LazyLock;

use serde::Deserialize;
use toml::{Table, Value};

use crate::entry::{Curve, Measure, Other};

/// Where a figure stands on the page.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// With the finding, before everything else.
    Headline,
    /// It explains the cuts, so it stands before the results.
    Cuts,
    /// It opens the comparison with the paper.
    Comparison,
    /// Among the figures.
    #[default]
    Figures,
    /// In the vessel's section.
    Vessel,
}

/// One figure; the fields that code needs of one that it draws itself are the first four.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The name to ask for it.
    pub name: String,
    /// What it shows, for a list.
    pub what: String,
    /// Where it stands.
    #[serde(default)]
    pub place: Place,
    /// Whether it is made of both programmes at once, or of the only one that has its study.
    #[serde(default)]
    pub both: bool,
    /// Studies whose claims lead to it.
    #[serde(default)]
    pub shows: Vec<String>,
    /// The studies that it may be made of; the first that was collected.
    #[serde(default)]
    pub studies: Vec<String>,
    /// Or the first study of the quadrotor that measured one of these.
    #[serde(default)]
    pub holds: Vec<String>,
    /// Its title.
    #[serde(default)]
    pub title: String,
    /// Its caption.
    #[serde(default)]
    pub caption: String,
    /// The same in words.
    #[serde(default)]
    pub alt: String,
    /// The legend, if not that of the panels' series.
    #[serde(default)]
    pub legend: Vec<Legend>,
    /// What a value of the paper beside ours is called.
    #[serde(default)]
    pub beside: String,
    /// What a band is called.
    #[serde(default)]
    pub band: String,
    /// Sentences of the caption with numbers in them.
    #[serde(default)]
    pub told: Vec<Told>,
    /// Its panels.
    #[serde(default, rename = "panel")]
    pub panels: Vec<Panel>,
}

/// A line of a legend.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Legend {
    pub colour: String,
    pub label: String,
    #[serde(default)]
    pub kind: KeyKind,
}

/// How a line of a legend is drawn.
#[derive(Clone, Copy, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyKind {
    #[default]
    Mark,
    Open,
    Line,
    Thin,
}

/// A sentence of a caption: plain, or said where its claim has ours (`{ours}`, `{n}`, `{paper}`).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Told {
    pub text: String,
    pub claim: Option<String>,
    /// Ours, where it is not the claim's.
    pub ask: Option<Ask>,
    /// The quantity of a clip's factors: where it acted.
    pub clip: Option<String>,
}

/// Panels of a figure. Texts hold words in braces, which panel, series and place along the bottom give.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a word of a description")]
pub struct Panel {
    pub title: String,
    #[serde(default = "of_figure")]
    pub study: String,
    /// It is drawn only where this study was collected.
    pub with: Option<String>,
    /// It is drawn only where this study was not.
    pub without: Option<String>,
    /// A panel for each of these, and for each pair of them if there are two lists. One may name what it
    /// shows along the bottom (`only`, `but`), or that it is drawn again on a scale of its own (`enlarged`).
    #[serde(default)]
    pub each: Vec<Places>,
    /// Whether they have one scale.
    #[serde(default)]
    pub one_scale: bool,
    /// What runs along the bottom; a place that is a clip (`clip`) stands where the clip acted.
    pub x: Places,
    #[serde(default)]
    pub x_label: String,
    pub y_label: String,
    /// The unit of the data, and that of a pointer's words if it is another.
    pub unit: String,
    pub shown: Option<String>,
    #[serde(default = "height")]
    pub height: f64,
    #[serde(default)]
    pub series: Vec<Table>,
    pub ask: Table,
    /// What lies along the bottom, value by value, by its logarithm: a cloud of points.
    pub across: Option<Table>,
    pub beside: Option<Table>,
    pub band: Option<Table>,
    /// Whether places along the bottom are numbers.
    #[serde(default)]
    pub numbers: bool,
    #[serde(default = "yes")]
    pub zero: bool,
    #[serde(default)]
    pub log: bool,
    #[serde(default)]
    pub line: bool,
    #[serde(default)]
    pub bare: bool,
    #[serde(default)]
    pub rules: Vec<(f64, String)>,
    /// Series and condition of a row of data, and what a mark is in words.
    #[serde(default = "row")]
    pub row: [String; 2],
    #[serde(default = "what")]
    pub what: String,
    /// A name along the bottom.
    #[serde(default = "name")]
    pub name: String,
}

fn of_figure() -> String {
    "{study}".to_owned()
}

fn height() -> f64 {
    230.0
}

fn yes() -> bool {
    true
}

fn row() -> [String; 2] {
    ["{label}", "{x}"].map(str::to_owned)
}

fn what() -> String {
    "{label}, {where}".to_owned()
}

fn name() -> String {
    "{x}".to_owned()
}

/// A list of places, each a table of words.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Places {
    /// These.
    These(Vec<Table>),
    /// Those that the study's tables have.
    Found(Found),
}

/// Places that a study's tables have.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Found {
    /// The conditions of its arms, or those at which a quantity was measured; of these the named ones, if
    /// it has any of them.
    Conditions {
        of: Option<String>,
        #[serde(default)]
        best: Vec<String>,
    },
    /// The parts of a quantity that begin so, what follows being their name, in steps of so much.
    Parts {
        of: String,
        after: String,
        #[serde(default = "one")]
        step: f64,
    },
}

fn one() -> f64 {
    1.0
}

/// The question whose answer stands at a place.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// An expression over cells.
    pub expression: Option<String>,
    /// A measured quantity.
    pub measure: Option<Measure>,
    /// An error along training.
    pub curve: Option<Curve>,
    /// Rows of a measured quantity, each a value of its own.
    pub rows: Option<Rows>,
    /// What it is multiplied by.
    #[serde(default = "one")]
    pub scale: f64,
}

/// Rows of a measured quantity: several of a source, so they have no interval of sources.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rows {
    pub quantity: String,
    /// The arms; any if there are none.
    #[serde(default)]
    pub arms: Vec<String>,
    #[serde(default)]
    pub cut: String,
    /// The part; a star at its end stands for anything, and nothing for any.
    #[serde(default)]
    pub part: Option<String>,
    pub update: Option<u64>,
    /// What every value is divided by: the row of the same name there.
    pub over: Option<Other>,
    /// What a row is called, by its own `<source>`, `<arm>`, `<condition>` and `<part>`.
    pub name: String,
    #[serde(default)]
    pub middle: RowsMiddle,
    /// Whether the root of the middle is meant.
    #[serde(default)]
    pub root: bool,
}

/// What is made of the rows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowsMiddle {
    /// Their median with the range from the 16th to the 84th percentile.
    #[default]
    Median,
    /// Their mean, without an interval.
    Mean,
    /// Their median, or their mean, as a single number.
    MedianAlone,
    MeanAlone,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// The vessel's studies, which the quadrotor's figures leave alone.
    vessel: Vec<String>,
    figure: Vec<Figure>,
}

static FILE: LazyLock<File> = LazyLock::new(|| {
    let read = toml::from_str(include_str!("../../figures.toml"));
    read.unwrap_or_else(|error| panic!("figures.toml is embedded and tested: {error}"))
});

/// Every figure, in the order of the page.
pub fn figures() -> &'static [Figure] {
    &FILE.figure
}

/// Whether a study is the vessel's.
pub fn is_of_the_vessel(study: &str) -> bool {
    FILE.vessel.iter().any(|name| name == study)
}

/// A text with its words in braces filled in; words may hold words.
pub fn fill(text: &str, words: &Table) -> String {
    let mut text = text.to_owned();
    for _ in 0..3 {
        for (key, value) in words {
            let brace = format!("{{{key}}}");
            if text.contains(&brace) {
                let own = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                text = text.replace(&brace, &own);
            }
        }
    }
    text
}

/// The same in everything that a value holds; a text that is one word becomes that word's value, and a key
/// whose word nobody gave is left out.
fn filled(value: &Value, words: &Table) -> Value {
    let word = |value: &Value| {
        let word = value.as_str()?.strip_prefix('{')?.strip_suffix('}')?;
        (!word.contains('{')).then(|| word.to_owned())
    };
    match value {
        Value::String(text) => match word(value).and_then(|word| words.get(&word)) {
            Some(own) if !own.is_str() => own.clone(),
            _ => Value::String(fill(text, words)),
        },
        Value::Array(all) => Value::Array(all.iter().map(|one| filled(one, words)).collect()),
        Value::Table(all) => {
            let is_given = |value: &Value| word(value).is_none_or(|word| words.contains_key(&word));
            let given = all.iter().filter(|(_, value)| is_given(value));
            Value::Table(given.map(|(key, value)| (key.clone(), filled(value, words))).collect())
        }
        other => other.clone(),
    }
}

/// A table as what it describes, its words filled in.
pub fn read<T: serde::de::DeserializeOwned>(table: &Table, words: &Table) -> Result<T, String> {
    let whole = filled(&Value::Table(table.clone()), words);
    whole.try_into().map_err(|error: toml::de::Error| error.message().to_owned())
}
