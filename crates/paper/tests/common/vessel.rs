//! Made-up results of the vessel's studies, with the names that its measurements have.

use std::fmt::Write as _;
use std::path::Path;

use super::{hash, wobble};

const PATHS: [&str; 4] = ["FF", "FD", "KF", "KD"];
/// States along training, in updates.
const TIMES: [u64; 4] = [4001, 4199, 4399, 4799];

pub fn sources() -> Vec<String> {
    (1..=8).map(|i| format!("202611160{i}")).collect()
}

/// A table of measurements that grows.
struct Measured {
    text: String,
    place: (String, &'static str, &'static str, u64),
}

impl Measured {
    fn new() -> Self {
        let header = "source,arm,condition,update,quantity,cut,part,value,note,state,unit\n";
        Self { text: header.to_owned(), place: (String::new(), "", "default", 0) }
    }

    fn at(&mut self, source: &str, arm: &'static str, condition: &'static str, update: u64) {
        self.place = (source.to_owned(), arm, condition, update);
    }

    fn add(&mut self, quantity: &str, cut: &str, part: &str, value: f64) {
        let (source, arm, condition, update) = &self.place;
        let _ = writeln!(
            self.text,
            "{source},{arm},{condition},{update},{quantity},{cut},{part},{value},,done,made-up"
        );
    }

    fn write(&self, folder: &Path, study: &str) {
        std::fs::create_dir_all(folder.join(study)).unwrap();
        std::fs::write(folder.join(study).join("measurements.csv"), &self.text).unwrap();
    }
}

/// What 32 windows of a state measure.
fn windows(table: &mut Measured, size: f64) {
    for (quantity, cut, value) in [
        ("windows.difference", "FD", 0.8 * size),
        ("windows.difference", "KD vs KF", 0.05 * size),
        ("windows.ratio", "FD", 0.2),
        ("windows.ratio", "KF", 0.001),
        ("windows.ratio", "KD", 0.001),
        ("windows.ratio", "KD vs KF", 0.99),
        ("windows.cosine", "FD", 0.97),
        ("windows.cosine", "KD vs KF", 0.998),
        ("windows.cancellation", "FD", 0.001 * size),
    ] {
        table.add(quantity, cut, "all", value);
        for window in 0..32 {
            let part = format!("window {window}");
            let shake = 1.0 - 0.1 * wobble(&[cut, &part]).abs();
            table.add(quantity, cut, &part, value * shake);
        }
    }
    table.add("windows.depth", "", "all", 0.75);
    for (part, rho) in [("error", 0.2), ("resultant", -0.3)] {
        for (suffix, shift) in [("", 0.0), (".lower", -0.25), (".upper", 0.25)] {
            table.add(&format!("windows.spearman{suffix}"), "FD", part, rho + shift);
        }
    }
}

fn chain(table: &mut Measured) {
    for lag in 1..=288 {
        for (name, gain) in [("median", 1.1), ("p95", 1.4), ("max", 1.6)] {
            let gain = gain + f64::from(lag) * 0.0005;
            table.add(&format!("chain.gain.{name}"), "", &format!("k={lag}"), gain);
        }
    }
    table.add("chain.growth.p95", "", "t=T", 1.7);
}

