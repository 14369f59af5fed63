//! Writes a planted distribution as `samples.fbs` and `histogram.hlog`, and prints its exact quantiles as JSON.
//!
//! The values are made so that every quantile is known without computing it: of `n` messages the r-th smallest took
//! `20,000 + r` ns (r = 1 … n), except that everything above rank 99 % of n is `1,000,000 + 7 r`. They are recorded in
//! a scattered order, as a histogram must not depend on it.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use feedbench_record::{
    write_interval_log, ExactHistogram, Quantity, Sample, SampleHeader, SampleWriter,
};

/// The value with rank `rank` (from 1) among `count`.
fn planted_ns(rank: u64, count: u64) -> u64 {
    if rank * 100 > count * 99 {
        1_000_000 + 7 * rank
    } else {
        20_000 + rank
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(directory), Some(count)) = (arguments.next(), arguments.next()) else {
        return Err("usage: planted DIRECTORY COUNT (COUNT not divisible by 7919)".into());
    };
    let (directory, count): (PathBuf, u64) = (directory.into(), count.parse()?);

    let mut latency = ExactHistogram::new();
    let mut lateness = ExactHistogram::new();
    let header = SampleHeader::new("planted", 0.0);
    let mut samples = SampleWriter::create(&directory.join("samples.fbs"), &header)?;
    for number in 0..count {
        // 7919 is prime: its multiples visit every rank once, in an order that is not sorted.
        let rank = number * 7919 % count + 1;
        let value_ns = planted_ns(rank, count);
        let sent_ns = 1_000_000_000 + number * 2_000_000;
        latency.record(value_ns);
        lateness.record(0);
        samples.append(Sample {
            intended_ns: sent_ns,
            sent_ns,
            received_ns: sent_ns + value_ns,
            connection: (number % 8) as u32,
            slice: (number / 100) as u32,
        });
    }
    samples.finish()?;

    let mut log = BufWriter::new(File::create(directory.join("histogram.hlog"))?);
    let histograms = [
        (Quantity::Latency, &latency),
        (Quantity::LatencyFromSend, &latency),
        (Quantity::Lateness, &lateness),
    ];
    let started = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    write_interval_log(
        &mut log,
        started,
        Duration::from_nanos(count * 2_000_000),
        &histograms,
    )?;
    println!("{}", serde_json::to_string(&latency.summary())?);
    Ok(())
}
