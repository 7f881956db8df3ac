//! What a header says: the format, and where its columns lie.
//!
//! Columns are found by name. GridPosition would be wrong already for the two MarineCadastre
//! schemas, of which one has the latitude first and the other the longitude.

use backcut_text::escape::plain;

use super::fields::Columns;

/// A format that is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// MarineCadastre, older (`MMSI,BaseDateTime,LAT,LON,...`) or newer
    /// (`mmsi,base_date_time,longitude,latitude,...`).
    MarineCadastre,
    /// The Danish Maritime Authority's (`# Timestamp,Type of mobile,MMSI,...`).
    Danish,
    /// Plain tracks (`track_id,unix_time,lat,lon,...`).
    Track,
}

impl Format {
    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::MarineCadastre => "MarineCadastre",
            Self::Danish => "Danish",
            Self::Track => "track",
        }
    }

    /// Whether vessels are named by an MMSI, which says whether they are ships.
    pub fn has_mmsi(self) -> bool {
        self != Self::Track
    }

    /// Names of the columns by slot, in lower case, those that are read first.
    fn columns(self) -> [&'static [&'static str]; SLOTS] {
        match self {
            Self::MarineCadastre => [
                &["mmsi"],
                &["basedatetime", "base_date_time"],
                &["lat", "latitude"],
                &["lon", "longitude"],
                &["sog"],
                &["cog"],
                &["heading"],
            ],
            Self::Danish => [
                &["mmsi"],
                &["# timestamp", "timestamp"],
                &["latitude"],
                &["longitude"],
                &["sog"],
                &["cog"],
                &["heading"],
            ],
            Self::Track => [
                &["track_id"],
                &["unix_time"],
                &["lat"],
                &["lon"],
                &["sog_kn"],
                &["cog_deg"],
                &["heading_deg"],
            ],
        }
    }
}

/// Slots of a row: vessel, time, latitude, longitude; then speed, course, heading, which may be
/// absent.
pub const SLOTS: usize = 7;
const NEEDED: usize = 4;

/// What a header says.
#[derive(Clone, Debug)]
pub struct Schema {
    /// The format.
    pub format: Format,
    pub(crate) columns: Columns<SLOTS>,
}

/// A header of no known format.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HeaderError {
    /// No format begins like this.
    #[error("its first line, `{0}`, is no header of a known format")]
    Unknown(String),
    /// A format without something that must be there.
    #[error("the header is {format}'s but has no column `{column}`")]
    Missing {
        /// The format that it resembles.
        format: &'static str,
        /// The column.
        column: &'static str,
    },
    /// Two columns of one meaning.
    #[error("the header has two columns for `{0}`")]
    Twice(&'static str),
}

impl Schema {
    /// Reads a header.
    pub fn of(names: &[&[u8]]) -> Result<Self, HeaderError> {
        let names: Vec<Vec<u8>> =
            names.iter().map(|name| name.trim_ascii().to_ascii_lowercase()).collect();
        let has = |name: &str| names.iter().any(|n| n == name.as_bytes());
        // The column of the time tells formats apart.
        let format = [Format::MarineCadastre, Format::Danish, Format::Track]
            .into_iter()
            .find(|format| format.columns()[1].iter().any(|name| has(name)));
        let Some(format) = format else {
            let line: Vec<u8> = names.join(&b","[..]).into_iter().take(80).collect();
            return Err(HeaderError::Unknown(plain(&String::from_utf8_lossy(&line))));
        };
        let mut places = [None; SLOTS];
        for (slot, accepted) in format.columns().into_iter().enumerate() {
            let is_this = |name: &[u8]| accepted.iter().any(|a| a.as_bytes() == name);
            let mut found = (0..names.len()).filter(|place| is_this(&names[*place]));
            places[slot] = found.next();
            if found.next().is_some() {
                return Err(HeaderError::Twice(accepted[0]));
            }
            if places[slot].is_none() && slot < NEEDED {
                return Err(HeaderError::Missing { format: format.name(), column: accepted[0] });
            }
        }
        Ok(Self { format, columns: Columns::new(places) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(header: &str) -> Result<Format, HeaderError> {
        let names: Vec<&[u8]> = header.split(',').map(str::as_bytes).collect();
        Schema::of(&names).map(|schema| schema.format)
    }

    #[test]
    fn formats_are_known_by_their_columns() {
        let older = "MMSI,BaseDateTime,LAT,LON,SOG,COG,Heading,VesselName,IMO,CallSign";
        let newer = "mmsi,base_date_time,longitude,latitude,sog,cog,heading,vessel_name";
        let danish =
            "# Timestamp,Type of mobile,MMSI,Latitude,Longitude,Navigational status,ROT,SOG";
        assert_eq!(of(older), Ok(Format::MarineCadastre));
        assert_eq!(of(newer), Ok(Format::MarineCadastre));
        assert_eq!(of(danish), Ok(Format::Danish));
        assert_eq!(of("track_id,unix_time,lat,lon,sog_kn,cog_deg"), Ok(Format::Track));
    }

    #[test]
    fn other_headers_say_what_is_wrong() {
        let missing = HeaderError::Missing { format: "MarineCadastre", column: "lon" };
        assert_eq!(of("MMSI,BaseDateTime,LAT"), Err(missing));
        assert_eq!(of("mmsi,base_date_time,lat,latitude,lon"), Err(HeaderError::Twice("lat")));
        assert!(matches!(of("a,b,\0"), Err(HeaderError::Unknown(text)) if text == "a,b,[U+0000]"));
    }
}
