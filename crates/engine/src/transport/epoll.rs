//! Readiness from epoll, edge-triggered.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::{receive_now, send_now, Ready, Transport, Wait};
use crate::system::check;

/// Events taken from the kernel at once. More would only delay the first of them.
const EVENTS: usize = 256;
/// The token of the alarm's timer.
const ALARM: u64 = u64::MAX;

/// One epoll instance and one timer.
///
/// *Edge-triggered*: a level-triggered instance looks at each reported socket again on the next wait, only to find it
/// empty. The price is that the loop must read until it gets less than it asked for, which it does anyway.
///
/// *A timer in the set* instead of a time-out in `epoll_wait`: arming a kernel timer for every wait costs more than
/// all of our own work for a message, and milliseconds are too coarse for the end of a slice.
#[derive(Debug)]
pub struct Epoll {
    epoll: OwnedFd,
    timer: OwnedFd,
    events: Box<[libc::epoll_event; EVENTS]>,
}

impl Epoll {
    /// An empty set.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers; the descriptors that come back are ours alone.
        let (epoll, timer) = unsafe {
            let epoll = check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?;
            let timer = libc::timerfd_create(
                libc::CLOCK_MONOTONIC,
                libc::TFD_CLOEXEC | libc::TFD_NONBLOCK,
            );
            (
                OwnedFd::from_raw_fd(epoll),
                OwnedFd::from_raw_fd(check(timer)?),
            )
        };
        let set = Self {
            epoll,
            timer,
            events: Box::new([libc::epoll_event { events: 0, u64: 0 }; EVENTS]),
        };
        set.control(
            libc::EPOLL_CTL_ADD,
            set.timer.as_raw_fd(),
            libc::EPOLLIN,
            ALARM,
        )?;
        Ok(set)
    }

    fn control(&self, operation: i32, socket: RawFd, interest: i32, token: u64) -> io::Result<()> {
        let mut event = libc::epoll_event {
            events: (interest | libc::EPOLLET) as u32,
            u64: token,
        };
        // SAFETY: `event` outlives the call, and the kernel checks the descriptors.
        check(unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), operation, socket, &mut event) })
            .map(drop)
    }
}

impl Transport for Epoll {
    fn add(&mut self, token: u32, socket: RawFd) -> io::Result<()> {
        let interest = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP;
        self.control(libc::EPOLL_CTL_ADD, socket, interest, u64::from(token))
    }

    fn remove(&mut self, _token: u32, socket: RawFd) {
        // Fails only if the socket is not in the set, which is what is wanted.
        let _ = self.control(libc::EPOLL_CTL_DEL, socket, 0, 0);
    }

    #[inline]
    fn ready(&mut self, wait: Wait, into: &mut Vec<Ready>) -> io::Result<()> {
        let timeout_ms = if wait == Wait::Poll { 0 } else { -1 };
        // SAFETY: `events` has room for EVENTS events and outlives the call.
        let count = unsafe {
            libc::epoll_wait(
                self.epoll.as_raw_fd(),
                self.events.as_mut_ptr(),
                EVENTS as i32,
                timeout_ms,
            )
        };
        let count = match usize::try_from(count) {
            Ok(count) => count,
            Err(_) => {
                let error = io::Error::last_os_error();
                // A signal came: the loop looks at its flag.
                return if error.kind() == io::ErrorKind::Interrupted {
                    Ok(())
                } else {
                    Err(error)
                };
            }
        };
        for event in &self.events[..count] {
            let (events, token) = (event.events as i32, event.u64);
            if token != ALARM {
                into.push(Ready {
                    token: token as u32,
                    readable: events & !libc::EPOLLOUT != 0,
                    writable: events & libc::EPOLLOUT != 0,
                    ended: events & (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) != 0,
                });
            }
        }
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

    fn set_alarm(&mut self, at_ns: u64) {
        let at_ns = at_ns.max(1); // zero would disarm the timer
        let alarm = libc::itimerspec {
            it_interval: libc::timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: libc::timespec {
                tv_sec: (at_ns / 1_000_000_000) as libc::time_t,
                tv_nsec: (at_ns % 1_000_000_000) as libc::c_long,
            },
        };
        // SAFETY: `alarm` outlives the call; no old value is asked for. It cannot fail with a valid time.
        unsafe {
            libc::timerfd_settime(
                self.timer.as_raw_fd(),
                libc::TFD_TIMER_ABSTIME,
                &alarm,
                std::ptr::null_mut(),
            );
        }
    }
}
