//! `histogram.hlog`: HdrHistogram V2 interval logs, for every tool that already reads them.

use std::io::Write;
use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::interval_log::{
    IntervalLogWriterBuilder, IntervalLogWriterError, Tag as HdrTag,
};
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::{CreationError, Histogram};

use crate::ExactHistogram;

/// The largest value that a log holds: one hour in ns, the range that wrk2 and many viewers assume. All histograms
/// share it, so that readers can add them up.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;

const SIGNIFICANT_DIGITS: u8 = 3;

/// What a histogram in the log counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// From the intended send time to the answer.
    Latency,
    /// From the actual send time to the answer.
    LatencyFromSend,
    /// From the intended to the actual send time: the engine's own delay.
    Lateness,
}

impl Quantity {
    /// The tag in the log.
    #[must_use]
    pub fn tag(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::LatencyFromSend => "latency_from_send",
            Self::Lateness => "lateness",
        }
    }
}

/// Why no log was written.
#[derive(Debug, thiserror::Error)]
pub enum IntervalLogError {
    /// The sink refused.
    #[error("cannot write the histogram log: {0}")]
    Io(#[from] std::io::Error),
    /// The encoder refused.
    #[error("cannot encode the histogram log: {0}")]
    Encode(String),
}

/// Writes one interval with a histogram for each quantity; returns how many values were beyond [`HIGHEST_NS`].
///
/// Those values are counted *at* the limit, so that counts stay right and quantiles below them too; their true size is
/// in the sample file. Values are in ns, with three significant digits; the column of interval maxima is in ms, as
/// the reference implementation writes it.
///
/// # Errors
/// See [`IntervalLogError`].
pub fn write_interval_log<W: Write>(
    sink: &mut W,
    started: SystemTime,
    measured: Duration,
    histograms: &[(Quantity, &ExactHistogram)],
) -> Result<u64, IntervalLogError> {
    let mut serializer = V2DeflateSerializer::new();
    let mut beyond = 0;
    let mut log = IntervalLogWriterBuilder::new()
        // What the reference writes first; the layout of its lines is that of this version.
        .add_comment("[Histogram log format version 1.3]")
        .with_start_time(started)
        .with_base_time(started)
        .with_max_value_divisor(1e6)
        .begin_log_with(sink, &mut serializer)?;
    for &(quantity, exact) in histograms {
        let (histogram, clamped) = three_digits(exact).map_err(encode)?;
        beyond += clamped;
        let tag = HdrTag::new(quantity.tag());
        log.write_histogram(&histogram, Duration::ZERO, measured, tag)
            .map_err(|error| match error {
                IntervalLogWriterError::IoError(error) => IntervalLogError::Io(error),
                other => encode(other),
            })?;
    }
    Ok(beyond)
}

/// Rounds exact counts into HdrHistogram's buckets; also returns how many values had to be moved to the limit.
fn three_digits(exact: &ExactHistogram) -> Result<(Histogram<u64>, u64), CreationError> {
    let mut histogram = Histogram::new_with_bounds(1, HIGHEST_NS, SIGNIFICANT_DIGITS)?;
    let mut clamped = 0;
    for (value, times) in exact.iter() {
        clamped += if value > HIGHEST_NS { times } else { 0 };
        histogram.saturating_record_n(value.min(HIGHEST_NS), times);
    }
    Ok((histogram, clamped))
}

fn encode(error: impl std::fmt::Debug) -> IntervalLogError {
    IntervalLogError::Encode(format!("{error:?}"))
}
