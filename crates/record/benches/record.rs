//! What recording costs per message: one exact count and one sample, against HdrHistogram's count.

// criterion's macro makes a public function without a description.
#![allow(missing_docs)]

use std::hint::black_box;

use criterion::{criterion_group, criterion_main, BatchSize, Criterion, Throughput};
use feedbench_record::{ExactHistogram, Sample, SampleHeader, SampleWriter};

const VALUES: usize = 10_000;

/// Round trips as a loopback server gives them: around 30 µs, one in a hundred above the table's border.
fn latencies() -> Vec<u64> {
    (0..VALUES as u64)
        .map(|number| {
            // Weyl's sequence: spread evenly and the same in each run.
            let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
            if number % 100 == 0 {
                300_000 + spread
            } else {
                30_000 + spread
            }
        })
        .collect()
}

fn recording(criterion: &mut Criterion) {
    let values = latencies();
    let mut group = criterion.benchmark_group("record");
    group.throughput(Throughput::Elements(VALUES as u64));

    let mut exact = ExactHistogram::new();
    group.bench_function("exact", |bencher| {
        bencher.iter(|| {
            values
                .iter()
                .for_each(|&value| exact.record(black_box(value)))
        });
    });

    let mut hdr = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
    group.bench_function("hdrhistogram", |bencher| {
        bencher.iter(|| {
            values
                .iter()
                .for_each(|&value| hdr.saturating_record(black_box(value)))
        });
    });

    let header = SampleHeader::new("bench", 0.0);
    group.bench_function("sample", |bencher| {
        bencher.iter_batched_ref(
            || SampleWriter::new(std::io::sink(), &header).unwrap(),
            |writer| {
                for &value in &values {
                    let sample = Sample {
                        received_ns: black_box(value),
                        ..Sample::default()
                    };
                    writer.append(sample);
                }
            },
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

criterion_group!(benches, recording);
criterion_main!(benches);
