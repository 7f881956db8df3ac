//! `backcut measure update`: what does this detach do to my update?

use std::fmt::Write as _;

use anyhow::Result;
use backcut_lab::measure::{
    ALL, Layer, Of, REDUNDANT, UpdateOptions, placement_follows_history, update,
};
use backcut_study::Tools;

use super::figure::Dots;
use super::gradient::point;
use super::lead::{self, Compared};
use super::output::Results;
use super::replay::{Replay, replay};
use super::states::{StateArgs, parse_cuts};
use super::table::{Column, Look, Row, by_part, number, sheet, wrapped};
use crate::exit::{Told as _, Verdict};
use crate::say::note;

/// Options of `backcut measure update`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub states: StateArgs,
    /// Cuts to compare with FF
    #[arg(long, value_delimiter = ',', default_value = "FF,FD,F_SG,KF,KD,K_SG")]
    cuts: Vec<String>,
    /// Batches: the next one and N - 1 fresh ones after it, each applied to the same state
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    windows: u32,
    /// Keep keys' biases, which no output sees, in their groups and in the whole
    #[arg(long)]
    together: bool,
    /// Also where: by parameter group, and beside the optimizer's history
    #[arg(long)]
    groups: bool,
}

/// The layers and their words.
const LAYERS: [(Layer, &str); 4] = [
    (Layer::Raw, "raw gradient"),
    (Layer::Clipped, "clipped gradient"),
    (Layer::Applied, "applied update"),
    (Layer::Unclipped, "unclipped, clipped history"),
];

const LEAD: Compared =
    Compared { noun: "the applied update", difference: "d_U", cosine: "applied.cosine" };

const STEPS: [Column; 7] = [
    Column::new("|g|", "raw.norm"),
    Column::formed("kappa", "clip.factor", |look, quantity, of, part| {
        let kappa = look.value(quantity, of, part).filter(|kappa| *kappa < 1.0);
        kappa.map_or_else(|| "1".to_owned(), number)
    }),
    Column::new("|U|", "applied.norm"),
    Column::new("|U|/|U_FF|", "applied.ratio"),
    Column::new("r_U", "r_U"),
    Column::new("d_U", "d_U"),
    Column::new("cosine", "applied.cosine"),
];
const PLACEMENT: [Column; 6] = [
    Column::sparse("gradient", "raw.placement"),
    Column::sparse("share", "raw.placement-share"),
    Column::sparse("update", "applied.placement"),
    Column::sparse("share", "applied.placement-share"),
    Column::sparse("added/scale", "added.ratio"),
    Column::formed("scale", "moment.scale", |look, quantity, _, part| {
        let found = look.find(quantity, "", part);
        found.map_or_else(String::new, |_| look.cell(quantity, "", part))
    }),
];
const SIGNS: [Column; 4] = [
    Column::plain("cosine with sign(g)", ".sign-cosine"),
    Column::plain("saturated", ".saturated"),
    Column::formed("rho > 1", "", |look, layer, of, part| {
        if layer == "applied" { look.cell("rho.above-one", of, part) } else { String::new() }
    }),
    Column::formed("scaled cosine", "", |look, layer, of, part| {
        if layer == "applied" { look.cell("moment.cosine", of, part) } else { String::new() }
    }),
];

/// Runs the command.
pub fn run(args: &Args, tools: Tools) -> Result<Verdict> {
    let cuts = parse_cuts(&args.cuts)?;
    let options = UpdateOptions { windows: args.windows as usize, scales: true };
    let states = args.states.restore(tools)?;
    let mut replays = Vec::new();
    let of_state = states.each_rig(&cuts, !args.together, |rig, subject, state| {
        replays.push(replay(rig, subject, state)?);
        update(rig, subject, &options).told_at(&state.label)
    })?;
    let across = if states.all.len() > 1 { placement_follows_history(&of_state) } else { vec![] };
    let mut results = Results::new(of_state);
    results.summary.extend(across);
    let look = Look(&results.summary);
    let mut text = lead::sentence(look, &LEAD);
    text += &wrapped(&states.introduction(), 2);
    text += &Replay::report(&replays, &states);
    text += &tables(look, args.groups);
    results.publish("update", &args.states, &states, &text, &[("update", figure(look))])?;
    let failed = replays.iter().any(Replay::is_broken);
    if failed && args.states.json {
        note!("{}", Replay::report(&replays, &states).trim_end());
    }
    Ok(if failed { Verdict::Failed } else { Verdict::Fine })
}

fn tables(look: Look, by_groups: bool) -> String {
    let cuts = look.cuts("clip.factor");
    let mut out = "\ngradient g, clipped by its global norm, and applied update U\n".to_owned();
    out += &sheet(look, "cut", &Row::of_cuts("", &cuts), &STEPS);
    out += &wrapped(
        "  kappa: what clipping leaves of g, 1 if nothing was clipped; r_U: |U| / |g|; d_U: |U - \
         U_FF| / |U_FF|; cosine: of U with U_FF",
        2,
    );
    if look.0.iter().any(|finding| finding.part == REDUNDANT) {
        let apart = "keys' biases, which no output sees, are set apart as the part `redundant`";
        out += &wrapped(&format!("  {apart}; everything here is without them"), 2);
    }
    out += &look.reasons(&["r_U", "d_U", "applied.ratio", "applied.cosine"]);
    out += &layers(look);
    if by_groups {
        for pair in look.cuts("applied.placement") {
            out += &placement(look, pair);
        }
        out += &scales(look, &cuts);
    } else {
        out += "\nby parameter group, and beside the optimizer's history: --groups\n";
    }
    for finding in look.0.iter().filter(|f| f.quantity == "placement.spearman") {
        let value = finding.value.map_or_else(|| "-".to_owned(), number);
        let line = format!(
            "{}: Spearman of the update's difference with the added w_v gradient per scale: \
             {value} ({})",
            finding.of, finding.note
        );
        let _ = write!(out, "\n{}", wrapped(&line, 2));
    }
    out
}

