//! The rules by which a clipped gradient becomes an update, each on its own stretches of the
//! parameters.
//!
//! A rule is a file beside this list: its settings as files write them, what it keeps, its step,
//! the direction and the scale that measurements ask for, and the test that holds it to its
//! formula. A new one is that file, a `mod`, and a line in the list; studies, options, checkpoints
//! and measurements follow.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::history::{Directed, Scale, sign_terms_on};
use crate::isa::dispatch;
use crate::{Isa, Real};

mod adam;
mod adamw;
mod lion;
mod sgd;

/// What a rule's file says of it.
trait Described: Copy + Default {
    /// Its scalars at one step, rounded once to the working precision.
    type Step<R: Real>: Element<R>;
    /// Its direction after a step.
    type Direction: Directed;
    /// As people write it.
    const TITLE: &'static str;
    /// Names of the vectors that it remembers things in, as checkpoints have them; at most two. A
    /// rule that remembers the same goes on with them.
    const MEMORY: &'static [&'static str];
    /// Names of its settings.
    const SETTINGS: &'static [&'static str];

    /// A setting by its name.
    fn setting(&mut self, name: &str) -> Option<&mut f64>;

    /// How many of those vectors play a part under these settings.
    fn keeps(&self) -> usize {
        Self::MEMORY.len()
    }

    /// What its decay adds to a clipped gradient, per unit of the parameter; 0 for a decoupled one.
    fn coupled_decay(&self) -> f64 {
        0.0
    }

    /// `step` counts from 1; `factor` is the clip's.
    fn step<R: Real>(&self, step: u64, factor: R) -> Self::Step<R>;

    /// The direction that makes the update of such a step.
    fn direction(&self, step: u64, factor: f64) -> Self::Direction;

    /// What gradients are held against after so many steps, or why there is no such thing.
    fn scale(&self, steps: u64) -> Result<Scale, &'static str>;
}

/// A rule at one step, weight by weight.
trait Element<R: Real>: Copy {
    /// Vectors of the memory that a step writes.
    const WRITES: usize;

    /// The parameter and the memory after a step with a gradient.
    fn element(&self, theta: R, first: R, second: R, g: R) -> (R, R, R);
}

