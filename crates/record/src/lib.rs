//! What was measured, kept whole.
//!
//! - [`ExactHistogram`]: lossless counts of nanoseconds, with quantiles by nearest rank in integers;
//! - [`Summary`]: the ten numbers that a report prints;
//! - [`SampleWriter`], [`SampleReader`]: `samples.fbs`, one record per message;
//! - [`write_receipts`]: who of many subscribers had which message when;
//! - [`write_interval_log`]: `histogram.hlog`, for tools that read HdrHistogram logs.
//!
//! Values are `u64` nanoseconds throughout and meet a float only in [`ExactHistogram::mean`].

#![forbid(unsafe_code)]

mod exact;
mod interval_log;
mod quantile;
mod receipts;
mod samples;
mod summary;

pub use exact::ExactHistogram;
pub use interval_log::{write_interval_log, IntervalLogError, Quantity, HIGHEST_NS};
pub use quantile::{Quantile, QuantileError};
pub use receipts::{identity, write_receipts, Receipt, ReceiptHeader, ReceiptKind, RECEIPT_BYTES};
pub use samples::{
    Ending, Sample, SampleError, SampleHeader, SampleReader, SampleWriter, COLUMNS, RECORD_BYTES,
};
pub use summary::Summary;
