//! One report of a vessel, as it was sent.

/// Where a vessel said it was, in degrees and knots. Nothing is cleaned yet: positions may be the
/// codes for "not available", which [`Rules`](crate::Rules) knows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Report {
    /// Seconds since 1970.
    pub time: i64,
    /// Latitude, north positive.
    pub lat: f64,
    /// Longitude, east positive.
    pub lon: f64,
    /// Speed over ground.
    pub sog: Option<f64>,
    /// Course over ground.
    pub cog: Option<f64>,
    /// Where the bow points.
    pub heading: Option<f64>,
}

impl Report {
    /// A report of nothing but a position.
    pub fn at(time: i64, lat: f64, lon: f64) -> Self {
        Self { time, lat, lon, sog: None, cog: None, heading: None }
    }
}

/// What a vessel's name is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Naming {
    /// A Maritime Mobile Service Identity, whose digits tell ships from stations on land, aircraft
    /// and buoys.
    Mmsi,
    /// Anything that tells tracks apart.
    Track,
}