/// Declares a rule's settings with their usual values, and makes them known by name.
macro_rules! settings {
    (
        $(#[$about:meta])*
        $rule:ident { $($(#[$what:meta])* $setting:ident = $usual:literal),* $(,)? }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $rule { $($(#[$what])* pub $setting: f64),* }

        impl $rule {
            const SETTINGS: &'static [&'static str] = &[$(stringify!($setting)),*];

            fn by_name(&mut self, name: &str) -> Option<&mut f64> {
                match name {
                    $(stringify!($setting) => Some(&mut self.$setting),)*
                    _ => None,
                }
            }
        }

        impl Default for $rule {
            fn default() -> Self {
                Self { $($setting: $usual),* }
            }
        }
    };
}
use settings;

macro_rules! rules {
    ($($(#[$about:meta])* $rule:ident = $name:literal in $file:ident;)*) => {
        $(pub use $file::$rule;)*

        /// How a clipped gradient becomes an update.
        #[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
        pub enum Rule {
            $($(#[$about])* #[serde(rename = $name)] $rule($rule),)*
        }

        /// A rule by name.
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
        pub enum Kind {
            $($(#[$about])* #[serde(rename = $name)] $rule,)*
        }

        /// The direction that makes the update of one step: what a cosine with the gradient's sign,
        /// and saturation, are of.
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub struct Direction(Directions);

        #[derive(Clone, Copy, PartialEq, Debug)]
        enum Directions {
            $($rule(<$rule as Described>::Direction),)*
        }

        impl Kind {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$rule),*];

            /// As files and the command line write it.
            pub fn name(self) -> &'static str {
                match self { $(Self::$rule => $name,)* }
            }

            /// As people write it.
            pub fn title(self) -> &'static str {
                match self { $(Self::$rule => $rule::TITLE,)* }
            }

            /// Names of its settings, as files and the command line write them.
            pub fn settings(self) -> &'static [&'static str] {
                match self { $(Self::$rule => <$rule as Described>::SETTINGS,)* }
            }

            /// Names of the vectors that it remembers things in, as checkpoints have them.
            pub fn memory(self) -> &'static [&'static str] {
                match self { $(Self::$rule => $rule::MEMORY,)* }
            }

            /// The rule with its usual settings.
            pub fn usual(self) -> Rule {
                match self { $(Self::$rule => Rule::$rule($rule::default()),)* }
            }
        }

        impl Rule {
            /// Which one it is.
            pub fn kind(&self) -> Kind {
                match self { $(Self::$rule(_) => Kind::$rule,)* }
            }

            /// A setting by its name, to be changed.
            pub fn setting(&mut self, name: &str) -> Option<&mut f64> {
                match self { $(Self::$rule(rule) => rule.setting(name),)* }
            }

            /// How many vectors of its memory play a part under these settings.
            pub fn keeps(&self) -> usize {
                match self { $(Self::$rule(rule) => rule.keeps(),)* }
            }

            /// What coupled decay adds to a clipped gradient, per unit of the parameter.
            pub fn coupled_decay(&self) -> f64 {
                match self { $(Self::$rule(rule) => rule.coupled_decay(),)* }
            }

            /// What gradients are held against after so many steps, or why there is no such thing.
            pub fn scale(&self, steps: u64) -> Result<Scale, &'static str> {
                match self { $(Self::$rule(rule) => rule.scale(steps),)* }
            }

            /// The direction that makes the update of a step, counted from 1, with a gradient that
            /// is multiplied by `factor`.
            pub fn direction(&self, step: u64, factor: f64) -> Direction {
                Direction(match self {
                    $(Self::$rule(rule) => Directions::$rule(rule.direction(step, factor)),)*
                })
            }

            fn step_on<R: Real>(
                &self,
                isa: Isa,
                (step, factor): (u64, R),
                theta: &mut [R],
                first: &mut [R],
                second: &mut [R],
                g: &[R],
            ) {
                match self {
                    $(Self::$rule(rule) => {
                        moved_on(isa, rule.step(step, factor), theta, first, second, g);
                    })*
                }
            }

            fn update_on<R: Real>(
                &self,
                isa: Isa,
                (step, factor): (u64, R),
                theta: &[R],
                first: &[R],
                second: &[R],
                g: &[R],
                update: &mut [R],
            ) {
                match self {
                    $(Self::$rule(rule) => {
                        added_on(isa, rule.step(step, factor), theta, first, second, g, update);
                    })*
                }
            }
        }

        impl Direction {
            /// Terms of `sign(g) . direction` and `|direction|^2`, with the memory before the step;
            /// returns how many gradients are not zero and how many weights are saturated.
            pub fn terms<R: Real>(
                self,
                isa: Isa,
                gradient: &[R],
                first: &[R],
                second: &[R],
                terms: &mut [[f64; 2]],
            ) -> [u32; 2] {
                match self.0 {
                    $(Directions::$rule(d) => sign_terms_on(isa, d, gradient, first, second, terms),)*
                }
            }
        }
    };
}

rules! {
    /// Adam with decoupled weight decay.
    AdamW = "adamw" in adamw;
    /// Adam with coupled weight decay, as PyTorch's `Adam(weight_decay=...)`.
    Adam = "adam" in adam;
    /// Gradient descent with momentum, as PyTorch's `SGD`.
    Sgd = "sgd" in sgd;
    /// The sign of a mix of momentum and gradient, with decoupled weight decay.
    Lion = "lion" in lion;
}

/// Hands the settings that some rule has, each with its words, to the macro `$then`. What takes
/// them all (the table of study files, the command's options) is declared from this list and
/// nothing else.
#[macro_export]
macro_rules! with_settings {
    ($then:ident) => {
        $then! {
            /// Learning rate.
            rate,
            /// What SGD keeps of its velocity.
            momentum,
            /// Decay of Adam's and AdamW's first moment; Lion's share of momentum in a step.
            beta1,
            /// Decay of Adam's and AdamW's second moment, and of Lion's momentum.
            beta2,
            /// Adam's and AdamW's epsilon.
            eps,
            /// Weight decay: decoupled for AdamW and Lion, added to the clipped gradient for Adam
            /// and SGD.
            decay,
        }
    };
}
pub use with_settings;

impl Rule {
    /// Its learning rate.
    pub fn rate(&self) -> f64 {
        self.value("rate")
    }

    /// The same rule, this much faster or slower.
    #[must_use]
    pub fn times(mut self, factor: f64) -> Self {
        if let Some(rate) = self.setting("rate") {
            *rate *= factor;
        }
        self
    }

    /// The same rule with a setting of this value, if it has such a setting.
    #[must_use]
    pub fn with(mut self, setting: &str, value: f64) -> Self {
        if let Some(own) = self.setting(setting) {
            *own = value;
        }
        self
    }

    /// A setting's value; 0 for one that the rule does not have.
    pub fn value(mut self, setting: &str) -> f64 {
        self.setting(setting).map_or(0.0, |value| *value)
    }

    /// The same rate under another rule, whose other settings are its usual ones. Where both
    /// remember the same, what they remember it by stays too; decay does not, for they do not mean
    /// the same by it.
    #[must_use]
    pub fn become_kind(self, kind: Kind) -> Self {
        let own = self.kind();
        if kind == own {
            return self;
        }
        let has_same_memory = kind.memory() == own.memory();
        let stays = |name: &str| name == "rate" || (has_same_memory && name != "decay");
        let kept = own.settings().iter().filter(|name| stays(name));
        kept.fold(kind.usual(), |rule, name| rule.with(name, self.value(name)))
    }

    /// The first setting that makes no sense, with the reason.
    pub fn check(&self) -> Result<(), String> {
        for name in self.kind().settings() {
            let value = self.value(name);
            let is_positive = value > 0.0 && value.is_finite();
            let (is_fine, want) = match *name {
                "rate" | "eps" => (is_positive, "a positive number"),
                "decay" => (
                    value >= 0.0 && self.rate() * value < 1.0,
                    "at least 0 with rate * decay below 1",
                ),
                _ => ((0.0..1.0).contains(&value), "in [0, 1)"),
            };
            if !is_fine {
                let of = self.kind().name();
                return Err(format!("optimizer.{of}.{name} = {value}, not {want}"));
            }
        }
        Ok(())
    }
}

/// A range of the flat parameters and the rule that moves it.
#[derive(Clone, Debug, PartialEq)]
pub struct Stretch {
    /// Which parameters.
    pub range: Range<usize>,
    /// What moves them.
    pub rule: Rule,
}

#[inline(always)]
fn moved_body<R: Real, E: Element<R>>(
    e: E,
    theta: &mut [R],
    first: &mut [R],
    second: &mut [R],
    g: &[R],
) {
    let n = theta.len();
    let (first, second, g) = (&mut first[..n], &mut second[..n], &g[..n]);
    for i in 0..n {
        let after = e.element(theta[i], first[i], second[i], g[i]);
        (theta[i], first[i]) = (after.0, after.1);
        // A store of what did not change would still be a third of a rule's traffic.
        if E::WRITES > 1 {
            second[i] = after.2;
        }
    }
}

#[inline(always)]
fn added_body<R: Real, E: Element<R>>(
    e: E,
    theta: &[R],
    first: &[R],
    second: &[R],
    g: &[R],
    update: &mut [R],
) {
    let n = update.len();
    let (theta, first, second, g) = (&theta[..n], &first[..n], &second[..n], &g[..n]);
    for i in 0..n {
        update[i] = e.element(theta[i], first[i], second[i], g[i]).0 - theta[i];
    }
}

/// The gradient that a rule with coupled decay sees.
#[inline(always)]
fn decayed<R: Real>(decay: R, factor: R, theta: R, g: R) -> R {
    decay.mul_add(theta, g * factor)
}

#[inline(always)]
fn decayed_body<R: Real>(decay: R, factor: R, theta: &[R], g: &[R], seen: &mut [R]) {
    let n = seen.len();
    let (theta, g) = (&theta[..n], &g[..n]);
    for i in 0..n {
        seen[i] = decayed(decay, factor, theta[i], g[i]);
    }
}

dispatch! {
    /// A step in place.
    fn moved_on<R: Real, E: Element<R>>(
        e: E,
        theta: &mut [R],
        first: &mut [R],
        second: &mut [R],
        g: &[R],
    ) = moved_body;
}
dispatch! {
    /// What it would add.
    fn added_on<R: Real, E: Element<R>>(
        e: E,
        theta: &[R],
        first: &[R],
        second: &[R],
        g: &[R],
        update: &mut [R],
    ) = added_body;
}
dispatch! {
    /// The gradient that a rule with coupled decay sees: `factor g + decay theta`.
    pub fn with_decay, with_decay_on<R: Real>(
        decay: R,
        factor: R,
        theta: &[R],
        g: &[R],
        seen: &mut [R],
    ) = decayed_body;
}

/// One step in place, stretch by stretch. `step` counts from 1; `factor` is the clipping factor,
/// applied to the gradient on the way in, so that clipping costs no pass of its own.
pub fn step_on<R: Real>(
    isa: Isa,
    stretches: &[Stretch],
    step: u64,
    factor: R,
    theta: &mut [R],
    first: &mut [R],
    second: &mut [R],
    gradient: &[R],
) {
    for Stretch { range, rule } in stretches {
        let (theta, g) = (&mut theta[range.clone()], &gradient[range.clone()]);
        let (first, second) = (&mut first[range.clone()], &mut second[range.clone()]);
        rule.step_on(isa, (step, factor), theta, first, second, g);
    }
}

/// What [`step_on`] would add to the parameters of `range`, `theta' - theta`, without taking the
/// step: the same arithmetic, a third of the memory traffic. Every vector but `update` is whole.
pub fn update_on<R: Real>(
    isa: Isa,
    stretches: &[Stretch],
    step: u64,
    factor: R,
    theta: &[R],
    first: &[R],
    second: &[R],
    gradient: &[R],
    range: Range<usize>,
    update: &mut [R],
) {
    for Stretch { range: own, rule } in stretches {
        let common = own.start.max(range.start)..own.end.min(range.end);
        if common.is_empty() {
            continue;
        }
        let update = &mut update[common.start - range.start..common.end - range.start];
        let (theta, g) = (&theta[common.clone()], &gradient[common.clone()]);
        let (first, second) = (&first[common.clone()], &second[common]);
        rule.update_on(isa, (step, factor), theta, first, second, g, update);
    }
}

#[cfg(test)]
mod tests;
