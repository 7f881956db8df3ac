//! A flight and ages: what pictures of trained policies are drawn from.

use std::fmt::Write as _;
use std::path::Path;

pub const CONDITIONS: [&str; 3] = ["0.05", "0.20", "hidden"];
pub const STEPS: usize = 4;

/// A reference along the first axis, FF beside it and F_SG farther away: `0.1` and `0.2` m at every
/// step.
pub fn write_looks(folder: &Path) {
    let head = "source,arm,condition,update,quantity,cut,part,value,note,state,unit\n";
    let mut flight = head.to_owned();
    let mut ages = head.to_owned();
    for condition in CONDITIONS {
        for (arm, beside) in [("FF", 0.1), ("F_SG", 0.2)] {
            for t in 0..STEPS {
                let along = 0.25 * t as f64;
                let (flown, target) = ([along, beside, 0.0], [along, 0.0, 0.0]);
                for (name, place) in [("next_state", flown), ("target", target)] {
                    for (column, value) in place.iter().enumerate() {
                        let _ = writeln!(
                            flight,
                            "7,{arm},{condition},1000,track.value,,\"{name}[{column}], row 0, \
                             t={t}\",{value},,done,f-{arm}"
                        );
                    }
                }
            }
            for source in 1..=8 {
                for (i, age) in ["age 0", "age 1", "age 2-3"].into_iter().enumerate() {
                    let value = 0.1 * (i + 1) as f64 + 0.01 * f64::from(source) + beside;
                    for (quantity, cut, part) in [
                        ("attention.age", "", format!("block0 {age}")),
                        ("age.norm", "FD", age.to_owned()),
                        ("age.reach", "FD", age.to_owned()),
                    ] {
                        let _ = writeln!(
                            ages,
                            "{source},{arm},{condition},1000,{quantity},{cut},{part},{value},,done,a-{arm}"
                        );
                    }
                }
            }
        }
    }
    for (study, text) in [("flight", flight), ("ages", ages)] {
        let folder = folder.join(study);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("measurements.csv"), text).unwrap();
    }
}