/// Six graphs through clipping and AdamW: a detached history enlarges the placement.
fn updates(table: &mut Measured, history: f64, shake: f64) {
    for (layer, size) in [("raw", 0.85), ("clipped", 0.3), ("applied", 0.25), ("unclipped", 0.7)] {
        let size = size * shake;
        table.add(&format!("{layer}.interaction"), "FF - FD - KF + KD", "all", size);
        table.add(&format!("{layer}.memory-effect"), "FF - FD", "all", size);
        table.add(&format!("{layer}.memory-effect"), "KF - KD", "all", 0.1 * size);
        for pair in ["F_SG - FD", "K_SG - KD"] {
            let apart = if layer == "raw" { 0.02 } else { history };
            table.add(&format!("{layer}.placement"), pair, "all", apart * shake);
            for part in ["block0.w_k", "block1.w_k"] {
                table.add(&format!("{layer}.placement-share"), pair, part, 0.1 * size);
            }
        }
        for cut in PATHS {
            table.add(&format!("{layer}.ratio"), cut, "all", if cut == "FF" { 1.0 } else { size });
            table.add(&format!("{layer}.cosine"), cut, "all", 0.98);
            table.add(&format!("{layer}.sign-cosine"), cut, "all", 0.45);
            table.add(&format!("{layer}.saturated"), cut, "all", 0.99);
        }
    }
    for cut in PATHS {
        table.add("clip.factor", cut, "all", 1e-4 * shake);
    }
    table.add("moment.cosine", "FD", "all", 0.9);
    table.add("added.ratio", "F_SG - FD", "w_v", 12.0 * history * shake);
}

fn reference(table: &mut Measured, ratio: f64) {
    table.add("reference.error", "", "constant velocity", 1000.0);
    table.add("reference.ratio", "", "constant velocity", ratio);
    for step in (12..=288).step_by(12) {
        let km2 = f64::from(step * step) * 0.01;
        table.add("reference.step", "", &format!("step {step}"), km2 * ratio);
        table.add("reference.plain-step", "", &format!("step {step}"), km2);
    }
}

/// Endpoints and curves: the last evaluation is the endpoint.
fn errors(folder: &Path, study: &str, rows: &[(String, &str, &str, u64, f64)]) {
    let mut texts = ["source,arm,condition,update,value,state,unit,note\n"; 2].map(str::to_owned);
    for (source, arm, condition, update, value) in rows {
        let unit = hash(&[study, source, arm, condition]);
        let line = format!("{source},{arm},{condition},{update},{value},done,{unit},\n");
        texts[1] += &line;
        let later =
            rows.iter().any(|(s, a, c, u, _)| (s, a, c) == (source, arm, condition) && u > update);
        if !later {
            texts[0] += &line;
        }
    }
    let folder = folder.join(study);
    std::fs::create_dir_all(&folder).unwrap();
    for (file, text) in ["endpoints.csv", "curves.csv"].into_iter().zip(texts) {
        std::fs::write(folder.join(file), text).unwrap();
    }
}

/// Family, contrast, mean, ends and verdict.
type Row<'a> = (&'a str, &'a str, f64, [f64; 2], &'a str);

