//! A made-up study of nobody's: a pendulum, with names that this project does not use.
#![allow(dead_code, clippy::unwrap_used, reason = "made-up data; every test file uses a part")]

use std::fmt::Write as _;
use std::path::Path;

pub const ARMS: [&str; 3] = ["whole path", "four at a time", "late, <b>bold</b>"];
pub const CONDITIONS: [&str; 3] = ["10", "2", "gusty"];

/// A number in (0, 1) that depends on its names alone.
fn wobble(parts: &[&str]) -> f64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in parts.join("/").bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    (hash.wrapping_mul(0xff51_afd7_ed55_8ccd) >> 11) as f64 / (1u64 << 53) as f64
}

fn error(arm: &str, condition: &str, source: &str) -> f64 {
    let place = ARMS.iter().position(|a| *a == arm).unwrap() as f64;
    (1.0 + 0.2 * place) * (0.8 + 0.4 * wobble(&["base", condition, source]))
        + 0.05 * wobble(&[arm, condition, source])
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// Writes the folder of one study with six sources; one unit failed.
pub fn write_study(folder: &Path, name: &str) {
    let folder = folder.join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let mut units =
        "unit,what,arm,condition,source,from,to,state,updates,clipped,origin,note\n".to_owned();
    let mut numbers =
        "source,arm,condition,update,quantity,of,part,value,state,unit,note\n".to_owned();
    let mut count = 0;
    for source in ["a", "b", "c", "d", "e", "f"] {
        for condition in CONDITIONS {
            for arm in ARMS {
                count += 1;
                let (unit, quoted_arm) = (format!("{count:064x}"), quoted(arm));
                let from = if arm == ARMS[2] { 40 } else { 0 };
                let end = error(arm, condition, source);
                let (state, value) =
                    if count == 5 { ("failed", String::new()) } else { ("done", end.to_string()) };
                let note = if count == 5 { "a wheel came off" } else { "" };
                let cell = format!("{source},{quoted_arm},{condition}");
                if state == "failed" {
                    writeln!(numbers, "{cell},80,error,,,{value},{state},{unit},{note}").unwrap();
                }
                let place = format!("{quoted_arm},{condition},{source}");
                let did = 80 - from;
                writeln!(units, "{unit},train,{place},{from},80,{state},{did},0,,{note}").unwrap();
                if state == "failed" {
                    continue;
                }
                for update in (from + 8..=80).step_by(8) {
                    let early = 1.0 + 3.0 * (-f64::from(update) / 20.0).exp();
                    let value = end * early;
                    let value = if update == 80 { end } else { value };
                    writeln!(numbers, "{cell},{update},error,,,{value},done,{unit},").unwrap();
                }
                for (part, size) in [("hinge", 2.0), ("rod", 3.0)] {
                    for (quantity, of) in [("swing.ratio", 1.0), ("swing.count", 10.0)] {
                        let value = size * of * (1.0 + 0.1 * wobble(&[part, &place]));
                        let row = format!("{cell},80,{quantity},,{part},{value},done,{unit},");
                        writeln!(numbers, "{row}").unwrap();
                    }
                }
            }
        }
    }
    let analysis = "family,contrast,expression,direction,sources,mean,lower,upper,bound,level,size,exact_p,floor,agreeing,verdict,status,why,pointwise_lower,pointwise_upper\nprice,steady price,[four at a time@2] - [whole path@2],positive,6,0.2,0.1,0.3,two-sided,0.05,2,0.03,0.03,6,supported,prespecified,frozen first,0.15,0.25\nprice,small price,[four at a time@10] - [whole path@10],positive,6,0.001,-0.002,0.004,two-sided,0.05,2,0.7,0.03,4,unresolved,descriptive,,,\n";
    let about = format!(
        "{{\"study\":\"{name}\",\"title\":\"How far a pendulum looks back\",\"error\":\"mean \
         squared angle\",\"unit\":\"rad^2\"}}"
    );
    for (file, text) in [
        ("observations.csv", numbers.as_str()),
        ("units.csv", &units),
        ("analysis.csv", analysis),
        ("about.json", &about),
    ] {
        std::fs::write(folder.join(file), text).unwrap();
    }
}
