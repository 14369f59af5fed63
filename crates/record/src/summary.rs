//! The ten numbers that every report prints.

use serde::{Deserialize, Serialize};

use crate::{ExactHistogram, Quantile};

/// Count, extremes, mean and exact quantiles in ns, with the field names of `load.json`.
///
/// Everything but the count is `null` when nothing was counted: a latency of 0 would be a lie.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// How many values.
    pub count: u64,
    /// The smallest.
    pub min: Option<u64>,
    /// The arithmetic mean; printed, never compared.
    pub mean: Option<f64>,
    /// The median, by nearest rank as all that follow.
    pub p50: Option<u64>,
    /// Quantile 9/10.
    pub p90: Option<u64>,
    /// Quantile 19/20.
    pub p95: Option<u64>,
    /// Quantile 99/100.
    pub p99: Option<u64>,
    /// Quantile 999/1,000.
    #[serde(rename = "p99.9")]
    pub p99_9: Option<u64>,
    /// Quantile 9,999/10,000.
    #[serde(rename = "p99.99")]
    pub p99_99: Option<u64>,
    /// The largest.
    pub max: Option<u64>,
}

impl From<&ExactHistogram> for Summary {
    fn from(histogram: &ExactHistogram) -> Self {
        let [p50, p90, p95, p99, p99_9, p99_99, max] = histogram.values_at([
            Quantile::P50,
            Quantile::P90,
            Quantile::P95,
            Quantile::P99,
            Quantile::P99_9,
            Quantile::P99_99,
            Quantile::MAX,
        ]);
        Self {
            count: histogram.count(),
            min: histogram.min(),
            mean: histogram.mean(),
            p50,
            p90,
            p95,
            p99,
            p99_9,
            p99_99,
            max,
        }
    }
}

impl ExactHistogram {
    /// The ten numbers of this histogram.
    #[must_use]
    pub fn summary(&self) -> Summary {
        Summary::from(self)
    }
}
