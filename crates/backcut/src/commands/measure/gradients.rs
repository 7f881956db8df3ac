//! `backcut measure gradients`: gradients made elsewhere, compared as those of cuts are.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use backcut_evidence::tables::to_csv;
use backcut_lab::measure::outside::{self, Described, GroupRule, Opened, OutsideError};
use backcut_lab::measure::{ALL, Finding, Of};
use serde_json::json;

use super::output::{Results, write};
use super::table::{Column, Look, Row, by_part, sheet};
use crate::exit::{Told as _, Verdict, user};
use crate::say::{self, note, out};

/// Options of `backcut measure gradients`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files as docs/format.md has them, one per state or seed; several give medians and one table
    #[arg(value_name = "FILE.safetensors", required_unless_present = "define")]
    files: Vec<PathBuf>,
    /// Parameters whose names match are one group; repeat it. Others are grouped by their names
    #[arg(long = "group", value_name = "NAME=REGEX")]
    groups: Vec<GroupRule>,
    /// The arm that others are compared with [default: the first of the file]
    #[arg(long, value_name = "ARM")]
    reference: Option<String>,
    /// Four arms a,b,c,d whose interaction (a - b) - (c - d) is wanted
    #[arg(long, value_name = "FF,FD,KF,KD", value_delimiter = ',')]
    factorial: Option<Vec<String>>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write the findings as a tidy CSV into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print what every quantity of this command is, and measure nothing
    #[arg(long)]
    pub define: bool,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Verdict> {
    let (mut labels, mut of_file) = (Vec::new(), Vec::new());
    let mut first: Option<Described> = None;
    for path in &args.files {
        let label = path.display().to_string();
        let (described, findings) = measure(path, args).told_at(&label)?;
        if let Some(first) = &first
            && (first.parameters != described.parameters || first.arms != described.arms)
        {
            let what = format!("{label}: other parameters or arms than {}", labels[0]);
            return Err(user(what, "compare files of one model and the same arms"));
        }
        first.get_or_insert(described);
        if labels.contains(&label) {
            return Err(user(format!("{label} twice"), "give every file once"));
        }
        labels.push(label);
        of_file.push(findings);
    }
    let results = Results::new(of_file);
    if args.json {
        let pairs = labels.iter().zip(&results.of_state);
        let files: Vec<_> =
            pairs.map(|(file, findings)| json!({ "file": file, "findings": findings })).collect();
        let mut value = json!({ "measurement": "gradients", "files": files });
        if labels.len() > 1 {
            value["summary"] = json!(results.summary);
        }
        say::json(value)?;
    } else if let Some(described) = &first {
        out!("{}", text(described, labels.len(), Look(&results.summary)))?;
    }
    if let Some(folder) = &args.out {
        let path = folder.join("gradients.csv");
        write(&path, &to_csv(&results.rows(labels.iter().map(String::as_str)))?)?;
        note!("wrote {}", path.display());
    }
    Ok(Verdict::Fine)
}

fn measure(path: &Path, args: &Args) -> Result<(Described, Vec<Finding>), OutsideError> {
    let mut opened = outside::open(path)?;
    let described = opened.described_mut();
    let arms = described.arms.clone();
    let find = |name: &str| {
        arms.iter().position(|arm| arm == name).ok_or_else(|| {
            let hint = format!("its arms are {}", arms.join(", "));
            OutsideError::new(format!("there is no arm `{name}`"), hint)
        })
    };
    if let Some(reference) = &args.reference {
        let at = find(reference)?;
        let reference = described.arms.remove(at);
        described.arms.insert(0, reference);
    }
    if let Some(four) = &args.factorial {
        let ordered = described.arms.clone();
        let place = |name: &String| {
            find(name).map(|_| ordered.iter().position(|arm| arm == name).unwrap_or_default())
        };
        let four: Vec<usize> = four.iter().map(place).collect::<Result<_, OutsideError>>()?;
        let is_distinct = |i: usize| !four[..i].contains(&four[i]);
        if !(0..four.len()).all(is_distinct) {
            return Err(OutsideError::new("--factorial names an arm twice", "name four arms"));
        }
        let count = four.len();
        described.factorial = Some(four.try_into().map_err(|_| {
            OutsideError::new(format!("--factorial names {count} arms"), "name four: a,b,c,d")
        })?);
    }
    let described = described.clone();
    let groups = outside::group(&described, &args.groups)?;
    let findings = match &mut opened {
        Opened::Single(file) => outside::compare(&described, &groups, file)?,
        Opened::Double(file) => outside::compare(&described, &groups, file)?,
    };
    Ok((described, findings))
}

