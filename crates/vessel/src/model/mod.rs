//! What a model is given: windows, key points, splits and panels.

mod panels;
mod route;
mod shape;
mod split;
mod window;

pub use panels::{Panel, PanelWindow, panels};
pub use route::key_points;
pub use shape::{Shape, moving_starts, separate_windows, valid_starts};
pub use split::{Part, Split, SplitBy, SplitRule};
pub use window::Window;
