//! Made-up results: deterministic, roughly of the paper's size, with failures, gaps and hostile
//! strings.
#![allow(dead_code, clippy::unwrap_used, reason = "made-up data; every test file uses a part")]

pub mod looks;
pub mod vessel;

use std::fmt::Write as _;
use std::path::Path;

/// Strings that try to leave the place where they are shown.
pub const HOSTILE: [&str; 5] = [
    "<script>window.broken=1</script>",
    "\"onmouseover=\"window.broken=1",
    "]]></style><img src=x onerror=window.broken=1>",
    "\u{202E}gnp.exe\u{0000}",
    "line one\nline two | `code` **bold** =1+1",
];

const NOISES: [&str; 7] = ["0", "0.05", "0.1", "0.15", "0.20", "0.25", "0.30"];

/// The results of a folder beside the paper.
pub fn open(folder: &Path) -> backcut_paper::Reproduction {
    backcut_paper::Reproduction::new(backcut_page::report::Results::open(folder).unwrap()).unwrap()
}

/// A number in (-1, 1) that depends on its names alone.
pub fn wobble(parts: &[&str]) -> f64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in parts.join("/").bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    (hash >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// What looks like a unit's name: 64 digits that depend on the parts alone.
pub fn hash(parts: &[&str]) -> String {
    format!("{:064x}", wobble(parts).to_bits())
}

/// Field of a CSV, always quoted.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// The made-up error of an arm.
pub fn error(study: &str, arm: &str, condition: &str, source: &str) -> f64 {
    let noise = condition.rsplit('/').next().unwrap_or(condition);
    let level: f64 = noise.parse().unwrap_or(0.25);
    let hidden = noise == "hidden";
    let base = 0.0047 + 0.004 * level;
    let excess = match arm {
        "warm" => 0.01 + 0.4 * level,
        "w1" if hidden => 0.97,
        "w1" => 9.0 * level * level,
        "w2" if hidden => 0.29,
        "w2" => 7.0 * level * level,
        "F_SG" | "F_SG_b" if study.starts_with("c1") => 0.5,
        "F_SG" | "F_SG_b" if matches!(study, "c2" | "c4" | "a4" | "a6") => {
            0.1 * (level / 0.2).min(1.0)
        }
        "F_SG_cont" => {
            if hidden {
                0.4
            } else {
                0.5 * level
            }
        }
        "F_SG" => {
            if hidden {
                0.28
            } else {
                1.5 * level
            }
        }
        "FD" => 0.12 * (level / 0.2).min(1.0) + 0.01,
        _ => arm
            .strip_prefix("SEG-")
            .and_then(|l| l.parse::<f64>().ok())
            .map_or(0.0, |l| (if hidden { 0.28 } else { 1.5 * level }) * (1.0 - l / 20.0)),
    };
    base * (1.0 + 0.04 * wobble(&["base", condition, source]))
        * (1.0 + excess + 0.03 * wobble(&[study, arm, condition, source]))
}

/// One study's folder.
pub struct StudyFixture<'a> {
    pub name: &'a str,
    pub first_seed: u64,
    pub seeds: u64,
    pub conditions: &'a [&'a str],
    pub arms: &'a [&'a str],
    pub points: u64,
}

