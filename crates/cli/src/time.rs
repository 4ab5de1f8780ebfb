//! The time of day as text, in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

/// Such as `2026-11-21T18:04:05.123456789Z`.
pub(crate) fn utc(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:09}Z", since.subsec_nanos())
}

/// The date so many days after the first of January 1970.
fn date(mut days: u64) -> (u64, u64, u64) {
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    // The calendar repeats itself after 400 years.
    let mut year = 1970 + days / 146_097 * 400;
    days %= 146_097;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn known_moments() {
        for (nanoseconds, text) in [
            (0, "1970-01-01T00:00:00.000000000Z"),
            (951_782_400_000_000_001, "2000-02-29T00:00:00.000000001Z"),
            (1_709_251_199_999_999_999, "2024-02-29T23:59:59.999999999Z"),
            (4_107_542_400_000_000_000, "2100-03-01T00:00:00.000000000Z"),
            (u64::MAX, "2554-07-21T23:34:33.709551615Z"),
        ] {
            assert_eq!(utc(UNIX_EPOCH + Duration::from_nanos(nanoseconds)), text);
        }
    }
}
