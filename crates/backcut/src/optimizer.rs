//! Options that depart from a system's own optimizer, the same as `[optimizer]` of a study file.

use anyhow::Result;
use backcut_kernels::optim::rule::with_settings;
use backcut_lab::training::RunConfig;
use backcut_study::file::OptimizerTable;
use backcut_systems::{Clip, Kind, Optimizer, ParameterGroup, Placed, Schedule};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::exit::{Told as _, user};
use crate::settings::value;

macro_rules! options {
    ($($(#[$about:meta])* $setting:ident,)*) => {
        /// Options that choose an optimizer.
        #[derive(Debug, Default, clap::Args)]
        pub struct OptimizerArgs {
            #[arg(long, value_name = "RULE", value_parser = kind,
                help = format!("The rule: {} [default: the system's]", kinds()))]
            optimizer: Option<Kind>,
            $($(#[$about])* #[arg(long, allow_negative_numbers = true)] $setting: Option<f64>,)*
            /// Threshold of the global-norm clip, or none
            #[arg(long, value_name = "NORM|none", allow_negative_numbers = true)]
            clip: Option<Clip>,
            /// How the rate changes, as warmup=100,until=1000,end=1e-5,decay=linear
            #[arg(long, value_name = "KEY=VALUE,...", value_parser = schedule)]
            schedule: Option<Schedule>,
            /// Parameters with their own rate (a factor) or decay, as '*.bias:decay=0'; may be
            /// repeated
            #[arg(long = "group", value_name = "NAMES:KEY=VALUE,...", value_parser = group)]
            groups: Vec<ParameterGroup>,
        }

        impl OptimizerArgs {
            /// These departures from an optimizer.
            pub fn over(&self, optimizer: Optimizer) -> Result<Optimizer> {
                let table = OptimizerTable {
                    kind: self.optimizer,
                    clip: self.clip,
                    $($setting: self.$setting,)*
                    schedule: self.schedule,
                    groups: (!self.groups.is_empty()).then(|| self.groups.clone()),
                };
                table.over(optimizer).told()
            }
        }
    };
}
with_settings!(options);

/// Every group of a run's optimizer must have parameters.
pub fn check_groups(config: &RunConfig, layout: &backcut_engine::Layout) -> Result<()> {
    let placed = Placed::new(&config.optimizer, layout);
    placed.map(|_| ()).map_err(|what| user(what, "correct the pattern of --group"))
}

fn kind(text: &str) -> Result<Kind, String> {
    let known = Kind::ALL.iter().find(|kind| kind.name() == text);
    known.copied().ok_or_else(|| format!("write {}", kinds()))
}

fn kinds() -> String {
    Kind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ")
}

fn schedule(text: &str) -> Result<Schedule, String> {
    read(text, Map::new())
}

fn group(text: &str) -> Result<ParameterGroup, String> {
    let (names, pairs) = text.rsplit_once(':').ok_or("write NAMES:KEY=VALUE, as *.bias:decay=0")?;
    read(pairs, [("parameters".to_owned(), names.into())].into_iter().collect())
}

/// `KEY=VALUE,KEY=VALUE` beside what is known already.
fn read<T: DeserializeOwned>(pairs: &str, mut map: Map<String, Value>) -> Result<T, String> {
    for pair in pairs.split(',') {
        let (key, text) = pair.split_once('=').ok_or_else(|| format!("{pair}: write KEY=VALUE"))?;
        if map.insert(key.to_owned(), value(text)).is_some() {
            return Err(format!("{key} is given twice"));
        }
    }
    serde_json::from_value(Value::Object(map)).map_err(|error| error.to_string())
}
