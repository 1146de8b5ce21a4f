//! The time of the day, for what declares one.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::Environment;

/// Returns the time in UTC to the second (RFC 3339): that of `SOURCE_DATE_EPOCH` where it is set, as for
/// everything that is to be the same when it is made again.
#[must_use]
pub fn now(environment: &Environment) -> String {
    let declared = environment.get("SOURCE_DATE_EPOCH").and_then(|text| text.parse().ok());
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    utc(declared.unwrap_or_else(clock))
}

/// Writes seconds since 1970 as a date and a time. Years are counted from March, so that the day that a
/// leap year has more is the last one.
fn utc(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days since the first of March of the year 0.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{:02}Z", second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_written_as_dates() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(seconds), text);
        }
        let declared = [("SOURCE_DATE_EPOCH", "951782400")].into_iter().collect();
        assert_eq!(now(&declared), "2000-02-29T00:00:00Z");
    }
}
