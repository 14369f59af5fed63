//! A lossless histogram: every value keeps its nanosecond.

use std::borrow::Cow;

use crate::Quantile;

/// Values below this many ns are counted in a table by index, at one add each. 262 µs covers the round trips of a
/// healthy loopback server; a table of `u32` for them is 1 MiB, of which a run touches the few pages where its
/// latencies lie.
const DENSE_VALUES: usize = 1 << 18;

/// Larger values wait here until they are sorted and counted; 256 KiB.
const PENDING_VALUES: usize = 1 << 15;

/// Counts of `u64` nanoseconds, exact at every quantile, in memory bounded by the number of *distinct* values.
///
/// Why not only an HdrHistogram: its buckets are 0.1 % wide, which at 30 µs is 30 ns, more than the differences that
/// a paired design resolves; t-digest and KLL are off by tens of percent in the tail.
///
/// [`record`](Self::record) is the hot path. Small values cost one indexed add; large ones are appended to a buffer
/// that exists already. It never allocates, but a full buffer is sorted in place of the caller (once in 32,768 values
/// above 262 µs). A loop that must not be held up calls [`compact`](Self::compact) where time is not measured, such
/// as between slices.
#[derive(Clone)]
pub struct ExactHistogram {
    count: u64,
    /// Times that each value below [`DENSE_VALUES`] was seen.
    dense: Box<[u32]>,
    /// `(value, count)` sorted by value: all larger values, and what no longer fitted into a `u32` of `dense`.
    sparse: Vec<(u64, u64)>,
    /// Larger values in order of arrival, not yet in `sparse`.
    pending: Vec<u64>,
}

impl Default for ExactHistogram {
    fn default() -> Self {
        Self::new()
    }
}

impl ExactHistogram {
    /// An empty histogram with its memory touched, so that the first values do not pay for page faults.
    #[must_use]
    pub fn new() -> Self {
        // A zeroed allocation comes from the kernel as untouched pages: writing one word in each makes them real now.
        // `black_box` keeps the compiler from seeing that zeros are written over zeros.
        let mut dense = vec![0u32; DENSE_VALUES].into_boxed_slice();
        dense
            .iter_mut()
            .step_by(1024)
            .for_each(|cell| *cell = std::hint::black_box(0));
        let mut pending = vec![std::hint::black_box(1u64); PENDING_VALUES];
        pending.clear();
        Self {
            count: 0,
            dense,
            sparse: Vec::new(),
            pending,
        }
    }

