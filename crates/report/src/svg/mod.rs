//! A small toolkit for drawings: axes, points, intervals, bands, legends.
//!
//! One design decision: shapes name their colour by class (`f1`, `s1`, `ink`, ...) and never by value. A page
//! gives the classes its theme's colours through CSS variables, so one drawing serves light and dark; a
//! drawing on its own carries the light theme's rules inside. Coordinates are written with one decimal,
//! so the same tables give the same bytes.
//!
//! Panels are 340 units wide, one column of a page or a phone's screen, with text of 10 to 11 units: they are
//! legible without being enlarged, and a wide page lays several side by side.

mod canvas;
mod drawing;
mod palette;
mod plot;
mod scale;
mod text;

pub use canvas::{Anchor, Canvas};
pub use drawing::{Drawing, Key, Panel};
pub use palette::{Series, page_variables, rules};
pub use plot::{Axis, Plot, PlotSpec};
pub use scale::range;
pub use text::{shorten, width_of};

/// The width of a panel.
pub const PANEL_WIDTH: f64 = 340.0;
