//! Times in UTC, to the second, as text that sorts. Nothing here reads a clock: the time is an
//! argument of whoever appends.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A time written `2026-11-15T12:00:00Z`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Utc {
    seconds: i64,
}

/// A text that is not a time in the one form that the ledger keeps.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is not a time like 2026-11-15T12:00:00Z (UTC, years 1970 to 9999)")]
pub struct UtcError(String);

/// The last second of the year 9999.
const LAST: i64 = 253_402_300_799;

impl Utc {
    /// From seconds since 1970 (what `SystemTime` gives); none after the year 9999.
    pub fn from_unix(seconds: u64) -> Option<Self> {
        let seconds = i64::try_from(seconds).ok().filter(|s| *s <= LAST)?;
        Some(Self { seconds })
    }

    /// Seconds since 1970.
    pub fn unix(self) -> i64 {
        self.seconds
    }

    /// From year, month, day, hour, minute, second; none if there is no such second.
    pub fn from_civil(parts: [i64; 6]) -> Option<Self> {
        let [year, month, day, hour, minute, second] = parts;
        let in_range = (1970..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..60).contains(&second);
        if !in_range {
            return None;
        }
        let seconds = ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
        // The 31st of a month of 30 days would come out as another day.
        let utc = Self { seconds };
        (utc.civil() == parts).then_some(utc)
    }

    fn civil(self) -> [i64; 6] {
        let (day, clock) = (self.seconds.div_euclid(86_400), self.seconds.rem_euclid(86_400));
        let [year, month, date] = date(day);
        [year, month, date, clock / 3600, clock / 60 % 60, clock % 60]
    }
}

/// Days since 1970-01-01. Years begin in March, so that the leap day is the last of its year.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let before_month = (153 * month + 2) / 5;
    365 * year + year / 4 - year / 100 + year / 400 + before_month + day - 1 - 719_468
}

/// The inverse of [`days`], by eras of 400 years.
fn date(days: i64) -> [i64; 3] {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    [year + 400 * era, month, day]
}

impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [year, month, day, hour, minute, second] = self.civil();
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

impl FromStr for Utc {
    type Err = UtcError;

    fn from_str(text: &str) -> Result<Self, UtcError> {
        let error = || UtcError(text.into());
        if text.len() != 20 || !text.is_ascii() {
            return Err(error());
        }
        let number = |from: usize, to: usize| text[from..to].parse::<i64>().ok();
        let parts = [(0, 4), (5, 7), (8, 10), (11, 13), (14, 16), (17, 19)];
        let parts = parts.map(|(from, to)| number(from, to).unwrap_or_default());
        let utc = Self::from_civil(parts).ok_or_else(error)?;
        // One time has one spelling: separators and signs are checked by writing it again.
        if utc.to_string() == text { Ok(utc) } else { Err(error()) }
    }
}

impl Serialize for Utc {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Utc {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_seconds_have_their_known_names() {
        // From `date -u -d @SECONDS`.
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_794_744_000, "2026-11-15T12:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ] {
            let utc = Utc::from_unix(seconds).unwrap();
            assert_eq!(utc.to_string(), text);
            assert_eq!(text.parse(), Ok(utc));
        }
        assert_eq!(Utc::from_unix(253_402_300_800), None);
    }

    #[test]
    fn every_day_until_2400_reads_back() {
        for day in 0..157_000 {
            let utc = Utc::from_unix(day * 86_400 + 86_399).unwrap();
            assert_eq!(utc.to_string().parse(), Ok(utc));
        }
    }

    #[test]
    fn other_spellings_and_days_that_are_not_are_refused() {
        for bad in [
            "2026-11-15T12:00:00",
            "2026-11-15 12:00:00Z",
            "2026-11-31T12:00:00Z",
            "2027-02-29T12:00:00Z",
            "2026-11-15T24:00:00Z",
            "2026-11-15T12:00:60Z",
            "2026-+1-15T12:00:00Z",
            "1969-11-15T12:00:00Z",
            "2026-11-15T12:00:0\u{e9}",
        ] {
            assert!(bad.parse::<Utc>().is_err(), "{bad}");
        }
    }
}