/// Writes endpoints, curves, units, provenance, about and an analysis.
pub fn write_study(
    folder: &Path,
    study: &StudyFixture<'_>,
    analysis: &[(&str, &str, &str, f64, [f64; 2])],
) {
    let name = study.name;
    let folder = folder.join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let header = "source,arm,condition,update,value,state,unit,note\n";
    let (mut endpoints, mut curves) = (header.to_owned(), header.to_owned());
    let mut units = "unit,arm,condition,source,from,to,state,updates,clipped,note\n".to_owned();
    let mut provenance = "unit,content,head,seconds\n".to_owned();
    let mut count = 0;
    for seed in study.first_seed..study.first_seed + study.seeds {
        let source = seed.to_string();
        for condition in study.conditions {
            for arm in study.arms {
                count += 1;
                let unit = hash(&[name, &count.to_string()]);
                let (from, to) = match *arm {
                    "warm" => (0, 800),
                    "F_SG_cont" => (800, 1000),
                    _ => (0, 1000),
                };
                let state = match count % 97 {
                    13 => "failed",
                    14 if name != "a6" => "pending",
                    15 => "interrupted",
                    _ => "done",
                };
                let value = if state == "done" {
                    error(name, arm, condition, &source).to_string()
                } else {
                    String::new()
                };
                let note = if state == "failed" { HOSTILE[count % HOSTILE.len()] } else { "" };
                let note = quoted(note);
                let _ = writeln!(
                    endpoints,
                    "{source},{arm},{condition},{to},{value},{state},{unit},{note}"
                );
                let _ = writeln!(
                    units,
                    "{unit},{arm},{condition},{source},{from},{to},{state},{},{},{note}",
                    if state == "done" { to - from } else { 17 },
                    count % 40
                );
                if state == "done" {
                    let _ = writeln!(provenance, "{unit},{count:064x},{:064x},{}", 7, 2.5);
                    let end = error(name, arm, condition, &source);
                    for point in 1..=study.points {
                        let update = from + (to - from) * point / study.points;
                        let early = 1.0 + 3.0 * (-(update as f64) / 120.0).exp();
                        let value = if point == study.points { end } else { end * early };
                        let _ = writeln!(
                            curves,
                            "{source},{arm},{condition},{update},{value},done,{unit},"
                        );
                    }
                }
            }
        }
    }
    let mut judged = "family,contrast,expression,direction,sources,mean,lower,upper,bound,level,size,exact_p,floor,agreeing,verdict,status,why\n".to_owned();
    for (contrast, expression, status, mean, [lower, upper]) in analysis {
        let _ = writeln!(
            judged,
            "main,{contrast},{expression},positive,{},{mean},{lower},{upper},two-sided,0.05,{},0.000031,0.00009,{},supported,{status},{}",
            study.seeds,
            analysis.len(),
            study.seeds,
            quoted("frozen before any unit ran")
        );
    }
    let about = format!(
        "{{\"study\":\"{name}\",\"title\":\"made-up results\",\"file \
         hash\":\"{:064x}\",\"numerics\":3,\"version\":\"0.1.0\",\"machine\":{{\"cores\":2,\"model\":\"<b>none</b>\"}},\"totals\":{{\"units\":{count}}},\"tags\":[\"a\",\"b\"],\"odd <key>\":\"]]>\"}}",
        99
    );
    for (file, text) in [
        ("endpoints.csv", &endpoints),
        ("curves.csv", &curves),
        ("units.csv", &units),
        ("provenance.csv", &provenance),
        ("analysis.csv", &judged),
        ("about.json", &about),
    ] {
        std::fs::write(folder.join(file), text).unwrap();
    }
}

/// What the multiverse asks in every universe.
pub const CLAIMS: [&str; 17] = [
    "H1",
    "H2",
    "H3",
    "cost at 0.05",
    "cost at 0.20",
    "cost, hidden",
    "late is cheaper at 0.20",
    "late is cheaper, hidden",
    "SEG-2 at 0.20",
    "SEG-2, hidden",
    "SEG-8 at 0.20",
    "SEG-8, hidden",
    "A4",
    "A6",
    "masking hurts FF at 0.20",
    "masking hurts F_SG less at 0.20",
    "value grows more than cost",
];

/// Two candidates of a calibration, and every claim in every universe of the multiverse.
fn write_second(folder: &Path) {
    let conditions = ["0.00", "0.05", "0.20", "0.30", "hidden"];
    let arms = ["a.FF", "a.w1", "b.FF", "b.w1"];
    let (name, points) = ("calibration", 1);
    let study = StudyFixture {
        name,
        first_seed: 930_000_001,
        seeds: 2,
        conditions: &conditions,
        arms: &arms,
        points,
    };
    write_study(folder, &study, &[]);
    let mut text = "family,contrast,expression,direction,sources,mean,lower,upper,bound,level,size,unadjusted_p,adjusted_p,floor,agreeing,verdict,status,why\n".to_owned();
    for universe in 1..=24 {
        for (i, claim) in CLAIMS.into_iter().enumerate() {
            let name = format!("u{universe:02}");
            // From claims that hold everywhere to claims that hold nowhere.
            let mean = 0.9 - 0.1 * i as f64 + wobble(&[&name, claim]);
            let (lower, upper) = (mean - 0.4, mean + 0.4);
            let verdict = match (lower > 0.0, upper < 0.0) {
                (true, _) => "supported",
                (_, true) => "contradicted",
                _ => "unresolved",
            };
            let _ = writeln!(
                text,
                "{name}: \
                 H1-H3,\"{claim}\",[{name}.w1@0.20],positive,8,{mean},{lower},{upper},two-sided,0.05,3,0.01,0.03,0.02,8,{verdict},prespecified,because"
            );
        }
    }
    let folder = folder.join("multiverse");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("analysis.csv"), text).unwrap();
}