fn analysis(folder: &Path, study: &str, rows: &[Row<'_>]) {
    let mut text = "family,contrast,expression,direction,sources,mean,lower,upper,bound,level,size,exact_p,floor,agreeing,verdict,status,why\n".to_owned();
    for (family, contrast, mean, [lower, upper], verdict) in rows {
        let _ = writeln!(
            text,
            "\"{family}\",{contrast},[{contrast}],negative,8,{mean},{lower},{upper},two-sided,0.05,5,0.01,0.01,8,\"{verdict}\",confirmatory,frozen"
        );
    }
    std::fs::create_dir_all(folder.join(study)).unwrap();
    std::fs::write(folder.join(study).join("analysis.csv"), text).unwrap();
}

/// Every study of the vessel.
pub fn write_vessel(folder: &Path) {
    let shake = |parts: &[&str]| 1.0 + 0.1 * wobble(parts);
    let mut b1 = Measured::new();
    b1.at("2026111601", "first", "default", 4001);
    windows(&mut b1, 1.0);
    chain(&mut b1);
    updates(&mut b1, 0.1, 1.0);
    b1.add("gradient.difference", "FD", "all", 0.9);
    for cut in ["FD", "F_SG"] {
        let mut reach = 0.0;
        for age in ["0", "1", "2-3", "4-7", "8-15", "16-31", "32-63", "64-127", "128-287"] {
            let norm = 1.0 + reach;
            reach += norm;
            b1.add("age.norm", cut, &format!("age {age}"), norm);
            b1.add("age.reach", cut, &format!("age {age}"), reach);
        }
        b1.add("age.cancellation", cut, "all", 0.002);
    }
    b1.add("vjp.norm", "", "t=16", 1000.0);
    b1.add("vjp.norm", "", "t=303", 990.0);
    reference(&mut b1, 2.5);
    b1.write(folder, "b1");

    let (mut b2, mut b7, mut b5, mut e6) =
        (Measured::new(), Measured::new(), Measured::new(), Measured::new());
    let (mut b3_rows, mut d1_rows) = (Vec::new(), Vec::new());
    for source in &sources() {
        for (i, arm) in PATHS.into_iter().enumerate() {
            for update in TIMES {
                b2.at(source, arm, "default", update);
                let history = if arm.ends_with('D') { 0.3 } else { 0.06 };
                updates(&mut b2, history, shake(&[source, arm, &update.to_string()]));
            }
            for (update, level) in [(4400, 1500.0), (4800, 1300.0)] {
                let error = level * (1.0 - 0.05 * i as f64) * shake(&[source, arm]);
                b3_rows.push((source.clone(), arm, "default", update, error));
            }
        }
        for (arm, update) in [("FF", 4800), ("more", 5200)] {
            b7.at(source, arm, "default", update);
            windows(&mut b7, shake(&[source, arm]));
            reference(&mut b7, 1.3 * shake(&[source, arm]));
            if arm == "more" {
                chain(&mut b7);
                updates(&mut b7, 0.1, 1.0);
            }
        }
        for (condition, noise) in [("exact", 0.0), ("low", 0.1), ("high", 0.3)] {
            let error = |arm: &str| 1400.0 * (1.0 + noise) * shake(&[source, arm, condition]);
            d1_rows.push((source.clone(), "warm", condition, 4400, 1.2 * error("warm")));
            for arm in ["FF", "FD", "F_SG"] {
                d1_rows.push((source.clone(), arm, condition, 4600, error(arm)));
            }
            e6.at(source, "warm", condition, 4400);
            e6.add("donor.cost", "", "derangement", 900.0 * (1.0 - noise) * shake(&[source]));
        }
    }
    for (arm, update, ratio) in [
        ("rollout-800", 801, 2.6),
        ("rollout-1600", 1601, 2.4),
        ("rollout-2400", 2401, 2.2),
        ("rollout-3200", 3201, 2.3),
        ("rollout-4000", 4001, 2.5),
    ] {
        b5.at("2026111601", arm, "default", update);
        reference(&mut b5, ratio);
    }
    for (table, study) in [(&b2, "b2"), (&b7, "b7"), (&b5, "b5"), (&e6, "e6")] {
        table.write(folder, study);
    }
    errors(folder, "b3", &b3_rows);
    errors(folder, "d1", &d1_rows);
    let mut units = "unit,arm,condition,source,from,to,state,updates,clipped,note\n".to_owned();
    for source in &sources() {
        for (arm, clipped) in
            [("pretrained", 0), ("FF", 800), ("FD", 400), ("KF", 800), ("KD", 400)]
        {
            let unit = hash(&["b3", source, arm]);
            let _ = writeln!(units, "{unit},{arm},default,{source},4000,4800,done,800,{clipped},");
        }
    }
    std::fs::write(folder.join("b3").join("units.csv"), units).unwrap();
    let after = |family, contrast, mean, ends, verdict| (family, contrast, mean, ends, verdict);
    analysis(
        folder,
        "b3",
        &[
            after("after 400 updates", "FD against FF", -60.0, [-120.0, -10.0], "supported"),
            after("after 400 updates", "FD against KD", 20.0, [-50.0, 90.0], "unresolved"),
            after("after 800 updates", "FD against FF", -40.0, [-90.0, 10.0], "unresolved"),
        ],
    );
    analysis(
        folder,
        "b7",
        &[
            ("P1", "one step against full", -0.099, [-0.0995, -0.0985], "supported"),
            ("P2", "what depth adds", 0.7, [0.6, 0.8], "supported"),
        ],
    );
}
