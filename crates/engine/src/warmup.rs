//! How fast a target gets as fast as it will be: latencies of the warm-up in bins of 50 ms.

use serde::{Deserialize, Serialize};

/// Width of a bin, in time during which the target was loaded.
pub const BIN_NS: u64 = 50_000_000;

/// Latencies per bin, kept whole until the run is over: sorting takes time that the loop does not have.
#[derive(Debug, Clone, Default)]
pub struct WarmupBins {
    latencies: Vec<Vec<u64>>,
    /// Subtracted from a time to get the target's loaded time.
    offset_ns: u64,
}

/// One bin in the result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmupBin {
    /// Loaded time at its beginning.
    pub start_ns: u64,
    /// Answers to messages sent in it.
    pub count: usize,
    /// Their median latency in ns, by nearest rank.
    pub p50: u64,
    /// Their 99th percentile in ns, by nearest rank.
    pub p99: u64,
}

/// All bins in the result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warmup {
    /// [`BIN_NS`].
    pub bin_ns: u64,
    /// In order; empty ones are left out.
    pub bins: Vec<WarmupBin>,
}

impl WarmupBins {
    /// A window begins after `active_ns` of loaded time.
    pub fn begin(&mut self, start_ns: u64, active_ns: u64) {
        self.offset_ns = start_ns.wrapping_sub(active_ns);
    }

    /// One answered message.
    #[inline]
    pub fn record(&mut self, intended_ns: u64, latency_ns: u64) {
        let bin = (intended_ns.wrapping_sub(self.offset_ns) / BIN_NS) as usize;
        if self.latencies.len() <= bin {
            self.latencies.resize_with(bin + 1, Vec::new);
        }
        self.latencies[bin].push(latency_ns);
    }

    /// Takes in the bins of another thread.
    pub fn merge(&mut self, other: Self) {
        for (bin, mut latencies) in other.latencies.into_iter().enumerate() {
            if self.latencies.len() <= bin {
                self.latencies.resize_with(bin + 1, Vec::new);
            }
            self.latencies[bin].append(&mut latencies);
        }
    }

    /// The quantiles of each bin.
    pub fn summarize(self) -> Warmup {
        let filled = self
            .latencies
            .into_iter()
            .enumerate()
            .filter(|(_, latencies)| !latencies.is_empty());
        let bins = filled.map(|(bin, mut latencies)| {
            latencies.sort_unstable();
            let count = latencies.len();
            // Nearest rank ⌈q·n⌉ in integers, counted from 1.
            let at = |percent: usize| latencies[(count * percent).div_ceil(100) - 1];
            WarmupBin {
                start_ns: bin as u64 * BIN_NS,
                count,
                p50: at(50),
                p99: at(99),
            }
        });
        Warmup {
            bin_ns: BIN_NS,
            bins: bins.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_follow_loaded_time_across_windows() {
        let mut bins = WarmupBins::default();
        bins.begin(1_000_000_000, 0);
        bins.record(1_000_000_000, 7);
        // The second window begins much later by the clock, but after 50 ms of load.
        bins.begin(9_000_000_000, BIN_NS);
        (1..=100).for_each(|latency| bins.record(9_000_000_001, latency));
        let warmup = bins.summarize();
        let first = WarmupBin {
            start_ns: 0,
            count: 1,
            p50: 7,
            p99: 7,
        };
        let second = WarmupBin {
            start_ns: BIN_NS,
            count: 100,
            p50: 50,
            p99: 99,
        };
        assert_eq!(warmup.bins, [first, second]);
    }
}
