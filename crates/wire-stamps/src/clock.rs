//! From the kernel's stamps, which are CLOCK_REALTIME, to CLOCK_MONOTONIC, which everything else here is in.

/// How far CLOCK_REALTIME is ahead of CLOCK_MONOTONIC, and the most that this may be wrong by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset {
    /// To be taken from a stamp.
    pub ahead_ns: i64,
    /// Half the time that the reading took.
    pub uncertainty_ns: u64,
}

const READINGS: usize = 9;

impl Offset {
    /// The narrowest of some readings of one clock between two of the other.
    #[must_use]
    pub fn measure() -> Self {
        Self::narrowest((0..READINGS).map(|_| {
            let before_ns = read_ns(libc::CLOCK_MONOTONIC);
            let real_ns = read_ns(libc::CLOCK_REALTIME);
            (before_ns, real_ns, read_ns(libc::CLOCK_MONOTONIC))
        }))
    }

    /// Of readings (monotonic before, real, monotonic after).
    ///
    /// # Panics
    /// Without a reading.
    #[must_use]
    pub fn narrowest(readings: impl Iterator<Item = (i64, i64, i64)>) -> Self {
        let (before_ns, real_ns, after_ns) = readings
            .min_by_key(|(before_ns, _, after_ns)| after_ns - before_ns)
            .expect("at least one reading");
        let width_ns = after_ns - before_ns;
        Self {
            ahead_ns: real_ns - (before_ns + width_ns / 2),
            uncertainty_ns: width_ns.unsigned_abs().div_ceil(2),
        }
    }

    /// A stamp's time on the other clock.
    #[must_use]
    pub fn monotonic_ns(self, real_ns: i64) -> u64 {
        (real_ns - self.ahead_ns).max(0).unsigned_abs()
    }

    /// The way back.
    #[must_use]
    pub fn real_ms(self, monotonic_ns: u64) -> u64 {
        monotonic_ns.saturating_add_signed(self.ahead_ns) / 1_000_000
    }
}

fn read_ns(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a timespec of our own; both clocks always exist, so it can't fail.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
