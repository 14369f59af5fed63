//! Never sleeps, so that no answer waits for a CPU to wake up.

use std::io;
use std::os::fd::RawFd;

use super::{receive_now, send_now, Epoll, Ready, Transport, Wait};

/// Up to this many sockets are simply tried in turn: a `recv` that finds nothing costs about as much as an
/// `epoll_wait` that finds nothing, and saves the second call when there is something.
const TRIED_IN_TURN: usize = 4;

/// Tries few sockets in turn, and asks epoll about many without waiting.
#[derive(Debug)]
pub struct BusyPoll {
    epoll: Epoll,
    tokens: Vec<u32>,
}

impl BusyPoll {
    /// An empty set.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            epoll: Epoll::new()?,
            tokens: Vec::new(),
        })
    }
}

impl Transport for BusyPoll {
    fn add(&mut self, token: u32, socket: RawFd) -> io::Result<()> {
        self.tokens.push(token);
        self.epoll.add(token, socket)
    }

    fn remove(&mut self, token: u32, socket: RawFd) {
        self.tokens.retain(|&other| other != token);
        self.epoll.remove(token, socket);
    }

    #[inline]
    fn ready(&mut self, _wait: Wait, into: &mut Vec<Ready>) -> io::Result<()> {
        if self.tokens.len() > TRIED_IN_TURN {
            return self.epoll.ready(Wait::Poll, into);
        }
        into.extend(self.tokens.iter().map(|&token| Ready {
            token,
            readable: true,
            writable: true,
            ended: false,
        }));
        Ok(())
    }

    #[inline]
    fn receive(&mut self, _token: u32, socket: RawFd, into: &mut [u8]) -> io::Result<usize> {
        receive_now(socket, into)
    }

    #[inline]
    fn send(&mut self, _token: u32, socket: RawFd, bytes: &[u8]) -> io::Result<usize> {
        send_now(socket, bytes)
    }

    fn set_alarm(&mut self, _at_ns: u64) {}

    fn never_sleeps(&self) -> bool {
        true
    }
}
