//! Opening connections for their own sake: how many handshakes per second a server completes.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};

use feedbench_record::ExactHistogram;

use crate::clock::Clock;
use crate::opening::{OpenError, Opened, Opener};
use crate::system;
use crate::transport::Wait;

/// What a stretch of handshakes came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Handshakes {
    /// Whole and right ones.
    pub completed: u64,
    /// From the first start until no more were begun.
    pub elapsed_ns: u64,
}

/// Opens and drops connections for `length_ns`, `at_once` of them under way at any time. Each is checked as in any
/// other load: status, headers, and the accept key that answers its own nonce.
///
/// Connections are dropped with a reset instead of a farewell. An orderly close leaves each local port waiting for a
/// minute, and 28,000 ports would be used up in the first second.
pub fn run(
    opener: &mut Opener,
    at_once: usize,
    length_ns: u64,
    clock: &impl Clock,
    interrupt: &AtomicBool,
    times: &mut ExactHistogram,
) -> Result<Handshakes, OpenError> {
    let began_ns = clock.now_ns();
    let (mut now_ns, mut completed) = (began_ns, 0);
    let mut free: Vec<u32> = (0..at_once as u32).collect();
    let mut outcomes = Vec::with_capacity(at_once);
    let mut elapsed_ns = None;
    loop {
        let ending = now_ns >= began_ns + length_ns || interrupt.load(Ordering::Relaxed);
        if ending {
            elapsed_ns.get_or_insert(now_ns - began_ns);
            if opener.under_way() == 0 {
                break;
            }
        } else {
            for token in free.drain(..) {
                opener.start(token, now_ns)?;
            }
        }
        opener
            .poll(clock, Wait::Sleep, &mut outcomes)
            .map_err(OpenError::Socket)?;
        now_ns = clock.now_ns();
        for (token, outcome) in outcomes.drain(..) {
            let opened: Opened = outcome?;
            times.record(opened.handshake_ns);
            completed += u64::from(elapsed_ns.is_none());
            reset_on_close(opened.socket.as_raw_fd()).map_err(OpenError::Socket)?;
            free.push(token);
        }
    }
    Ok(Handshakes {
        completed,
        elapsed_ns: elapsed_ns.unwrap_or(0),
    })
}

/// Makes `close` send a reset.
pub fn reset_on_close(socket: i32) -> io::Result<()> {
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    let size = size_of_val(&linger) as libc::socklen_t;
    // SAFETY: the pointer and the size describe `linger`.
    let status = unsafe {
        libc::setsockopt(
            socket,
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            size,
        )
    };
    system::check(status).map(drop)
}
