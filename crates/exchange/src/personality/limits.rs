//! Limits that exchanges put on their clients, as values that are told the time.

/// At most so many in each window of time; the window begins with the first.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    limit: u32,
    length_ns: u64,
    began_ns: u64,
    used: u32,
}

impl Window {
    /// `limit` for each `length_ns`.
    pub fn new(limit: u32, length_ns: u64) -> Self {
        Self {
            limit,
            length_ns,
            began_ns: 0,
            used: 0,
        }
    }

    /// Counts `weight` and says whether all in this window is still within the limit.
    pub fn take(&mut self, weight: u32, now_ns: u64) -> bool {
        if now_ns >= self.began_ns.saturating_add(self.length_ns) {
            (self.began_ns, self.used) = (now_ns, 0);
        }
        self.used = self.used.saturating_add(weight);
        self.used <= self.limit
    }

    /// What was counted in the current window.
    pub fn used(&self) -> u32 {
        self.used
    }

    /// Whole seconds until the window ends, at least 1.
    pub fn retry_after_s(&self, now_ns: u64) -> u64 {
        (self.began_ns + self.length_ns)
            .saturating_sub(now_ns)
            .div_ceil(1_000_000_000)
            .max(1)
    }
}

/// A bucket that holds `burst` tokens and gains `rate_per_s`.
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    rate_per_s: u64,
    /// In billionths of a token, so that refilling is exact.
    capacity: u64,
    tokens: u64,
    filled_ns: u64,
}

impl TokenBucket {
    /// A full bucket.
    pub fn new(rate_per_s: u32, burst: u32) -> Self {
        let capacity = u64::from(burst) * 1_000_000_000;
        Self {
            rate_per_s: rate_per_s.into(),
            capacity,
            tokens: capacity,
            filled_ns: 0,
        }
    }

    /// Takes one token if there is one.
    pub fn take(&mut self, now_ns: u64) -> bool {
        let gained = now_ns
            .saturating_sub(self.filled_ns)
            .saturating_mul(self.rate_per_s);
        self.tokens = self.tokens.saturating_add(gained).min(self.capacity);
        self.filled_ns = self.filled_ns.max(now_ns);
        let enough = self.tokens >= 1_000_000_000;
        if enough {
            self.tokens -= 1_000_000_000;
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_counts_anew_when_it_is_over() {
        let mut window = Window::new(2, 1_000_000_000);
        assert_eq!(
            [0, 1, 2, 1_000_000_000].map(|now| window.take(1, now)),
            [true, true, false, true]
        );
        assert_eq!((window.used(), window.retry_after_s(1_500_000_000)), (1, 1));
    }

    #[test]
    fn a_bucket_allows_its_burst_and_then_its_rate() {
        let mut bucket = TokenBucket::new(10, 15);
        assert_eq!((0..20).filter(|_| bucket.take(0)).count(), 15);
        assert_eq!(
            (1..=20)
                .filter(|tenth| bucket.take(tenth * 100_000_000))
                .count(),
            20
        );
        assert!(!bucket.take(2_050_000_000));
    }
}
