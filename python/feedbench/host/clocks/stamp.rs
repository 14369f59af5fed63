// Answers each line with CLOCK_MONOTONIC in ns: the clock behind std::time::Instant, which does not show its number.
use std::io::{stdin, stdout, BufRead, Write};

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, now: *mut Timespec) -> i32;
}

const CLOCK_MONOTONIC: i32 = 1;

fn main() {
    for _ in stdin().lock().lines() {
        let mut now = Timespec { seconds: 0, nanoseconds: 0 };
        // SAFETY: `now` is a valid timespec of this 64-bit target, and outlives the call.
        unsafe { clock_gettime(CLOCK_MONOTONIC, &mut now) };
        println!("{}", now.seconds * 1_000_000_000 + now.nanoseconds);
        let _ = stdout().flush();
    }
}
