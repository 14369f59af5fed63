//! Durations, sizes and rates as people write them.

use anyhow::{bail, ensure, Context, Result};

/// Reads `25ms`, `1.5s`, `2m`; a number needs a unit.
pub fn duration_ns(text: &str) -> Result<u64> {
    let ns = signed_duration_ns(text)?;
    u64::try_from(ns)
        .ok()
        .with_context(|| format!("{text:?} is below zero"))
}

/// The same, also below zero: `-1.272s`.
pub fn signed_duration_ns(text: &str) -> Result<i64> {
    let split = text
        .find(|character: char| !matches!(character, '0'..='9' | '.' | '-' | '+'))
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit_ns = match unit.trim() {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" => 60e9,
        "h" => 3600e9,
        "" => bail!("{text:?} has no unit: ns, us, ms, s, m or h"),
        other => bail!("{other:?} is no unit of time: use ns, us, ms, s, m or h"),
    };
    let number: f64 = number
        .parse()
        .ok()
        .with_context(|| format!("{text:?} is no duration"))?;
    let ns = number * unit_ns;
    ensure!(
        ns.abs() < 1e18,
        "{text:?} is longer than this program will live"
    );
    Ok(ns.round() as i64)
}

/// Reads `65536`, `64KiB`, `1MiB`.
pub fn bytes(text: &str) -> Result<usize> {
    let (number, unit) = match text {
        _ if text.ends_with("KiB") => (text.trim_end_matches("KiB"), 1 << 10),
        _ if text.ends_with("MiB") => (text.trim_end_matches("MiB"), 1 << 20),
        _ => (text, 1),
    };
    let count = number
        .trim()
        .parse::<usize>()
        .ok()
        .and_then(|count| count.checked_mul(unit));
    count
        .filter(|&count| count > 0)
        .with_context(|| format!("{text:?} is no size: write 65536, 64KiB or 1MiB"))
}

/// Reads a drift, `1.4ms/5m`: what a clock gains in a time, in billionths.
pub fn drift_ppb(text: &str) -> Result<i64> {
    let (gained, during) = text.split_once('/').with_context(|| {
        format!("{text:?} is no drift: write what the clock gains in a time, as 1.4ms/5m")
    })?;
    let (gained_ns, during_ns) = (signed_duration_ns(gained)?, duration_ns(during)?);
    ensure!(during_ns > 0, "{text:?}: a drift needs a time above zero");
    let ppb = i128::from(gained_ns) * 1_000_000_000 / i128::from(during_ns);
    i64::try_from(ppb)
        .ok()
        .filter(|ppb| *ppb > -1_000_000_000)
        .with_context(|| {
            format!("{text:?}: with such a drift the clock would stand still or run back")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_with_their_unit() {
        for (text, ns) in [
            ("25ms", 25_000_000),
            ("1.5s", 1_500_000_000),
            ("-1.272s", -1_272_000_000),
            ("7us", 7_000),
        ] {
            assert_eq!(signed_duration_ns(text).unwrap(), ns);
        }
        for (text, words) in [
            ("5", "no unit"),
            ("5 fortnights", "is no unit"),
            ("ms", "no duration"),
            ("1e5s", "no unit of time"),
            ("-1s", "below zero"),
            ("99999999999h", "longer"),
        ] {
            let error = duration_ns(text).map(|_| ()).unwrap_err().to_string();
            assert!(
                error.contains(words) || error.contains("is no unit"),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn sizes_and_drifts_are_read() {
        assert_eq!(
            (
                bytes("64KiB").unwrap(),
                bytes("1MiB").unwrap(),
                bytes("512").unwrap()
            ),
            (65_536, 1 << 20, 512)
        );
        assert!(["0", "", "KiB", "-1", "99999999999999999MiB"]
            .iter()
            .all(|text| bytes(text).is_err()));
        assert_eq!(drift_ppb("1.4ms/5m").unwrap(), 4_666);
        assert_eq!(drift_ppb("-1us/1s").unwrap(), -1_000);
        assert!(["1ms", "1ms/0s", "-2s/1s", "x/1s"]
            .iter()
            .all(|text| drift_ppb(text).is_err()));
    }
}
