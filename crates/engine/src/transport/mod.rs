//! How bytes and readiness reach the loop. The loop is written once; a transport is chosen at run time.

mod busy_poll;
mod epoll;
#[cfg(feature = "io-uring")]
mod uring;

use std::io;
use std::os::fd::RawFd;

use serde::{Deserialize, Serialize};

pub use busy_poll::BusyPoll;
pub use epoll::Epoll;
#[cfg(feature = "io-uring")]
pub use uring::Uring;

/// The name of a transport in requests and results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
pub enum TransportKind {
    /// Sleeps in `epoll_wait` until an answer is there.
    #[default]
    #[serde(rename = "epoll")]
    Epoll,
    /// Never sleeps: pays a whole CPU for the time that waking up takes.
    #[serde(rename = "busy-poll")]
    BusyPoll,
    /// Sends and receives in batches through a submission ring.
    #[serde(rename = "io_uring")]
    #[value(name = "io_uring", alias = "io-uring")]
    IoUring,
}

/// Whether the loop has something else to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Come back at once: a send time is near.
    Poll,
    /// Sleep until bytes arrive or the alarm rings.
    Sleep,
}

/// Sockets that may have something to read or room to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// What the socket was added as.
    pub token: u32,
    /// `receive` may give bytes, the end of the stream or an error.
    pub readable: bool,
    /// A send that was refused may be tried again.
    pub writable: bool,
    /// The peer has said its last word: whoever is told so once must receive until the end of the stream, since a full
    /// answer and the end may be reported together.
    pub ended: bool,
}

/// Moves bytes for the loop. All calls return at once but `ready` with [`Wait::Sleep`].
pub trait Transport {
    /// Takes a connected, non-blocking socket; `token` counts from 0 and may be reused after `remove`.
    fn add(&mut self, token: u32, socket: RawFd) -> io::Result<()>;

    /// Lets go of a socket, before it is closed.
    fn remove(&mut self, token: u32, socket: RawFd);

    /// Appends the sockets that are ready. Readiness is told once: the loop receives until it gets less than it
    /// asked for.
    fn ready(&mut self, wait: Wait, into: &mut Vec<Ready>) -> io::Result<()>;

    /// Fills `into` from the socket: the number of bytes, 0 at the end of the stream, `WouldBlock` when none are there.
    fn receive(&mut self, token: u32, socket: RawFd, into: &mut [u8]) -> io::Result<usize>;

    /// Hands bytes over: how many were taken, or `WouldBlock` until the socket is reported writable.
    fn send(&mut self, token: u32, socket: RawFd, bytes: &[u8]) -> io::Result<usize>;

    /// Makes a sleeping `ready` return at this time of `CLOCK_MONOTONIC`.
    fn set_alarm(&mut self, at_ns: u64);

    /// True if `ready` returns at once whatever it is told.
    fn never_sleeps(&self) -> bool {
        false
    }
}

/// `recv` without waiting.
#[inline]
pub(crate) fn receive_now(socket: RawFd, into: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the pointer and the length describe `into`, which outlives the call.
    let count = unsafe {
        libc::recv(
            socket,
            into.as_mut_ptr().cast(),
            into.len(),
            libc::MSG_DONTWAIT,
        )
    };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

/// `send` without waiting; a closed peer is an error, not a signal.
#[inline]
pub(crate) fn send_now(socket: RawFd, bytes: &[u8]) -> io::Result<usize> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the pointer and the length describe `bytes`, which outlives the call.
    let count = unsafe { libc::send(socket, bytes.as_ptr().cast(), bytes.len(), flags) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}
