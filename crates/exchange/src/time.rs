//! The exchange's wall clock, and the ways in which exchanges print it.

use crate::encode::Encode;
use serde::{Deserialize, Serialize};

/// One second in nanoseconds.
pub const SECOND_NS: u64 = 1_000_000_000;
/// One millisecond in nanoseconds.
pub const MILLISECOND_NS: u64 = 1_000_000;
/// One day in nanoseconds.
pub const DAY_NS: u64 = 86_400 * SECOND_NS;

/// What the exchange's own wall clock shows, which need not be right.
///
/// The truth is the time since the market opened; the clock may be off by a fixed time and run fast or slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExchangeClock {
    /// Unix time at which the market opened.
    pub opened_unix_ns: u64,
    /// How far ahead of the truth the clock is at the opening.
    pub skew_ns: i64,
    /// How much the clock gains, in billionths: 1000 is one microsecond each second.
    pub drift_ppb: i64,
}

impl ExchangeClock {
    /// A clock that tells the truth.
    pub fn right(opened_unix_ns: u64) -> Self {
        Self {
            opened_unix_ns,
            skew_ns: 0,
            drift_ppb: 0,
        }
    }

    /// The Unix time shown at `now_ns`; never before 1970.
    pub fn unix_ns(&self, now_ns: u64) -> u64 {
        let drift = i128::from(now_ns) * i128::from(self.drift_ppb) / 1_000_000_000;
        let shown =
            i128::from(self.opened_unix_ns) + i128::from(now_ns) + i128::from(self.skew_ns) + drift;
        u64::try_from(shown.max(0)).unwrap_or(u64::MAX)
    }

    /// [`ExchangeClock::unix_ns`] in whole milliseconds.
    pub fn unix_ms(&self, now_ns: u64) -> u64 {
        self.unix_ns(now_ns) / MILLISECOND_NS
    }
}

/// A calendar date and time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calendar {
    /// Year of the Common Era.
    pub year: u64,
    /// 1 to 12.
    pub month: u64,
    /// 1 to 31.
    pub day: u64,
    /// Nanoseconds since midnight.
    pub of_day_ns: u64,
}

impl Calendar {
    /// The UTC date and time of a Unix time (add the zone's offset first for another zone).
    ///
    /// Days to date by counting in years that begin in March, so that the leap day comes last
    /// (the method of Howard Hinnant's "chrono-Compatible Low-Level Date Algorithms").
    pub fn of(unix_ns: u64) -> Self {
        let days = unix_ns / DAY_NS + 719_468;
        let era = days / 146_097;
        let day_of_era = days % 146_097;
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let month = if shifted_month < 10 {
            shifted_month + 3
        } else {
            shifted_month - 9
        };
        Self {
            year: era * 400 + year_of_era + u64::from(month <= 2),
            month,
            day: day_of_year - (153 * shifted_month + 2) / 5 + 1,
            of_day_ns: unix_ns % DAY_NS,
        }
    }

    fn padded(out: &mut Vec<u8>, value: u64, width: usize) {
        let mut scale = 10u64.pow(width as u32 - 1);
        while scale > 0 {
            out.push(b'0' + (value / scale % 10) as u8);
            scale /= 10;
        }
    }

    /// Appends `2026-11-21`, with any separator.
    pub fn write_date(&self, out: &mut Vec<u8>, separator: &str) {
        Self::padded(out, self.year, 4);
        out.text(separator);
        Self::padded(out, self.month, 2);
        out.text(separator);
        Self::padded(out, self.day, 2);
    }

    /// Appends `10:22:02`, with any separator, and `decimals` (0 to 9) of the second.
    pub fn write_time(&self, out: &mut Vec<u8>, separator: &str, decimals: u32) {
        let seconds = self.of_day_ns / SECOND_NS;
        Self::padded(out, seconds / 3_600, 2);
        out.text(separator);
        Self::padded(out, seconds / 60 % 60, 2);
        out.text(separator);
        Self::padded(out, seconds % 60, 2);
        if decimals > 0 {
            out.push(b'.');
            Self::padded(
                out,
                self.of_day_ns % SECOND_NS / 10u64.pow(9 - decimals),
                decimals as usize,
            );
        }
    }
}

/// Appends an RFC 3339 UTC time with `decimals` of the second: `2021-04-17T16:43:37.075687Z` with 6.
pub fn write_rfc3339(out: &mut Vec<u8>, unix_ns: u64, decimals: u32) {
    let calendar = Calendar::of(unix_ns);
    calendar.write_date(out, "-");
    out.push(b'T');
    calendar.write_time(out, ":", decimals);
    out.push(b'Z');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rfc3339(unix_ns: u64) -> String {
        let mut out = Vec::new();
        write_rfc3339(&mut out, unix_ns, 6);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn dates_are_right_at_the_corners_of_the_calendar() {
        for (unix_s, date) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (951_782_400, "2000-02-29T00:00:00.000000Z"),
            (1_618_677_817, "2021-04-17T16:43:37.000000Z"),
            (1_709_251_199, "2024-02-29T23:59:59.000000Z"),
            (1_735_689_599, "2024-12-31T23:59:59.000000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000000Z"),
        ] {
            assert_eq!(rfc3339(unix_s * SECOND_NS), date);
        }
        assert_eq!(
            rfc3339(1_618_677_817_075_687_999),
            "2021-04-17T16:43:37.075687Z"
        );
    }

    #[test]
    fn a_wrong_clock_is_off_and_drifts() {
        let clock = ExchangeClock {
            opened_unix_ns: 10 * SECOND_NS,
            skew_ns: -1_272_000_000,
            drift_ppb: 4_667,
        };
        assert_eq!(clock.unix_ns(0), 8_728_000_000);
        assert_eq!(
            clock.unix_ns(300 * SECOND_NS),
            8_728_000_000 + 300 * SECOND_NS + 1_400_100
        );
        assert_eq!(
            ExchangeClock {
                skew_ns: -11_000_000_000,
                ..clock
            }
            .unix_ns(0),
            0,
            "never before 1970"
        );
    }
}
