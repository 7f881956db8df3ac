//! Measurements as values: what a study file or the command line asks for.

pub(super) mod ages;
pub(super) mod chain;
pub mod diagnostics;
pub(super) mod gradient;
pub(super) mod gradient_seeds;
pub(super) mod gradient_vjp;
pub mod memory;
pub mod probe;
mod reference;
pub mod track;
pub(super) mod update;
pub(super) mod update_across;
pub(super) mod update_replay;
mod windows;

use backcut_engine::Cut;
use serde::{Deserialize, Serialize};

use self::chain::ChainOptions;
use self::gradient::GradientOptions;
use self::probe::ProbeOptions;
use self::update::UpdateOptions;
use crate::measure::define::Definition;
use crate::measure::error::MeasureError;
use crate::measure::finding::Finding;
use crate::measure::rig::Rig;
use crate::measure::subject::Subject;
use crate::measure::summary::PERCENTILES;

/// What to measure at a state.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Measurement {
    /// Gradients under cuts: norms, ratios, differences, cosines, per parameter group.
    Gradient {
        /// The cuts; FF is always added as the reference.
        #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
        cuts: Vec<Cut>,
    },
    /// Updates as the optimizer applies them, under cuts.
    Update {
        /// The cuts; FF is always added as the reference.
        #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
        cuts: Vec<Cut>,
        /// Set parameters that no output sees (keys' biases) apart, as the part `redundant`; `all`
        /// is the rest.
        #[serde(default, skip_serializing_if = "is_not")]
        apart: bool,
    },
    /// Gradients of single trajectories of the panel, with intervals over their segments.
    Windows {
        /// The cuts; FF is always added as the reference.
        #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
        cuts: Vec<Cut>,
        /// How many trajectories, evenly spread over the panel.
        count: usize,
    },
    /// What graphs' next steps predict for the loss of another batch, beside FF's.
    Scores {
        /// The graphs.
        #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
        cuts: Vec<Cut>,
    },
    /// Gains of the physical chain from closed-loop state Jacobians.
    Chain {},
    /// Evaluation with shorter memory than the policy was trained with.
    Masking {
        /// Positions that stay visible, the current one included.
        windows: Vec<usize>,
    },
    /// Evaluation with the history of another trajectory of the panel.
    Donor {
        /// Caches and registers that are the donor's, by the beginnings or ends of their dotted
        /// names [default: all].
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        memories: Vec<String>,
    },
    /// Ridge probes of the stored representations for a true quantity.
    Probe {
        /// On the observations of the reference subject instead of the policy's own.
        #[serde(default)]
        common: bool,
        /// The tap of the true quantity [default: true_velocity].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
        /// The tap of the observation: probed itself, and what a reference feeds [default: token].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<String>,
        /// Taps and registers whose name ends so are what a layer stored [default: .stored].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stored: Option<String>,
    },
    /// Attention mass on earlier positions, per layer and head.
    Attention {
        /// By age too: how much queries give to positions so many steps back.
        #[serde(default, skip_serializing_if = "is_not")]
        ages: bool,
    },
    /// Values along single trajectories of the panel, step by step.
    Track {
        /// States, inputs or taps.
        values: Vec<String>,
        /// The trajectories, counted from 0.
        rows: Vec<usize>,
        /// How many columns of each value [default: all].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        columns: Option<usize>,
    },
    /// Panel errors beside those of a plain prediction, as constant velocity.
    Reference {},
    /// Norm of some input columns of a weight.
    InputWeight {
        /// The parameter's name.
        parameter: String,
        /// The first input column and the one after the last.
        columns: [usize; 2],
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_not(choice: &bool) -> bool {
    !choice
}

impl Measurement {
    /// The name of its kind, as study files and tables write it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Gradient { .. } => "gradient",
            Self::Update { .. } => "update",
            Self::Windows { .. } => "windows",
            Self::Scores { .. } => "scores",
            Self::Chain {} => "chain",
            Self::Masking { .. } => "masking",
            Self::Donor { .. } => "donor",
            Self::Probe { .. } => "probe",
            Self::Attention { .. } => "attention",
            Self::Track { .. } => "track",
            Self::Reference {} => "reference",
            Self::InputWeight { .. } => "input-weight",
        }
    }

    /// It compares with a second subject.
    pub fn needs_reference(&self) -> bool {
        matches!(self, Self::Probe { common: true, .. })
    }
}

