//! The machine's clocks.

use rustix::time::{clock_gettime, ClockId};

fn read_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// `CLOCK_MONOTONIC`, on which all is scheduled and recorded; about 25 ns, without a system call.
#[inline]
pub fn monotonic_ns() -> u64 {
    read_ns(ClockId::Monotonic)
}

/// What the machine believes the time of day to be.
pub fn unix_ns() -> u64 {
    read_ns(ClockId::Realtime)
}

/// Both clocks at one moment, monotonic first: of several looks the one that took least, so that a thread that is
/// interrupted between two readings does not take the clocks to be further apart than they are.
pub fn both_ns() -> (u64, u64) {
    let looks = (0..8).map(|_| {
        let (before_ns, unix_ns, after_ns) = (monotonic_ns(), unix_ns(), monotonic_ns());
        (after_ns - before_ns, before_ns.midpoint(after_ns), unix_ns)
    });
    let (_, at_ns, at_unix_ns) = looks.min().expect("there are eight");
    (at_ns, at_unix_ns)
}

/// CPU time of the calling thread.
pub fn thread_cpu_ns() -> u64 {
    read_ns(ClockId::ThreadCPUTime)
}
