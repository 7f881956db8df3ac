//! The names under which measurements arrive: the one place to change when one is renamed.

/// |g - g_ref| / |g_ref| of a cut.
pub const GRADIENT_DIFFERENCE: &str = "gradient.difference";
/// |g| / |g_ref| of a cut.
pub const GRADIENT_RATIO: &str = "gradient.ratio";
/// The cosine of a cut's gradient with the reference's.
pub const GRADIENT_COSINE: &str = "gradient.cosine";
/// |g - g_FF| / |g_FF| at the state whose update is replayed.
pub const RAW_DIFFERENCE: &str = "raw.difference";
/// |U - U_FF| / |U_FF|.
pub const UPDATE_DIFFERENCE: &str = "d_U";
/// Layers of the update in order: the prefix of a quantity, and its name on an axis.
pub const LAYERS: [(&str, &str); 3] =
    [("raw", "gradient"), (CLIPPED, "clipped"), ("applied", "update")];
/// The layer behind the global-norm clip.
pub const CLIPPED: &str = "clipped";
/// What the global-norm clip multiplied a gradient by.
pub const CLIP_FACTOR: &str = "clip.factor";
/// The four-graph interaction, behind a layer's prefix.
pub const INTERACTION: &str = "interaction";
/// The difference of the two placements, behind a layer's prefix.
pub const PLACEMENT: &str = "placement";
/// The norm of the velocity-input weights.
pub const INPUT_WEIGHT: &str = "input_weight.norm";
/// The change of the error with another trajectory's history.
pub const DONOR_COST: &str = "donor.cost";
/// The relative change of the error with a window at evaluation.
pub const MASKING: &str = "masking.relative";
/// The part that stands for all parameters.
pub const ALL: &str = "all";
/// The error of the plain prediction on the panel.
pub const PLAIN_ERROR: &str = "reference.error";