/// Makes a measurement. The same subject gives the same bits.
pub fn measure(
    measurement: &Measurement,
    subject: &Subject,
    reference: Option<&Subject>,
) -> Result<Vec<Finding>, MeasureError> {
    let rig = |cuts: &[Cut]| Rig::new(subject.system, cuts);
    match measurement {
        Measurement::Gradient { cuts } => {
            let options = GradientOptions::for_cuts(cuts);
            gradient::gradient(&mut rig(cuts)?, subject, &options)
        }
        Measurement::Update { cuts, apart } => {
            let rig = rig(cuts)?;
            let mut rig = if *apart { rig.apart() } else { rig };
            update::update(&mut rig, subject, &UpdateOptions::default())
        }
        Measurement::Windows { cuts, count } => windows::windows(subject, cuts, *count),
        Measurement::Scores { cuts } => diagnostics::scores(subject, cuts),
        Measurement::Chain {} => chain::chain(&mut rig(&[])?, subject, &ChainOptions::default()),
        Measurement::Masking { windows } => memory::masking(subject, windows),
        Measurement::Donor { memories } => memory::donor(subject, memories),
        Measurement::Probe { common, target, token, stored } => {
            if *common && reference.is_none() {
                let what = "a probe on common inputs needs a reference subject";
                return Err(MeasureError::Unfit(what.to_owned()));
            }
            let reference = reference.filter(|_| *common);
            let usual = ProbeOptions::default();
            let named = |name: &Option<String>, usual| name.clone().unwrap_or(usual);
            let options = ProbeOptions {
                target: named(target, usual.target),
                token: named(token, usual.token),
                stored: named(stored, usual.stored),
            };
            if stored.is_some() {
                options.check(subject.system.program())?;
            }
            probe::probe(subject, reference, &options)
        }
        Measurement::Attention { ages } => memory::attention(subject, *ages),
        Measurement::Track { values, rows, columns } => {
            track::track(subject, values, rows, *columns)
        }
        Measurement::Reference {} => reference::reference(subject),
        Measurement::InputWeight { parameter, columns: [first, end] } => {
            memory::input_weight(subject, parameter, *first..*end)
        }
    }
}

/// The definition of a quantity; percentiles beside a median share the median's.
pub fn definition(quantity: &str) -> Option<&'static Definition> {
    let find = |name: &str| all().find(|d| d.quantity == name);
    find(quantity).or_else(|| {
        let percentiles = PERCENTILES;
        percentiles.iter().find_map(|(suffix, _)| find(quantity.strip_suffix(suffix)?))
    })
}

/// The definitions of one measurement.
pub fn definitions(measurement: &str) -> impl Iterator<Item = &'static Definition> {
    all().filter(move |d| d.measurement == measurement)
}

/// Every list: modules whose quantities are their own keep their definitions beside the code.
fn all() -> impl Iterator<Item = &'static Definition> {
    let lists = [
        gradient::DEFINITIONS,
        update::DEFINITIONS,
        chain::DEFINITIONS,
        crate::measure::cost::DEFINITIONS,
        memory::DEFINITIONS,
        track::DEFINITIONS,
        probe::DEFINITIONS,
        reference::DEFINITIONS,
        windows::DEFINITIONS,
        diagnostics::DEFINITIONS,
        crate::measure::outside::DEFINITIONS,
    ];
    lists.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_is_defined_once() {
        for (i, definition) in all().enumerate() {
            let again = all().take(i).any(|d| d.quantity == definition.quantity);
            assert!(!again && !definition.text.is_empty(), "{}", definition.quantity);
        }
        assert_eq!(definition("gradient.norm.p84"), definition("gradient.norm"));
        assert_eq!(definition("gradient.nothing"), None);
    }

    #[test]
    fn a_kind_is_the_tag_that_is_written() {
        let all = [
            Measurement::Gradient { cuts: vec![Cut::FF] },
            Measurement::Update { cuts: vec![], apart: true },
            Measurement::Windows { cuts: vec![], count: 1 },
            Measurement::Scores { cuts: vec![] },
            Measurement::Chain {},
            Measurement::Masking { windows: vec![1] },
            Measurement::Donor { memories: vec!["block0".to_owned()] },
            Measurement::Probe { common: true, target: None, token: None, stored: None },
            Measurement::Attention { ages: false },
            Measurement::Track { values: vec!["state".to_owned()], rows: vec![0], columns: None },
            Measurement::Reference {},
            Measurement::InputWeight { parameter: "w".into(), columns: [0, 1] },
        ];
        for measurement in all {
            assert_eq!(serde_json::to_value(&measurement).unwrap()["kind"], measurement.kind());
        }
    }

    #[test]
    fn attention_without_ages_is_written_as_it_was() {
        const OLD: &str = r#"{"kind":"attention"}"#;
        let attention: Measurement = serde_json::from_str(OLD).unwrap();
        assert_eq!(attention, Measurement::Attention { ages: false });
        assert_eq!(serde_json::to_string(&attention).unwrap(), OLD);
    }

    #[test]
    fn a_probe_without_names_is_written_as_it_was() {
        const OLD: &str = r#"{"kind":"probe","common":false}"#;
        let probe: Measurement = serde_json::from_str(OLD).unwrap();
        assert_eq!(serde_json::to_string(&probe).unwrap(), OLD);
        let named = r#"{"kind":"probe","common":false,"target":"speed","stored":"hidden"}"#;
        let probe: Measurement = serde_json::from_str(named).unwrap();
        assert_eq!(serde_json::to_string(&probe).unwrap(), named);
    }
}
