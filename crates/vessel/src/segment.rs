//! A stretch of one vessel's way at regular times.

use backcut_files::Hash;
use sha2::{Digest as _, Sha256};

use crate::sphere::Position;

/// Parts of a degree that a [`GridPosition`] counts in: about a centimetre, finer than any
/// receiver.
const PARTS: f64 = 1e7;

/// A position in ten millionths of a degree. Whole numbers have one spelling: stores and hashes
/// need no rule for rounding, and Parquet keeps their differences in a byte or two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct GridPosition {
    /// Latitude.
    pub lat_e7: i32,
    /// Longitude, from -180 degrees to just below 180.
    pub lon_e7: i32,
}

impl GridPosition {
    /// From degrees; the longitude is brought into its range, latitudes end at the poles.
    pub fn from_degrees(lat: f64, lon: f64) -> Self {
        let lat_e7 = (lat.clamp(-90.0, 90.0) * PARTS).round() as i32;
        let lon_e7 = (lon * PARTS).round() as i64;
        let lon_e7 = (lon_e7 + 1_800_000_000).rem_euclid(3_600_000_000) - 1_800_000_000;
        Self { lat_e7, lon_e7: lon_e7 as i32 }
    }

    /// Latitude and longitude in degrees.
    pub fn degrees(self) -> [f64; 2] {
        [f64::from(self.lat_e7) / PARTS, f64::from(self.lon_e7) / PARTS]
    }

    /// Latitude and longitude in radians.
    pub fn radians(self) -> Position {
        self.degrees().map(f64::to_radians)
    }

    /// Whether it lies on the globe.
    pub fn is_valid(self) -> bool {
        (-900_000_000..=900_000_000).contains(&self.lat_e7)
            && (-1_800_000_000..1_800_000_000).contains(&self.lon_e7)
    }
}

/// A stretch of one vessel's way: places a step apart, without a gap.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Segment {
    /// The vessel, or the cruise.
    pub vessel: String,
    /// When it begins, in seconds since 1970: a multiple of the step.
    pub begin: i64,
    /// The places.
    pub places: Vec<GridPosition>,
}

impl Segment {
    /// Steps from place to place.
    pub fn steps(&self) -> usize {
        self.places.len().saturating_sub(1)
    }

    /// When it ends.
    pub fn end(&self, step_seconds: u32) -> i64 {
        self.begin + self.steps() as i64 * i64::from(step_seconds)
    }

    /// What orders segments once and for all, whatever else is in a store: a hash of the vessel's
    /// name and the time of the beginning.
    pub fn key(&self) -> Hash {
        let mut hasher = Sha256::new();
        hasher.update(b"backcut segment 1\0");
        hasher.update((self.vessel.len() as u64).to_le_bytes());
        hasher.update(self.vessel.as_bytes());
        hasher.update(self.begin.to_le_bytes());
        Hash::from_bytes(hasher.finalize().into())
    }
}

/// What orders vessels once and for all.
pub fn vessel_key(vessel: &str) -> Hash {
    Hash::of(&[b"backcut vessel 1\0", vessel.as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longitudes_have_one_spelling() {
        assert_eq!(GridPosition::from_degrees(0.0, 180.0).lon_e7, -1_800_000_000);
        assert_eq!(GridPosition::from_degrees(0.0, -180.0).lon_e7, -1_800_000_000);
        assert_eq!(GridPosition::from_degrees(0.0, 190.5).degrees(), [0.0, -169.5]);
        assert_eq!(GridPosition::from_degrees(0.0, 179.999_999_99).lon_e7, -1_800_000_000);
        assert!(GridPosition::from_degrees(90.0, 359.9).is_valid());
    }
}
