//! What every quantity is, in a line or two: `--define` prints it, and a test asks for completeness.

/// A quantity and its definition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Definition {
    /// The measurement that emits it, as its command is called.
    pub measurement: &'static str,
    /// The quantity.
    pub quantity: &'static str,
    /// What it is.
    pub text: &'static str,
}

pub(crate) const fn define(
    measurement: &'static str,
    quantity: &'static str,
    text: &'static str,
) -> Definition {
    Definition { measurement, quantity, text }
}

/// Every definition, in the order in which results are printed.
pub const DEFINITIONS: &[Definition] = &[
    define(
        "gradient",
        "gradient.loss",
        "the loss of the batch, summed over trajectories and steps",
    ),
    define(
        "gradient",
        "gradient.norm",
        "|g|, the Euclidean norm of the cut's gradient (of a group: of its entries)",
    ),
    define(
        "gradient",
        "gradient.ratio",
        "|g| / |g_ref|; the reference is FF, or the cut after `vs`",
    ),
    define("gradient", "gradient.difference", "|g - g_ref| / |g_ref|"),
    define("gradient", "gradient.cosine", "g . g_ref / (|g| |g_ref|)"),
    define(
        "gradient",
        "age.norm",
        "norm of the contributions whose age (steps between loss and action) lies in the bin; memory-detached cuts only",
    ),
    define(
        "gradient",
        "age.reach",
        "norm of the sum of all contributions up to this age: the gradient against backward distance",
    ),
    define(
        "gradient",
        "age.cancellation",
        "1 - |sum of the bins' vectors| / sum of their norms; 0 when all point one way",
    ),
    define(
        "gradient",
        "age.rest",
        "|sum of the bins - g| / |g|: rounding, as a check of the decomposition",
    ),
    define(
        "gradient",
        "seed.resultant",
        "|sum_t g_t| / sum_t |g_t| with g_t = D^-1 dl_t/ds_t, memory detached; median over trajectories",
    ),
    define(
        "gradient",
        "vjp.norm",
        "Frobenius norm of da_t/dtheta of one step, memory detached; median over trajectories",
    ),
    define(
        "update",
        "clip.factor",
        "kappa = min(1, c / |g|), c the threshold of the global-norm clip",
    ),
    define("update", "raw.norm", "|g|, the norm of the raw gradient"),
    define("update", "raw.ratio", "|g| / |g_FF|"),
    define("update", "raw.difference", "|g - g_FF| / |g_FF|"),
    define("update", "raw.cosine", "g . g_FF / (|g| |g_FF|)"),
    define("update", "raw.memory-effect", "|g_FF - g_FD| / |g_FF|, or |g_KF - g_KD| / |g_FF|"),
    define("update", "raw.interaction", "|g_FF - g_FD - g_KF + g_KD| / |g_FF|"),
    define(
        "update",
        "raw.placement",
        "|g_F_SG - g_FD| / |g_FD| (K_SG and KD alike), each over the part's entries",
    ),
    define("update", "raw.placement-share", "the group's share of |g_F_SG - g_FD|^2"),
    define("update", "clipped.norm", "|kappa g|, each cut's gradient under its own factor"),
    define("update", "clipped.ratio", "as raw.ratio, of clipped gradients"),
    define("update", "clipped.difference", "as raw.difference, of clipped gradients"),
    define("update", "clipped.cosine", "as raw.cosine, of clipped gradients"),
    define("update", "clipped.memory-effect", "as raw.memory-effect, of clipped gradients"),
    define("update", "clipped.interaction", "as raw.interaction, of clipped gradients"),
    define("update", "clipped.placement", "as raw.placement, of clipped gradients"),
    define("update", "clipped.placement-share", "as raw.placement-share, of clipped gradients"),
    define(
        "update",
        "applied.norm",
        "|U|, U = theta' - theta as clip, optimizer and weight decay really make it from this state",
    ),
    define("update", "applied.ratio", "|U| / |U_FF|"),
    define("update", "applied.difference", "|U - U_FF| / |U_FF|; for the whole it is d_U"),
    define("update", "applied.cosine", "U . U_FF / (|U| |U_FF|)"),
    define("update", "applied.memory-effect", "|U_FF - U_FD| / |U_FF|, or |U_KF - U_KD| / |U_FF|"),
    define("update", "applied.interaction", "|U_FF - U_FD - U_KF + U_KD| / |U_FF|"),
    define(
        "update",
        "applied.placement",
        "|U_F_SG - U_FD| / |U_FD| (K_SG and KD alike), each over the part's entries",
    ),
    define("update", "applied.placement-share", "the group's share of |U_F_SG - U_FD|^2"),
    define(
        "update",
        "applied.sign-cosine",
        "cosine with sign(g) of the direction after the step: mhat / (sqrt(vhat) + eps) of Adam and AdamW, the velocity of SGD; g with its weight decay where that is added to it",
    ),
    define(
        "update",
        "applied.saturated",
        "share of weights whose |mhat| / sqrt(vhat) after the step is above 0.9 of the limit of a gradient that dominates both moments",
    ),
    define(
        "update",
        "unclipped.norm",
        "norm of the update if this one gradient were not clipped; moments from clipped history, so not training without clipping",
    ),
    define("update", "unclipped.ratio", "as applied.ratio, unclipped into clipped history"),
    define(
        "update",
        "unclipped.difference",
        "as applied.difference, unclipped into clipped history",
    ),
    define("update", "unclipped.cosine", "as applied.cosine, unclipped into clipped history"),
    define(
        "update",
        "unclipped.memory-effect",
        "as applied.memory-effect, unclipped into clipped history",
    ),
    define(
        "update",
        "unclipped.interaction",
        "as applied.interaction, unclipped into clipped history",
    ),
    define("update", "unclipped.placement", "as applied.placement, unclipped into clipped history"),
    define(
        "update",
        "unclipped.placement-share",
        "as applied.placement-share, unclipped into clipped history",
    ),
    define(
        "update",
        "unclipped.sign-cosine",
        "as applied.sign-cosine, unclipped into clipped history",
    ),
    define("update", "unclipped.saturated", "as applied.saturated, unclipped into clipped history"),
    define("update", "r_U", "|U| / |g|: the applied update's norm per raw gradient norm"),
    define("update", "d_U", "|U - U_FF| / |U_FF|"),
    define(
        "update",
        "moment.scale",
        "median over the part's weights of sqrt(vhat), the bias-corrected second moment before the update",
    ),
    define(
        "update",
        "moment.cosine",
        "cosine of g / (sqrt(vhat) + eps) with g_FF scaled alike, vhat before the update; weights whose history is all but zero (b_K under FF) rule the whole",
    ),
    define(
        "update",
        "rho.median",
        "median over the part's weights of rho = |kappa g| / (sqrt(vhat) + eps), vhat before the update; undefined at update 1",
    ),
    define("update", "rho.above-one", "share of the part's weights with rho > 1"),
    define(
        "update",
        "added.ratio",
        "median of |kappa (g_F_SG - g_FD)| / (sqrt(vhat) + eps), kappa of F_SG; w_k and w_v pool the blocks",
    ),
    define(
        "update",
        "placement.spearman",
        "Spearman correlation over states of applied.placement with added.ratio of w_v; descriptive",
    ),
    define(
        "chain",
        "chain.gain.median",
        "median over t and trajectories of q = |D_t A_{t-1} ... A_{t-k} D_{t-k}^-1|_2, A_j = ds_{j+1}/ds_j, memory detached",
    ),
    define("chain", "chain.gain.p95", "95th percentile of the same"),
    define("chain", "chain.gain.max", "maximum of the same"),
    define(
        "chain",
        "chain.growth.median",
        "median over trajectories of max_k q_{t,k} / q_{t,1}, at t = T or (all) the largest over t",
    ),
    define("chain", "chain.growth.p95", "95th percentile of the same"),
    define("chain", "chain.growth.max", "maximum of the same"),
    define(
        "cost",
        "cost.workspace-bytes",
        "bytes of the backward's storage for one cut; allocated once, nothing during an update",
    ),
    define(
        "cost",
        "cost.peak-bytes",
        "workspace, recorded rollout, packed weights, parameters and both moments",
    ),
    define(
        "cost",
        "cost.median-ms",
        "median wall time of one update (sample, roll, backward, clip, step) over interleaved rounds",
    ),
    define("cost", "cost.min-ms", "fastest of the same: what the machine can do when left alone"),
    define(
        "cost",
        "cost.instructions",
        "instructions of one update; the note names tool and code path (`perf stat, user mode`: the difference of two runs of different length; `callgrind`: the update alone, on a processor without AVX-512). Only counts with the same note compare",
    ),
];

/// The definition of a quantity; percentiles beside a median share the median's.
pub fn definition(quantity: &str) -> Option<&'static Definition> {
    let find = |name: &str| all().find(|d| d.quantity == name);
    find(quantity).or_else(|| {
        let percentiles = crate::measure::summary::PERCENTILES;
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
        DEFINITIONS,
        crate::measure::memory::DEFINITIONS,
        crate::measure::track::DEFINITIONS,
        crate::measure::probe::DEFINITIONS,
        crate::measure::reference::DEFINITIONS,
        crate::measure::windows::DEFINITIONS,
        crate::measure::diagnostics::DEFINITIONS,
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
}