fn write_measurements(
    folder: &Path,
    study: &str,
    seeds: std::ops::RangeInclusive<u64>,
    conditions: &[&str],
    make: impl Fn(&str, &str) -> Vec<(&'static str, String, &'static str, String, f64)>,
) {
    let folder = folder.join(study);
    std::fs::create_dir_all(&folder).unwrap();
    let mut text =
        "source,arm,condition,update,quantity,cut,part,value,note,state,unit\n".to_owned();
    for seed in seeds {
        let source = seed.to_string();
        for condition in conditions {
            for (arm, cut, part, quantity, value) in make(condition, &source) {
                let _ = writeln!(
                    text,
                    "{source},{arm},{condition},800,{quantity},{cut},{part},{value},,done,{study}-{source}"
                );
            }
        }
    }
    std::fs::write(folder.join("measurements.csv"), text).unwrap();
}

/// The whole set of studies.
pub fn write_results(folder: &Path) {
    write_second(folder);
    looks::write_looks(folder);
    vessel::write_vessel(folder);
    let h = [
        ("H1", "[w1@0.20] - [FF@0.20]", "prespecified", 0.0021, [0.0019, 0.0023]),
        ("H2", "[F_SG@hidden] - [FF@hidden]", "prespecified", 0.0016, [0.0012, 0.0020]),
        (
            "H3",
            "([F_SG@0.20] - [FF@0.20]) - ([F_SG@0.05] - [FF@0.05])",
            "prespecified",
            0.0012,
            [0.0008, 0.0013],
        ),
    ];
    let from_start = ["0", "0.05", "0.20", "0.30", "hidden"];
    let study = |name, first_seed, seeds, conditions, arms| StudyFixture {
        name,
        first_seed,
        seeds,
        conditions,
        arms,
        points: 10,
    };
    write_study(
        folder,
        &study("c5", 2_026_092_501, 16, &from_start, &["FF", "F_SG", "w1", "w2", "F_SG_cont"]),
        &h,
    );
    let segments = [
        ("S1", "[SEG-2@0.20] - [F_SG@0.20]", "prespecified", -0.0002, [-0.0005, 0.0001]),
        ("S2", "[SEG-2@hidden] - [F_SG@hidden]", "prespecified", -0.0001, [-0.0006, 0.0004]),
    ];
    write_study(
        folder,
        &study(
            "c6",
            2_026_092_501,
            16,
            &["0.05", "0.20", "hidden"],
            &["FF", "F_SG", "w1", "w2", "SEG-2", "SEG-4", "SEG-8", "SEG-16"],
        ),
        &segments,
    );
    let continued = ["warm", "FF", "FD", "F_SG"];
    write_study(folder, &study("c2", 2_026_091_701, 16, &NOISES, &continued), &[]);
    write_study(
        folder,
        &study("a4", 2_026_091_521, 8, &["0.05", "0.20"], &continued),
        &[(
            "A4",
            "([F_SG@0.20] - [FF@0.20]) - ([F_SG@0.05] - [FF@0.05])",
            "confirmatory",
            0.0005,
            [0.0001, 0.0009],
        )],
    );
    write_study(
        folder,
        &study("a6", 2_026_092_101, 28, &["0.05"], &["warm", "FF", "F_SG"]),
        &[("A6", "([F_SG@0.05] - [FF@0.05]) / [FF@0.05]", "confirmatory", 0.024, [0.015, 0.031])],
    );
    write_study(folder, &study("c1-hidden", 2_026_091_441, 8, &["hidden"], &continued), &[]);
    let other: Vec<String> = NOISES.iter().map(|n| format!("c2/{n}")).collect();
    let other: Vec<&str> = other.iter().map(String::as_str).collect();
    write_study(folder, &study("c4", 2_026_091_701, 16, &other, &["FF_b", "F_SG_b"]), &[]);
    write_study(
        folder,
        &study("odd <b>name", 1, 4, &["0.05"], &["FF", "F_SG"]),
        &[("<i>x</i>", "[F_SG@0.05] - [FF@0.05]", "descriptive", 0.1, [0.0, 0.2])],
    );
    write_measurements(
        folder,
        "c7",
        2_026_092_501..=2_026_092_516,
        &from_start,
        |condition, source| {
            let mut rows = Vec::new();
            for (arm, share) in [("FF", 1.0), ("F_SG", 0.3), ("F_SG_cont", 0.7)] {
                for (part, of) in [("w=1", 1.0), ("w=2", 0.7)] {
                    let level: f64 = condition.parse().unwrap_or(0.6);
                    let value = share
                        * of
                        * (5.0 * level - 0.04)
                        * (1.0 + 0.2 * wobble(&[arm, part, condition, source]));
                    rows.push((arm, String::new(), part, "masking.relative".to_owned(), value));
                }
            }
            rows
        },
    );
    write_measurements(
        folder,
        "e1",
        2_026_091_701..=2_026_091_716,
        &NOISES,
        |condition, source| {
            let level: f64 = condition.parse().unwrap();
            vec![(
                "warm",
                String::new(),
                "embed[0..3]",
                "input_weight.norm".into(),
                0.4 - 0.2 * level + 0.01 * wobble(&["e1", condition, source]),
            )]
        },
    );
    write_measurements(
        folder,
        "e3",
        2_026_091_701..=2_026_091_716,
        &NOISES,
        |condition, source| {
            let level: f64 = condition.parse().unwrap();
            vec![(
                "warm",
                String::new(),
                "derangement",
                "donor.cost".into(),
                0.001 + 0.15 * level + 0.002 * wobble(&["e3", condition, source]),
            )]
        },
    );
    write_measurements(
        folder,
        "e4",
        2_026_091_701..=2_026_091_716,
        &NOISES,
        |condition, source| {
            let level: f64 = condition.parse().unwrap();
            let mut rows = Vec::new();
            for (cut, size) in
                [("F_SG", 0.6), ("FD", 0.7), ("KD vs KF", 0.05), ("K_SG vs KF", 0.04)]
            {
                let shake = 1.0 + 0.1 * wobble(&["e4", cut, condition, source]);
                for (quantity, value) in [
                    ("raw.difference", size * shake),
                    ("d_U", size * (1.0 - 2.0 * level) * shake),
                    ("r_U", 1e-4 * shake),
                    ("gradient.difference", size * shake),
                    ("gradient.ratio", (1.0 - size * 0.5) * shake),
                    ("gradient.cosine", 1.0 - size * 0.2 * shake),
                ] {
                    rows.push(("warm", cut.to_owned(), "all", quantity.to_owned(), value));
                }
            }
            rows.push((
                "warm",
                "FF".into(),
                "all",
                "r_U".into(),
                1e-4 * (1.0 - level) + 1e-6 * wobble(&["r", condition, source]),
            ));
            for (layer, size) in [("raw", 0.8), ("clipped", 0.4), ("applied", 0.3)] {
                let shake = 1.0 + 0.1 * wobble(&[layer, condition, source]);
                rows.push((
                    "warm",
                    "FF - FD - KF + KD".into(),
                    "all",
                    format!("{layer}.interaction"),
                    size * shake,
                ));
                rows.push((
                    "warm",
                    "F_SG - FD".into(),
                    "all",
                    format!("{layer}.placement"),
                    (1.0 - size) * 0.2 * shake,
                ));
                rows.push((
                    "warm",
                    "K_SG - KD".into(),
                    "all",
                    format!("{layer}.placement"),
                    (1.0 - size) * 0.15 * shake,
                ));
            }
            rows
        },
    );
    std::fs::write(
        folder.join("ledger.jsonl"),
        "{\"kind\":\"freeze\",\"hash\":\"aa\"}\n{\"kind\":\"freeze\",\"hash\":\"<bb>\"}\n",
    )
    .unwrap();
}

