//! Interval logs, read back with the library's own reader; the reference readers are in `tests/test_hdr_interop.py`.

use std::time::{Duration, SystemTime};

use feedbench_record::{write_interval_log, ExactHistogram, Quantity, HIGHEST_NS};
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::Histogram;

fn log(histograms: &[(Quantity, &ExactHistogram)]) -> (u64, Vec<u8>) {
    let mut bytes = Vec::new();
    let started = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let beyond =
        write_interval_log(&mut bytes, started, Duration::from_secs(2), histograms).unwrap();
    (beyond, bytes)
}

fn histograms(bytes: &[u8]) -> Vec<(String, Histogram<u64>)> {
    let mut found = Vec::new();
    for entry in IntervalLogIterator::new(bytes) {
        if let LogEntry::Interval(interval) = entry.unwrap() {
            let encoded = base64::Engine::decode(
                &base64::engine::general_purpose::STANDARD,
                interval.encoded_histogram(),
            );
            let histogram = Deserializer::new()
                .deserialize(&mut encoded.unwrap().as_slice())
                .unwrap();
            found.push((interval.tag().unwrap().as_str().to_owned(), histogram));
        }
    }
    found
}

#[test]
fn each_quantity_has_its_tag_and_its_counts() {
    let (mut latency, mut lateness) = (ExactHistogram::new(), ExactHistogram::new());
    latency.record_many(30_000, 1_000);
    latency.record(4_000_000);
    lateness.record(0);
    let (beyond, bytes) = log(&[
        (Quantity::Latency, &latency),
        (Quantity::Lateness, &lateness),
    ]);
    assert_eq!(beyond, 0);
    let [(first, one), (second, other)] = &histograms(&bytes)[..] else {
        panic!()
    };
    assert_eq!((first.as_str(), second.as_str()), ("latency", "lateness"));
    assert_eq!((one.len(), other.len()), (1_001, 1));
    assert!(one.equivalent(one.value_at_quantile(0.5), 30_000));
    assert!(one.equivalent(one.max(), 4_000_000));
    assert_eq!(other.max(), 0);
}

#[test]
fn values_beyond_an_hour_are_counted_at_the_limit_and_reported() {
    let mut latency = ExactHistogram::new();
    latency.record_many(u64::MAX, 3);
    latency.record(HIGHEST_NS);
    latency.record(1);
    let (beyond, bytes) = log(&[(Quantity::Latency, &latency)]);
    assert_eq!(beyond, 3);
    let [(_, histogram)] = &histograms(&bytes)[..] else {
        panic!()
    };
    assert_eq!(histogram.len(), 5);
    assert!(histogram.equivalent(histogram.max(), HIGHEST_NS));
}

#[test]
fn an_empty_histogram_can_be_written_and_read() {
    let (_, bytes) = log(&[(Quantity::LatencyFromSend, &ExactHistogram::new())]);
    let [(tag, histogram)] = &histograms(&bytes)[..] else {
        panic!()
    };
    assert_eq!((tag.as_str(), histogram.len()), ("latency_from_send", 0));
}