const LENGTHS: [Column; 4] = [
    Column::new("|x|", ".norm"),
    Column::new("|x|/|ref|", ".ratio"),
    Column::new("|x-ref|/|ref|", ".difference"),
    Column::new("cosine", ".cosine"),
];
const OPTIMIZER: [Column; 5] = [
    Column::new("clip", "clip.factor"),
    Column::new("rho", "rho.median"),
    Column::new("rho > 1", "rho.above-one"),
    Column::new("sign cosine", "applied.sign-cosine"),
    Column::new("saturated", "applied.saturated"),
];

fn text(described: &Described, files: usize, look: Look) -> String {
    let mut out = format!(
        "{} parameters in {} tensors, {} arms",
        backcut_text::thousands(described.len()),
        described.parameters.len(),
        described.arms.len()
    );
    out += &if files > 1 {
        format!("\n{files} files: medians [16th, 84th percentile]\n")
    } else {
        "\n".to_owned()
    };
    let arms: Vec<&str> = described.arms.iter().map(String::as_str).collect();
    let all: Vec<Of> = arms.iter().map(|arm| Of::One((*arm).to_owned())).collect();
    let all: Vec<&Of> = all.iter().collect();
    let layers = [
        ("gradient", "gradient"),
        ("clipped", "clipped gradient"),
        ("applied", "applied update"),
        ("unclipped", "update without this clip"),
    ];
    let is_clipped = look.0.iter().any(|f| f.quantity == "clip.factor" && f.value < Some(1.0));
    for (layer, title) in layers {
        // Where nothing is clipped, two layers say again what two others said.
        let is_again = !is_clipped && ["clipped", "unclipped"].contains(&layer);
        if is_again || look.find(&format!("{layer}.norm"), arms[0], ALL).is_none() {
            continue;
        }
        let _ = writeln!(out, "\n{title} against {}", arms[0]);
        out += &sheet(look, "arm", &Row::of_cuts(layer, &all), &LENGTHS);
    }
    if look.find("clip.factor", arms[0], ALL).is_some() {
        out += "\nwhat the optimizer makes of them\n";
        out += &sheet(look, "arm", &Row::of_cuts("", &all), &OPTIMIZER);
    }
    for layer in ["raw", "clipped", "applied", "unclipped"] {
        if !is_clipped && ["clipped", "unclipped"].contains(&layer) {
            continue;
        }
        for quantity in ["effect", "interaction"] {
            let quantity = format!("{layer}.{quantity}");
            for pair in look.cuts(&quantity) {
                let value = look.band(&quantity, pair, ALL);
                let _ = writeln!(out, "  {quantity:<22} {pair}: {value} of |{}|", arms[0]);
            }
        }
    }
    let others = &all[1..];
    if let Some(first) = others.first().copied() {
        for (title, quantity) in [
            ("|g - g_ref| / |g_ref| by parameter group", "gradient.difference"),
            ("cosine with g_ref by parameter group", "gradient.cosine"),
            ("|U - U_ref| / |U_ref| by parameter group", "applied.difference"),
        ] {
            if look.find(quantity, first, ALL).is_some() {
                let _ = writeln!(out, "\n{title}");
                out += &by_part(look, quantity, others);
            }
        }
    }
    out + &look.reasons(&["gradient.ratio", "gradient.cosine", "applied.cosine", "rho.median"])
}