/// A small study of four seeds, as a quick run has.
pub fn write_quick(folder: &Path) {
    let quick = StudyFixture {
        name: "quick",
        first_seed: 1,
        seeds: 4,
        conditions: &["0.05", "0.20", "hidden"],
        arms: &["FF", "F_SG", "SEG-8", "w1"],
        points: 5,
    };
    write_study(folder, &quick, &[]);
}

/// Edges of a short rollout with segments of two steps, as an engine would list them.
pub fn design() -> Vec<backcut_paper::DesignEdges> {
    use backcut_paper::{DesignEdge, DesignEdges, EdgeKind, EdgeLife};
    let steps = 6;
    let mut edges = Vec::new();
    for to in 1..steps {
        for from in 0..to {
            let near = from / 2 == to / 2;
            let life = if near { EdgeLife::Lives } else { EdgeLife::WeightsOnly };
            edges.push(DesignEdge { from, to, layer: 0, kind: EdgeKind::Memory, life });
        }
        let (kind, life) = (EdgeKind::State, EdgeLife::Cut);
        edges.push(DesignEdge { from: to - 1, to, layer: 0, kind, life });
    }
    let meaning = "full inside segments of two steps <i>".to_owned();
    vec![DesignEdges { cut: "K_SEG-2".into(), meaning, steps, edges }]
}