/// The four-graph table: ratios to FF, memory effects, interaction.
fn layers(look: Look) -> String {
    let mut out = "\nfour graphs, relative to |x_FF|\n".to_owned();
    let of = ["FD", "KF", "KD", "FF - FD", "KF - KD", "FF - FD - KF + KD"].map(Of::from);
    let heads = ["FD/FF", "KF/FF", "KD/FF", "|FF-FD|", "|KF-KD|", "|I|"];
    let column = |i: usize| {
        let quantity = match of[i] {
            Of::Difference(..) => ".memory-effect",
            Of::Interaction(_) => ".interaction",
            _ => ".ratio",
        };
        Column::plain(heads[i], quantity).of(&of[i])
    };
    let rows = LAYERS.map(|(layer, words)| Row::new(words, layer.name(), Of::Nothing, ALL));
    out += &sheet(look, "layer", &rows, &[0, 1, 2, 3, 4, 5].map(column));
    out += "  I = x_FF - x_FD - x_KF + x_KD. ";
    let is_clipped = look.0.iter().any(|f| f.quantity == "clip.factor" && f.value < Some(1.0));
    out += if is_clipped {
        "The last row is not training without clipping:\n  its history is one of clipped \
         gradients.\n"
    } else {
        "Nothing is clipped here, so rows 1 and 2\n  are one, and rows 3 and 4.\n"
    };
    out += &look.reasons(&["raw.memory-effect", "raw.interaction"]);
    out
}

fn placement(look: Look, pair: &Of) -> String {
    let Of::Difference(kept, dropped) = pair else { return String::new() };
    let mut out = format!(
        "\n{kept} against {dropped}: |difference| / |{dropped}|, and each group's share of its \
         square\n"
    );
    let all = look.parts("applied.placement", pair);
    let is_equal = |part: &&str| look.value("raw.placement", pair, part) == Some(0.0);
    let (equal, shown): (Vec<&str>, Vec<&str>) = all.into_iter().partition(is_equal);
    let pools = ["w_k", "w_v"].into_iter().filter(|part| !shown.contains(part));
    let pools = pools.map(|part| Row::new(format!("{part}, all blocks"), "", pair, part));
    let rows: Vec<Row> = Row::of_parts(pair, &shown).into_iter().chain(pools).collect();
    out += &sheet(look, "group", &rows, &PLACEMENT);
    out += &wrapped(
        "  added/scale: median of |kappa (g_kept - g_dropped)| / (sqrt(vhat) + eps), vhat before \
         the update; scale: median sqrt(vhat)",
        2,
    );
    if !equal.is_empty() {
        let equal = equal.len();
        let _ = writeln!(out, "  {equal} other groups: the gradients agree in every bit");
    }
    if let Some(finding) = look.0.iter().find(|f| f.quantity == "moment.scale" && f.value.is_none())
    {
        let _ = writeln!(out, "  -: {}", finding.note);
    }
    out
}

fn scales(look: Look, cuts: &[&Of]) -> String {
    let mut out =
        "\nrho = |kappa g| / (sqrt(vhat) + eps), vhat before the update: medians\n".to_owned();
    out += &by_part(look, "rho.median", cuts);
    out += &look.reasons(&["rho.median"]);
    out += "\nthe optimizer's direction after the step, and the gradient's sign\n";
    let mut rows = Vec::new();
    for cut in cuts {
        rows.push(Row::new(cut.to_string(), "applied", *cut, ALL));
        if look.find("unclipped.sign-cosine", *cut, ALL).is_some() {
            rows.push(Row::new(format!("{cut}, unclipped"), "unclipped", *cut, ALL));
        }
    }
    out += &sheet(look, "", &rows, &SIGNS);
    out += &wrapped(
        "  saturated: |mhat| / sqrt(vhat) above 0.9 of the limit of a gradient that dominates both \
         moments; scaled cosine: of g / (sqrt(vhat) + eps) with FF's",
        2,
    );
    out + &look.reasons(&["applied.sign-cosine", "applied.saturated", "moment.cosine"])
}

fn figure(look: Look) -> String {
    let effects = [
        ("memory effect, full credit", "memory-effect", "FF - FD"),
        ("memory effect, one step", "memory-effect", "KF - KD"),
        ("interaction", "interaction", "FF - FD - KF + KD"),
    ];
    let row = |(layer, words): (Layer, &str)| {
        let points = effects.iter().map(|(_, quantity, cut)| {
            point(look, &format!("{}.{quantity}", layer.name()), *cut, ALL)
        });
        (words.to_owned(), points.collect())
    };
    Dots {
        title: "four graphs at each layer, relative to |x_FF|".to_owned(),
        series: effects.iter().map(|(words, ..)| (*words).to_owned()).collect(),
        rows: LAYERS.into_iter().map(row).collect(),
    }
    .svg()
}
