//! Numbers and times, from bytes.

use backcut_files::Utc;

/// A finite number; blank is none.
///
/// The standard library's parser is correctly rounded and fast enough (20 ns); `fast-float2` and
/// `lexical` would save 10 ns of a row's several hundred.
pub fn number(text: &[u8]) -> Result<Option<f64>, ()> {
    let text = text.trim_ascii();
    if text.is_empty() {
        return Ok(None);
    }
    // `parse` also reads "inf" and "nan".
    let value: f64 = std::str::from_utf8(text).map_err(drop)?.parse().map_err(drop)?;
    if value.is_finite() { Ok(Some(value)) } else { Err(()) }
}

/// `2024-01-31T23:59:59`, with a space instead of the T, with a fraction (dropped), with a Z.
pub fn iso_time(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii();
    let rest = text.get(19..)?;
    let is_rest = matches!(rest, b"" | b"Z")
        || rest.strip_prefix(b".").is_some_and(|digits| {
            let digits = digits.strip_suffix(b"Z").unwrap_or(digits);
            !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
        });
    let is_shaped = text[4] == b'-' && text[7] == b'-' && matches!(text[10], b'T' | b' ');
    if !is_rest || !is_shaped {
        return None;
    }
    seconds([digits(&text[..4])?, digits(&text[5..7])?, digits(&text[8..10])?], &text[11..19])
}

/// `31/01/2024 23:59:59`, the day first.
pub fn danish_time(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii();
    if text.len() != 19 || text[2] != b'/' || text[5] != b'/' || text[10] != b' ' {
        return None;
    }
    seconds([digits(&text[6..10])?, digits(&text[3..5])?, digits(&text[..2])?], &text[11..])
}

/// Seconds since 1970, whole or with a fraction (dropped), before the year 10000.
pub fn unix_time(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii();
    let whole = text.iter().position(|byte| *byte == b'.').map_or(text, |dot| &text[..dot]);
    let fraction = text.get(whole.len() + 1..).unwrap_or_default();
    let is_number = (1..=12).contains(&whole.len()) && fraction.iter().all(u8::is_ascii_digit);
    if !is_number {
        return None;
    }
    let value = digits(whole)?;
    (value < 253_402_300_800).then_some(value)
}

/// Of at most 12 digits, as callers see to.
fn digits(text: &[u8]) -> Option<i64> {
    text.iter().try_fold(0i64, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then(|| 10 * value + i64::from(digit))
    })
}

fn seconds([year, month, day]: [i64; 3], clock: &[u8]) -> Option<i64> {
    if clock.len() != 8 || clock[2] != b':' || clock[5] != b':' {
        return None;
    }
    let (hour, minute, second) =
        (digits(&clock[..2])?, digits(&clock[3..5])?, digits(&clock[6..])?);
    Utc::from_civil([year, month, day, hour, minute, second]).map(Utc::unix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_finite_numbers_are_numbers() {
        assert_eq!(number(b" -124.1346 "), Ok(Some(-124.1346)));
        assert_eq!(number(b"  "), Ok(None));
        for bad in [&b"nan"[..], b"inf", b"1e999", b"1,5", b"12\0", b"\xff", b"0x10"] {
            assert_eq!(number(bad), Err(()), "{bad:?}");
        }
    }

    #[test]
    fn days_that_are_not_are_refused() {
        for bad in [
            "2023-02-29T00:00:00",
            "2024-13-01T00:00:00",
            "2024-01-01T24:00:00",
            "2024-01-01T00:00:60",
            "2024-01-01T00:00:00+01",
            "2024-01-01",
            "1969-12-31T23:59:59",
        ] {
            assert_eq!(iso_time(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(iso_time(b"2024-02-29 12:00:00.25Z"), Some(1_709_208_000));
        assert_eq!(danish_time(b"29/02/2024 12:00:00"), Some(1_709_208_000));
        assert_eq!(danish_time(b"02/29/2024 12:00:00"), None);
        assert_eq!(unix_time(b"1274464399"), Some(1_274_464_399));
        assert_eq!(unix_time(b"1274464399.0"), Some(1_274_464_399));
        for bad in [&b"-5"[..], b"", b"99999999999999999999", b"1e9", b"253402300800"] {
            assert_eq!(unix_time(bad), None, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn every_second_reads_as_the_ledger_writes_it(time in 0i64..253_402_300_800) {
            let text = Utc::from_unix(time as u64).unwrap().to_string();
            prop_assert_eq!(iso_time(text.as_bytes()), Some(time));
            let (date, clock) = (&text[..10], &text[11..19]);
            let danish = format!("{}/{}/{} {clock}", &date[8..], &date[5..7], &date[..4]);
            prop_assert_eq!(danish_time(danish.as_bytes()), Some(time));
            prop_assert_eq!(unix_time(time.to_string().as_bytes()), Some(time));
        }

        #[test]
        fn nothing_panics(text in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = (number(&text), iso_time(&text), danish_time(&text), unix_time(&text));
        }
    }
}
