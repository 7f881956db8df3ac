//! Values of taps over the panel, on the policy's own inputs or on a reference's.

use backcut_engine::{Fed, Model, Rollout};

use crate::measure::error::MeasureError;
use crate::measure::panel;
use crate::measure::subject::Subject;

/// What the policy is fed.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// The subject whose observations are fed; the policy's own if absent.
    pub reference: Option<&'a Subject<'a>>,
    /// The tap of the observation.
    pub token: &'a str,
}

/// Values of one tap, `[trajectory][step][column]`, over predicted steps.
#[derive(Clone, PartialEq, Debug)]
pub struct Samples {
    /// Trajectories.
    pub trajectories: usize,
    /// Steps of each.
    pub steps: usize,
    /// Columns.
    pub width: usize,
    /// The values.
    pub values: Vec<f32>,
}

/// Rolls the panel and keeps what the taps held.
///
/// On common inputs the reference is rolled first; its observations *and its states* replace the
/// policy's at every step. So the target is the true quantity behind the observation that was fed,
/// and the policy's own actions, which answer another trajectory, lead nowhere.
pub fn gather(
    subject: &Subject,
    inputs: &Inputs,
    taps: &[&str],
) -> Result<Vec<Samples>, MeasureError> {
    let (system, model) = (subject.system, panel::model(subject)?);
    let program = system.program();
    let sites =
        taps.iter().map(|name| panel::site(program, name)).collect::<Result<Vec<_>, _>>()?;
    let feeding = inputs.reference.map(|r| Feeding::new(subject, r, inputs.token)).transpose()?;
    let (trajectories, prefix) = (system.panel_rows(), system.spec().prefix);
    let steps = system.steps() - prefix;
    let mut samples: Vec<Samples> = sites
        .iter()
        .map(|&site| {
            let width = program.width(site);
            let values = vec![0.0; trajectories * steps * width];
            Samples { trajectories, steps, width, values }
        })
        .collect();
    for (first, rows) in panel::groups(system) {
        let rollout = match &feeding {
            Some(feeding) => feeding.roll(subject, &model, (first, rows))?,
            None => panel::roll_group(subject, &model, (first, rows), system.spec())?,
        };
        for (&site, samples) in sites.iter().zip(&mut samples) {
            for t in 0..steps {
                let width = samples.width;
                let from = rollout.value(site, prefix + t).chunks_exact(width);
                for (row, from) in from.enumerate() {
                    let at = ((first + row) * steps + t) * width;
                    samples.values[at..at + width].copy_from_slice(from);
                }
            }
        }
    }
    Ok(samples)
}

/// A reference whose rollouts are fed to another policy.
struct Feeding<'a> {
    reference: &'a Subject<'a>,
    model: Model<f32>,
    /// The token and every state.
    names: Vec<String>,
}

impl<'a> Feeding<'a> {
    fn new(
        subject: &Subject,
        reference: &'a Subject<'a>,
        token: &str,
    ) -> Result<Self, MeasureError> {
        let (ours, theirs) = (subject.system, reference.system);
        let shape = |s: &dyn backcut_systems::System<f32>| (s.panel_rows(), s.steps());
        if shape(ours) != shape(theirs) {
            let what = "the reference's panel has other trajectories or steps";
            return Err(MeasureError::Unfit(what.to_owned()));
        }
        let states = ours.program().states().iter().map(|s| s.name.clone());
        let names: Vec<String> = std::iter::once(token.to_owned()).chain(states).collect();
        for name in &names {
            let width = |s: &dyn backcut_systems::System<f32>| {
                s.program().tap(name).map(|site| s.program().width(site))
            };
            if width(ours).is_none() || width(ours) != width(theirs) {
                let what = format!("the reference has no `{name}` of the same width");
                return Err(MeasureError::Unfit(what));
            }
        }
        Ok(Self { reference, model: panel::model(reference)?, names })
    }

    /// Rolls one group of a policy that reads the reference's observations and states.
    fn roll(
        &self,
        subject: &Subject,
        model: &Model<f32>,
        group: (usize, usize),
    ) -> Result<Rollout<f32>, MeasureError> {
        let system = self.reference.system;
        let theirs = panel::roll_group(self.reference, &self.model, group, system.spec())?;
        let mut spec = subject.system.spec();
        let steps = 0..theirs.steps();
        spec.fed.extend(self.names.iter().map(|n| Fed { site: n.clone(), steps: steps.clone() }));
        panel::roll_fed_group(subject, model, group, spec, |rollout| {
            for name in &self.names {
                let site = theirs.program().tap(name).expect("both programs were asked for it");
                if let Some(fed) = rollout.fed_mut(name) {
                    fed.copy_from_slice(theirs.values(site));
                }
            }
        })
    }
}
