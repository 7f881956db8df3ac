//! `backcut measure update`: what does this detach do to my update?

use std::fmt::Write as _;

use anyhow::Result;
use backcut_engine::Cut;
use backcut_lab::measure::{
    ALL, Layer, Of, REDUNDANT, Rig, Subject, UpdateOptions, placement_follows_history, update,
};
use backcut_study::Tools;

use super::figure::Dots;
use super::gradient::{by_group, point};
use super::lead::{self, Compared};
use super::output::Results;
use super::replay::{Replay, replay};
use super::states::{StateArgs, parse_cuts};
use super::table::{Look, Table, defined, number, wrapped};
use crate::exit::{Told as _, Verdict};
use crate::say::{note, out};

/// Options of `backcut measure update`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    states: StateArgs,
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

/// Runs the command.
pub fn run(args: &Args, tools: Tools) -> Result<Verdict> {
    if args.states.define {
        out!("{}", defined("update"))?;
        return Ok(Verdict::Fine);
    }
    let cuts = parse_cuts(&args.cuts)?;
    let options = UpdateOptions { windows: args.windows as usize, scales: true };
    let states = args.states.restore(tools)?;
    let (mut of_state, mut replays) = (Vec::new(), Vec::new());
    let mut rigs: Vec<Option<Rig<f32>>> = states.systems().iter().map(|_| None).collect();
    for restored in &states.all {
        let subject = Subject::of(&restored.restored);
        let rig = match &mut rigs[states.system_of(restored)] {
            Some(rig) => rig,
            empty => empty.insert(
                Rig::new(subject.system, &cuts)
                    .map(|rig| if args.together { rig } else { rig.apart() })
                    .told_at(&restored.label)?,
            ),
        };
        replays.push(replay(rig, &subject, restored)?);
        of_state.push(update(rig, &subject, &options).told_at(&restored.label)?);
    }
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
    let mut table =
        Table::new(["cut", "|g|", "kappa", "|U|", "|U|/|U_FF|", "r_U", "d_U", "cosine"]);
    for cut in &cuts {
        let of = |quantity: &str| look.band(quantity, *cut, ALL);
        let kappa = look.value("clip.factor", *cut, ALL).filter(|k| *k < 1.0);
        table.row([
            cut.to_string(),
            of("raw.norm"),
            kappa.map_or_else(|| "1".to_owned(), number),
            of("applied.norm"),
            of("applied.ratio"),
            of("r_U"),
            of("d_U"),
            of("applied.cosine"),
        ]);
    }
    out += &table.text();
    out += &wrapped(
        "  kappa: what clipping leaves of g, 1 if nothing was clipped; r_U: |U| / |g|; d_U: |U - U_FF| / \
         |U_FF|; cosine: of U with U_FF",
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
    let four = [Cut::FD, Cut::KF, Cut::KD].map(|c| c.to_string());
    let head = ["layer", "FD/FF", "KF/FF", "KD/FF", "|FF-FD|", "|KF-KD|", "|I|"];
    let mut table = Table::new(head);
    for (layer, words) in LAYERS {
        let of = |quantity: &str, cut: &str| {
            look.cell(&format!("{}.{quantity}", layer.name()), cut, ALL)
        };
        let [fd, kf, kd] = four.clone().map(|cut| of("ratio", &cut));
        table.row([
            words.to_owned(),
            fd,
            kf,
            kd,
            of("memory-effect", "FF - FD"),
            of("memory-effect", "KF - KD"),
            of("interaction", "FF - FD - KF + KD"),
        ]);
    }
    out += &table.text();
    out += "  I = x_FF - x_FD - x_KF + x_KD. ";
    let is_clipped = look.0.iter().any(|f| f.quantity == "clip.factor" && f.value < Some(1.0));
    out += if is_clipped {
        "The last row is not training without clipping:\n  its history is one of clipped gradients.\n"
    } else {
        "Nothing is clipped here, so rows 1 and 2\n  are one, and rows 3 and 4.\n"
    };
    out += &look.reasons(&["raw.memory-effect", "raw.interaction"]);
    out
}

fn placement(look: Look, pair: &Of) -> String {
    let Of::Difference(kept, dropped) = pair else { return String::new() };
    let mut out = format!(
        "\n{kept} against {dropped}: |difference| / |{dropped}|, and each group's share of its square\n"
    );
    let head = ["group", "gradient", "share", "update", "share", "added/scale", "scale"];
    let mut table = Table::new(head);
    let mut equal = 0;
    let mut parts = look.parts("applied.placement", pair);
    parts.extend(["w_k", "w_v"]);
    for part in parts {
        let is_pool = ["w_k", "w_v"].contains(&part);
        if !is_pool && look.value("raw.placement", pair, part) == Some(0.0) {
            equal += 1;
            continue;
        }
        let of = |quantity: &str| look.cell(quantity, pair, part);
        let blank = |text: String, is_blank: bool| if is_blank { String::new() } else { text };
        let is_whole = part == ALL;
        let name = if is_pool { format!("{part}, all blocks") } else { part.to_owned() };
        table.row([
            name,
            blank(of("raw.placement"), is_pool),
            blank(of("raw.placement-share"), is_whole || is_pool),
            blank(of("applied.placement"), is_pool),
            blank(of("applied.placement-share"), is_whole || is_pool),
            blank(of("added.ratio"), is_whole),
            blank(look.cell("moment.scale", "", part), is_pool),
        ]);
    }
    out += &table.text();
    out += &wrapped(
        "  added/scale: median of |kappa (g_kept - g_dropped)| / (sqrt(vhat) + eps), vhat before the \
         update; scale: median sqrt(vhat)",
        2,
    );
    if equal > 0 {
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
    out += &by_group(look, "rho.median", cuts);
    out += &look.reasons(&["rho.median"]);
    out += "\nthe optimizer's direction after the step, and the gradient's sign\n";
    let head = ["", "cosine with sign(g)", "saturated", "rho > 1", "scaled cosine"];
    let mut table = Table::new(head);
    let quantities = ["applied.sign-cosine", "applied.saturated", "rho.above-one", "moment.cosine"];
    for cut in cuts {
        let cells = quantities.iter().map(|quantity| look.cell(quantity, *cut, ALL));
        table.row([cut.to_string()].into_iter().chain(cells));
        let of = |quantity: &str| look.cell(quantity, *cut, ALL);
        if look.find("unclipped.sign-cosine", *cut, ALL).is_some() {
            let name = format!("{cut}, unclipped");
            table.row([name, of("unclipped.sign-cosine"), of("unclipped.saturated")]);
        }
    }
    out += &table.text();
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