    /// Counts one value in ns. The hot path: see the type's description for what it costs.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        self.count += 1;
        if let Some(cell) = usize::try_from(value_ns)
            .ok()
            .and_then(|index| self.dense.get_mut(index))
        {
            if *cell < u32::MAX {
                *cell += 1;
                return;
            }
        }
        self.record_large(value_ns);
    }

    /// Also takes values whose dense count is full.
    fn record_large(&mut self, value_ns: u64) {
        if self.pending.len() == self.pending.capacity() {
            self.compact();
        }
        self.pending.push(value_ns);
    }

    /// Counts `times` occurrences of one value.
    pub fn record_many(&mut self, value_ns: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.compact();
        self.count += times;
        self.sparse = merge(&self.sparse, &[(value_ns, times)]);
    }

    /// Takes in everything that `other` counted.
    pub fn merge(&mut self, other: &Self) {
        self.compact();
        let mut moved = Vec::new();
        for (index, &times) in other
            .dense
            .iter()
            .enumerate()
            .filter(|(_, &times)| times > 0)
        {
            match self.dense[index].checked_add(times) {
                Some(sum) => self.dense[index] = sum,
                None => moved.push((index as u64, u64::from(times))),
            }
        }
        self.sparse = merge(&merge(&self.sparse, &moved), &other.large_values());
        self.count += other.count;
    }

    /// Sorts and counts the values that wait. Call it where time is not measured.
    pub fn compact(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        self.sparse = self.large_values().into_owned();
        self.pending.clear();
        // Each compaction copies `sparse`; letting the buffer grow with it keeps the cost per value logarithmic, and
        // the memory still within a constant factor of the distinct values.
        self.pending
            .reserve_exact(PENDING_VALUES.max(self.sparse.len() / 2));
    }

    /// Forgets all values and keeps the memory.
    pub fn clear(&mut self) {
        self.dense.fill(0);
        self.sparse.clear();
        self.pending.clear();
        self.count = 0;
    }

    /// How many values were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Memory taken, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        std::mem::size_of_val(&*self.dense)
            + self.sparse.capacity() * std::mem::size_of::<(u64, u64)>()
            + self.pending.capacity() * std::mem::size_of::<u64>()
    }

    /// `(value in ns, times seen)` in ascending order of value, each value once.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut large = Pairs {
            pairs: self.large_values(),
            next: 0,
        };
        let mut dense = self
            .dense
            .iter()
            .enumerate()
            .filter(|(_, &times)| times > 0)
            .map(|(index, &times)| (index as u64, u64::from(times)))
            .peekable();
        std::iter::from_fn(move || match (dense.peek().copied(), large.peek()) {
            (Some(small), Some(big)) if small.0 == big.0 => {
                dense.next();
                large.next += 1;
                Some((small.0, small.1 + big.1))
            }
            (Some(small), Some(big)) if big.0 < small.0 => {
                large.next += 1;
                Some(big)
            }
            (None, Some(big)) => {
                large.next += 1;
                Some(big)
            }
            _ => dense.next(),
        })
    }

    /// The values at several quantiles by nearest rank, `None` each if nothing was counted; one pass for all.
    #[must_use]
    pub fn values_at<const N: usize>(&self, quantiles: [Quantile; N]) -> [Option<u64>; N] {
        let ranks = quantiles.map(|quantile| quantile.rank(self.count));
        let mut values = [None; N];
        let mut seen = 0;
        for (value, times) in self.iter() {
            seen += times;
            for (slot, &rank) in values.iter_mut().zip(&ranks) {
                if slot.is_none() && rank <= seen {
                    *slot = Some(value);
                }
            }
        }
        values
    }

    /// The value at rank ⌈q·n⌉ in ns: a value that was recorded, never one between two.
    #[must_use]
    pub fn value_at(&self, quantile: Quantile) -> Option<u64> {
        let [value] = self.values_at([quantile]);
        value
    }

    /// The smallest value.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        self.iter().next().map(|(value, _)| value)
    }

    /// The largest value.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        self.value_at(Quantile::MAX)
    }

    /// The sum of all values in ns, exact.
    #[must_use]
    pub fn sum(&self) -> u128 {
        self.iter()
            .map(|(value, times)| u128::from(value) * u128::from(times))
            .sum()
    }

    /// The arithmetic mean in ns. The division is done in integers, so only the fraction of a nanosecond is rounded
    /// (up to 2^53 ns, 104 days).
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        let count = u128::from(self.count);
        let sum = self.sum();
        (count > 0).then(|| (sum / count) as f64 + (sum % count) as f64 / count as f64)
    }

    /// Sorted counts of all that is not in `dense`, waiting values included.
    fn large_values(&self) -> Cow<'_, [(u64, u64)]> {
        if self.pending.is_empty() {
            return Cow::Borrowed(&self.sparse);
        }
        let mut waiting = self.pending.clone();
        waiting.sort_unstable();
        let counted: Vec<_> = waiting
            .chunk_by(|left, right| left == right)
            .map(|run| (run[0], run.len() as u64))
            .collect();
        Cow::Owned(merge(&self.sparse, &counted))
    }
}

/// A borrowed or owned list with a position; an iterator over a `Cow` would borrow from itself.
struct Pairs<'a> {
    pairs: Cow<'a, [(u64, u64)]>,
    next: usize,
}

impl Pairs<'_> {
    fn peek(&self) -> Option<(u64, u64)> {
        self.pairs.get(self.next).copied()
    }
}

/// Adds two lists of counts, each sorted by value.
fn merge(left: &[(u64, u64)], right: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut merged: Vec<(u64, u64)> = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (
        left.iter().copied().peekable(),
        right.iter().copied().peekable(),
    );
    loop {
        let next = match (left.peek(), right.peek()) {
            (Some(one), Some(other)) if other.0 < one.0 => right.next(),
            (None, _) => right.next(),
            _ => left.next(),
        };
        let Some((value, times)) = next else { break };
        match merged.last_mut() {
            Some(last) if last.0 == value => last.1 += times,
            _ => merged.push((value, times)),
        }
    }
    merged.shrink_to_fit();
    merged
}

impl std::fmt::Debug for ExactHistogram {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ExactHistogram")
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}
