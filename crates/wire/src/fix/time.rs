//! UTCTimestamp values, read and written without allocation.

use super::number;

const NANOSECONDS_PER_SECOND: i64 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// A moment in UTC, in nanoseconds since 1970. The range is 1677 to 2262.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UtcTime {
    /// Nanoseconds since 1970-01-01T00:00:00Z.
    pub unix_ns: i64,
}

/// Digits behind the seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// None: `20240612-08:52:21`, all that FIX 4.0 and 4.1 know.
    Seconds,
    /// Three: the usual form since FIX 4.2.
    Milliseconds,
    /// Six: Binance.
    Microseconds,
}

/// The longest formatted time, with microseconds.
pub const MAXIMUM_TIME_BYTES: usize = 24;

impl UtcTime {
    /// Reads `YYYYMMDD-HH:MM:SS` with zero, three, six or nine further digits, or `None` for anything else.
    ///
    /// Second 60 is a leap second and counts as the first of the next minute.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        let (whole, fraction) = match text.len() {
            17 => (text, &b""[..]),
            21 | 24 | 27 if text[17] == b'.' => (&text[..17], &text[18..]),
            _ => return None,
        };
        if (whole[8], whole[11], whole[14]) != (b'-', b':', b':') {
            return None;
        }
        let part = |from: usize, to: usize| number::unsigned(&whole[from..to]).map(|n| n as i64);
        let (year, month, day) = (part(0, 4)?, part(4, 6)?, part(6, 8)?);
        let (hour, minute, second) = (part(9, 11)?, part(12, 14)?, part(15, 17)?);
        let day_exists = (1..=12).contains(&month) && (1..=days_in(year, month)).contains(&day);
        if !day_exists || hour > 23 || minute > 59 || second > 60 {
            return None;
        }
        let fraction_ns = match fraction.len() {
            0 => 0,
            digits => number::unsigned(fraction)? as i64 * 10_i64.pow(9 - digits as u32),
        };
        let seconds = days_from_civil(year, month, day) * SECONDS_PER_DAY
            + hour * 3600
            + minute * 60
            + second;
        let unix_ns = seconds
            .checked_mul(NANOSECONDS_PER_SECOND)?
            .checked_add(fraction_ns)?;
        Some(Self { unix_ns })
    }

    /// Writes the time to the beginning of `out` and returns its length. Digits that do not fit are cut off.
    #[inline]
    pub fn format(self, precision: Precision, out: &mut [u8; MAXIMUM_TIME_BYTES]) -> usize {
        let seconds = self.unix_ns.div_euclid(NANOSECONDS_PER_SECOND);
        let fraction_ns = self.unix_ns.rem_euclid(NANOSECONDS_PER_SECOND);
        let (year, month, day) = civil_from_days(seconds.div_euclid(SECONDS_PER_DAY));
        let of_day = seconds.rem_euclid(SECONDS_PER_DAY);
        write(&mut out[0..4], year);
        write(&mut out[4..6], month);
        write(&mut out[6..8], day);
        out[8] = b'-';
        write(&mut out[9..11], of_day / 3600);
        out[11] = b':';
        write(&mut out[12..14], of_day / 60 % 60);
        out[14] = b':';
        write(&mut out[15..17], of_day % 60);
        out[17] = b'.';
        match precision {
            Precision::Seconds => 17,
            Precision::Milliseconds => {
                write(&mut out[18..21], fraction_ns / 1_000_000);
                21
            }
            Precision::Microseconds => {
                write(&mut out[18..24], fraction_ns / 1_000);
                24
            }
        }
    }

    /// Nanoseconds from `earlier` to this time, negative when it is later.
    #[must_use]
    pub fn since_ns(self, earlier: Self) -> i64 {
        self.unix_ns.saturating_sub(earlier.unix_ns)
    }
}

/// Writes `number` with leading zeros.
#[inline]
fn write(out: &mut [u8], mut number: i64) {
    for digit in out.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

fn days_in(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

// Both directions count years from March, so that the leap day is the last of its year and the months' lengths follow
// one formula: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".

fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[inline]
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = NANOSECONDS_PER_SECOND;

    #[test]
    fn known_moments_are_read() {
        for (text, unix_ns) in [
            ("19700101-00:00:00", 0),
            ("19691231-23:59:59.999", -1_000_000),
            ("20000229-00:00:00", 951_782_400 * SECOND),
            ("20261121-14:30:00.5", -1),
            ("20261121-14:30:00.500", 1_795_271_400 * SECOND + SECOND / 2),
            ("20261121-14:30:00.000001", 1_795_271_400 * SECOND + 1_000),
            ("20261121-14:30:00.000000001", 1_795_271_400 * SECOND + 1),
            ("20161231-23:59:60", 1_483_228_800 * SECOND),
        ] {
            let expected = (unix_ns != -1).then_some(UtcTime { unix_ns });
            assert_eq!(UtcTime::parse(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn times_that_do_not_exist_are_refused() {
        for text in [
            "",
            "20260229-00:00:00",
            "19000229-00:00:00",
            "20261301-00:00:00",
            "20260001-00:00:00",
            "20260100-00:00:00",
            "20260101-24:00:00",
            "20260101-00:60:00",
            "20260101-00:00:61",
            "20260101 00:00:00",
            "20260101-00.00.00",
            "20260101-00:00:00,000",
            "20260101-00:00:00.00x",
            "2026010 -00:00:00",
            "23000101-00:00:00",
        ] {
            assert_eq!(UtcTime::parse(text.as_bytes()), None, "{text}");
        }
    }
}
