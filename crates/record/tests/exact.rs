//! The exact histogram against a sorted list.

use feedbench_record::{ExactHistogram, Quantile, Summary};
use proptest::collection::vec;
use proptest::prelude::*;

/// Where the table of small values ends.
const BORDER: u64 = 1 << 18;

fn histogram(values: &[u64]) -> ExactHistogram {
    let mut histogram = ExactHistogram::new();
    values.iter().for_each(|&value| histogram.record(value));
    histogram
}

#[test]
fn ranks_are_the_ceiling_of_q_times_n() {
    let rows = [
        ("the median of one value is that value", Quantile::P50, 1, 1),
        ("the median of two is the smaller", Quantile::P50, 2, 1),
        ("the median of three is the middle one", Quantile::P50, 3, 2),
        (
            "99.9 % of 1,000 is the 999th, although floats say the 1,000th",
            Quantile::P99_9,
            1_000,
            999,
        ),
        (
            "one more value, and the rank is rounded up",
            Quantile::P99_9,
            1_001,
            1_000,
        ),
        ("p99 of 100 is not yet the maximum", Quantile::P99, 100, 99),
        ("p99 of 99 is the maximum", Quantile::P99, 99, 99),
        (
            "the largest count does not overflow",
            Quantile::P99_99,
            u64::MAX,
            18_444_899_399_302_180_660,
        ),
        ("no values have no rank", Quantile::P50, 0, 0),
    ];
    for (sentence, quantile, count, rank) in rows {
        assert_eq!(quantile.rank(count), rank, "{sentence}");
    }
}

#[test]
fn quantiles_are_read_as_people_write_them() {
    for (text, numerator, denominator) in [
        ("p50", 50, 100),
        ("p99.9", 999, 1000),
        ("p99.99", 9999, 10000),
        ("p100", 100, 100),
        ("p0.1", 1, 1000),
    ] {
        assert_eq!(
            text.parse(),
            Ok(Quantile::new(numerator, denominator)),
            "{text}"
        );
    }
    for text in [
        "",
        "p",
        "50",
        "p0",
        "p100.1",
        "p1000",
        "p-1",
        "p5e1",
        "p50.",
        "p99,9",
        "p0.0000000000001",
    ] {
        assert!(text.parse::<Quantile>().is_err(), "{text}");
    }
}

#[test]
fn nothing_counted_has_no_latency() {
    let summary = histogram(&[]).summary();
    assert_eq!(summary, Summary::default());
    let json = serde_json::to_value(&summary).unwrap();
    assert_eq!(json["count"], 0);
    assert!(json["p99.9"].is_null() && json["min"].is_null());
}

#[test]
fn a_summary_has_the_field_names_of_the_contract() {
    let json = serde_json::to_string(&histogram(&[1, 2, 3]).summary()).unwrap();
    assert_eq!(
        json,
        r#"{"count":3,"min":1,"mean":2.0,"p50":2,"p90":3,"p95":3,"p99":3,"p99.9":3,"p99.99":3,"max":3}"#
    );
}

#[test]
fn no_nanosecond_is_lost_at_any_size() {
    let values = [
        0,
        1,
        BORDER - 1,
        BORDER,
        BORDER + 1,
        (1 << 53) + 1,
        u64::MAX - 1,
        u64::MAX,
    ];
    let histogram = histogram(&values);
    let counted: Vec<_> = histogram.iter().collect();
    assert_eq!(counted, values.map(|value| (value, 1)));
    assert_eq!(histogram.max(), Some(u64::MAX));
    assert_eq!(
        histogram.sum(),
        values.iter().map(|&value| u128::from(value)).sum()
    );
}

#[test]
fn counts_beyond_32_bits_go_on() {
    let full = u64::from(u32::MAX);
    let mut counts = ExactHistogram::new();
    counts.record_many(7, full);
    let mut sum = histogram(&[7, 7, 8]);
    sum.merge(&counts);
    sum.merge(&counts);
    assert_eq!(sum.iter().collect::<Vec<_>>(), [(7, 2 * full + 2), (8, 1)]);
    assert_eq!(sum.count(), 2 * full + 3);
    assert_eq!(sum.value_at(Quantile::MAX), Some(8));
}

#[test]
fn memory_follows_the_distinct_values_not_the_count() {
    let mut histogram = ExactHistogram::new();
    for round in 0..300_000u64 {
        histogram.record(BORDER + round % 10);
    }
    assert_eq!(histogram.iter().count(), 10);
    assert!(
        histogram.memory_bytes() < 2 << 20,
        "{} bytes",
        histogram.memory_bytes()
    );
}

#[test]
fn a_cleared_histogram_begins_anew() {
    let mut histogram = histogram(&[1, BORDER, BORDER]);
    histogram.compact();
    histogram.record(BORDER);
    histogram.clear();
    histogram.record(5);
    assert_eq!(histogram.iter().collect::<Vec<_>>(), [(5, 1)]);
}

/// Small, at the border, large and enormous values, often repeated.
fn values() -> impl Strategy<Value = Vec<u64>> {
    let value = prop_oneof![
        0u64..50,
        BORDER - 3..BORDER + 3,
        BORDER..BORDER * 40,
        any::<u64>()
    ];
    vec(value, 0..300)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn agrees_with_a_sorted_list(values in values(), compact_at in any::<prop::sample::Index>()) {
        let mut counted = ExactHistogram::new();
        let (before, after) = values.split_at(compact_at.index(values.len() + 1));
        before.iter().for_each(|&value| counted.record(value));
        counted.compact();
        after.iter().for_each(|&value| counted.record(value));

        let mut sorted = values.clone();
        sorted.sort_unstable();
        prop_assert_eq!(counted.count(), sorted.len() as u64);
        prop_assert_eq!(counted.min(), sorted.first().copied());
        prop_assert_eq!(counted.max(), sorted.last().copied());
        prop_assert_eq!(counted.sum(), sorted.iter().map(|&value| u128::from(value)).sum::<u128>());
        for quantile in [Quantile::P50, Quantile::P90, Quantile::P99, Quantile::P99_99, Quantile::new(1, 7)] {
            let rank = quantile.rank(sorted.len() as u64) as usize;
            prop_assert_eq!(counted.value_at(quantile), rank.checked_sub(1).map(|index| sorted[index]));
        }
        let expanded: Vec<u64> =
            counted.iter().flat_map(|(value, times)| std::iter::repeat_n(value, times as usize)).collect();
        prop_assert_eq!(expanded, sorted);
    }

    #[test]
    fn merging_is_counting_all_together(left in values(), right in values()) {
        let mut merged = histogram(&left);
        merged.merge(&histogram(&right));
        let together = histogram(&[left, right].concat());
        prop_assert_eq!(merged.iter().collect::<Vec<_>>(), together.iter().collect::<Vec<_>>());
        prop_assert_eq!(merged.summary(), together.summary());
    }
}
