//! Plain drawings as SVG: axes, points, intervals, rows, legends, one palette.
//!
//! **Does**: turns numbers and names into panels ([`Plot`] with axes, [`Rows`] with one named row
//! per value) and panels into a [`Drawing`], for a page or on its own. The same numbers give the
//! same bytes.
//!
//! **Refuses**: to compute what it draws, to load a font, a script or anything else, and to write a
//! name that has not passed the one escape function.
//!
//! **One design decision.** Shapes name their colour by class (`f1`, `s1`, `ink`, ...) and never by
//! value. A page gives the classes its theme's colours through CSS variables, so one drawing serves
//! light and dark; a drawing on its own carries the light theme's rules inside. Coordinates are
//! written with one decimal.
//!
//! Panels are 340 units wide, one column of a page or a phone's screen, with text of 10 to 11
//! units: they are legible without being enlarged, and a wide page lays several side by side.
//!
//! ```
//! use backcut_page::draw::{Drawing, Key, Mark, Row, Rows, Series};
//!
//! let (wide, narrow) = (Some([0.1, 0.5]), None);
//! let mark = Mark { series: Series::BLUE, value: 0.3, wide, narrow, open: false, text: "0.3".into() };
//! let row = Row { name: "cost".into(), note: "0.3 [0.1, 0.5]".into(), marks: vec![mark], band: None };
//! let panel = Rows { title: "main", axis: "difference", rules: &[(0.0, "0".into())], rows: &[row], reach: None }.panel();
//! let drawing = Drawing {
//!     title: "Costs".into(),
//!     caption: "Means with 95% intervals.".into(),
//!     legend: vec![Key::mark(Series::BLUE, "estimate")],
//!     panels: vec![panel],
//!     alt: "One interval above zero.".into(),
//!     csv: String::new(),
//! };
//! assert!(drawing.svg().starts_with("<svg"));
//! ```

mod canvas;
mod drawing;
mod palette;
mod plot;
mod rows;
mod scale;
mod width;

pub use canvas::{Anchor, Canvas};
pub use drawing::{Drawing, Key, Panel};
pub use palette::{Palette, Series, page_variables, rules};
pub use plot::{Axis, Plot, PlotSpec};
pub use rows::{Mark, Row, Rows, reach_of};
pub use scale::{Scale, range, ticks};
pub use width::{shorten, width_of};

/// The width of a panel.
pub const PANEL_WIDTH: f64 = 340.0;
