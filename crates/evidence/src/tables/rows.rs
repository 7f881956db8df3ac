//! Every table's row. Fields are columns, in the order they are written.

use backcut_files::Hash;

use crate::ledger::Standing;
use backcut_stats::Bound;

use crate::tables::field::Plain;
use crate::tables::row::row;
use crate::tables::words::{Judgement, UnitState, Work};

row! {
    /// `observations.csv`: one number, with all that says what it is. Everything after a record is
    /// made of these. Errors along training are the quantity [`ERROR`], and the last one of a place
    /// is its end point; whatever was measured at a state has the name of its definition.
    Observation {
        /// The training seed or stream.
        source: String,
        arm: String,
        condition: String,
        update: u64,
        /// What was observed; the kind of measurement if nothing was found.
        quantity: String,
        /// The cut, or the pair of cuts, that it is of.
        of: Option<String>,
        /// Which part: a parameter group, a layer, a window.
        part: Option<String>,
        /// The number; absent where it does not exist.
        value: Option<f64>,
        state: UnitState,
        /// Enough of the unit to find it in `units.csv`.
        unit: String,
        /// Why there is no value, or anything else.
        note: String,
    }
}

/// The quantity that training lowers, as `observations.csv` names it.
pub const ERROR: &str = "error";

impl Observation {
    /// Whether it is an error along training, and not a finding that somebody calls so.
    pub fn is_error(&self) -> bool {
        self.quantity == ERROR && self.of.is_none() && self.part.is_none()
    }
}

row! {
    /// `units.csv`: a unit of work, in every place where a study uses it.
    UnitRow newer [what, origin] {
        unit: Hash,
        what: Work,
        /// The arm that is trained or measured.
        arm: String,
        condition: String,
        source: String,
        /// Updates done before it.
        from: u64,
        /// Updates done after it.
        to: u64,
        state: UnitState,
        /// Updates of its own.
        updates: u64,
        /// How many of them were clipped (global norm).
        clipped: Option<u64>,
        /// The study that it was made for, if this one only reuses it.
        origin: String,
        /// Why it has no result.
        note: String,
    }
}

row! {
    /// `provenance.csv`: where a unit's result comes from.
    ProvenanceRow {
        unit: Hash,
        /// The hash of its definition and result.
        content: Hash,
        /// The ledger's head when it began.
        head: Hash,
        seconds: f64,
    }
}

row! {
    /// `analysis.csv`: a contrast, judged, with the status that the ledger grants.
    AnalysisRow newer [unadjusted_p, pointwise_lower, pointwise_upper, one_out_lower, one_out_upper]
        formerly [adjusted_p = exact_p]
    {
        family: String,
        contrast: String,
        /// Its expression over cells.
        expression: String,
        /// What was predicted: a sign, or below a margin.
        direction: Option<String>,
        /// How many sources it rests on.
        sources: Option<u64>,
        mean: Option<f64>,
        /// The lower end of what decides.
        lower: Option<f64>,
        upper: Option<f64>,
        bound: Bound,
        level: f64,
        /// How many comparisons share the level.
        size: u64,
        /// The exact test's p-value of this contrast alone.
        unadjusted_p: Option<f64>,
        /// The same times the family's size, at most 1: what the verdict is audited by.
        adjusted_p: Option<f64>,
        /// The smallest adjusted p-value that was possible.
        floor: Option<f64>,
        agreeing: Option<u64>,
        verdict: Judgement,
        /// What it may claim.
        status: Standing,
        /// Why the ledger grants that.
        why: String,
        /// The pointwise interval.
        pointwise_lower: Option<f64>,
        pointwise_upper: Option<f64>,
        /// The least estimate with one source left out.
        one_out_lower: Option<f64>,
        one_out_upper: Option<f64>,
    }
}

impl AnalysisRow {
    /// The row as it is told now: a descriptive one has an estimate and no verdict, and tables of
    /// before there were two p-values have one.
    #[must_use]
    pub fn told_like(mut self, other: &Self) -> Self {
        if self.status.status == crate::ledger::Status::Descriptive
            && self.verdict.verdict().is_some()
        {
            self.verdict = Judgement::Described;
        }
        if other.unadjusted_p.is_none() {
            self.unadjusted_p = None;
        }
        self
    }
}

row! {
    /// `plans.csv`: how many sources a noninferiority study would need.
    PlanRow {
        family: String,
        contrast: String,
        margin: f64,
        /// The power that is asked for.
        power: f64,
        /// How many sources; none if no number is enough or can be given.
        sources: Option<u64>,
        words: String,
    }
}

row! {
    /// `comparisons.csv`: endpoints of unpaired sources.
    ComparisonRow {
        name: String,
        kind: String,
        left: String,
        right: String,
        left_mean: Option<f64>,
        right_mean: Option<f64>,
        statistic: Option<f64>,
        p: Option<f64>,
        /// Why there is none.
        note: String,
    }
}

row! {
    /// What `backcut measure` writes with `--out`: a finding at a checkpoint.
    FindingRow {
        /// The checkpoint's name; `all` for what was found over all of them.
        checkpoint: String,
        quantity: String,
        cut: String,
        part: String,
        /// The number; absent where it does not exist.
        value: Option<Plain>,
        /// Why not, or anything else.
        note: String,
    }
}

row! {
    /// `analytic_agreement.csv`: a share of pairs with its interval over seeds.
    AgreementRow {
        /// Agreement, or the advantage of one ordering.
        quantity: String,
        ordering: String,
        value: Plain,
        lower: Plain,
        upper: Plain,
        /// Pairs that were compared.
        pairs: Option<u64>,
        ties: Option<u64>,
    }
}

row! {
    /// `analytic.csv`: a graph of a case of the analytic system.
    AnalyticRow {
        seed: u64,
        coupling: Plain,
        optimizer: String,
        /// The sampling stream of the future.
        future: String,
        graph: String,
        /// Its score by gradients.
        s_g: Plain,
        /// Its score by updates.
        s_u: Plain,
        /// The error at the start.
        anchor_error: Plain,
        /// The error after persistent training.
        error: Plain,
        /// Updates whose gradient was clipped (global norm).
        clipped_updates: u64,
    }
}

row! {
    /// `construction.csv`: the gap of the construction at a noise level.
    ConstructionRow {
        eta: Plain,
        q: Plain,
        s: Plain,
        formula: Plain,
        /// By what one step does.
        one_step: Plain,
    }
}

row! {
    /// `streams.csv`: whether two sampling streams draw from one distribution.
    StreamRow {
        quantity: String,
        /// Trajectories of each stream.
        trajectories: u64,
        /// The Kolmogorov-Smirnov statistic.
        statistic: Plain,
        p: Plain,
    }
}

row! {
    /// `freezes.csv`: an entry of the ledger, and what became of what it froze.
    FreezeRow {
        /// Its place in the ledger.
        entry: u64,
        /// When it was made, by the clock of whoever made it.
        utc: String,
        study: String,
        /// `freeze` or `amendment`.
        kind: String,
        /// Contrasts that predict something.
        predictions: u64,
        /// Units that its plan needs.
        units: u64,
        /// How its sources came to be.
        sources: String,
        /// What became of it.
        fate: String,
        /// Predictions of other entries on the very same results that say the opposite.
        opposed: String,
    }
}
